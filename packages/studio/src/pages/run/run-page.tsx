/** One run: its head, its controls, and its tabs; live. */
import { useCallback, useMemo, useState } from 'react'
import './run.css'
import { useRole } from '../../data/me.ts'
import { server } from '../../data/server.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { Link, navigate, runPath, sessionPath, useParams } from '../../router.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Empty, ErrorState, Loading, Notice } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Duration, Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { Audit } from './audit.tsx'
import { BudgetBar } from './budget-bar.tsx'
import { ControlBar } from './control-bar.tsx'
import { isTab, openQuestions, tabs, type TabName } from './controls.ts'
import { Conversation } from './conversation.tsx'
import { Cost } from './cost.tsx'
import { ForkDialog } from './fork-dialog.tsx'
import { Journal } from './journal.tsx'
import { Overview } from './overview.tsx'
import { RunContext, useRun, type RunContextValue, type Selection } from './run-context.tsx'
import { useRunStore } from './run-stream.ts'
import { budgetsOf, spendOf, spendText } from './spend.ts'
import { TakeOver } from './take-over.tsx'
import { TeamTab } from './team.tsx'
import { TimelineTab } from './timeline.tsx'

type Outcome = NonNullable<RunContextValue['live']['head']['outcome']>

const selectable: readonly (keyof Selection)[] = ['agent', 'span', 'entry', 'row', 'with', 'filter', 'family', 'search']

export function RunPage({ run, tab }: { readonly run: string; readonly tab: string | undefined }) {
  return <LiveRunPage key={run} run={run} tab={tab} />
}

function LiveRunPage({ run, tab }: { readonly run: string; readonly tab: string | undefined }) {
  const [api] = useState(() => server.run(run))
  const { store, state } = useRunStore(api)
  const [params] = useParams()
  const mayOperate = useRole('operator')
  const current: TabName = isTab(tab) ? tab : 'overview'
  const text = params.toString()
  const selection = useMemo((): Selection => {
    const found = new URLSearchParams(text)
    return Object.fromEntries(selectable.flatMap((name) => (found.has(name) ? [[name, found.get(name)]] : [])))
  }, [text])
  const go = useCallback<RunContextValue['go']>(
    (to, changes = {}) => {
      const next = new URLSearchParams(location.search)
      for (const [name, value] of Object.entries(changes)) {
        if (value === undefined) next.delete(name)
        else next.set(name, value)
      }
      // what is chosen on one tab says nothing on another, but for the agent
      if (to !== undefined)
        for (const name of selectable) if (name !== 'agent' && !Object.hasOwn(changes, name)) next.delete(name)
      const query = next.toString()
      const path = runPath(run, to ?? current)
      navigate(`${path}${query === '' ? '' : `?${query}`}`, { replace: to === undefined })
    },
    [run, current],
  )
  const keys = Object.fromEntries(tabs.map(({ name }, i) => [String(i + 1), () => go(name)]))
  useHotkeys(keys)
  if (!isTab(tab) && tab !== undefined)
    return (
      <div className="page">
        <Empty icon="search" title="There is no such part of a run.">
          <Link to={runPath(run)}>Go to the run</Link>
        </Empty>
      </div>
    )
  if (state.run === undefined)
    return (
      <div className="page">
        {state.connection === 'failed' ? (
          <ErrorState error={state.error} />
        ) : state.connection === 'lost' ? (
          <Loading what="the run; the server does not answer, this page tries again by itself" />
        ) : (
          <Loading what="the run" />
        )}
      </div>
    )
  const value: RunContextValue = {
    api,
    store,
    live: state.run,
    connection: state.connection,
    selection,
    go,
    mayOperate,
  }
  const waiting = openQuestions(state.run)
  const teams = Object.keys(state.run.teams).length
  return (
    <RunContext value={value}>
      <div className="page run-page">
        <Head tab={current} />
        <Tabs
          label="Parts of the run"
          tabs={tabs.map(({ name, label }) => ({
            id: name,
            label,
            ...(name === 'overview' && waiting > 0 ? { count: waiting } : {}),
            ...(name === 'team' && teams > 0 ? { count: Object.values(state.run!.teams)[0]!.members.length } : {}),
          }))}
          current={current}
          onSelect={(name) => go(name)}
        >
          <CurrentTab tab={current} />
        </Tabs>
      </div>
    </RunContext>
  )
}

function CurrentTab({ tab }: { readonly tab: TabName }) {
  switch (tab) {
    case 'overview':
      return <Overview />
    case 'timeline':
      return <TimelineTab />
    case 'conversation':
      return <Conversation />
    case 'team':
      return <TeamTab />
    case 'cost':
      return <Cost />
    case 'journal':
      return <Journal />
    case 'audit':
      return <Audit />
    case 'take-over':
      return <TakeOver />
  }
}

