/**
 * Effects: running steps, with attempts, backoff, timeouts and abort. The one retry owner (spec team R-10).
 *
 * Owns: what happens between the release of a step and its end. Does not own: when it may be released, and what is
 * recorded (the host); how many calls of a model may be under way (../governor.ts).
 * Holds: K6 (one idempotency key for all attempts; an effect that outlives its activation's memory is joined, not run
 * again).
 */
import {
  addUsage,
  cancelled,
  completed,
  failed,
  failure,
  FailureError,
  failureFrom,
  keptBeginning,
  keptForm,
  keptStart,
  LazyAbortController,
  messageOf,
  plainCopy,
  present,
  ReeveError,
  setController,
  type ActivationId,
  type Clock,
  type Draft,
  type ErrorCode,
  type Failure,
  type Json,
  type KeptValue,
  type Outcome,
  type RunId,
  runOf,
  systemClock,
  traceparentOf,
  type Usage,
  usageRow,
  usedByFailure,
  type UsedByFailure,
  writingProblem,
  ChurnMap,
} from '@reeve/core'
import { decode, type AttemptFailed, type Charge, type StepSettled } from '@reeve/journal'
import { backoff, rateLimitAttempts, retryDefaults } from '../backoff.ts'
import { Cancelled, type Contents, type StepIO, type StepOptions, type StepUsage } from '../context.ts'
import { governorOf, type Governor, type Pass } from '../governor.ts'
import { isDelta, ShownText } from '../live-part.ts'
import { hasConsequences, lostCall, lostUsage, nothingOut, nothingUsed, type Operation } from './operation.ts'

/** What effects need from the engine. */
export interface EffectsHost {
  readonly clock: Clock
  epochOf(op: Operation): number
  /** The `traceparent` of the caller of its run. Absent: the run has a trace of its own. */
  callersTrace?(op: Operation): string | undefined
  /** An attempt failed and another follows. */
  attemptFailed(op: Operation, attempt: FollowedAttempt): void
  /** Why there is no room for another attempt of a step whose attempt has used this; undefined: there is. */
  refusesRetry?(op: Operation, charge: Charge): Failure | undefined
  /** May another attempt start now? False: the run is paused or lost; the host starts it again later. */
  mayRetry(op: Operation): boolean
  /** Asks the store who holds the run, where `mayRetry` refuses only because that is not known for sure. */
  stillMine?(op: Operation): Promise<boolean>
  /**
   * It begins (true) or ceases to wait for its turn among the calls of its model: waiting does not count as working
   * time.
   */
  waits?(op: Operation, waiting: boolean): void
  ended(op: Operation, event: StepSettled): void
  /** The engine closes, and it has waited for its turn until now. */
  neverLeft?(op: Operation): void
  /** The effect was called back before its end: it is to be let out again. */
  calledBack(op: Operation): void
  /** `offset`: as in `LivePart`. */
  part(op: Operation, attempt: number, part: Json, offset?: number): void
  /** The contents of its run. `isStopped`: whether the attempt was told to stop. */
  contents(op: Operation, isStopped: () => boolean): Contents
}

/** An attempt that another one follows. */
export type FollowedAttempt = Omit<AttemptFailed, 'type' | 'address'>

/** How long one attempt may take if it sets no timeout. Milliseconds of real time; `Infinity`: no limit. */
export interface Deadlines {
  /** A call of a model, streams to their end. Default 1,800,000: 30 minutes. */
  readonly modelMs?: number
  /** A call of a tool whose `timeoutMs` is not set; not of one that is `once`. Default 3,600,000: an hour. */
  readonly toolMs?: number
  /**
   * A function of yours that Reeve asks: a hook, a scorer, a policy, a planner, `synthesize`, `assess`, a memory.
   * Default 300,000: 5 minutes.
   */
  readonly functionMs?: number
  /**
   * How long a model may send nothing after the first part of its answer, where its agent says nothing of it; before the
   * first part, five times as long. Default 120,000: two minutes.
   */
  readonly silenceMs?: number
}

/** The default deadlines. */
export const defaultDeadlines: Required<Deadlines> = {
  modelMs: 1_800_000,
  toolMs: 3_600_000,
  functionMs: 300_000,
  silenceMs: 120_000,
}

/** Which of the deadlines holds for a step; undefined: it is code's own, and takes as long as it takes. */
function deadlineOf({ type, effect, options }: Operation): Exclude<keyof Deadlines, 'silenceMs'> | undefined {
  if (type === 'model.requested') return 'modelMs'
  if (type === 'tool.called') return effect === 'once' ? undefined : 'toolMs'
  return options?.isFunction === true ? 'functionMs' : undefined
}

/**
 * How often a step is tried that throws. Code that says neither `effect` nor `retry` has not said that it may be done
 * twice.
 */
