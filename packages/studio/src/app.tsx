/** The shell: who is here, where one can go, whether the server is there; and the page of the address. */
import { useEffect, useState } from 'react'
import { visible } from '@reeve/core/visible'
import { ClientError } from '@reeve/client'
import type { Me } from '@reeve/server/wire'
import { CommandPalette } from './command-palette.tsx'
import { connect, useConnection } from './data/connection.ts'
import { MeContext } from './data/me.ts'
import { changed, useMutation, useQuery } from './data/queries.ts'
import { useQuestions } from './data/questions.ts'
import { server } from './data/server.ts'
import { useHotkeys } from './hotkeys.ts'
import { KeyboardHelp } from './keyboard-help.tsx'
import { AgentsPage } from './pages/agents/agents-page.tsx'
import { ChatPage } from './pages/agents/chat-page.tsx'
import { ComparePage } from './pages/agents/compare-page.tsx'
import { ErrorsPage } from './pages/errors/errors-page.tsx'
import { InboxPage } from './pages/inbox/inbox-page.tsx'
import { pages, pagesFor } from './pages/pages.ts'
import { RunPage } from './pages/run/run-page.tsx'
import { RunsPage } from './pages/runs/runs-page.tsx'
import { SessionPage } from './pages/sessions/session-page.tsx'
import { SessionsPage } from './pages/sessions/sessions-page.tsx'
import { SystemPage } from './pages/system/system-page.tsx'
import { TrustPage } from './pages/trust/trust-page.tsx'
import { TrustRecordPage } from './pages/trust/trust-record-page.tsx'
import { AgentVersionsPage } from './pages/versions/agent-versions-page.tsx'
import { VersionsPage } from './pages/versions/versions-page.tsx'
import { Link, usePath } from './router.tsx'
import { SignIn, tokenFromAddress } from './sign-in.tsx'
import { switchTheme, useTheme } from './theme.ts'
import { IconButton } from './ui/button.tsx'
import { Icon } from './ui/icon.tsx'
import { useNarrow } from './ui/narrow.ts'
import { Empty, ErrorState, Loading } from './ui/states.tsx'
import { clockTime, setServerTime } from './ui/time.tsx'
import { ToastProvider, useToast } from './ui/toast.tsx'
import { VisibleText } from './ui/visible-text.tsx'

/** Signs in with the token of the address, if there is one, and finds out who that is. */
async function enter(signal: AbortSignal): Promise<Me> {
  const token = tokenFromAddress()
  if (token !== undefined) await server.signIn(token)
  const me = await server.me({ signal })
  setServerTime(me.now)
  return me
}

export function App() {
  const { data: me, error, reload } = useQuery('me', [], enter)
  if (me === undefined)
    return error === undefined ? (
      <Loading what="the studio" />
    ) : error instanceof ClientError && error.status === 401 ? (
      <SignIn onDone={reload} />
    ) : (
      <main>
        <ErrorState error={error} onRetry={reload} />
      </main>
    )
  return (
    <MeContext value={me}>
      <ToastProvider>
        <Shell me={me} />
      </ToastProvider>
    </MeContext>
  )
}

