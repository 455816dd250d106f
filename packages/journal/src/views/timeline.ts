/**
 * The timeline: when each agent, call, step, question and timer of a run began and ended, as bars.
 *
 * Owns: which events begin, change and end a bar, and reading them in pages. Does not own: activations and what they
 * have open (run-index.ts), how bars are drawn.
 * K1: the same events give the same timeline. K7: what an activation had open is closed with it.
 */
import { childActivation, totalUsage, type ActivationId, type Draft, type Outcome, type Usage } from '@reeve/core'
import type { JournalEvent, Recorded } from '../events/events.ts'
import { kindOf } from './projection.ts'
import { RunIndex, type IndexChange, type IndexedActivation, type IndexedOperation } from './run-index.ts'

/** A bar of the timeline. Times are milliseconds since 1970. */
export interface Span {
  /** Activation and address; unique in the run. That of an agent is its activation. */
  readonly id: string
  readonly activation: ActivationId
  readonly kind: 'agent' | 'model' | 'tool' | 'step' | 'approval' | 'interrupt' | 'timer'
  /** The agent, the model, the tool, the subject of an approval, the id of an interrupt; for the others the address. */
  readonly name: string
  readonly from: number
  /** Absent while it is open. */
  readonly to?: number
  readonly status: 'open' | 'in-doubt' | Outcome['status']
  /** Of an effect: how many attempts were made so far. */
  readonly attempts: number
  /** Tokens; of an agent once it has ended, everything below it included. Absent: no model was called, or not known. */
  readonly input?: number
  readonly output?: number
  /** US dollars. Absent: not known. */
  readonly usd?: number
}

/** A part of the timeline: the bars that changed after one position, up to another. */
export interface SpanPage {
  readonly position: number
  readonly spans: readonly Span[]
  /** There are more: ask again after this position. */
  readonly more: boolean
}

interface SpanFold {
  span: Draft<Omit<Span, 'id'>>
  readonly address: string
  /** The position of the event that changed it last. */
  changed: number
}

/** The state of the fold. Opaque: make one with `newTimelineFold`, feed it with `foldTimeline`. */
export interface TimelineFold {
  readonly index: RunIndex
  readonly agents: Map<ActivationId, SpanFold>
  /** Open operations, by activation and address. */
  readonly open: Map<ActivationId, Map<string, SpanFold>>
  /** Every change in the order of its position. An entry whose bar changed again later is skipped by readers. */
  readonly changes: { readonly position: number; readonly bar: SpanFold }[]
}

/** The fold of no events, over an index of the same events. */
export const newTimelineFold = (index = new RunIndex()): TimelineFold => ({
  index,
  agents: new Map(),
  open: new Map(),
  changes: [],
})

/** Takes in an event that the index has taken in. */
export function foldTimeline(fold: TimelineFold, recorded: Recorded, { here, closed }: IndexChange): void {
  const { event, at, activation, position } = recorded
  if (here === undefined || here.isNotice) return
  for (const { event: opened } of closed) {
    const bar = fold.open.get(activation)?.get(opened.address)
    if (bar !== undefined && !isItsEnd(event, opened.address)) end(fold, position, bar, at, { status: 'cancelled' })
  }
  switch (event.type) {
    case 'activation.started':
      return beginAgent(fold, position, here)
    case 'activation.settled': {
      fold.open.delete(activation)
      const bar = fold.agents.get(activation)
      if (bar !== undefined) end(fold, position, bar, at, event.outcome, event.usage)
      return
    }
    case 'worker.started': {
      const child = fold.index.activations.get(childActivation(activation, event.address, event.apart))
      if (child?.isOutline === true && !child.isNotice) beginAgent(fold, position, child)
      return
    }
    case 'worker.settled': {
      const bar = event.apart === true ? fold.agents.get(childActivation(activation, event.address, true)) : undefined
      if (bar?.span.status === 'open') end(fold, position, bar, at, event.outcome, event.usage)
      return
    }
    case 'step.begun':
    case 'model.requested':
    case 'tool.called':
    case 'timer.set':
    case 'interrupt.raised':
    case 'approval.requested':
      return begin(fold, recorded, event)
    default:
      return change(fold, recorded)
  }
}

