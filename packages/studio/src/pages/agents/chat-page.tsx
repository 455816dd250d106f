/**
 * A conversation with an agent, or with a team through its leader: streamed, with its questions answered in place.
 *
 * Owns: the conversation of the address, what is sent next and by which version. Does not own: a turn (chat-turn.tsx).
 */
import { useCallback, useState, type ReactNode } from 'react'
import type { AgentDocument, RunRow } from '@reeve/server/wire'
import { useMe, useRole } from '../../data/me.ts'
import { useWatched } from '../../data/polled.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { agentPath, Link, navigate, useParams } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Empty, ErrorState, Loading, Notice, sentences } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { hasEnded } from '../run/controls.ts'
import { useAgents } from './agents-page.tsx'
import { ChatTurn } from './chat-turn.tsx'
import { conversationsWith, inConversation, saidBefore, turnsOf } from './chat-turns.ts'
import { InputField, useAgentInput } from './input-field.tsx'
import { changeOf, noChange, TrialChoices, useTrialOptions, type TrialDraft } from './trial-fields.tsx'
import './agents.css'

/** The page of an agent, once it is known. */
export function WithAgent(props: { readonly name: string; readonly children: (agent: AgentDocument) => ReactNode }) {
  const { name, children } = props
  const { data, error, reload } = useAgents()
  if (data === undefined)
    return error === undefined ? <Loading what="the agent" /> : <ErrorState error={error} onRetry={reload} />
  const agent = data.find((each) => each.name === name)
  if (agent !== undefined) return children(agent)
  return (
    <div className="page">
      <header>
        <h1>
          <VisibleText>{name}</VisibleText>
        </h1>
      </header>
      <Empty icon="agents" title="There is no such agent here">
        <Link to="/agents">See the agents that are there</Link>
      </Empty>
    </div>
  )
}

export const ChatPage = ({ name }: { readonly name: string }) => (
  <WithAgent name={name}>{(agent) => <Chat agent={agent} />}</WithAgent>
)

function Chat({ agent }: { readonly agent: AgentDocument }) {
  const [params] = useParams()
  const session = params.get('session') ?? ''
  const [draft, setDraft] = useState<TrialDraft>(noChange)
  return (
    <div className="page fixed chat">
      <header>
        <nav aria-label="Where you are" className="crumbs">
          <Link to="/agents">Agents</Link>
          <Icon name="right" />
        </nav>
        <h1>
          <VisibleText>{agent.name}</VisibleText>
        </h1>
        <Link className="button small" to={agentPath(agent.name, 'compare')}>
          Compare
        </Link>
        {session !== '' && (
          <Button small icon="plus" onClick={() => navigate(agentPath(agent.name))}>
            New conversation
          </Button>
        )}
      </header>
      <Conversation key={session} agent={agent} session={session} draft={draft} onDraft={setDraft} />
    </div>
  )
}

/** Turns that are shown at first, and more at each press. */
const shownTurns = 10

interface ConversationProps {
  readonly agent: AgentDocument
  readonly session: string
  /** By which version and model the next turn works. */
  readonly draft: TrialDraft
  readonly onDraft: (draft: TrialDraft) => void
}

function Conversation({ agent, session, draft, onDraft }: ConversationProps) {
  const user = useMe()?.name ?? ''
  const mayStart = useRole('operator')
  const [shown, setShown] = useState(shownTurns)
  /** A turn that was begun here, until the list has it. */
  const [begun, setBegun] = useState<RunRow>()
  const { data, error, reload } = useWatched<readonly RunRow[]>(
    (signal) => (session === '' ? Promise.resolve([]) : turnsOf(session, user, signal)),
    ['sessions', 'runs'],
    session,
  )
  const known = data ?? []
  const turns = begun === undefined || known.some(({ run }) => run === begun.run) ? known : [...known, begun]
  const scroll = useFollowed()
  return (
    <>
      <div className="chat-scroll" ref={scroll} role="region" aria-label="Conversation" tabIndex={0}>
        <div className="chat-column">
          {data === undefined && error !== undefined ? (
            <ErrorState error={error} onRetry={reload} />
          ) : data === undefined && turns.length === 0 ? (
            <Loading what="the conversation" />
          ) : turns.length === 0 ? (
            <NothingSaid agent={agent} mayStart={mayStart} user={user} />
          ) : (
            <>
              {turns.length > shown && (
                <Button small onClick={() => setShown(shown + 3 * shownTurns)}>
                  Show earlier turns ({turns.length - shown})
                </Button>
              )}
              {turns.slice(-shown).map(({ run, status }) => (
                <ChatTurn key={run} run={run} isOver={hasEnded(status)} />
              ))}
            </>
          )}
        </div>
      </div>
      {mayStart ? (
        <Composer agent={agent} session={session} draft={draft} onDraft={onDraft} turns={turns} onBegun={setBegun} />
      ) : (
        <p className="muted chat-column">Talking to an agent needs the role operator.</p>
      )}
    </>
  )
}

