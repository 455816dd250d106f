/**
 * Where a run that ended badly is to go on: the last position before what made it end.
 *
 * Owns: finding the deepest cause of an end in a journal. Does not own: the fork that begins there (fork.ts). Pure.
 * Everything before that position is kept, so that work that had ended by then is not done again; the effect that
 * failed is open there, and is begun anew.
 */
import {
  canonical,
  childActivation,
  rootActivation,
  type ActivationId,
  type Json,
  type Outcome,
} from '../../core/index.ts'
import type { JournalEvent, Recorded } from '../../journal/index.ts'

/** The point before the cause of an end. */
export interface RetryPoint {
  /** A position of the feed. */
  readonly at: number
  /** How the run ended. */
  readonly end: Outcome
}

type End = Extract<JournalEvent, { readonly type: 'step.settled' | 'worker.settled' | 'ask.settled' }>
interface IndexedEvent<E extends JournalEvent = JournalEvent> {
  readonly index: number
  readonly event: E
}

const isEnd = (entry: IndexedEvent): entry is IndexedEvent<End> =>
  entry.event.type === 'step.settled' || entry.event.type === 'worker.settled' || entry.event.type === 'ask.settled'

const isBad = ({ status }: Outcome): boolean => status === 'failed' || status === 'limited' || status === 'timed-out'

/**
 * The point before what made a run end: undefined while it has not ended. `feed`: all of it, with its child runs, in
 * order.
 */
export function retryPoint(feed: readonly Recorded[]): RetryPoint | undefined {
  const logs = new Map<ActivationId, IndexedEvent[]>()
  for (const [index, { activation, event }] of feed.entries()) {
    const log = logs.get(activation)
    if (log === undefined) logs.set(activation, [{ index, event }])
    else log.push({ index, event })
  }
  const root = feed[0] === undefined ? undefined : rootActivation(feed[0].run)
  const end = root === undefined ? undefined : outcomeOf(logs.get(root) ?? [])
  if (root === undefined || end === undefined) return undefined
  const before = (index: number): number => feed[index - 1]!.position
  for (let activation = root; ;) {
    const log = logs.get(activation)!
    const cause = causeIn(log, outcomeOf(log)!)
    if (cause === undefined) return { end, at: before(stopIn(log) ?? log.at(-1)!.index) }
    const { index, event } = cause
    const child = event.type === 'worker.settled' ? workerOf(activation, event, logs) : undefined
    if (child === undefined) return { end, at: before(index) }
    activation = child
  }
}

const outcomeOf = (log: readonly IndexedEvent[]): Outcome | undefined => {
  const last = log.at(-1)?.event
  return last?.type === 'activation.settled' ? last.outcome : undefined
}

/** Where it was told to stop. */
const stopIn = (log: readonly IndexedEvent[]): number | undefined =>
  log.find(({ event }) => event.type === 'cancel.received')?.index

/**
 * What an activation's end follows from: what failed in the same way, or else what failed last and was followed by no
 * step that was done. Undefined: it was stopped, or its own code failed.
 */
function causeIn(log: readonly IndexedEvent[], outcome: Outcome): IndexedEvent<End> | undefined {
  const stop = stopIn(log)
  const ends = log.filter(isEnd).filter(({ index }) => stop === undefined || index < stop)
  if (stop !== undefined && outcome.status !== 'failed') return undefined
  const same = ends.findLast(({ event }) => isBad(event.outcome) && isSameEnd(event.outcome, outcome))
  if (same !== undefined) return same
  const last = ends.findLast(
    ({ event }) => isBad(event.outcome) || (event.type === 'step.settled' && event.outcome.status === 'completed'),
  )
  return last !== undefined && isBad(last.event.outcome) ? last : undefined
}

function isSameEnd(one: Outcome, other: Outcome): boolean {
  const told = (end: Outcome): Json =>
    end.status === 'failed' ? [end.failure.code, end.failure.message] : [end.status]
  return one.status === other.status && canonical(told(one)) === canonical(told(other))
}

/** The worker whose end this is, if it has begun and ended. */
function workerOf(
  leader: ActivationId,
  { address }: End,
  logs: ReadonlyMap<ActivationId, readonly IndexedEvent[]>,
): ActivationId | undefined {
  return [false, true]
    .map((apart) => childActivation(leader, address, apart))
    .find((id) => outcomeOf(logs.get(id) ?? []) !== undefined)
}