function Head({ tab }: { readonly tab: TabName }) {
  const { live, connection, api } = useRun()
  const [forks, setForks] = useState(false)
  const { head } = live
  const spend = useMemo(() => spendOf(head.usage), [head.usage])
  const root = Object.values(live.activations)[0]
  const budgets = budgetsOf(root?.limits, spend, root?.reserved)
  return (
    <header className="run-head">
      <div className="run-title">
        <h1>
          <VisibleText>{head.agent}</VisibleText>
        </h1>
        <StatusBadge status={head.status} />
        {head.trial === true && <Badge tone="held">Trial</Badge>}
        {connection !== 'live' && (
          <Badge tone="wait" icon="spin">
            the server is away, reconnecting
          </Badge>
        )}
        <span className="grow" />
        <ControlBar onFork={() => setForks(true)} />
      </div>
      <div className="run-facts">
        <span className="run-id">
          <code>{head.run}</code>
          <CopyButton text={head.run} what="the id of the run" />
        </span>
        <span>
          version <VisibleText>{head.version}</VisibleText>
        </span>
        {head.user !== undefined && (
          <span>
            for <VisibleText>{head.user}</VisibleText>
          </span>
        )}
        {head.session !== undefined && (
          <span>
            session{' '}
            <Link to={sessionPath({ session: head.session, user: head.user, tenant: head.tenant })}>
              <VisibleText>{head.session}</VisibleText>
            </Link>
          </span>
        )}
        <span>
          began <Time at={head.startedAt} />
          {head.endedAt !== undefined && (
            <>
              , took <Duration from={head.startedAt} to={head.endedAt} />
            </>
          )}
        </span>
        <span>{spendText(spend)}</span>
        {head.origin !== undefined && (
          <span>
            forked from <Link to={runPath(head.origin.run)}>{head.origin.run}</Link>
          </span>
        )}
        {head.queued !== undefined && (
          <span>
            waits for its turn behind <Link to={runPath(head.queued.behind)}>{head.queued.behind}</Link>
          </span>
        )}
      </div>
      {budgets.length > 0 && (
        <div className="run-head-budgets">
          {budgets.map((budget) => (
            <BudgetBar key={budget.of} budget={budget} />
          ))}
        </div>
      )}
      <Standing tab={tab} />
      {forks && <ForkDialog run={api.id} onClose={() => setForks(false)} />}
    </header>
  )
}

const endText = (outcome: Exclude<Outcome, { readonly status: 'completed' }>): string =>
  outcome.status === 'failed'
    ? outcome.failure.message
    : outcome.status === 'cancelled'
      ? `Cancelled: ${outcome.reason}`
      : outcome.message

/** The reason that a person gave, at the end of a sentence. */
function Because({ reason }: { readonly reason: string | undefined }) {
  return reason === undefined ? (
    '.'
  ) : (
    <>
      : <VisibleText>{reason}</VisibleText>
    </>
  )
}

/** Why the run does not go on, or how it ended. */
function Standing({ tab }: { readonly tab: TabName }) {
  const { head } = useRun().live
  if (head.takeover !== undefined)
    return (
      <Notice>
        <VisibleText>{head.takeover.by ?? 'An operator'}</VisibleText> has had this run for{' '}
        <Time at={head.takeover.since} form="since" />
        <Because reason={head.takeover.reason} />
      </Notice>
    )
  if (head.pause !== undefined && head.endedAt === undefined)
    return (
      <Notice>
        Paused
        {head.pause.by !== undefined && (
          <>
            {' '}
            by <VisibleText>{head.pause.by}</VisibleText>
          </>
        )}
        {' for '}
        <Time at={head.pause.since} form="since" />
        <Because reason={head.pause.reason} />
      </Notice>
    )
  if (head.reason !== undefined && head.endedAt === undefined)
    return (
      <Notice tone="bad">
        It is stuck: <VisibleText>{head.reason}</VisibleText>
        {head.failure?.hint !== undefined && (
          <>
            {' '}
            <VisibleText>{head.failure.hint}</VisibleText>
          </>
        )}
      </Notice>
    )
  // the overview says it at length
  if (head.outcome === undefined || head.outcome.status === 'completed' || tab === 'overview') return null
  const text = endText(head.outcome)
  return (
    <Notice tone={head.outcome.status === 'failed' ? 'bad' : 'wait'}>
      <VisibleText>{text.slice(0, 200)}</VisibleText>
      {text.length > 200 && '…'}{' '}
      <Link to={runPath(head.run)}>{head.outcome.status === 'failed' ? 'Why it failed' : 'How it ended'}</Link>
    </Notice>
  )
}
