/**
 * One turn of a conversation with an agent: a run, as those who talk to it see it.
 *
 * Owns: what is asked, said and called in it, its workers as parts that fold, its open questions, its end. Does not own:
 * reading a run (the run page), answering (the inbox).
 */
import { useEffect, useMemo, useState } from 'react'
import type { RemoteRun } from '@reeve/client'
import type { LiveActivation, LiveRun } from '@reeve/server/wire'
import { useMutation, useQuery } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { Link, navigate, runPath } from '../../router.tsx'
import { Money, Tokens } from '../../ui/amounts.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { FilesView } from '../../ui/files-view.tsx'
import { Icon } from '../../ui/icon.tsx'
import { ErrorState, Loading } from '../../ui/states.tsx'
import { Duration } from '../../ui/time.tsx'
import { ValueView } from '../../ui/value-view.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { conversationRows, type ConversationRow } from '../run/conversation-rows.ts'
import { useConversation } from '../run/conversation-source.ts'
import { hasEnded, openQuestions } from '../run/controls.ts'
import { FailureView } from '../run/failure-view.tsx'
import type { ShownText } from '../run/live-text.ts'
import { RunContext, useRun, type RunContextValue } from '../run/run-context.tsx'
import { RunStore } from '../run/run-store.ts'
import { useRunStore } from '../run/run-stream.ts'
import { knownUsd, spendOf } from '../run/spend.ts'
import { StreamText } from '../run/stream-text.tsx'
import { ChatQuestion } from './chat-question.tsx'
import { partsOf } from './chat-parts.ts'

