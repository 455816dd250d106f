/** Conversation: what an agent was given and shown, what it said and called, and what it streams now. */
import { useEffect, useMemo, useState } from 'react'
import type { ConversationEntry } from '@reeve/server/wire'
import { Button } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import { FilesView } from '../../ui/files-view.tsx'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { durationText, Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { AgentOptions } from './agent-options.tsx'
import { agentRows } from './agent-tree.ts'
import { conversationRows, rowOfMoment, type ConversationRow } from './conversation-rows.ts'
import { useConversation } from './conversation-source.ts'
import { ValueView } from '../../ui/value-view.tsx'
import { useChosenAgent, useRun } from './run-context.tsx'
import type { ShownText } from './live-text.ts'
import { StreamText } from './stream-text.tsx'
import { textMember } from '../../data/json.ts'
import { VirtualRows } from './virtual-rows.tsx'

const none: ReadonlySet<string> = new Set()

export function Conversation() {
  const { live, go } = useRun()
  const chosen = useChosenAgent()
  const agents = useMemo(() => agentRows(live.activations, none), [live.activations])
  if (chosen === undefined) return <Empty title="No agent has begun yet" icon="agents" />
  const at = agents.findIndex(({ view }) => view.activation === chosen.activation)
  const step = (by: number): void => {
    const next = agents[at + by]
    if (next !== undefined) go(undefined, { agent: next.view.activation, entry: undefined })
  }
  return (
    <div className="run-fill">
      <div className="run-bar">
        <span className="row grow run-agent-choice">
          <span className="muted" aria-hidden="true">
            Agent
          </span>
          <Select
            aria-label="Agent"
            value={chosen.activation}
            onChange={({ target }) => go(undefined, { agent: target.value, entry: undefined })}
          >
            <AgentOptions agents={agents} at={at} />
          </Select>
        </span>
        <Button small disabled={at <= 0} onClick={() => step(-1)}>
          Previous
        </Button>
        <Button small disabled={at >= agents.length - 1} onClick={() => step(1)}>
          Next
        </Button>
      </div>
      <Entries key={chosen.activation} activation={chosen.activation} />
    </div>
  )
}

function Entries({ activation }: { readonly activation: string }) {
  const { live, selection } = useRun()
  const { data, error, reload, texts } = useConversation(activation)
  const streams = texts.map(({ text: { address, kind } }) => `${kind} ${address}`).join('|')
  const rows = useMemo(
    () =>
      data === undefined
        ? []
        : conversationRows(
            data.page,
            texts.map(({ text }) => text),
          ),
    // what they say is drawn by the row; here only which there are counts
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [data, streams],
  )
  const wanted = selection.entry === undefined ? undefined : Number(selection.entry)
  const [show, setShow] = useState<number>()
  const isThere = data !== undefined
  useEffect(() => {
    if (isThere && wanted !== undefined && Number.isFinite(wanted)) setShow(rowOfMoment(rows, wanted))
    // once for each entry that is asked for
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isThere, wanted])
  if (data === undefined)
    return error === undefined ? <Loading what="the conversation" /> : <ErrorState error={error} onRetry={reload} />
  return (
    <VirtualRows
      label="Conversation"
      key={activation}
      count={rows.length}
      estimate={96}
      follow={live.head.endedAt === undefined}
      {...(show === undefined || show < 0 ? {} : { show })}
      rowKey={(row) => rows[row]!.key}
      render={(row) => <Row row={rows[row]!} isShown={row === show} texts={texts} isAlone={rows.length === 1} />}
    />
  )
}

function Row(props: {
  readonly row: ConversationRow
  readonly isShown: boolean
  readonly texts: readonly ShownText[]
  /** There is no other one. */
  readonly isAlone: boolean
}) {
  const { row, isShown, texts, isAlone } = props
  switch (row.type) {
    case 'given':
      return (
        <article className="run-entry given">
          {row.instructions !== undefined && (
            <details>
              <summary>Instructions</summary>
              <ValueView value={row.instructions} />
            </details>
          )}
          <EntryHead icon="inbox" label="Given" />
          <ValueView value={row.input} />
          {isAlone && (
            <p className="muted run-alone">
              This agent has said nothing itself so far. Its workers have conversations of their own: choose one above.
            </p>
          )}
        </article>
      )
    case 'live': {
      const shown = texts.find(({ text: { address, kind } }) => address === row.address && kind === row.kind)
      const now = shown?.hasEnded === true ? '' : ' now'
      return (
        <article className={`run-entry ${row.kind === 'text' ? 'assistant' : 'reasoning'}`}>
          <EntryHead
            icon={row.kind === 'text' ? 'agents' : 'more'}
            label={`${row.kind === 'text' ? 'Says' : 'Thinks'}${now}`}
          />
          {shown && <StreamText {...shown} />}
        </article>
      )
    }
    case 'call':
      return (
        <article className={`run-entry call${isShown ? ' shown' : ''}`}>
          <EntryHead icon="right" label="Calls" name={row.entry.name} at={row.entry.at} />
          {row.entry.value !== undefined && <ValueView value={row.entry.value} depth={3} />}
          {row.entry.text !== undefined && <ValueView value={row.entry.text} />}
          {row.result === undefined ? (
            <p className="muted">No result yet.</p>
          ) : (
            <div className={`run-result${row.result.isError ? ' error' : ''}`}>
              <EntryHead
                icon={row.result.isError ? 'warn' : 'check'}
                label={row.result.isError ? 'Failed' : 'Result'}
                after={durationText(Math.max(0, row.result.at - row.entry.at))}
              />
              <EntryBody entry={row.result} />
            </div>
          )}
        </article>
      )
    case 'entry':
      return isCommand(row.entry) ? (
        <Command entry={row.entry} />
      ) : (
        <article
          className={`run-entry ${row.entry.type}${row.entry.isError === true ? ' error' : ''}${isShown ? ' shown' : ''}`}
        >
          <EntryHead {...headOf(row.entry)} at={row.entry.at} />
          <EntryBody entry={row.entry} />
        </article>
      )
  }
}

/** A message that parts of Reeve send each other, as for the mail of a team. */
const isCommand = ({ type, value }: ConversationEntry): boolean =>
  type === 'message' && (textMember(value, 'type') ?? '').startsWith('$')

function Command({ entry }: { readonly entry: ConversationEntry }) {
  return (
    <article className="run-entry command">
      <EntryHead icon="more" label="Internal message of" name={useSender(entry)} at={entry.at} />
      <details>
        <summary>Show it</summary>
        <EntryBody entry={entry} />
      </details>
    </article>
  )
}

/** The name of who sent a message: of an agent its name. */
function useSender({ name }: ConversationEntry): string | undefined {
  const { activations } = useRun().live
  return name !== undefined && Object.hasOwn(activations, name) ? activations[name]!.path.join(' › ') : name
}

/** An agent says and thinks; a tool, a sender is named after the word; an end is called by its state. */
const headOf = ({ type, name, isError }: ConversationEntry): Parameters<typeof EntryHead>[0] => {
  const { icon, label } = heads[type]
  if (type === 'outcome') return endHead(name ?? '')
  if (name === undefined) return { icon, label }
  const isSpeaker = type === 'assistant' || type === 'reasoning'
  return isSpeaker
    ? { icon, label: label.toLowerCase(), speaker: name }
    : { icon: isError === true ? 'warn' : icon, label, name }
}

/** What an agent does with control, or how it ended. */
const ends: Readonly<Record<string, { readonly icon: IconName; readonly label: string }>> = {
  failed: { icon: 'cross', label: 'Failed' },
  cancelled: { icon: 'stop', label: 'Cancelled' },
  limited: { icon: 'stop', label: 'Stopped at a limit' },
  'timed-out': { icon: 'clock', label: 'Out of time' },
  bailed: { icon: 'back', label: 'Ended by a hook' },
  transfer: { icon: 'send', label: 'Hands control on' },
  exit: { icon: 'leave', label: 'Ends the work' },
  break: { icon: 'stop', label: 'Asks the loop to end' },
  'loop-broken': { icon: 'stop', label: 'The loop ends' },
}
const endHead = (name: string): Parameters<typeof EntryHead>[0] =>
  Object.hasOwn(ends, name) ? ends[name]! : { icon: 'stop', label: 'Ended', name }

const heads: Readonly<Record<ConversationEntry['type'], { readonly icon: IconName; readonly label: string }>> = {
  user: { icon: 'inbox', label: 'Told' },
  assistant: { icon: 'agents', label: 'Says' },
  reasoning: { icon: 'more', label: 'Thinks' },
  'tool-call': { icon: 'right', label: 'Calls' },
  'tool-result': { icon: 'check', label: 'Result' },
  message: { icon: 'send', label: 'Message' },
  question: { icon: 'doubt', label: 'Question' },
  correction: { icon: 'back', label: 'Told that its answer does not fit' },
  outcome: { icon: 'check', label: 'Ends' },
}

function EntryHead(props: {
  readonly icon: IconName
  readonly label: string
  /** Whom or what it is about. */
  readonly name?: string | undefined
  /** Who does it. */
  readonly speaker?: string | undefined
  readonly at?: number
  readonly after?: string
}) {
  const { icon, label: word, name, speaker, at, after } = props
  return (
    <header>
      <Icon name={icon} />
      {speaker !== undefined && (
        <b>
          <VisibleText>{speaker}</VisibleText>
        </b>
      )}
      <span className="word">{word}</span>
      {name !== undefined && (
        <b>
          <VisibleText>{name}</VisibleText>
        </b>
      )}
      <span className="grow" />
      {after !== undefined && <span className="muted">after {after}</span>}
      {at !== undefined && <Time at={at} form="clock" />}
    </header>
  )
}

function EntryBody({ entry }: { readonly entry: ConversationEntry }) {
  const isOfModel = entry.type === 'assistant' || entry.type === 'reasoning'
  return (
    <>
      {entry.text !== undefined && <ValueView value={entry.text} {...(isOfModel ? { markdown: 2 } : {})} />}
      {entry.value !== undefined && <ValueView value={entry.value} />}
      {entry.sources !== undefined && <Sources sources={entry.sources} />}
      <FilesView files={entry.files} />
    </>
  )
}

/** What an answer is taken from: links that say where they lead. Only addresses of the web open. */
function Sources({ sources }: { readonly sources: NonNullable<ConversationEntry['sources']> }) {
  return (
    <ul className="sources" aria-label="Sources">
      {sources.map(({ url, title, filename }, i) => {
        const address = url !== undefined && URL.canParse(url) ? new URL(url) : undefined
        const label = <VisibleText>{title ?? filename ?? url ?? ''}</VisibleText>
        return (
          <li key={i}>
            {address !== undefined && /^https?:$/.test(address.protocol) ? (
              <>
                <a href={address.href} target="_blank" rel="noopener noreferrer nofollow">
                  {label}
                </a>
                <span className="muted">
                  {' ('}
                  <VisibleText>{address.hostname}</VisibleText>
                  {')'}
                </span>
              </>
            ) : (
              label
            )}
          </li>
        )
      })}
    </ul>
  )
}
