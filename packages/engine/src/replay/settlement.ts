/**
 * Settlement: the event that ends an activation or one of its segments, and what both leave in the accounts. Pure.
 *
 * Owns: which operations are open at an end, both events as they are recorded, what is lost and what is set free. Does
 * not own: stopping operations, recording, charging (activation.ts).
 * Holds: K7 (open operations are listed; workers end before their leader), K11 (a reserve is settled once, in the
 * commit that records why; a model call whose end is never recorded is a call of unknown usage).
 */
import {
  addUsage,
  failed,
  present,
  type Draft,
  type Json,
  type Outcome,
  type Usage,
  type WithWorkerFailures,
} from '@reeve/core'
import {
  encode,
  type ActivationRestarted,
  type ActivationSettled,
  type ArrivalEvent,
  type Before,
  type Charge,
  type StepOpened,
} from '@reeve/journal'
import { jsonProblem, keptEnd, notJson, withinEntry, writtenEnd } from './effects.ts'
import {
  lostCall,
  lostUsage,
  modelOf,
  nothingOut,
  nothingUsed,
  reserveOf,
  type Operation,
  type Owner,
} from './operation.ts'
import type { Carried } from './recorded-log.ts'

/** An event and the text that is recorded for it. */
interface Encoded<E> {
  readonly event: E
  readonly text: string
}

const none: readonly never[] = []
/** Nothing is ever added. */
const nobody = new Set<string>()

/** The operations that are open when an activation ends, in the order in which they began. Timers do not count. */
export function openAtEnd(operations: ReadonlyMap<string, Operation>): readonly Operation[] {
  if (operations.size === 0) return none
  const open: Operation[] = []
  for (const operation of operations.values())
    if (!operation.ended && operation.type !== 'timer.set') open.push(operation)
  return open
}

/** The addresses of the workers whose ends have to come before the end of their leader. */
export function awaitedWorkers(open: readonly Operation[]): Set<string> {
  if (open.length === 0) return nobody
  const awaited = new Set<string>()
  for (const { kind, endRecorded, address } of open) if (kind === 'worker' && !endRecorded) awaited.add(address)
  return awaited
}

/**
 * The end of an activation, as it is read again. Of an output that is not JSON, or too long for an entry, is recorded
 * what can be: the work is done.
 */
export function endEvent(
  owner: Owner,
  outcome: Outcome,
  used: Usage,
  open: readonly Operation[],
  abandoned: readonly StepOpened[],
): Encoded<ActivationSettled> {
  const lost = lostBy(owner, open, abandoned)
  const total = addUsage(used, lost)
  const event: Draft<ActivationSettled> = { type: 'activation.settled', outcome }
  if (total.length > 0) event.usage = total
  if (lost.length > 0) event.lost = lost
  if (open.length > 0) event.open = open.map(({ address }) => address)
  const written = writtenEnd(event, 'what it returned', encode)
  if ('event' in written) return written
  const kept = keptEnd(event, encode)
  if (kept !== undefined) return kept
  const bad = { ...event, outcome: failed(written) }
  return { event: bad, text: encode(bad) }
}

/** The beginning of the next segment. */
interface NextSegment {
  readonly segment: number
  readonly state: Json
  readonly open: readonly Carried[]
  readonly unread: readonly ArrivalEvent[]
}

/** What an activation has used, and which of its workers have failed. */
interface SoFar extends WithWorkerFailures {
  readonly usage: Usage
}

/**
 * The beginning of the next segment, or how the activation fails if its state cannot be recorded. `used` so far;
 * `begun`: all operations that were not ended and read.
 */
export function segmentEvent(
  owner: Owner,
  next: NextSegment,
  steps: readonly Operation[],
  abandoned: readonly StepOpened[],
  { usage: used, ...workers }: SoFar,
  begun: ReadonlyMap<string, Operation>,
): Encoded<ActivationRestarted> | Outcome {
  const lost = lostBy(owner, steps, abandoned)
  const before = beforeOf(owner, next, { usage: addUsage(used, lost), ...workers }, begun)
  const event: ActivationRestarted = {
    type: 'activation.restarted',
    ...next,
    ...(lost.length === 0 ? {} : { lost }),
    before,
  }
  const what = 'what it restarts with'
  const problem = jsonProblem(next.state)
  if (problem !== undefined) return failed(notJson(what, problem))
  const text = withinEntry(what, event, encode)
  return typeof text === 'string' ? { event, text } : failed(text)
}

/** What goes on of everything before, for those who do not read it. */
function beforeOf(
  { birth, version }: Owner,
  { open, unread }: NextSegment,
  { usage, ...workers }: SoFar,
  begun: ReadonlyMap<string, Operation>,
): Before {
  const addresses = new Set([...open, ...unread].flatMap((each) => ('address' in each ? [each.address] : [])))
  return {
    ...present({
      usage: usage.length === 0 ? undefined : usage,
      version: version === birth.version ? undefined : version,
    }),
    ...workers,
    begun: [...addresses].flatMap((address) => begun.get(address)?.command ?? []),
  }
}

/**
 * Settles what was set aside for steps whose ends will not be recorded. An effect that certainly was not let out used
 * nothing; what any other used is unknown.
 */
export function settleOpen(
  settle: (reserved: Charge, actual: Charge | undefined) => void,
  operations: readonly Operation[],
  abandoned: readonly StepOpened[],
): void {
  for (const op of operations)
    if (op.reserved !== undefined && !op.endRecorded) settle(op.reserved, nothingOut(op) ? nothingUsed : undefined)
  for (const event of abandoned) {
    const reserved = reserveOf(event)
    if (reserved !== undefined) settle(reserved, undefined)
  }
}

/** What model calls used whose ends will not be recorded. */
function lostBy(owner: Owner, open: readonly Operation[], abandoned: readonly StepOpened[]): Usage {
  let lost: Usage = []
  for (const op of open) if (!op.endRecorded) lost = addUsage(lost, lostUsage(op))
  for (const event of abandoned) if (event.refused === undefined) lost = addUsage(lost, lostCall(owner, modelOf(event)))
  return lost
}

/** At the end of a segment: workers and questions are carried into the next one, steps are stopped. */
export function cutSegment(operations: Iterable<Operation>): {
  readonly carried: Carried[]
  readonly steps: Operation[]
} {
  const carried: Carried[] = []
  const steps: Operation[] = []
  for (const operation of operations) {
    if (operation.ended) continue
    if (operation.kind === 'step') steps.push(operation)
    else carried.push({ address: operation.address, op: operation.kind })
  }
  return { carried, steps }
}
