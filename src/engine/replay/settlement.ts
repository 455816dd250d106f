/**
 * Endings: what is open when an activation ends or begins a new segment, who has to leave before its last word, and
 * what both leave in the accounts.
 *
 * Owns: telling open operations apart, writing both events. Does not own: stopping operations (activation.ts).
 * Holds: K7 (open operations are listed; workers end before their leader), K11 (a reserve is settled once, in the
 * commit that records why; a model call whose end nobody records is a call of unknown usage).
 */
import {
  addUsage,
  failed,
  failure,
  messageOf,
  writingProblem,
  type Json,
  type Outcome,
  type Usage,
} from '../../core/index.ts'
import { encode, type ActivationRestarted, type ArrivalEvent, type StepOpened } from '../../journal/index.ts'
import { withinEntry } from './effects.ts'
import type { Host } from '../host.ts'
import {
  lostCall,
  lostUsage,
  modelOf,
  neverLeft,
  nothingUsed,
  reserveOf,
  type Operation,
  type Owner,
} from './operation.ts'
import type { Carried } from './recorded.ts'

/** The end of an activation, from the moment it is certain to its last word. */
export class Ending {
  /** What was open, in the order in which it was asked for. */
  readonly open: readonly Operation[]
  readonly #leaving: Set<string>

  /** `recorded`: the last word is in the log already, so nobody has to be waited for. */
  constructor(operations: Iterable<Operation>, recorded: boolean) {
    this.open = [...operations].filter((operation) => !operation.ended && operation.type !== 'timer.set')
    const workers = recorded
      ? []
      : this.open.filter((operation) => operation.kind === 'worker' && !operation.endRecorded)
    this.#leaving = new Set(workers.map(({ address }) => address))
  }

  /** Everybody below has ended. */
  get alone(): boolean {
    return this.#leaving.size === 0
  }

  /** A worker has left. False: this was not the end of one who had to. */
  leaves(event: ArrivalEvent): event is Extract<ArrivalEvent, { type: 'worker.settled' }> {
    return event.type === 'worker.settled' && this.#leaving.delete(event.address)
  }

  /**
   * Records the end, and settles in the same commit what was set aside for effects whose end nobody will record.
   * Returns what was recorded.
   */
  write(
    host: Host,
    owner: Owner,
    at: number,
    outcome: Outcome,
    used: Usage,
    abandoned: readonly StepOpened[],
  ): Settled {
    const lost = lostBy(owner, this.open, abandoned)
    const total = addUsage(used, lost)
    const usage = { ...(total.length === 0 ? {} : { usage: total }), ...(lost.length === 0 ? {} : { lost }) }
    const open = this.open.length === 0 ? {} : { open: this.open.map(({ address }) => address) }
    const event = { type: 'activation.settled', outcome, ...usage, ...open } as const
    const problem = outcome.status === 'completed' ? writing(outcome.output) : undefined
    const written = withinEntry('what it returned', () =>
      encode(problem === undefined ? event : { ...event, outcome: notJson('what it returned', problem) }),
    )
    const text = typeof written === 'string' ? written : encode({ ...event, outcome: failed(written) })
    const recorded = host.append(owner, event, at, text)
    settleOpen(host, owner, this.open, abandoned)
    return { outcome: (JSON.parse(recorded) as { outcome: Outcome }).outcome, usage: total }
  }
}

/** How an activation has ended, and what it and everybody below it used. */
interface Settled {
  readonly outcome: Outcome
  readonly usage: Usage
}

/** How code has ended that gave something which cannot be written down. */
const notJson = (what: string, problem: string): Outcome =>
  failed(failure('input.not-json', `${what} is not JSON: ${problem}`, 'validation'))

/** What of a value cannot be written down. A `toJSON` or a getter of it is somebody's code, and may throw. */
function writing(value: Json | undefined): string | undefined {
  try {
    return value === undefined ? undefined : writingProblem(value)
  } catch (thrown) {
    return messageOf(thrown)
  }
}

/** A segment ends: its steps are called off, and nothing of them is waited for. */
export function dropSteps(
  host: Host,
  owner: Owner & { readonly operations: Map<string, Operation> },
  steps: readonly Operation[],
  abandoned: readonly StepOpened[],
): void {
  for (const operation of steps) {
    operation.stopped = 'its activation restarts'
    operation.ended = true
    owner.operations.delete(operation.address)
    host.abort(operation)
  }
  settleOpen(host, owner, steps, abandoned)
}

/**
 * Settles what was set aside for steps whose ends nobody will record. What certainly was not let out used nothing; of
 * the rest nobody knows.
 */
function settleOpen(host: Host, owner: Owner, operations: Iterable<Operation>, abandoned: readonly StepOpened[]): void {
  for (const op of operations)
    if (op.reserved !== undefined && !op.endRecorded)
      host.settle(owner, op.reserved, neverLeft(op) ? nothingUsed : undefined)
  for (const event of abandoned) {
    const reserved = reserveOf(event)
    if (reserved !== undefined) host.settle(owner, reserved, undefined)
  }
}

/** What model calls used whose ends nobody will record. */
const lostBy = (owner: Owner, open: readonly Operation[], abandoned: readonly StepOpened[]): Usage =>
  [
    ...open.map((op) => (op.endRecorded ? [] : lostUsage(op))),
    ...abandoned.map((event) => (event.refused === undefined ? lostCall(owner, modelOf(event)) : [])),
  ].reduce(addUsage, [])

/** Records that a segment begins. Returns what the code goes on with, as recorded (K10), or how it has failed. */
export function writeSegment(
  host: Host,
  owner: Owner,
  at: number,
  next: { segment: number; state: Json; open: readonly Carried[]; unread: readonly ArrivalEvent[] },
  steps: readonly Operation[],
  abandoned: readonly StepOpened[],
): ActivationRestarted | Outcome {
  const lost = lostBy(owner, steps, abandoned)
  const event: ActivationRestarted = { type: 'activation.restarted', ...next, ...(lost.length === 0 ? {} : { lost }) }
  const problem = writing(next.state)
  if (problem !== undefined) return notJson('what it restarts with', problem)
  const text = withinEntry('what it restarts with', () => encode(event))
  return typeof text === 'string'
    ? (JSON.parse(host.append(owner, event, at, text)) as ActivationRestarted)
    : failed(text)
}

/**
 * At the end of a segment: workers and questions go on, steps are to be called off; what ended and was not read stays.
 */
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
