/**
 * Live telemetry: spans and metrics of all runs while they go on, whichever process drives them.
 *
 * Owns: following the feed of all runs, the traces that are folded of it, when what has ended goes out, the position to
 * go on from. Does not own: the fold (run-trace.ts), the sinks (telemetry-sink.ts, api-sink.ts).
 * Holds: K9: it reads, and changes no run. Nothing is left out: a position is given only when everything up to it was
 * taken, and while a receiver is away the feed is not read on. What comes again has the same ids.
 */
import {
  expects,
  functionCheck,
  interval,
  isChildRun,
  messageOf,
  number,
  object,
  optionProblems,
  pause,
  ReeveError,
  refuseProblems,
  systemClock,
  type Checks,
  type RunId,
} from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import type { FeedEvent, Runtime } from '@reeve/runtime'
import { ApiSink, apiProblem, loadApi } from './api-sink.ts'
import { contentChecks, otlpChecks } from './options.ts'
import { isDisabled, type OtlpOptions } from './environment.ts'
import { OtlpClient } from './otlp.ts'
import { OtlpSink, type Gauges, type TelemetrySink } from './telemetry-sink.ts'
import { RunTrace, type TraceContent } from './run-trace.ts'
import type { Measurement, ReeveSpan, SpanBeginning } from './span.ts'

/** What is followed, and where it goes. */
export interface LiveOptions extends TraceContent {
  /** Goes on after the event with this id (`onPosition`); 0: everything that is recorded. Default `now`. */
  readonly from?: number | 'now'
  /** Posts to a receiver of OTLP, without an SDK. Default: through `@opentelemetry/api`, to the SDK that is set up. */
  readonly otlp?: OtlpOptions
  /**
   * Called with the id of an event when everything up to it was taken: keep it, and give it as `from` after a restart.
   * What it returns is waited for.
   */
  readonly onPosition?: (id: number) => unknown
  /**
   * Called before `onPosition`, such as `() => provider.forceFlush()`: an SDK keeps spans back, and loses them with its
   * process. Default: nothing.
   */
  readonly flush?: () => unknown
  /** Milliseconds after which what has ended goes out at the latest. Default 1,000. */
  readonly intervalMs?: number
  /**
   * Milliseconds after which a span that has not ended goes out as it is, marked `reeve.unfinished`, and again under
   * the same id when it has ended: some receivers drop spans whose parent does not come within hours, and a run may wait
   * for days. Default 10 minutes; `Infinity`: never, for a receiver that keeps both.
   */
  readonly unfinishedAfterMs?: number
  /** What was not taken, or could not be read; it is tried again where that may help. Default: a warning of the process. */
  readonly onError?: (error: unknown) => void
}

/** Telemetry that goes on until it is closed. */
export interface LiveTelemetry extends AsyncDisposable {
  /** Whether anything is followed: not where no SDK is set up, or where `OTEL_SDK_DISABLED` is true. */
  readonly isActive: boolean
  /** The id of the last event up to which everything was taken; undefined before the first. */
  readonly position: number | undefined
  /**
   * Reads what has been recorded so far, lets it out and stops following. Idempotent; close it before the runtime and
   * the SDK: of a runtime that is closed nothing more can be read, which `onError` is told.
   */
  close(): Promise<void>
}

const liveChecks: Checks<LiveOptions> = {
  ...contentChecks,
  from: expects(
    (given) => given === 'now' || (Number.isSafeInteger(given) && (given as number) >= 0),
    "the id of an event, 0 or 'now'",
  ),
  otlp: object(otlpChecks),
  onPosition: functionCheck,
  flush: functionCheck,
  intervalMs: interval,
  unfinishedAfterMs: number((given) => given > 0, 'milliseconds above 0, or Infinity for never'),
  onError: functionCheck,
}

