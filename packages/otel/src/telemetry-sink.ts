/**
 * Telemetry sink: receives the spans and measurements of what has ended. There are two: an SDK behind the API of
 * OpenTelemetry (api-sink.ts), and a receiver of OTLP.
 *
 * Owns: the port, the sink of a receiver. Does not own: the documents (otlp.ts), what is read (live.ts).
 */
import { ReeveError, systemClock, visibleLine, type RunId } from '@reeve/core'
import { isDisabled } from './environment.ts'
import { batchesOf, Histograms, type OtlpClient, type Rejected } from './otlp.ts'
import type { Measurement, ReeveSpan, SpanBeginning } from './span.ts'

/** What is so now, over all runs: by the name of the gauge. */
export type Gauges = () => Promise<Readonly<Record<GaugeName, number>>>

/** What is counted. */
export const gaugeNames = [
  'reeve.runs.waiting',
  'reeve.runs.stalled',
  'reeve.runs.flapping',
  'reeve.approvals.waiting',
] as const
type GaugeName = (typeof gaugeNames)[number]

/** Where spans and measurements go. */
export interface TelemetrySink {
  /** Takes what has ended. `beginningOf`: how the span of a whole run began; undefined if the run is gone. */
  take(
    ended: { readonly spans: readonly ReeveSpan[]; readonly measurements: readonly Measurement[] },
    beginningOf: (run: RunId) => Promise<SpanBeginning | undefined>,
    signal: AbortSignal,
  ): Promise<void>
  /** Sends what is kept back. */
  close(signal: AbortSignal): Promise<void>
}

/** Metrics are sent this often. Milliseconds. */
const metricsEveryMs = 60_000

/**
 * Posts spans as they end, and metrics once in a minute. What a receiver does not take of a request that it accepted is
 * told to `onError`; so are metrics that it does not take, since the next ones hold them, too.
 */
export class OtlpSink implements TelemetrySink {
  readonly #client: OtlpClient
  readonly #gauges: Gauges
  readonly #onError: (error: unknown) => void
  readonly #counted = new Histograms()
  readonly #since = systemClock.now()
  readonly #isOff = { traces: isDisabled(process.env, 'traces'), metrics: isDisabled(process.env, 'metrics') }
  #sentAt = this.#since

  constructor(client: OtlpClient, gauges: Gauges, onError: (error: unknown) => void) {
    this.#client = client
    this.#gauges = gauges
    this.#onError = onError
  }

  async take(
    { spans, measurements }: Parameters<TelemetrySink['take']>[0],
    _beginning: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#isOff.traces)
      for (const batch of batchesOf(spans)) this.#note('spans', await this.#client.traces(batch, signal))
    for (const each of measurements) this.#counted.add(each)
    if (systemClock.now() - this.#sentAt >= metricsEveryMs) await this.#sendMetrics(signal)
  }

  async close(signal: AbortSignal): Promise<void> {
    if (!this.#counted.isEmpty) await this.#sendMetrics(signal)
  }

  async #sendMetrics(signal: AbortSignal): Promise<void> {
    this.#sentAt = systemClock.now()
    if (this.#isOff.metrics) return
    try {
      const period = { since: this.#since, at: this.#sentAt, gauges: await this.#gauges() }
      this.#note('points of metrics', await this.#client.metrics(this.#counted, period, signal))
    } catch (thrown) {
      this.#onError(thrown)
    }
  }

  #note(what: string, { rejected, message }: Rejected): void {
    if (rejected === 0 && message === '') return
    const said = rejected === 0 ? 'the receiver warns' : `the receiver did not take ${rejected} ${what}`
    this.#onError(new ReeveError('telemetry.failed', `${said}: ${visibleLine(message)}`))
  }
}
