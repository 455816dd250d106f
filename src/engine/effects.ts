/**
 * Effects: running steps, with attempts, backoff, timeouts and abort. The one retry owner (DESIGN §3.3; spec team R-10).
 *
 * Owns: what happens between the release of a step and its end. Does not own: when it may be released, and what is recorded (the host).
 * Holds: K6 (one idempotency key for all attempts; an effect that outlives its activation's memory is joined, not run again).
 */
import {
  cancelled,
  completed,
  failed,
  failure,
  failureFrom,
  jitter,
  messageOf,
  type Clock,
  type ErrorCode,
  type Failure,
  type Json,
  type Outcome,
  type RunId,
  runOf,
  type Usage,
  usageRow,
} from '../core/index.ts'
import type { Charge, StepSettled } from '../journal/index.ts'
import { Cancelled, type RetryPolicy, type StepIO } from './context.ts'
import type { Operation } from './operation.ts'

/** What effects need from the engine. */
export interface EffectsHost {
  readonly clock: Clock
  epochOf(op: Operation): number
  /** An attempt failed and another follows. */
  attemptFailed(op: Operation, attempt: number, failure: Failure, delayMs: number): void
  /** May another attempt start now? False: the run is paused or lost; the host starts it again later. */
  mayRetry(op: Operation): boolean
  ended(op: Operation, event: StepSettled): void
  /** The effect was called back before its end: it is to be let out again. */
  calledBack(op: Operation): void
  part(op: Operation, attempt: number, part: Json): void
}

/** After an abort, an effect that does not listen is given this long before its end is recorded without it. Milliseconds. */
const abortGraceMs = 2_000

const defaults = { attempts: 3, backoffMs: 1_000, maxBackoffMs: 30_000, jitter: true } satisfies RetryPolicy
const codes: Partial<Record<Operation['type'], ErrorCode>> = { 'model.requested': 'model.unavailable', 'tool.called': 'tool.failed' }

/** The wait before the next try: exponential, capped, with up to half of it taken off at random; never shorter than the other side asked for. */
export function backoff(policy: RetryPolicy, attempt: number, retryAfterMs: number | undefined, random: () => number = jitter): number {
  const { backoffMs, maxBackoffMs, jitter: jittered } = { ...defaults, ...policy }
  const full = Math.min(backoffMs * 2 ** (attempt - 1), maxBackoffMs)
  return Math.max(retryAfterMs ?? 0, Math.round(jittered ? full * (1 - random() / 2) : full))
}

/** One effect that is out. */
interface Flight {
  op: Operation
  readonly key: string
  /** Its end, once known, as long as nobody has recorded it. */
  event: StepSettled | undefined
  cancelTimer: (() => void) | undefined
  requeue: boolean
}

/** What one attempt gets. The signal is made when it is asked for: most effects never do. */
class AttemptIO implements StepIO {
  readonly key: string
  readonly epoch: number
  readonly attempt: number
  readonly emit: StepIO['emit']
  readonly #op: Operation

  constructor(host: EffectsHost, flight: Flight, attempt: number) {
    this.#op = flight.op
    this.key = flight.key
    this.epoch = host.epochOf(flight.op)
    this.attempt = attempt
    this.emit = (part) => host.part(flight.op, attempt, part)
  }

  get signal(): AbortSignal {
    return (this.#op.abort ??= new AbortController()).signal
  }
}

export class Effects {
  readonly #host: EffectsHost
  readonly #flights = new Map<string, Flight>()
  #drained: (() => void) | undefined

  constructor(host: EffectsHost) {
    this.#host = host
  }

  /** How many effects are out. */
  get size(): number {
    return this.#flights.size
  }

  static key(op: Operation): string {
    return `${op.owner.id}:${op.address}`
  }

  has(op: Operation): boolean {
    return this.#flights.has(Effects.key(op))
  }

  /** Lets a step out, or joins the one that is out under the same key. */
  release(op: Operation): void {
    const key = Effects.key(op)
    const flight = this.#flights.get(key)
    if (flight === undefined) {
      const started: Flight = { op, key, event: undefined, cancelTimer: undefined, requeue: false }
      this.#flights.set(key, started)
      this.#attempt(started, op.attempts + 1)
      return
    }
    flight.op = op
    if (flight.event !== undefined) this.#host.ended(op, flight.event)
  }

  /** The end of a step is durable: nothing of it is needed any more. */
  forget(key: string): void {
    this.#flights.delete(key)
  }

  /** Somebody else drives this run now: its effects here are nobody's any more. */
  forgetRun(run: RunId): void {
    for (const [key, flight] of this.#flights) {
      if (runOf(flight.op.owner.id) !== run) continue
      this.#flights.delete(key)
      flight.cancelTimer?.()
      flight.op.abort?.abort(new Cancelled('another process has taken this run over'))
    }
  }

  /** Aborts an effect that is out. Its end follows, at the latest after a grace. `requeue`: it is to run again later instead of ending (pause). */
  abort(op: Operation, reason: string, requeue = false): boolean {
    const flight = this.#flights.get(Effects.key(op))
    if (flight === undefined || flight.event !== undefined) return false
    flight.requeue = requeue
    if (flight.cancelTimer !== undefined) {
      flight.cancelTimer()
      this.#end(flight, cancelled(reason), op.attempts)
      return true
    }
    ;(op.abort ??= new AbortController()).abort(new Cancelled(reason))
    if (!requeue)
      flight.cancelTimer = this.#host.clock.timer(this.#host.clock.now() + abortGraceMs, () =>
        this.#end(flight, cancelled(reason), op.attempts),
      )
    return true
  }