function Shell({ me }: { readonly me: Me }) {
  const [open, setOpen] = useState<'palette' | 'keys'>()
  const path = usePath()
  useEffect(connect, [])
  useHotkeys({ 'mod+k': () => setOpen('palette'), '?': () => setOpen('keys') })
  const { data: questions } = useQuestions()
  const waiting = questions?.items.length ?? 0
  const mostCounted = useNarrow() ? 99 : 999
  const count = waiting > mostCounted ? `${mostCounted}+` : `${waiting}`
  const current = path[0] === undefined ? '/' : `/${path[0]}`
  const page = current === '/errors' ? { title: 'Errors' } : pages.find((each) => each.path === current)
  // a run, a session, a record or an agent is called by its name
  const title = page === undefined ? undefined : visible(path[1] ?? page.title)
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${count}) ` : ''}${title ?? 'Not found'} · Reeve`
  }, [waiting, count, title])
  const theme = useTheme()
  const toast = useToast()
  const { run: leaveSession, busy: isLeaving } = useMutation(() => server.signOut(), {
    // loaded anew: nothing of what was read stays in the page
    done: () => location.assign('/'),
    failed: (error) =>
      error instanceof ClientError && error.status === 401 ? location.assign('/') : toast.failed(error),
  })
  const connection = useConnection()
  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        Skip to the page
      </a>
      <header className="rail">
        <Link to="/" className="brand">
          <img src="/icon.svg" alt="" />
          Reeve
        </Link>
        <nav aria-label="Pages">
          <ul>
            {pagesFor(me.tenant).map(({ path: to, title: name, icon }) => (
              <li key={to}>
                <Link to={to} aria-current={to === current ? 'page' : undefined}>
                  <Icon name={icon} />
                  {name}
                  {to === '/' && waiting > 0 && (
                    <span className="count">
                      {count}
                      <span className="sr-only"> waiting</span>
                    </span>
                  )}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className={`foot${connection.state === 'reconnecting' ? ' away' : ''}`}>
          <ConnectionLine />
          <div className="who">
            <VisibleText>{me.name}</VisibleText>
            <div>{me.roles.join(', ')}</div>
          </div>
          <div className="tools">
            <IconButton icon="search" label="Go to (Ctrl K)" onClick={() => setOpen('palette')} />
            <IconButton
              icon={theme === 'dark' ? 'sun' : 'moon'}
              label={theme === 'dark' ? 'Light colours' : 'Dark colours'}
              onClick={switchTheme}
            />
            <IconButton icon="doubt" label="Keys (?)" onClick={() => setOpen('keys')} />
            <IconButton icon="leave" label="Sign out" disabled={isLeaving} onClick={() => leaveSession(undefined)} />
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <CurrentPage path={path} />
      </main>
      {open === 'palette' && <CommandPalette onClose={() => setOpen(undefined)} />}
      {open === 'keys' && <KeyboardHelp onClose={() => setOpen(undefined)} />}
    </div>
  )
}

/** Whether what is shown is live. */
function ConnectionLine() {
  const connection = useConnection()
  return (
    <div className={`connection ${connection.state}`} role="status">
      <span className="dot" aria-hidden="true" />
      {connection.state === 'connecting'
        ? 'connecting…'
        : connection.state === 'reconnecting'
          ? 'reconnecting…'
          : connection.caughtUpAt === undefined
            ? 'live'
            : `reconnected, caught up at ${clockTime(connection.caughtUpAt)}`}
    </div>
  )
}

function CurrentPage({ path: [page, ...rest] }: { readonly path: readonly string[] }) {
  if (page === undefined) return <InboxPage />
  const [name, tab] = rest
  if (page === 'runs') return name === undefined ? <RunsPage /> : <RunPage run={name} tab={tab} />
  if (page === 'agents') {
    if (name === undefined) return <AgentsPage />
    if (tab === undefined) return <ChatPage key={name} name={name} />
    if (tab === 'compare') return <ComparePage key={name} name={name} />
  }
  if (page === 'sessions') return name === undefined ? <SessionsPage /> : <SessionPage session={name} />
  if (page === 'trust') return name === undefined ? <TrustPage /> : <TrustRecordPage key={name} name={name} />
  if (page === 'versions') return name === undefined ? <VersionsPage /> : <AgentVersionsPage key={name} agent={name} />
  if (page === 'system') return <SystemPage />
  if (page === 'errors') return <ErrorsPage code={name} />
  return (
    <div className="page">
      <header>
        <h1>Not found</h1>
      </header>
      <Empty icon="search" title="There is no page at this address.">
        <p>
          Go to the <Link to="/">inbox</Link> or the <Link to="/runs">runs</Link>, or press Ctrl K to find a page, a run
          or a question.
        </p>
      </Empty>
    </div>
  )
}

/** Everything that is shown is loaded again when the page is looked at again after a long time. */
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) changed(['questions'])
})