/**
 * Follows all runs of a store and gives their spans and metrics to OpenTelemetry as they end. Throws `config.invalid`
 * for invalid options, and for a tracer provider without `idGenerator: spanIds`. Where no SDK is set up it says so
 * (`onError`) and does nothing.
 */
export async function liveTelemetry(runtime: Runtime, options: LiveOptions = {}): Promise<LiveTelemetry> {
  refuseProblems('config.invalid', optionProblems(liveChecks, options, 'liveTelemetry'), 'Nothing is followed.')
  const onError = toldSafely(options.onError ?? warn)
  const gauges = waiting(runtime)
  if (isDisabled(process.env)) return inactive
  if (options.otlp !== undefined)
    return following(new Follower(runtime, new OtlpSink(new OtlpClient(options.otlp), gauges, onError), options))
  const api = await loadApi()
  const problem = apiProblem(api)
  if (problem === 'other-ids')
    throw new ReeveError('config.invalid', 'the tracer provider does not use the span ids of Reeve', {
      hint: "Give it the id generator `spanIds` of 'reeve/otel', as docs/how-to/otel.md shows. Nothing is followed.",
    })
  if (problem === 'no-sdk') {
    onError(
      new ReeveError('config.invalid', 'liveTelemetry: no tracer provider is set up, so nothing is followed', {
        hint: 'Set it up before, as docs/how-to/otel.md shows. Without an SDK: liveTelemetry(runtime, { otlp: { … } }).',
      }),
    )
    return inactive
  }
  return following(new Follower(runtime, new ApiSink(api, gauges), options))
}

/** Follows nothing. */
const inactive: LiveTelemetry = {
  isActive: false,
  position: undefined,
  close: async () => {},
  [Symbol.asyncDispose]: async () => {},
}

/** What is recorded from now on is not missed. */
async function following(follower: Follower): Promise<Follower> {
  await follower.begun
  return follower
}

/** A listener that throws stops nothing; what it threw is a warning of the process. */
const toldSafely =
  (onError: (error: unknown) => void) =>
  (error: unknown): void => {
    try {
      onError(error)
    } catch (thrown) {
      warn(thrown)
    }
  }

const warn = (error: unknown): void => process.emitWarning(`reeve/otel: ${messageOf(error)}`)

/** So many are counted at most. */
const mostCounted = 10_000

const waiting =
  (runtime: Runtime): Gauges =>
  async () => {
    const { installation } = await runtime.system()
    return {
      'reeve.runs.stalled': installation?.stalled?.length ?? 0,
      'reeve.runs.flapping': installation?.backlog.flapping?.count ?? 0,
      'reeve.runs.waiting': (await runtime.runs({ status: ['waiting'], limit: mostCounted })).length,
      'reeve.approvals.waiting': (await runtime.questions({ kind: 'approval', limit: mostCounted })).length,
    }
  }

/** Spans that are kept before they go out, and runs whose traces are kept in memory, at most. */
const batchSize = 512
const mostTraces = 1_000
const pageSize = 1_000
/** Waits before another try. Milliseconds. */
const [firstWait, longestWait] = [1_000, 30_000]
/** A closing follower tries for this long to let out what is left. Milliseconds. */
const closeWithinMs = 5_000
/** Spans that are open for so long go out before their end, and so often it is looked for them. Milliseconds. */
const [unfinishedAfter, lookEvery] = [600_000, 60_000]

class Follower implements LiveTelemetry {
  readonly isActive = true
  position: number | undefined
  readonly #runtime: Runtime
  readonly #sink: TelemetrySink
  readonly #options: LiveOptions
  readonly #onError: (error: unknown) => void
  readonly #closing = new AbortController()
  /** Closing has taken too long: what is under way is given up. */
  readonly #over = new AbortController()
  /** By run; the one that was used last is last. */
  readonly #traces = new Map<RunId, RunTrace>()
  readonly #done: Promise<void>
  readonly #begun = Promise.withResolvers<void>()
  #lastLook = systemClock.now()
  #spans: ReeveSpan[] = []
  #measurements: Measurement[] = []
  /** The id of the last event that was folded. */
  #folded: number | undefined