function attemptsOf({ effect, options = {} }: Operation): number {
  const { effect: declared, retry } = options
  if (effect === 'once' || (declared === undefined && retry === undefined)) return 1
  return retry?.attempts ?? retryDefaults.attempts
}

/**
 * Whether another attempt follows a failed one. A provider that limits the rate of calls has done nothing wrong: it is
 * asked more often. One that asks for a longer wait than the step may take is not waited for. `waitMs`: how long it asks to
 * wait; of one that limits the rate, with the waits before.
 */
function mayTryAgain(op: Operation, attempt: number, what: Failure, waitMs: number): boolean {
  const { retry } = op.options ?? {}
  if (!what.retryable || waitMs > (retry?.maxWaitMs ?? Infinity)) return false
  const most = attemptsOf(op)
  const isLimited = op.model !== undefined && what.class === 'rate-limit' && retry?.attempts === undefined
  return attempt < (isLimited ? Math.max(most, rateLimitAttempts) : most)
}

/** Another call was told to come back so late that this one does not wait for it. It was not made. */
const notWaitedFor = (model: string, closedMs: number): FailureError =>
  new FailureError(
    failure(
      'model.rate-limited',
      `${model} is limiting the rate of calls: its provider takes none for another ${closedMs} ms, as it said to an earlier call`,
      'rate-limit',
      { retryAfterMs: closedMs, details: { model } },
    ),
    undefined,
    'nothing',
  )

/** A budget has no room for another attempt: why one was wanted is told with it. */
const afterAttempt = (refused: Failure, { code, message }: Failure): Failure => ({
  ...refused,
  details: { ...refused.details, after: { code, message } },
})

