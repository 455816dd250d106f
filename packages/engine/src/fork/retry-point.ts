/**
 * Where a run that ended badly is to go on: the last position before what made it end.
 *
 * Owns: finding the deepest cause of an end in a journal, and what a retry does not keep. Does not own: the fork that
 * begins there (fork.ts). Pure. Everything before that position is kept, so that work that had ended by then is not
 * done again.
 *
 * What an end follows from, the first that applies, from the end of the log backwards:
 *
 * - an operation that failed in the same way, or that failed last: it is open at the point, and is begun anew; of a
 *   worker, what its own end follows from
 * - a human's no, or a deadline that stood for one: the question is open at the point, and is put again
 * - a model's answer, if nothing was done after it: the model is asked again. Where several answers in a row were
 *   refused or corrected, the point is before the first of them, so that all corrections are left
 * - the answer of a worker, if what its leader fails by is a verdict on a value: what that answer follows from
 *
 * Otherwise the code itself failed: it is run again from its journal.
 */
import {
  canonical,
  childActivation,
  isObject,
  rootActivation,
  Slices,
  type ActivationId,
  type Json,
  type Outcome,
} from '@reeve/core'
import {
  isCommand,
  isInEndHook,
  type ApprovalRequested,
  type CommandEvent,
  type JournalEvent,
  type Recorded,
} from '@reeve/journal'
import { isValueStep } from '../replay/value-steps.ts'

/** Where a retry goes on. */
export interface RetryFrom {
  /** The position of the first event of the origin that is not kept. */
  readonly position: number
  /** The agent whose work goes on there. */
  readonly agent: string
  /**
   * What it does there. `model-call`: it asks a model again, so at least one new call is made. `effect`: it makes the
   * effect that failed. `worker`: it starts the worker that did not begin. `question`: it puts a question to a human
   * again. `code`: its code is run again from its journal.
   */
  readonly redoes: 'model-call' | 'effect' | 'worker' | 'question' | 'code'
}

/**
 * What the origin recorded and its retry does not keep. It counts what was done, not what will be: a retry may need
 * fewer calls, or more.
 */
export interface DiscardedWork {
  readonly modelCalls: number
  /** Effects of class `once` and `idempotent`. Those that may have happened are asked about. */
  readonly effects: number
}

/** The point before the cause of an end. */
export interface RetryPoint {
  /** A position of the feed: the last that is kept. */
  readonly at: number
  /** How the run ended. */
  readonly end: Outcome
  readonly from: RetryFrom
  readonly discarded: DiscardedWork
}

type EndEvent = Extract<JournalEvent, { readonly type: 'step.settled' | 'worker.settled' | 'ask.settled' }>
interface IndexedEvent<E extends JournalEvent = JournalEvent> {
  readonly index: number
  readonly event: E
}
/** The end of an operation, with the command that began it. */
interface End {
  readonly index: number
  readonly event: EndEvent
  readonly begun: IndexedEvent<CommandEvent>
}
/** An operation whose end was the cause, or the model call that is to be made anew. */
type Cause = { readonly type: 'end'; readonly end: End } | { readonly type: 'answer'; readonly begun: IndexedEvent }

const isEnd = (event: JournalEvent): event is EndEvent =>
  event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled'

const isBad = ({ status }: Outcome): boolean => status === 'failed' || status === 'limited' || status === 'timed-out'

/**
 * The point before what made a run end: undefined while it has not ended. `feed`: all of it, with its child runs, in
 * order. Gives way to the rest of the process while it works.
 */