  constructor(runtime: Runtime, sink: TelemetrySink, options: LiveOptions) {
    this.#runtime = runtime
    this.#sink = sink
    this.#options = options
    this.#onError = toldSafely(options.onError ?? warn)
    this.#folded = typeof options.from === 'number' ? options.from : undefined
    this.#done = this.#followOn()
  }

  /** Resolves when it is known from where on it follows, or that this cannot be read now. */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const late = setTimeout(() => this.#over.abort(), closeWithinMs)
    await this.#done
    clearTimeout(late)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #followOn(): Promise<void> {
    const { signal } = this.#closing
    for (let tried = 0; !signal.aborted; tried++) {
      const before = this.#folded
      try {
        await this.#follow(signal)
        break
      } catch (thrown) {
        this.#begun.resolve()
        if (signal.aborted || ReeveError.is(thrown, 'engine.closed')) break
        this.#onError(thrown)
        if (this.#folded !== before) tried = 0
        await pause(Math.min(firstWait * 2 ** tried, longestWait), signal)
      }
    }
    const last = AbortSignal.any([this.#over.signal, AbortSignal.timeout(closeWithinMs)])
    try {
      await this.#readOut(last)
      await this.#letOut(last, 'once')
      await this.#sink.close(last)
    } catch (thrown) {
      this.#onError(thrown)
    }
  }

  /** Reads what is recorded and was not read yet. */
  async #readOut(signal: AbortSignal): Promise<void> {
    if (this.#folded === undefined) return
    try {
      for await (const event of this.#runtime.feed({ from: this.#folded, to: 'now', signal })) await this.#fold(event)
    } catch (thrown) {
      const cause = ReeveError.is(thrown, 'engine.closed') ? runtimeClosed(thrown) : thrown
      this.#onError(cause)
    }
    this.#takeOpen(0)
  }

  /** Takes spans that are open for so long, so that what is below them has its parents. */
  #takeOpen(forMs: number): void {
    if (this.#options.unfinishedAfterMs === Infinity) return
    this.#lastLook = systemClock.now()
    for (const trace of this.#traces.values()) this.#spans.push(...trace.openSince(this.#lastLook - forMs))
  }

  /** Reads the feed until it ends, and lets out what has ended: when it is much, or after a while. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { intervalMs = 1_000, unfinishedAfterMs = unfinishedAfter } = this.#options
    const lookMs = Math.min(lookEvery, unfinishedAfterMs)
    const onBegin = (from: number): void => {
      this.#folded ??= from
      this.#begun.resolve()
    }
    const feed = this.#runtime.feed({ from: this.#folded ?? 'now', signal, onBegin })
    try {
      let next = feed.next()
      let due: Promise<'due'> | undefined
      let look: Promise<'look'> | undefined
      for (;;) {
        const given = await Promise.race([next, due ?? (look ??= idle(lookMs, signal))])
        if (given === 'look') {
          look = undefined
          this.#takeOpen(unfinishedAfterMs)
          await this.#letOut(this.#over.signal)
          continue
        }
        if (given === 'due') {
          due = undefined
          if (systemClock.now() - this.#lastLook >= lookMs) this.#takeOpen(unfinishedAfterMs)
          await this.#letOut(this.#over.signal)
          continue
        }
        if (given.done === true) return
        await this.#fold(given.value)
        due ??= pause(intervalMs, signal).then(() => 'due')
        if (this.#spans.length >= batchSize) await this.#letOut(this.#over.signal)
        next = feed.next()
      }
    } finally {
      await feed.return?.()
    }
  }

  async #fold(event: FeedEvent): Promise<void> {
    const trace = await this.#traceOf(event)
    if (trace !== undefined) {
      trace.take(event)
      const { spans, measurements } = trace.drain()
      this.#spans.push(...spans)
      this.#measurements.push(...measurements)
      // that of a whole run is still asked for how it began
      if (trace.isOver && isChildRun(event.run)) this.#traces.delete(event.run)
    }
    this.#folded = event.id
  }

  /** The trace of a run up to this event: from memory, else folded again from its journal. Undefined: it is gone. */
  async #traceOf(event: FeedEvent): Promise<RunTrace | undefined> {
    const { run } = event
    const known = this.#traces.get(run)
    const trace = known ?? new RunTrace(this.#options)
    this.#traces.delete(run)
    if (known === undefined && !isFirst(event)) {
      const found = await this.#before(trace, event)
      if (!found) return undefined
      trace.drain()
    }
    this.#traces.set(run, trace)
    const [oldest] = this.#traces.keys()
    if (this.#traces.size > mostTraces && oldest !== undefined) {
      if (this.#options.unfinishedAfterMs !== Infinity)
        this.#spans.push(...this.#traces.get(oldest)!.openSince(systemClock.now()))
      this.#traces.delete(oldest)
    }
    return trace
  }

  async #before(trace: RunTrace, { run, position }: FeedEvent): Promise<boolean> {
    try {
      for (;;) {
        const page = await this.#runtime.handle(run).journal({ from: trace.position, limit: pageSize })
        const earlier = page.filter((each) => each.position < position)
        for (const each of earlier) trace.take(each)
        if (earlier.length < pageSize) return true
      }
    } catch (thrown) {
      if (ReeveError.is(thrown, 'run.unknown')) return false
      throw thrown
    }
  }

  readonly #beginningOf = async (run: RunId): Promise<SpanBeginning | undefined> => {
    const known = this.#traces.get(run)?.beginning
    if (known !== undefined) return known
    try {
      const trace = new RunTrace(this.#options)
      for (const recorded of await this.#runtime.handle(run).journal({ limit: 1 })) trace.take(recorded)
      return trace.beginning
    } catch (thrown) {
      if (ReeveError.is(thrown, 'run.unknown')) return undefined
      throw thrown
    }
  }

  /**
   * Gives what has ended to the sink, for as long as that may help, and then the position. What is under way when it
   * is closed is not cut short: a receiver that has it, and whose answer nobody heard, would get it again.
   */
  async #letOut(signal: AbortSignal, tries: 'once' | 'again' = 'again'): Promise<void> {
    const { flush, onPosition } = this.#options
    const upTo = this.#folded
    for (let tried = 0; ; tried++) {
      try {
        await this.#sink.take({ spans: this.#spans, measurements: this.#measurements }, this.#beginningOf, signal)
        await flush?.()
        break
      } catch (thrown) {
        signal.throwIfAborted()
        this.#onError(thrown)
        const isLost = ReeveError.is(thrown) && !thrown.retryable
        if (isLost) break
        if (tries === 'once') return
        await pause(Math.min(firstWait * 2 ** tried, longestWait), this.#closing.signal)
        if (this.#closing.signal.aborted) return
      }
    }
    this.#spans = []
    this.#measurements = []
    for (const [run, trace] of this.#traces) if (trace.isOver) this.#traces.delete(run)
    if (upTo === undefined || upTo === this.position) return
    this.position = upTo
    await onPosition?.(upTo)
  }
}

const idle = (ms: number, signal: AbortSignal): Promise<'look'> => pause(ms, signal, 'unref').then(() => 'look')

const runtimeClosed = (cause: unknown): ReeveError =>
  new ReeveError('telemetry.failed', 'the runtime was closed before its telemetry', {
    hint: 'What was recorded last did not go out: close the telemetry first, or export the rest with reeve otel.',
    cause,
  })

/** Whether a journal begins with this event. */
const isFirst = ({ event, seq, activation, run }: Recorded): boolean =>
  event.type === 'activation.started' && seq === 0 && activation === `act_${run}`