  /** Aborts everything that may be run again; resolves when all `once` effects have ended. */
  async drain(): Promise<void> {
    for (const flight of this.#flights.values()) {
      if (flight.event !== undefined) continue
      flight.cancelTimer?.()
      if (flight.op.effect !== 'once') flight.op.abort?.abort(new Cancelled('the engine is closing'))
    }
    await new Promise<void>((resolve) => {
      this.#drained = resolve
      this.#checkDrained()
    })
  }

  #checkDrained(): void {
    for (const flight of this.#flights.values()) if (flight.op.effect === 'once' && flight.event === undefined) return
    this.#drained?.()
  }

  #attempt(flight: Flight, attempt: number): void {
    const op = flight.op
    flight.cancelTimer = undefined
    const host = this.#host
    const io = new AttemptIO(host, flight, attempt)
    const timeoutMs = op.options?.timeoutMs
    const callOff = timeoutMs === undefined ? undefined : this.#armTimeout(op, timeoutMs)
    let result: unknown
    try {
      result = op.run!(io)
    } catch (thrown) {
      callOff?.()
      queueMicrotask(() => this.#failed(flight, attempt, thrown))
      return
    }
    Promise.resolve(result).then(
      (value) => {
        callOff?.()
        this.#completed(flight, attempt, value)
      },
      (thrown: unknown) => {
        callOff?.()
        this.#failed(flight, attempt, thrown)
      },
    )
  }

  #armTimeout(op: Operation, timeoutMs: number): () => void {
    const controller = (op.abort ??= new AbortController())
    return this.#host.clock.timer(this.#host.clock.now() + timeoutMs, () => {
      const late = new Error(`no answer within ${timeoutMs} ms`)
      late.name = 'TimeoutError'
      controller.abort(late)
    })
  }

  #completed(flight: Flight, attempt: number, value: unknown): void {
    let used: { charge?: Charge; usage?: Usage } = {}
    try {
      const settle = flight.op.options?.settle as
        | ((result: unknown) => { charge?: Charge; usage?: { agent: string; model: string; used: Parameters<typeof usageRow>[2] } })
        | undefined
      const told = settle?.(value)
      if (told !== undefined) {
        used = {
          ...(told.charge === undefined ? {} : { charge: told.charge }),
          ...(told.usage === undefined ? {} : { usage: [usageRow(told.usage.agent, told.usage.model, told.usage.used)] }),
        }
      }
    } catch (thrown) {
      return this.#failed(flight, attempt, thrown)
    }
    this.#end(flight, completed((value ?? null) as Json), attempt, used)
  }

  #failed(flight: Flight, attempt: number, thrown: unknown): void {
    if (flight.event !== undefined) return
    const op = flight.op
    const host = this.#host
    if (flight.requeue) {
      flight.requeue = false
      op.abort = undefined
      this.#flights.delete(flight.key)
      host.calledBack(op)
      return
    }
    if (op.stopped !== undefined || thrown instanceof Cancelled)
      return this.#end(flight, cancelled(op.stopped ?? (thrown as Cancelled).reason), attempt)
    const reason: unknown = op.abort?.signal.aborted === true ? op.abort.signal.reason : thrown
    const what = failureFrom(reason instanceof Error && reason.name === 'TimeoutError' ? reason : thrown, codes[op.type] ?? 'agent.failed')
    const policy = op.options?.retry ?? {}
    const limit = op.effect === 'once' ? 1 : (policy.attempts ?? defaults.attempts)
    if (!what.retryable || attempt >= limit)
      return this.#end(flight, failed(attempt > 1 ? { ...what, details: { ...what.details, attempts: attempt } } : what), attempt)
    const delayMs = backoff(policy, attempt, what.retryAfterMs)
    op.abort = undefined
    op.attempts = attempt
    host.attemptFailed(op, attempt, what, delayMs)
    flight.cancelTimer = host.clock.timer(host.clock.now() + delayMs, () => {
      flight.cancelTimer = undefined
      if (host.mayRetry(flight.op)) this.#attempt(flight, attempt + 1)
      else {
        this.#flights.delete(flight.key)
        host.calledBack(flight.op)
      }
    })
  }

  #end(flight: Flight, outcome: Outcome, attempts: number, used: { charge?: Charge; usage?: Usage } = {}): void {
    if (flight.event !== undefined) return
    flight.cancelTimer?.()
    flight.cancelTimer = undefined
    const event: StepSettled = { type: 'step.settled', address: flight.op.address, outcome, ...(attempts > 1 ? { attempts } : {}), ...used }
    flight.event = event
    this.#host.ended(flight.op, event)
    if (this.#drained !== undefined) this.#checkDrained()
  }
}

/** The stored text of a step's end; if the result is not JSON, the step has failed instead. */
export function encodeEnd(event: StepSettled, encode: (event: StepSettled) => string): { event: StepSettled; text: string } {
  try {
    return { event, text: encode(event) }
  } catch (thrown) {
    const bad: StepSettled = {
      type: 'step.settled',
      address: event.address,
      outcome: failed(failure('input.not-json', `the result of "${event.address}" is not JSON: ${messageOf(thrown)}`, 'validation')),
    }
    return { event: bad, text: encode(bad) }
  }
}
