/**
 * The sink of an SDK: spans and metrics through the API of OpenTelemetry.
 *
 * Owns: what is said to the API, and in which order. Does not own: sampling and exporting (the SDK), ids (span-ids.ts).
 * Holds: a span is started and ended when it has ended in the journal, with the times of the journal, so nothing is held
 * while it is open and nothing is lost with a process. One is started earlier: that of the whole run, because the
 * sampler decides on it for the whole trace. It is ended, and so exported, when the run has ended.
 */
import type {
  Context,
  Histogram,
  HrTime,
  Link,
  Meter,
  ObservableGauge,
  Span,
  SpanContext,
  Tracer,
} from '@opentelemetry/api'
import type * as OpenTelemetry from '@opentelemetry/api'
import { optionalPeer, type RunId } from '@reeve/core'
import { reeve, type AttributeValue, type SpanAttributes } from './attributes.ts'
import { gaugeNames, type Gauges, type TelemetrySink } from './telemetry-sink.ts'
import { histograms, type MetricName, type ReeveSpan, type SpanBeginning, type SpanLink } from './span.ts'
import { withIds } from './span-ids.ts'

type Api = typeof OpenTelemetry

/** Spans of whole runs that are kept open; of others the sampler is asked again. */
const mostOpen = 10_000

/** Loaded when it is needed: it is an optional peer. */
export const loadApi = (): Promise<Api> => optionalPeer('@opentelemetry/api')

/** Why spans would be lost or get ids of their own; undefined: an SDK takes them. */
export function apiProblem(api: Api): 'no-sdk' | 'other-ids' | undefined {
  const ids = { traceId: 'b'.repeat(32), spanId: 'b'.repeat(16) }
  // never ended, so never exported
  const context = withIds(ids, () =>
    api.trace.getTracer('reeve').startSpan('reeve.probe', { root: true }),
  ).spanContext()
  if (!api.isSpanContextValid(context)) return 'no-sdk'
  return context.spanId === ids.spanId && context.traceId === ids.traceId ? undefined : 'other-ids'
}

/** Says everything to the global tracer and meter. */
export class ApiSink implements TelemetrySink {
  readonly #api: Api
  readonly #tracer: Tracer
  readonly #histograms: Readonly<Record<MetricName, Histogram>>
  readonly #open = new Map<RunId, Span>()
  readonly #stopGauges: () => void

  constructor(api: Api, gauges: Gauges) {
    this.#api = api
    this.#tracer = api.trace.getTracer('reeve')
    const meter = api.metrics.getMeter('reeve')
    const made = Object.entries(histograms).map(([name, { unit, description, bounds }]) => [
      name,
      meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: [...bounds] } }),
    ])
    this.#histograms = Object.fromEntries(made) as Readonly<Record<MetricName, Histogram>>
    this.#stopGauges = observe(meter, gauges)
  }

  async take(
    { spans, measurements }: Parameters<TelemetrySink['take']>[0],
    beginningOf: Parameters<TelemetrySink['take']>[1],
  ): Promise<void> {
    for (const span of spans) {
      const whole = this.#open.get(span.run) ?? this.#begin(await beginningOf(span.run))
      const isOver = span.attributes[reeve.unfinished] !== true
      if (isOver && whole?.spanContext().spanId === span.spanId) this.#endWhole(whole, span)
      else this.#tell(span, whole?.spanContext().traceFlags ?? span.flags)
    }
    for (const { metric, value, attributes } of measurements)
      this.#histograms[metric].record(value, withLists(attributes))
  }

  close(): Promise<void> {
    this.#stopGauges()
    this.#open.clear()
    return Promise.resolve()
  }

  #begin(beginning: SpanBeginning | undefined): Span | undefined {
    if (beginning === undefined) return undefined
    const { run, flags } = beginning
    const span = this.#start(beginning, flags)
    const [oldest] = this.#open.keys()
    if (this.#open.size >= mostOpen && oldest !== undefined) this.#open.delete(oldest)
    this.#open.set(run, span)
    return span
  }

  #endWhole(span: Span, ended: ReeveSpan): void {
    this.#open.delete(ended.run)
    span.setAttributes(withLists(ended.attributes))
    this.#finish(span, ended)
  }

  #tell(ended: ReeveSpan, flags: number): void {
    this.#finish(this.#start(ended, flags), ended)
  }

  #start(given: SpanBeginning, flags: number): Span {
    const { traceId, spanId, parentId, hasRemoteParent, name, kind, from, attributes, links } = given
    const { SpanKind } = this.#api
    const options = {
      kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      startTime: hrTime(from),
      attributes: withLists(attributes),
      links: links.map((link) => this.#link(link)),
      root: parentId === undefined,
    }
    const parent = parentId === undefined ? undefined : { traceId, spanId: parentId, traceFlags: flags }
    const context = this.#contextOf(parent, hasRemoteParent === true)
    return withIds({ traceId, spanId }, () => this.#tracer.startSpan(name, options, context))
  }

  #finish(span: Span, { events, to, error }: ReeveSpan): void {
    for (const { name, attributes, at } of events) span.addEvent(name, withLists(attributes), hrTime(at))
    if (error !== undefined) span.setStatus({ code: this.#api.SpanStatusCode.ERROR, ...error })
    span.end(hrTime(to))
  }

  #contextOf(parent: SpanContext | undefined, isRemote: boolean): Context {
    const { ROOT_CONTEXT, trace } = this.#api
    return parent === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, { ...parent, ...(isRemote ? { isRemote } : {}) })
  }

  #link({ traceId, spanId, attributes }: SpanLink): Link {
    return { context: { traceId, spanId, traceFlags: this.#api.TraceFlags.SAMPLED }, attributes: withLists(attributes) }
  }
}

/** Gauges that are asked for whenever the SDK collects. */
function observe(meter: Meter, gauges: Gauges): () => void {
  const made = new Map(gaugeNames.map((name): [string, ObservableGauge] => [name, meter.createObservableGauge(name)]))
  const all = [...made.values()]
  const ask = async (result: { observe(gauge: ObservableGauge, value: number): void }): Promise<void> => {
    for (const [name, value] of Object.entries(await gauges())) {
      const gauge = made.get(name)
      if (gauge !== undefined) result.observe(gauge, value)
    }
  }
  meter.addBatchObservableCallback(ask, all)
  return () => meter.removeBatchObservableCallback(ask, all)
}

/** Milliseconds as seconds and nanoseconds: a number could be taken for one of `performance.now()`. */
const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]

/** The API wants lists that may be written to. */
const withLists = (attributes: SpanAttributes): { [name: string]: string | number | boolean | string[] } =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]: [string, AttributeValue]) => [
      name,
      typeof value === 'object' ? [...value] : value,
    ]),
  )