/** Why an attempt is given up: what of which agent, and where a default is changed. */
function lateFor({ address, owner }: Operation, ms: number, by: keyof Deadlines | undefined): FailureError {
  const what = address.slice(address.lastIndexOf('/') + 1).replace(/#\d+$/, '')
  const message = `${JSON.stringify(what)} of ${JSON.stringify(owner.birth.agent)} gave no answer within ${ms} ms`
  const hint =
    by &&
    `This is the default deadline ${by}. Another one: createRuntime({ deadlines: { ${by}: … } }); Infinity lifts it.`
  const late = new FailureError(failure('effect.timed-out', message, 'timeout', hint === undefined ? {} : { hint }))
  late.name = 'TimeoutError'
  return late
}

/**
 * After an abort, an effect that does not listen is given this long before its end is recorded without it.
 * Milliseconds.
 */
const abortGraceMs = 2_000

const codes: Partial<Record<Operation['type'], ErrorCode>> = {
  'model.requested': 'model.unavailable',
  'tool.called': 'tool.failed',
}

/** Why an effect is aborted that does not end in time for the closing engine. */
const closing = new Cancelled('the engine is closing')

/** How many effects of each kind have not ended. */
export interface UnderWay {
  readonly modelCalls: number
  readonly toolCalls: number
  /** Steps of code, and functions that Reeve asks. */
  readonly steps: number
}

/** Which of these counts an effect is in. */
const countedAs = ({ type }: Operation): keyof UnderWay =>
  type === 'model.requested' ? 'modelCalls' : type === 'tool.called' ? 'toolCalls' : 'steps'

/** The wait of a closing engine. */
interface Drain {
  readonly done: PromiseWithResolvers<void>
  /** When what is left is aborted, by the system clock. */
  until: number
  callOff: () => void
  /** Its effects under way have changed. */
  readonly changed: () => void
}

/** One effect that is out. */
interface Flight {
  op: Operation
  readonly key: string
  /** The attempt that counts; an earlier one that comes to an end after all does not. */
  attempt: number
  /** That attempt, while its code is under way. */
  io: StepAttempt | undefined
  /** Of that attempt. */
  abort: LazyAbortController
  /** Its end, once known, until it is recorded. */
  event: StepSettled | undefined
  /** It waits for its next attempt, or for its turn: ends the wait. */
  backingOff: (() => void) | undefined
  /** Of a model call: its leave to go. */
  pass: Pass | undefined
  /** Calls off the deadline that its options set for the attempt, or what is left of it after the deadline. */
  deadline: (() => void) | undefined
  /** When the attempt is given up by default. Milliseconds since 1970; `Infinity`: never. */
  lateAt: number
  /** How long it has waited because its provider limits the rate of calls. Milliseconds. */
  limitedMs: number
  /** It was told to stop and has this long to listen. */
  grace: (() => void) | undefined
  requeue: boolean
  /** The closing engine waits for its end no longer: whether it happened stays unknown. */
  givenUp: boolean
}

/** Whether a closing engine waits for its end: it is under way, and has not been given up. */
const isAwaited = ({ op, event, backingOff, givenUp }: Flight): boolean =>
  event === undefined && !givenUp && (backingOff === undefined || op.effect === 'once')

/** What an attempt knows that its code does not see. */
const attemptOf = Symbol('attempt')
interface AttemptState {
  readonly host: EffectsHost
  readonly flight: Flight
  /** Of this attempt: that of its flight is the next one's, once this one was given up. */
  readonly abort: LazyAbortController
  contents: Contents | undefined
}

/** Made when it is asked for. Own and enumerable: who copies an attempt has it, too. One for all, whose forms stay alike. */
const lazyTraceparent = {
  enumerable: true,
  get(this: { readonly [attemptOf]: AttemptState }): string {
    const { host, flight } = this[attemptOf]
    return traceparentOf(flight.op.owner.id, flight.op.address, host.callersTrace?.(flight.op))
  },
}
/** The same, and made once. */
const lazyContents = {
  enumerable: true,
  get(this: { readonly [attemptOf]: AttemptState }): Contents {
    const state = this[attemptOf]
    const { host, flight, abort } = state
    return (state.contents ??= host.contents(flight.op, () => abort.aborted))
  },
}

/** One attempt, as its code has it. */
class StepAttempt implements StepIO {
  readonly key: string
  readonly epoch: number
  readonly attempt: number
  readonly now: number
  declare readonly traceparent: string
  declare readonly contents: Contents
  declare readonly signal: AbortSignal
  /** Shows a part, unless the attempt is over or was told to stop. */
  readonly emit: (part: Json) => void
  /** The text that it has shown, if any. */
  #shown: ShownText | undefined

  constructor(host: EffectsHost, flight: Flight, attempt: number) {
    this.key = flight.op.key
    this.epoch = host.epochOf(flight.op)
    this.attempt = attempt
    this.now = host.clock.now()
    const { abort } = flight
    const emit = (part: Json): void => {
      // it was told to stop, or has ended: the next attempt may be under way
      if (abort.aborted || flight.io !== this) return
      if (!isDelta(part)) return host.part(flight.op, attempt, part)
      host.part(flight.op, attempt, part, this.#shown?.offsetOf(part) ?? 0)
      // afterwards: the first piece is not held up, and a listener that begins meanwhile hears it as the next one
      ;(this.#shown ??= new ShownText()).add(part)
    }
    this.emit = emit
    Object.defineProperty(this, attemptOf, {
      value: { host, flight, abort, contents: undefined } satisfies AttemptState,
    })
    Object.defineProperty(this, 'traceparent', lazyTraceparent)
    Object.defineProperty(this, 'contents', lazyContents)
    // its own: that of its flight is the next attempt's, once this one was given up
    setController(this, flight.abort)
  }

  get shown(): ShownText | undefined {
    return this.#shown
  }
}

type EffectUse = { charge?: Charge; usage?: Usage }
/** What a cancelled effect used. */
const lost = (op: Operation): EffectUse => {
  if (nothingOut(op)) return op.reserved === undefined ? {} : { charge: nothingUsed }
  const usage = lostUsage(op)
  return usage.length === 0 ? {} : { usage }
}

/** What is not yet known of a model call whose process has ended, or that was called back. */
const lostAttempt = failure(
  'model.lost',
  'the process ended, or the run was paused, while this call was under way; whether it was answered is not known',
  'transport',
)

/** What of a failed attempt of a model call is known to have been used; of anything else, nothing. */
const usedByAttempt = (op: Operation, thrown: unknown, what: Failure, isLate: boolean): UsedByFailure | undefined =>
  op.model === undefined ? undefined : (usedByFailure(thrown, what) ?? (isLate ? 'unknown' : undefined))

/**
 * What counts of an attempt on the budgets: its tokens and dollars, those that were set aside where they are not known.
 * The turn stays set aside for the step.
 */
function chargeOf({ reserved = {} }: Operation, used: UsedByFailure): Charge {
  const told = typeof used === 'string' ? undefined : used
  const isTold = told?.input !== undefined && told.output !== undefined
  const tokens = isTold ? told.input + told.output : reserved.tokens
  const usd = told?.usd ?? reserved.usd
  return { ...(tokens === undefined ? {} : { tokens }), ...(usd === undefined ? {} : { usd }) }
}

/** The usage and the charge of a failed attempt. */
function attemptUse(op: Operation, used: UsedByFailure | undefined): EffectUse {
  if (used === undefined || used === 'nothing' || op.model === undefined) return {}
  const usage = used === 'unknown' ? lostCall(op.owner, op.model) : [usageRow(op.owner.birth.agent, op.model, used)]
  const charge = chargeOf(op, used)
  return Object.keys(charge).length === 0 ? { usage } : { usage, charge }
}

/** The same of the last attempt, with which the step ends: its turn counts, and nothing stays set aside. */
function lastUse(op: Operation, used: UsedByFailure | undefined): EffectUse {
  const { reserved } = op
  if (used === undefined || op.model === undefined) return {}
  if (used === 'nothing')
    return reserved === undefined ? {} : { charge: { ...nothingUsed, turns: reserved.turns ?? 0 } }
  const { usage } = attemptUse(op, used)
  // an absent charge settles at what was set aside
  if (used === 'unknown' || reserved === undefined) return { usage: usage! }
  return { usage: usage!, charge: { turns: reserved.turns ?? 0, ...chargeOf(op, used) } }
}
type ReportedUse = ReturnType<NonNullable<StepOptions['settle']>> | undefined

/** The rows of what a result used: one call, or several of any models. */
const usageOf = (told: StepUsage | readonly StepUsage[]): Usage =>
  'agent' in told
    ? [usageRow(told.agent, told.model, told.used)]
    : told.reduce<Usage>((rows, each) => addUsage(rows, usageOf(each)), [])

export class Effects {
  readonly #host: EffectsHost
  readonly #governor: Governor
  readonly #deadlines: Required<Deadlines>
  readonly #flights = new ChurnMap<string, Flight>()
  #drain: Drain | undefined
  /** When those that are given up by default are looked at next, and what calls that off. */
  #nextLook = Infinity
  #callOffLook: (() => void) | undefined

  constructor(host: EffectsHost, governor: Governor = governorOf(host.clock), deadlines: Deadlines = {}) {
    this.#host = host
    this.#deadlines = { ...defaultDeadlines, ...deadlines }
    this.#governor = governor
  }

  /** How many effects are out. */
  get size(): number {
    return this.#flights.size
  }

  /** What the closing engine waits for: effects under way whose end is not known and that were not given up. */
  get underWay(): UnderWay {
    const counts = { modelCalls: 0, toolCalls: 0, steps: 0 }
    for (const flight of this.#flights.values()) if (isAwaited(flight)) counts[countedAs(flight.op)]++
    return counts
  }

  /** Whether the closing engine waits for any. */
  get isAwaited(): boolean {
    for (const flight of this.#flights.values()) if (isAwaited(flight)) return true
    return false
  }

  /** Whether it waits for one of this run. */
  awaits(run: RunId): boolean {
    for (const flight of this.#flights.values()) if (isAwaited(flight) && runOf(flight.op.owner.id) === run) return true
    return false
  }

  /** How many of them are under way: neither ended, nor waiting for their next attempt or their turn. */
  get working(): number {
    let count = 0
    for (const { event, backingOff } of this.#flights.values())
      if (event === undefined && backingOff === undefined) count++
    return count
  }

  has(op: Operation): boolean {
    return this.#flights.has(op.effectKey)
  }

  /** Whether an effect is out and has not ended: its code works, or it waits for its turn or its next attempt. */
  isUnderWay(op: Operation): boolean {
    const flight = this.#flights.get(op.effectKey)
    return flight !== undefined && flight.event === undefined
  }

  /** The attempt of an effect that is under way and was not told to stop, and the text that it has shown so far. */
  shownBy(op: Operation): { readonly attempt: number; readonly text: ShownText } | undefined {
    const flight = this.#flights.get(op.effectKey)
    if (flight?.io?.shown === undefined || flight.abort.aborted) return undefined
    return { attempt: flight.io.attempt, text: flight.io.shown }
  }

  /** Lets a step out, or joins the one that is out under the same key. */
  release(op: Operation): void {
    const key = op.effectKey
    const flight = this.#flights.get(key)
    if (flight === undefined) {
      const started: Flight = {
        op,
        key,
        attempt: 0,
        io: undefined,
        abort: new LazyAbortController(),
        event: undefined,
        backingOff: undefined,
        pass: undefined,
        deadline: undefined,
        lateAt: Infinity,
        limitedMs: 0,
        grace: undefined,
        requeue: false,
        givenUp: false,
      }
      this.#flights.set(key, started)
      const refused = this.#countLost(op)
      if (refused === undefined) this.#attempt(started, op.attempts + 1)
      else this.#end(started, failed(refused), op.attempts, {})
      return
    }
    op.left = flight.op.left
    op.isOut = flight.op.isOut
    flight.op = op
    if (flight.pass?.waiting === true) this.#host.waits?.(op, true)
    if (flight.event !== undefined) this.#host.ended(op, flight.event)
  }

  /**
   * A model call that left before, from here or from another process, and whose answer nobody has seen: it counts as a
   * call of unknown usage. Returns why there is no room to make it again.
   */
  #countLost(op: Operation): Failure | undefined {
    const wasOut = op.isOut && this.#host.clock.now() >= op.outFrom
    op.isOut = false
    if (op.model === undefined || !wasOut || op.options?.isFree === true) return undefined
    const used = attemptUse(op, 'unknown')
    const refused = used.charge && this.#host.refusesRetry?.(op, used.charge)
    const attempt = { attempt: op.attempts + 1, failure: lostAttempt, delayMs: 0, lost: true } as const
    this.#host.attemptFailed(op, refused === undefined ? { ...attempt, ...used } : { ...attempt, usage: used.usage! })
    return refused
  }

  /** The end of a step is committed: its record here is dropped. True if it had consequences. */
  forget(key: string): boolean {
    const op = this.#flights.get(key)?.op
    this.#flights.delete(key)
    return op !== undefined && hasConsequences(op)
  }

  /** Whether an activation has anything out here. */
  any(activation: ActivationId): boolean {
    for (const { op } of this.#flights.values()) if (op.owner.id === activation) return true
    return false
  }

  /** Nothing that is out is given up any more. */
  stop(): void {
    this.#lookAt(Infinity)
  }

  /** Another process drives this run, or this activation of it: its effects here are given up. */
  forgetAll(whose: RunId | ActivationId, why = 'another process has taken this run over'): void {
    const theirs = [...this.#flights.values()].filter(({ op }) => runOf(op.owner.id) === whose || op.owner.id === whose)
    // First none of them waits any more: the turn of one that ends must not come to another.
    for (const flight of theirs) flight.backingOff?.()
    for (const flight of theirs) {
      this.#flights.delete(flight.key)
      this.#callOffDeadline(flight)
      flight.grace?.()
      flight.pass?.end('other')
      flight.abort.abort(new Cancelled(why))
    }
    if (theirs.length > 0) this.#checkDrained()
  }

  /**
   * Aborts an effect that is out. Its end follows, at the latest after a grace. `requeue`: it is to run again later
   * instead of ending (pause).
   */
  abort(op: Operation, reason: string, requeue = false): boolean {
    const flight = this.#flights.get(op.effectKey)
    if (flight === undefined || flight.event !== undefined) return false
    if (flight.backingOff !== undefined) {
      if (requeue) this.#callBack(flight)
      else this.#end(flight, cancelled(reason), flight.attempt)
      return true
    }
    // What is stopped ends, whatever comes after.
    flight.requeue = requeue && op.stopped === undefined
    flight.abort.abort(new Cancelled(reason))
    if (!requeue) flight.grace ??= this.#after(abortGraceMs, () => this.#end(flight, cancelled(reason), flight.attempt))
    return true
  }

  /** Calls back those of these effects that wait for their turn: a pause holds them. */
  recall(ops: Iterable<Operation>): void {
    for (const op of ops) {
      const flight = this.#flights.get(op.effectKey)
      if (flight?.pass?.waiting === true) this.#callBack(flight)
    }
  }

  #after(ms: number, callback: () => void): () => void {
    return this.#host.clock.timer(this.#host.clock.now() + ms, callback)
  }

  /** Calls an effect back: it is not out any more, and has not ended. */
  #callBack(flight: Flight): void {
    this.#callOffDeadline(flight)
    flight.backingOff?.()
    flight.grace?.()
    flight.pass?.end('other')
    this.#flights.delete(flight.key)
    this.#host.calledBack(flight.op)
    this.#checkDrained()
  }

  /**
   * The engine closes: no attempt begins any more, and what is under way has this long to end. Then it is aborted: what
   * may be repeated is left without an end, and a `once` effect has a last grace. Resolves when nothing is awaited any
   * more. `changed` is called when less is awaited than before. Milliseconds of real time.
   */
  drain(graceMs: number, changed: () => void = () => {}): Promise<void> {
    this.#drain = { done: Promise.withResolvers(), changed, until: Infinity, callOff: () => {} }
    for (const flight of this.#flights.values()) {
      if (flight.event !== undefined || flight.backingOff === undefined || flight.op.effect === 'once') continue
      if (flight.pass?.waiting === true) this.#host.neverLeft?.(flight.op)
      flight.backingOff()
      this.#leaveBehind(flight)
    }
    this.shorten(graceMs)
    this.#checkDrained()
    return this.#drain.done.promise
  }

  /** What the closing engine waits for has no more than this long from now on. Milliseconds of real time. */
  shorten(graceMs: number): void {
    if (this.#drain === undefined) return
    const until = systemClock.now() + graceMs
    if (until >= this.#drain.until) return
    this.#drain.until = until
    this.#drain.callOff()
    if (graceMs <= 0) return this.#giveUp()
    this.#drain.callOff = systemClock.timer(until, () => {
      this.#giveUp()
    })
  }

  /** The closing engine awaits no more what an outside cannot see: answers of models and of tools that only read. */
  giveUpAnswers(): void {
    this.#giveUp((op) => !hasConsequences(op))
  }

  /** No end of what may be repeated of this run is awaited any more by the closing engine. */
  giveUp(run: RunId): void {
    this.#giveUp(({ owner, effect }) => effect !== 'once' && runOf(owner.id) === run)
  }

  /**
   * Aborts what is left. A `once` effect that does not listen is left behind after a grace; it is in doubt, like one that
   * was aborted half-way, since it may have happened.
   */
  #giveUp(isMeant: (op: Operation) => boolean = () => true): void {
    for (const flight of this.#flights.values()) {
      const { op } = flight
      if (!isAwaited(flight) || !isMeant(op)) continue
      if (op.effect !== 'once') {
        flight.grace?.()
        flight.pass?.end('other')
        flight.givenUp = true
      }
      flight.abort.abort(closing)
      if (op.effect === 'once')
        flight.grace ??= systemClock.timer(systemClock.now() + abortGraceMs, () => this.#leaveBehind(flight))
    }
    this.#checkDrained()
  }

  #leaveBehind(flight: Flight): void {
    flight.givenUp = true
    this.#checkDrained()
  }

  #checkDrained(): void {
    if (this.#drain === undefined) return
    this.#drain.changed()
    if (this.isAwaited) return
    this.#drain.callOff()
    this.#drain.done.resolve()
  }

  #attempt(flight: Flight, attempt: number): void {
    const { op } = flight
    flight.attempt = attempt
    if (op.model === undefined) return this.#depart(flight, attempt)
    const longestMs = op.options?.retry?.maxWaitMs
    const closedMs = longestMs === undefined ? 0 : this.#governor.closedFor(op.model)
    if (longestMs !== undefined && closedMs > longestMs)
      return queueMicrotask(() => this.#failed(flight, attempt, notWaitedFor(op.model!, closedMs)))
    const giveUp = (ms: number): void => {
      this.#host.waits?.(flight.op, false)
      flight.backingOff = undefined
      this.#failed(flight, attempt, notWaitedFor(flight.op.model!, ms))
    }
    const patience = longestMs === undefined ? undefined : { longestMs, giveUp }
    const pass = this.#governor.pass(op.model, () => this.#turn(flight, attempt), patience)
    flight.pass = pass
    if (!pass.waiting) return this.#depart(flight, attempt)
    this.#host.waits?.(op, true)
    const leaveQueue = (): void => {
      if (!pass.waiting) return
      pass.end('other')
      this.#host.waits?.(flight.op, false)
    }
    flight.backingOff = leaveQueue
  }

  /** Its turn has come, perhaps long after it asked: whether it may still leave is checked again. */
  #turn(flight: Flight, attempt: number): void {
    const host = this.#host
    const { op } = flight
    host.waits?.(op, false)
    if (host.mayRetry(op) || host.stillMine === undefined) return this.#goOrStay(flight, attempt, host.mayRetry(op))
    const asked = (mine: boolean): void => {
      // It may have been stopped meanwhile, or called back and let out anew.
      if (this.#counts(flight, attempt) && flight.backingOff !== undefined) this.#goOrStay(flight, attempt, mine)
    }
    host.stillMine(op).then(asked, () => asked(false))
  }

  #goOrStay(flight: Flight, attempt: number, goes: boolean): void {
    flight.backingOff = undefined
    if (goes) this.#depart(flight, attempt)
    else this.#callBack(flight)
  }

  #depart(flight: Flight, attempt: number): void {
    const { op } = flight
    const host = this.#host
    op.left = true
    op.isOut = true
    const io = new StepAttempt(host, flight, attempt)
    flight.io = io
    this.#armDeadline(flight, attempt)
    let result: unknown
    try {
      result = op.run!(io)
    } catch (thrown) {
      queueMicrotask(() => this.#failed(flight, attempt, thrown))
      return
    }
    Promise.resolve(result).then(
      (value) => this.#completed(flight, attempt, value),
      (thrown: unknown) => this.#failed(flight, attempt, thrown),
    )
  }

  /**
   * A deadline of its own runs on the host's clock. A default guards against calls that hang in real time, so it runs on
   * the system clock, not on a test's; nearly all calls end long before, so one timer looks at all of them.
   */
  #armDeadline(flight: Flight, attempt: number): void {
    const { clock } = this.#host
    const own = flight.op.options?.timeoutMs
    if (own !== undefined && own !== Infinity)
      flight.deadline = clock.timer(clock.now() + own, () => this.#late(flight, attempt, own, undefined))
    const by = own === undefined ? deadlineOf(flight.op) : undefined
    flight.lateAt = by === undefined ? Infinity : systemClock.now() + this.#deadlines[by]
    if (flight.lateAt < this.#nextLook) this.#lookAt(flight.lateAt)
  }

  #lookAt(moment: number): void {
    this.#callOffLook?.()
    this.#nextLook = moment
    this.#callOffLook = moment === Infinity ? undefined : systemClock.timer(moment, () => this.#look())
  }

  /** Gives up what is late by default. */
  #look(): void {
    const now = systemClock.now()
    let next = Infinity
    for (const flight of this.#flights.values()) {
      if (flight.lateAt > now) next = Math.min(next, flight.lateAt)
      else {
        flight.lateAt = Infinity
        const by = deadlineOf(flight.op)!
        this.#late(flight, flight.attempt, this.#deadlines[by], by)
      }
    }
    this.#lookAt(next)
  }

  /** Aborts an attempt that takes too long. One that does not listen is given up after a grace. */
  #late(flight: Flight, attempt: number, timeoutMs: number, by: keyof Deadlines | undefined): void {
    if (!this.#counts(flight, attempt)) return
    const late = lateFor(flight.op, timeoutMs, by)
    const clock = by === undefined ? this.#host.clock : systemClock
    flight.deadline = clock.timer(clock.now() + abortGraceMs, () => this.#failed(flight, attempt, late))
    flight.abort.abort(late)
  }

  #callOffDeadline(flight: Flight): void {
    flight.deadline?.()
    flight.deadline = undefined
    flight.lateAt = Infinity
  }

  /** Whether the end of this attempt is still wanted. */
  #counts(flight: Flight, attempt: number): boolean {
    return flight.event === undefined && flight.attempt === attempt && this.#flights.get(flight.key) === flight
  }

  #completed(flight: Flight, attempt: number, value: unknown): void {
    if (!this.#counts(flight, attempt)) return
    flight.pass?.end('answered')
    flight.pass = undefined
    let told: ReportedUse
    try {
      const settle = flight.op.options?.settle as ((result: unknown) => ReportedUse) | undefined
      told = settle?.(value)
    } catch (thrown) {
      // what a model answered cannot be read; of any other effect only its use is unknown: it is done
      if (flight.op.type === 'model.requested') return this.#failed(flight, attempt, thrown)
      return this.#end(flight, completed((value ?? null) as Json), attempt)
    }
    const used: EffectUse = {}
    if (told?.charge !== undefined) used.charge = told.charge
    if (told?.usage !== undefined) used.usage = usageOf(told.usage)
    this.#end(flight, completed((value ?? null) as Json), attempt, used)
  }

  #failed(flight: Flight, attempt: number, thrown: unknown): void {
    if (!this.#counts(flight, attempt)) return
    this.#callOffDeadline(flight)
    const { op } = flight
    // It was aborted by the closing engine, or asked it for something: no failure of its own, so the next process lets it
    // out again.
    const isClosed = this.#drain !== undefined && ReeveError.is(thrown, 'engine.closed') && op.effect !== 'once'
    if (flight.abort.reason === closing || isClosed) return this.#leaveBehind(flight)
    if (flight.requeue) return this.#callBack(flight)
    if (op.stopped !== undefined || thrown instanceof Cancelled)
      return this.#end(flight, cancelled(op.stopped ?? (thrown as Cancelled).reason), attempt)
    const reason = flight.abort.reason ?? thrown
    const what = failureFrom(
      reason instanceof Error && reason.name === 'TimeoutError' ? reason : thrown,
      codes[op.type] ?? 'agent.failed',
    )
    flight.pass?.end(what.class === 'rate-limit' ? 'refused' : 'other', what.retryAfterMs)
    const used = usedByAttempt(op, thrown, what, flight.abort.aborted)
    const told = attempt > 1 ? { ...what, details: { ...what.details, attempts: attempt } } : what
    const delayMs = backoff(op.options?.retry ?? {}, attempt, what.retryAfterMs)
    const isLimited = op.model !== undefined && what.class === 'rate-limit'
    const waitMs = isLimited ? flight.limitedMs + delayMs : (what.retryAfterMs ?? 0)
    if (!mayTryAgain(op, attempt, what, waitMs)) return this.#end(flight, failed(told), attempt, lastUse(op, used))
    const use = attemptUse(op, used)
    const refused = use.charge && this.#host.refusesRetry?.(op, use.charge)
    if (refused !== undefined) return this.#end(flight, failed(afterAttempt(refused, told)), attempt, lastUse(op, used))
    if (isLimited) flight.limitedMs = waitMs
    this.#again(flight, { attempt, failure: what, ...use }, delayMs)
  }

  /** An attempt is over: its text is not shown to new readers. */
  #leave(flight: Flight): void {
    flight.io?.shown?.drop()
    flight.io = undefined
  }

  #again(flight: Flight, failedAttempt: Omit<FollowedAttempt, 'delayMs'>, delayMs: number): void {
    const host = this.#host
    const { attempt } = failedAttempt
    flight.op.attempts = attempt
    flight.op.isOut = false
    this.#leave(flight)
    host.attemptFailed(flight.op, { ...failedAttempt, delayMs })
    // the closing engine begins none: the next process does
    if (this.#drain !== undefined) return this.#leaveBehind(flight)
    flight.backingOff = this.#after(delayMs, () => {
      flight.backingOff = undefined
      flight.abort = new LazyAbortController()
      flight.op.attempts = attempt
      if (host.mayRetry(flight.op)) this.#attempt(flight, attempt + 1)
      else this.#callBack(flight)
    })
  }

  #end(
    flight: Flight,
    outcome: Outcome,
    attempts: number,
    used: EffectUse = outcome.status === 'cancelled' ? lost(flight.op) : {},
  ): void {
    if (flight.event !== undefined) return
    flight.op.isOut = false
    this.#leave(flight)
    this.#callOffDeadline(flight)
    flight.backingOff?.()
    flight.backingOff = undefined
    flight.grace?.()
    flight.pass?.end('other')
    const event: Draft<StepSettled> = { type: 'step.settled', address: flight.op.address, outcome }
    if (attempts > 1) event.attempts = attempts
    if (used.charge !== undefined) event.charge = used.charge
    if (used.usage !== undefined) event.usage = used.usage
    flight.event = event
    this.#host.ended(flight.op, event)
    this.#checkDrained()
  }
}