/** What leads to a part of a run leads to its page. */
const goIn =
  (run: string): RunContextValue['go'] =>
  (tab, selection = {}) => {
    const params = new URLSearchParams(
      Object.entries(selection).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
    navigate(`${runPath(run, tab)}${params.size === 0 ? '' : `?${params.toString()}`}`)
  }

interface TurnProps {
  readonly run: string
  /** Whether it had ended when it was first shown: then it is read once. */
  readonly isOver: boolean
  /** Called with what is known of it, whenever that changes. */
  readonly onLive?: (live: LiveRun) => void
}

export function ChatTurn(props: TurnProps) {
  const [isOver] = useState(props.isOver)
  return isOver ? <EndedTurn {...props} /> : <LiveTurn {...props} />
}

function LiveTurn({ run, onLive }: TurnProps) {
  const [api] = useState(() => server.run(run))
  const { store, state } = useRunStore(api)
  return <Turn api={api} store={store} live={state.run} error={state.error} onLive={onLive} />
}

function EndedTurn({ run, onLive }: TurnProps) {
  const [api] = useState(() => server.run(run))
  const [store] = useState(() => new RunStore(() => {}))
  const { data, error } = useQuery(`ended:${run}`, [`run:${run}`], (signal) => snapshot(api, signal))
  return <Turn api={api} store={store} live={data} error={error} onLive={onLive} />
}

/** The state of a run now. */
async function snapshot(api: RemoteRun, signal: AbortSignal): Promise<LiveRun> {
  for await (const { run } of api.live({ signal })) return run
  throw new Error('The run has no state.')
}

function Turn(props: {
  readonly api: RemoteRun
  readonly store: RunStore
  readonly live: LiveRun | undefined
  readonly error: unknown
  readonly onLive: TurnProps['onLive']
}) {
  const { api, store, live, error, onLive } = props
  useEffect(() => {
    if (live !== undefined) onLive?.(live)
  }, [live, onLive])
  const context = useMemo(
    (): RunContextValue | undefined =>
      live === undefined
        ? undefined
        : { api, store, live, connection: 'live', selection: {}, go: goIn(api.id), mayOperate: true },
    [api, store, live],
  )
  if (context === undefined) return error === undefined ? <Loading what="the turn" /> : <ErrorState error={error} />
  const root = Object.values(context.live.activations)[0]
  return (
    <RunContext value={context}>
      <article className="chat-turn" aria-label={`Turn ${api.id}`}>
        {root === undefined ? <Loading what="the turn" /> : <AgentPart view={root} isRoot />}
        <Questions />
        <TurnEnd />
      </article>
    </RunContext>
  )
}

/** The questions of the run that are open, its child runs' among them. */
function Questions() {
  const { api, live } = useRun()
  const isAsking = openQuestions(live) > 0 || live.head.status === 'waiting'
  const { data } = useQuery(isAsking ? `chat-questions:${api.id}` : '', ['questions', `run:${api.id}`], (signal) =>
    server.questions.list({ run: api.id, limit: 20, signal }),
  )
  if (!isAsking) return null
  return (data?.items ?? []).map((question) => <ChatQuestion key={question.id} question={question} />)
}

function TurnEnd() {
  const { api, live } = useRun()
  const { head } = live
  const isOver = hasEnded(head.status)
  const spend = spendOf(head.usage)
  const usd = knownUsd(spend)
  const stop = useMutation(() => api.control.cancel('stopped in the chat'))
  const root = Object.values(live.activations)[0]
  const failure = head.failure ?? (head.outcome?.status === 'failed' ? head.outcome.failure : undefined)
  return (
    <footer className="chat-end">
      {failure !== undefined && root !== undefined && (
        <div className="chat-failure" role="alert">
          <FailureView view={root} failure={failure} />
        </div>
      )}
      <p className="row wrap muted">
        {isOver ? (
          <StatusBadge status={head.status} />
        ) : (
          <StatusBadge status={head.cancel === undefined ? head.status : 'running'} />
        )}
        {head.trial === true && <Badge tone="held">Trial</Badge>}
        <Duration from={head.startedAt} {...(head.endedAt === undefined ? {} : { to: head.endedAt })} />
        <span>
          <Tokens tokens={spend.tokens} /> tokens
        </span>
        {usd !== undefined && <Money usd={usd} />}
        <Link to={runPath(api.id)}>Open the run</Link>
        {!isOver && (
          <Button small icon="stop" busy={stop.busy || head.cancel !== undefined} onClick={() => stop.run(undefined)}>
            Stop
          </Button>
        )}
      </p>
    </footer>
  )
}

/** What one activation was given, said and called, with those who work for it where they began. */
function AgentPart({ view, isRoot = false }: { readonly view: LiveActivation; readonly isRoot?: boolean }) {
  const { live } = useRun()
  const { activation } = view
  const { data, error, reload, texts } = useConversation(activation)
  if (data === undefined)
    return error === undefined ? <Loading what="what was said" /> : <ErrorState error={error} onRetry={reload} />
  const rows = conversationRows(
    data.page,
    texts.map(({ text }) => text),
  )
  return partsOf(rows, view, Object.values(live.activations)).map((part) =>
    part.type === 'worker' ? (
      <WorkerPart key={part.key} view={part.view} />
    ) : (
      <RowPart key={part.row.key} row={part.row} isRoot={isRoot} texts={texts} />
    ),
  )
}

/** A worker: who works, how it stands, and, opened, what it was given, said and called. */
function WorkerPart({ view }: { readonly view: LiveActivation }) {
  const [isOpen, setOpen] = useState(view.outcome === undefined)
  return (
    <details className="chat-worker" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Icon name="agents" />
        <b>
          <VisibleText>{view.agent}</VisibleText>
        </b>
        <StatusBadge status={view.state} bare />
        {view.task !== undefined && (
          <span className="muted">
            task <VisibleText>{view.task}</VisibleText>
          </span>
        )}
      </summary>
      {isOpen && (
        <div className="chat-inner">
          <AgentPart view={view} />
        </div>
      )}
    </details>
  )
}

function RowPart(props: {
  readonly row: ConversationRow
  readonly isRoot: boolean
  readonly texts: readonly ShownText[]
}) {
  const { row, isRoot, texts } = props
  switch (row.type) {
    case 'given':
      return (
        <div className={isRoot ? 'chat-asked' : 'chat-brief'}>
          <span className="sr-only">{isRoot ? 'You: ' : 'Given: '}</span>
          <ValueView value={row.input} />
        </div>
      )
    case 'live': {
      const shown = texts.find(({ text: { address, kind } }) => address === row.address && kind === row.kind)
      return (
        <div className={`chat-said ${row.kind}`} aria-busy="true">
          {shown && <StreamText {...shown} />}
        </div>
      )
    }
    case 'call':
      return <CallPart row={row} />
    case 'entry': {
      const { type, text, value } = row.entry
      const body = text ?? value
      if (body === undefined || type === 'outcome') return null
      if (type === 'assistant')
        return (
          <div className="chat-said text">
            <ValueView value={body} markdown={3} />
          </div>
        )
      return (
        <details className="chat-call">
          <summary>
            <Icon name={type === 'reasoning' ? 'more' : 'inbox'} />
            {type === 'reasoning' ? 'Thought' : type === 'question' ? 'Asked' : 'Told'}
          </summary>
          <ValueView value={body} />
        </details>
      )
    }
  }
}

function CallPart({ row }: { readonly row: Extract<ConversationRow, { readonly type: 'call' }> }) {
  const { entry, result } = row
  return (
    <details className="chat-call">
      <summary>
        <Icon name={result === undefined ? 'spin' : result.isError === true ? 'warn' : 'check'} />
        <b>
          <VisibleText>{entry.name ?? 'call'}</VisibleText>
        </b>
        <span className="muted">
          {result === undefined ? 'under way' : result.isError === true ? 'failed' : 'done'}
        </span>
      </summary>
      <h3>Arguments</h3>
      <ValueView value={entry.value ?? entry.text ?? null} depth={3} />
      {result !== undefined && (
        <>
          <h3>Result</h3>
          <ValueView value={result.text ?? result.value ?? null} depth={3} />
          <FilesView files={result.files} />
        </>
      )}
    </details>
  )
}