export async function retryPoint(feed: readonly Recorded[]): Promise<RetryPoint | undefined> {
  const slices = new Slices()
  const logs = new Map<ActivationId, IndexedEvent[]>()
  let index = 0
  for await (const piece of slices.of(feed))
    for (const { activation, event } of piece) {
      const log = logs.get(activation)
      const entry = { index: index++, event }
      if (log === undefined) logs.set(activation, [entry])
      else log.push(entry)
    }
  const root = feed[0] === undefined ? undefined : rootActivation(feed[0].run)
  const end = root === undefined ? undefined : outcomeOf(logs.get(root) ?? [])
  if (root === undefined || end === undefined) return undefined
  const pointAt = async (
    index: number,
    log: readonly IndexedEvent[],
    redoes: RetryFrom['redoes'],
  ): Promise<RetryPoint> => {
    const first = log[0]!.event
    const agent = first.type === 'activation.started' ? first.agent : ''
    const from = { position: feed[index]!.position, agent, redoes }
    return { end, at: feed[index - 1]!.position, from, discarded: await discardedFrom(feed, index, slices) }
  }
  for (let activation = root; ;) {
    const log = logs.get(activation)!
    const cause = await causeIn(activation, log, outcomeOf(log)!, slices)
    if (cause === undefined) return pointAt(stopIn(log) ?? codeEndOf(log), log, 'code')
    if (cause.type === 'answer') return pointAt(cause.begun.index, log, 'model-call')
    const child = cause.end.event.type === 'worker.settled' ? workerOf(activation, cause.end.event, logs) : undefined
    if (child === undefined) return pointAt(indexOf(cause.end, feed), log, redoneBy(cause.end.begun.event))
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

/** Where its code ended: what a run writes to its session at its end is written anew. */
function codeEndOf(log: readonly IndexedEvent[]): number {
  const isClosing = ({ event }: IndexedEvent): boolean =>
    'address' in event && event.address.startsWith('session/') && isValueStep(event.address)
  return log[log.slice(0, -1).findLastIndex((entry) => !isClosing(entry)) + 1]!.index
}

/** The worker whose end this is, if it has begun and ended. */
function workerOf(
  leader: ActivationId,
  { address }: EndEvent,
  logs: ReadonlyMap<ActivationId, readonly IndexedEvent[]>,
): ActivationId | undefined {
  return activationsAt(leader, address).find((id) => outcomeOf(logs.get(id) ?? []) !== undefined)
}

const activationsAt = (leader: ActivationId, address: string): readonly ActivationId[] =>
  [false, true].map((apart) => childActivation(leader, address, apart))

function redoneBy(event: CommandEvent): RetryFrom['redoes'] {
  if (event.op === 'ask') return 'question'
  if (event.op === 'worker') return 'worker'
  return event.type === 'model.requested' ? 'model-call' : 'effect'
}

/**
 * The first event that is not kept. Whoever did not answer in time has at least half of the time again: a question that
 * goes on has the time that was left when the last kept event was recorded.
 */
function indexOf({ index, event, begun }: End, feed: readonly Recorded[]): number {
  const { until } = begun.event as { readonly until?: number }
  if (event.type !== 'ask.settled' || event.outcome.status !== 'timed-out' || until === undefined) return index
  const half = (feed[begun.index]!.at + until) / 2
  const late = feed.findIndex(({ at }, i) => i > begun.index && at > half)
  return late === -1 ? index : Math.min(late, index)
}

/** What an activation's end follows from. Undefined: it was stopped, or its own code failed. */
async function causeIn(
  activation: ActivationId,
  log: readonly IndexedEvent[],
  outcome: Outcome,
  slices: Slices,
): Promise<Cause | undefined> {
  const stop = stopIn(log)
  if (stop !== undefined && outcome.status !== 'failed') return undefined
  const rules = new EndRules(activation, log, outcome)
  await slices.giveWay()
  const counts = (end: End): boolean => (stop === undefined || end.index < stop) && !rules.isAside(end)
  const ends = await endsIn(log, counts, slices)
  const same = ends.findLast((end) => isFailed(end) && isSameEnd(end.event.outcome, outcome))
  if (same !== undefined) return { type: 'end', end: same }
  let answered: End | undefined
  for (const end of ends.toReversed()) {
    const { event, begun } = end
    if (isFailed(end) || rules.isNo(end) || rules.isFailedTask(end))
      return { type: 'end', end: answered !== undefined && rules.isMisfit ? answered : end }
    if (event.outcome.status !== 'completed' || event.type === 'ask.settled') continue
    if (event.type === 'worker.settled') answered ??= end
    else if (answered !== undefined || begun.event.type !== 'model.requested') break
    else return { type: 'answer', begun: firstAnswer(log, begun) }
  }
  return answered !== undefined && rules.isVerdict ? { type: 'end', end: answered } : undefined
}

/** Of the model calls up to this one, between which nothing was done, the first. */
function firstAnswer(log: readonly IndexedEvent[], last: IndexedEvent): IndexedEvent {
  let first = last
  for (const entry of log.slice(0, log.indexOf(last)).toReversed()) {
    const { event } = entry
    if (event.type === 'activation.restarted') break
    if (!('op' in event) || event.op === 'fact' || isLook(event)) continue
    if (event.type !== 'model.requested') break
    first = entry
  }
  return first
}

/** It only looks at the work, or tells of it. */
function isLook(command: CommandEvent): boolean {
  if (command.op === 'step')
    return (
      isValueStep(command.address) ||
      isInEndHook(command.address) ||
      (command.type === 'model.requested' && command.purpose === 'summary') ||
      (command.type === 'step.begun' && command.effect === 'read')
    )
  if (command.op === 'worker') return command.purpose !== undefined || isInEndHook(command.address)
  return command.type === 'timer.set'
}

/** Of an approval, a passed deadline is an answer. */
const isFailed = ({ event: { outcome }, begun: { event: begun } }: End): boolean =>
  isBad(outcome) && begun.type !== 'approval.requested'

/** The ends of operations that count, since the log last began anew. */
async function endsIn(
  log: readonly IndexedEvent[],
  counts: (end: End) => boolean,
  slices: Slices,
): Promise<readonly End[]> {
  const begun = new Map<string, IndexedEvent<CommandEvent>>()
  let ends: End[] = []
  for await (const piece of slices.of(log))
    for (const entry of piece) {
      const { index, event } = entry
      if (event.type === 'activation.restarted') ends = []
      else if (isCommand(event)) begun.set(event.address, entry as IndexedEvent<CommandEvent>)
      else if (isEnd(event)) {
        const command = begun.get(event.address)
        const end = command === undefined ? undefined : { index, event, begun: command }
        if (end !== undefined && counts(end)) ends.push(end)
      }
    }
  return ends
}

/** What the ends of operations mean for the end of their activation. */
class EndRules {
  readonly #activation: ActivationId
  readonly #outcome: Outcome
  /** Scopes in which a hook failed. */
  readonly #hooks = new Set<string>()
  /** Approvals that another tier of approvers, or a second approver, was asked after. */
  readonly #followed = new Set<string>()
  /** Tasks of a plan that failed, and those who did them. */
  readonly #tasks = new Set<string>()
  readonly #members = new Set<ActivationId>()

  constructor(activation: ActivationId, log: readonly IndexedEvent[], outcome: Outcome) {
    this.#activation = activation
    this.#outcome = outcome
    const members = new Map<string, ActivationId>()
    for (const { event } of log) {
      if (event.type === 'hook.failed') this.#hooks.add(scopeOf(event.address))
      else if (event.type === 'approval.requested' && event.follows !== undefined) this.#followed.add(event.follows)
      else if (event.type === 'task.started') members.set(event.task, event.activation)
      else if (event.type === 'task.settled' && event.status === 'failed') {
        this.#tasks.add(event.task)
        const member = members.get(event.task)
        if (member !== undefined) this.#members.add(member)
      }
    }
  }

  /** Its failure judges a value. */
  get isMisfit(): boolean {
    return this.#outcome.status === 'failed' && this.#outcome.failure.class === 'validation'
  }

  /** It did not end because code threw. */
  get isVerdict(): boolean {
    return this.#outcome.status !== 'failed' || this.#outcome.failure.class !== 'internal'
  }

  /** No end follows from it. */
  isAside({ event, begun: { event: begun } }: End): boolean {
    if ('refused' in begun && begun.refused !== undefined) return true // by a budget, and would be again
    if (!isLook(begun)) return false
    const isDone = event.outcome.status === 'completed'
    return (
      isDone ||
      this.#isFailedHook(begun.address) ||
      begun.op === 'ask' ||
      (begun.op === 'worker' && begun.purpose !== undefined)
    )
  }

  /** A hook that failed ends nothing, unless it is what the activation failed by. */
  #isFailedHook(address: string): boolean {
    const isCause = this.#outcome.status === 'failed' && this.#outcome.failure.code === 'hook.failed'
    return !isCause && this.#hooks.has(scopeOf(address))
  }

  /** The end of a member whose task counts as failed, whatever it answered. */
  isFailedTask({ event }: End): boolean {
    return (
      event.type === 'worker.settled' &&
      activationsAt(this.#activation, event.address).some((id) => this.#members.has(id))
    )
  }

  /** A no, by a human or by a deadline. Recruits and mail may be refused without consequences. */
  isNo({ event, begun: { event: begun } }: End): boolean {
    if (begun.type !== 'approval.requested' || this.#outcome.status !== 'failed') return false
    const { kind, task, id } = begun
    if (kind === 'recruit' || kind === 'mail' || this.#followed.has(id)) return false
    return (task === undefined || this.#tasks.has(task)) && refuses(begun, event.outcome)
  }
}

const scopeOf = (address: string): string => address.slice(0, address.lastIndexOf('/') + 1)

function refuses({ onTimeout }: ApprovalRequested, outcome: Outcome): boolean {
  if (outcome.status === 'timed-out') return onTimeout !== 'approve'
  const decision = outcome.status === 'completed' && isObject(outcome.output) ? outcome.output['decision'] : undefined
  return decision === 'reject' || decision === 'retry'
}

function isSameEnd(one: Outcome, other: Outcome): boolean {
  const told = (end: Outcome): Json =>
    end.status === 'failed' ? [end.failure.code, end.failure.message] : [end.status]
  return one.status === other.status && canonical(told(one)) === canonical(told(other))
}

async function discardedFrom(feed: readonly Recorded[], index: number, slices: Slices): Promise<DiscardedWork> {
  const open = new Map<string, 'model' | 'effect'>()
  let [modelCalls, effects] = [0, 0]
  const count = (work: 'model' | 'effect' | undefined): void => {
    if (work === 'model') modelCalls++
    else if (work === 'effect') effects++
  }
  let next = 0
  for await (const piece of slices.of(feed))
    for (const { activation, event } of piece) {
      const isKept = next++ < index
      if (!('address' in event)) continue
      const key = `${activation} ${event.address}`
      if (event.type === 'step.settled') {
        if (isKept) open.delete(key)
      } else if ('op' in event && event.op === 'step' && event.refused === undefined && !isValueStep(event.address)) {
        const work = event.effect === 'model' ? 'model' : event.effect === 'read' ? undefined : 'effect'
        if (work === undefined) continue
        if (isKept) open.set(key, work)
        else count(work)
      }
    }
  for (const work of open.values()) count(work)
  return { modelCalls, effects }
}