/** The text of an event, or a failure if it is too large to be recorded. Other errors are thrown. */
export function withinEntry<E>(what: string, event: E, encode: (event: E) => string): string | Failure {
  try {
    return encode(event)
  } catch (thrown) {
    if (!ReeveError.is(thrown, 'input.too-large') && !(thrown instanceof RangeError)) throw thrown
    return failure('input.too-large', `${what} is too large to be recorded: ${messageOf(thrown)}`, 'validation')
  }
}

/**
 * A step's end as it is recorded and read again, and its text. What was done stays done: of a result that is not JSON,
 * or too large, is recorded what can be. `op`: of a model's call the answer is the whole point, so it fails instead.
 */
export function encodeEnd(
  event: StepSettled,
  encode: (event: StepSettled) => string,
  op?: Pick<Operation, 'type'>,
): { event: StepSettled; text: string } {
  const written = writtenEnd(event, `the result of "${event.address}"`, encode)
  if ('event' in written) return written
  const kept = op?.type === 'model.requested' ? undefined : keptEnd(event, encode)
  if (kept !== undefined) return kept
  // What it used was used, whatever it returned.
  const bad: StepSettled = { ...event, outcome: failed(written) }
  return { event: bad, text: encode(bad) }
}

/**
 * The end of completed work whose output cannot be recorded as it is, with what can be recorded of it. Undefined: the
 * work did not complete.
 */