const isItsEnd = (event: JournalEvent, address: string): boolean =>
  (event.type === 'step.settled' || event.type === 'ask.settled') && event.address === address

function change(fold: TimelineFold, { event, at, activation, position }: Recorded): void {
  if (!('address' in event)) return
  const bar = fold.open.get(activation)?.get(event.address)
  if (bar === undefined) return
  switch (event.type) {
    case 'step.settled':
      if (event.attempts !== undefined) bar.span.attempts = event.attempts
      return end(fold, position, bar, at, event.outcome, event.usage)
    case 'ask.settled':
      return end(fold, position, bar, at, event.outcome)
    case 'step.attempt-failed':
      bar.span.attempts = event.attempt + (event.lost === true ? 0 : 1)
      return changed(fold, position, bar)
    case 'effect.in-doubt':
      bar.span.status = 'in-doubt'
      return changed(fold, position, bar)
    case 'effect.cleared':
      bar.span.status = 'open'
      return changed(fold, position, bar)
    default:
  }
}

/** A worker that is placed apart begins twice: as its leader knows it, and with its own events. It is one bar. */
function beginAgent(fold: TimelineFold, position: number, { id, agent, startedAt }: IndexedActivation): void {
  const span: SpanFold['span'] = {
    activation: id,
    kind: 'agent',
    name: agent,
    from: startedAt,
    status: 'open',
    attempts: 1,
  }
  const bar: SpanFold = fold.agents.get(id) ?? { span, address: '', changed: position }
  bar.span = span
  fold.agents.set(id, bar)
  changed(fold, position, bar)
}

function begin(
  fold: TimelineFold,
  { activation, at, position }: Recorded,
  event: Exclude<IndexedOperation['event'], { readonly op: 'worker' }>,
): void {
  const { kind, name } = kindOf(event)
  const bar: SpanFold = {
    span: { activation, kind: kind as Span['kind'], name, from: at, status: 'open', attempts: 1 },
    address: event.address,
    changed: position,
  }
  const open = fold.open.get(activation) ?? new Map<string, SpanFold>()
  fold.open.set(activation, open.set(event.address, bar))
  changed(fold, position, bar)
}

function end(
  fold: TimelineFold,
  position: number,
  bar: SpanFold,
  at: number,
  { status }: Pick<Outcome, 'status'>,
  usage: Usage = [],
): void {
  const { span } = bar
  span.to = at
  span.status = status
  if (usage.length > 0) {
    const { input, output, usd, unknown, unpriced, calls } = totalUsage(usage)
    if (unknown < calls) Object.assign(span, { input, output })
    if (unpriced < calls) span.usd = usd
  }
  fold.open.get(span.activation)?.delete(bar.address)
  changed(fold, position, bar)
}

function changed(fold: TimelineFold, position: number, bar: SpanFold): void {
  bar.changed = position
  const last = fold.changes.at(-1)
  if (last?.bar !== bar || last.position !== position) fold.changes.push({ position, bar })
}

/**
 * The bars that began, changed or ended after a position, in the order of their last change: at most `limit`, and the
 * rest of those that changed with the last one of them. Whoever reads on after `position` gets every bar as it is now.
 */
export function spansAfter({ changes, index }: TimelineFold, after: number, limit: number): SpanPage {
  const spans: Span[] = []
  for (let i = firstAfter(changes, after); i < changes.length; i++) {
    const { position, bar } = changes[i]!
    if (bar.changed !== position) continue
    // one event may end many bars: a page never ends between them
    if (spans.length >= limit && position !== changes[i - 1]!.position)
      return { position: changes[i - 1]!.position, spans, more: true }
    spans.push({ id: idOf(bar), ...bar.span })
  }
  return { position: Math.max(after, index.position), spans, more: false }
}

const idOf = ({ span, address }: SpanFold): string =>
  address === '' ? span.activation : `${span.activation} ${address}`

/** The place of the first change after a position. */
function firstAfter(changes: TimelineFold['changes'], position: number): number {
  let [low, high] = [0, changes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (changes[middle]!.position <= position) low = middle + 1
    else high = middle
  }
  return low
}