function NothingSaid(props: { readonly agent: AgentDocument; readonly mayStart: boolean; readonly user: string }) {
  const { agent, mayStart, user } = props
  const { data } = useWatched((signal) => conversationsWith(agent.name, user, signal), ['runs'], agent.name)
  return (
    <>
      <Empty icon="sessions" title={`Nothing was said to ${agent.name} here yet`}>
        {agent.description !== undefined && (
          <p>
            <VisibleText lines>{agent.description}</VisibleText>
          </p>
        )}
        {mayStart && <p>Write below what it should do. What it does, and what it asks you, appears here.</p>}
      </Empty>
      {(data?.length ?? 0) > 0 && (
        <nav aria-label="Your conversations" className="chat-earlier">
          <h2>Your conversations</h2>
          <ul>
            {data!.slice(0, 20).map(({ session, at }) => (
              <li key={session}>
                <Link to={`${agentPath(agent.name)}?session=${encodeURIComponent(session)}`}>
                  <VisibleText>{session}</VisibleText>
                </Link>{' '}
                <span className="muted">
                  <Time at={at} />
                </span>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </>
  )
}

function Composer(
  props: ConversationProps & {
    readonly turns: readonly RunRow[]
    readonly onBegun: (row: RunRow) => void
  },
) {
  const { agent, draft, onDraft: setDraft, turns, onBegun } = props
  const input = useAgentInput(agent)
  const { versions, models } = useTrialOptions(agent.name)
  // what is not published is tried: for one turn, and with every effect asked about
  const isDraft = versions.some(({ version, status }) => version === draft.version && status === 'draft')
  const isTrial = draft.model !== '' || isDraft
  const { run, busy, error } = useMutation(
    async () => {
      const session = props.session === '' ? `chat-${crypto.randomUUID()}` : props.session
      const chosen = draft.version === '' ? {} : { versions: { [agent.name]: draft.version } }
      const started = isTrial
        ? await server.runs.start(agent.name, input.value, {
            trial: { [agent.name]: changeOf(draft) },
            metadata: inConversation(session),
            messages: await saidBefore(turns),
          })
        : await server.runs.start(agent.name, input.value, { session, ...chosen })
      return { session, run: started.id }
    },
    {
      done({ session, run: id }) {
        input.clear()
        onBegun({ run: id, status: 'running', agent: agent.name, caller: {}, createdAt: Date.now() } as never)
        changed(['runs', 'sessions'])
        if (session !== props.session)
          navigate(`${agentPath(agent.name)}?session=${encodeURIComponent(session)}`, { replace: true })
      },
    },
  )
  const send = (): void => {
    if (!input.isEmpty && !busy) run(undefined)
  }
  return (
    <form
      className="chat-composer chat-column"
      aria-label={`Talk to ${agent.name}`}
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      {error !== undefined && (
        <Notice tone="bad">
          <VisibleText>{sentences(error).message}</VisibleText>{' '}
          <span className="muted">
            <VisibleText>{sentences(error).hint ?? ''}</VisibleText>
          </span>
        </Notice>
      )}
      <InputField agent={agent} value={input.value} onChange={input.set} onEnter={send} />
      <div className="row wrap chat-send">
        {(versions.length > 0 || models.length > 0) && (
          <details className="grow">
            <summary>
              Version and model{draft.version !== '' && `: ${draft.version}`}
              {draft.model !== '' && `${draft.version === '' ? ':' : ','} ${draft.model}`}
            </summary>
            <TrialChoices agent={agent.name} draft={draft} onChange={setDraft} />
            {isTrial && (
              <p className="muted">
                Each turn with this is a trial: nothing that it does outside happens before you say so, and the session
                does not remember it.
              </p>
            )}
          </details>
        )}
        <span className="grow" />
        <Button type="submit" tone="accent" icon="send" busy={busy} disabled={input.isEmpty}>
          {isTrial ? 'Try' : 'Send'}
        </Button>
      </div>
    </form>
  )
}

/** A part of the page that stays at its end while it grows, unless one has scrolled up. */
function useFollowed(): (element: HTMLElement | null) => () => void {
  return useCallback((element: HTMLElement | null) => {
    const content = element?.firstElementChild
    if (element === null || content === null || content === undefined) return () => {}
    let follows = true
    const note = (): void => {
      follows = element.scrollHeight - element.scrollTop - element.clientHeight < 80
    }
    element.addEventListener('scroll', note, { passive: true })
    const grown = new ResizeObserver(() => {
      if (follows) element.scrollTop = element.scrollHeight
    })
    grown.observe(content)
    return () => {
      element.removeEventListener('scroll', note)
      grown.disconnect()
    }
  }, [])
}