export function keptEnd<E extends { readonly outcome: Outcome }>(
  event: E,
  encode: (event: E) => string,
): { event: E; text: string } | undefined {
  const { outcome } = event
  if (outcome.status !== 'completed') return undefined
  const as = ({ value, kept }: KeptValue): E => ({
    ...event,
    outcome: { ...outcome, output: value, ...present({ kept }) },
  })
  const form = keptForm(outcome.output, keptMost)
  const shorter = [keptBeginning, keptLeast].map((most) => () => as(keptStart(outcome.output, most)))
  for (const each of form.isCut ? shorter : [() => as(form), ...shorter]) {
    const text = withinEntry('the result', each(), encode)
    if (typeof text === 'string') return { event: decode(text) as unknown as E, text }
  }
  return undefined
}

/** How much of a result that is not JSON is kept, in characters: less than an entry holds, whatever is escaped in it. */
const keptMost = 2 ** 27
/** How much is kept where the rest of the entry is large, too. Characters. */
const keptLeast = 256

/**
 * An end as it is read again, and its text; or the failure, if the output is not JSON or too large to be recorded. Its
 * outcome shares nothing with what is in users' hands (K10).
 */
export function writtenEnd<E extends { readonly outcome: Outcome }>(
  event: E,
  what: string,
  encode: (event: E) => string,
): { event: E; text: string } | Failure {
  const outcome = plainCopy(event.outcome)
  const read = outcome === undefined ? undefined : { ...event, outcome }
  if (read === undefined && event.outcome.status === 'completed') {
    const problem = jsonProblem(event.outcome.output)
    if (problem !== undefined) return notJson(what, problem)
  }
  const text = withinEntry(what, read ?? event, encode)
  return typeof text === 'string' ? { event: read ?? (decode(text) as unknown as E), text } : text
}

/** The failure of code that gave something which cannot be written down. */
export const notJson = (what: string, problem: string): Failure =>
  failure('input.not-json', `${what} is not JSON: ${problem}`, 'validation')

/** Why a value cannot be written down. Its `toJSON` and its getters are the user's code, and may throw. */
export function jsonProblem(value: Json | undefined): string | undefined {
  try {
    return value === undefined ? undefined : writingProblem(value)
  } catch (thrown) {
    return messageOf(thrown)
  }
}
