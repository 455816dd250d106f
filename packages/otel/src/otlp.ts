/**
 * OTLP over HTTP with JSON: the documents of `/v1/traces` and `/v1/metrics`, and posting them.
 *
 * Owns: the documents (as opentelemetry-proto says in JSON: ids in hexadecimal digits, 64-bit numbers as texts), tries,
 * what an answer means. Does not own: what is in a span (run-trace.ts).
 * Holds: no redirect is followed and no error shows an address or a header: both may hold a secret.
 */
import { gzipSync } from 'node:zlib'
import { fetchProblem, jitter, pause, present, ReeveError, retryAfter, timerMs } from '@reeve/core'
import { reeve, type AttributeValue, type SpanAttributes } from './attributes.ts'
import { otlpSettings, type Environment, type OtlpOptions, type OtlpSettings, type Signal } from './environment.ts'
import { histograms, type Measurement, type ReeveSpan, type SpanEvent, type SpanLink } from './span.ts'

/** What the receiver did not take of a request that it accepted. */
export interface Rejected {
  readonly rejected: number
  /** Its own words. */
  readonly message: string
}

type Wire = { readonly [member: string]: unknown }

const scope = { name: 'reeve' }

/** Spans as the document of `/v1/traces`. */
export const tracesDocument = (resource: SpanAttributes, spans: readonly ReeveSpan[]): Wire => ({
  resourceSpans: [
    { resource: { attributes: wireAttributes(resource) }, scopeSpans: [{ scope, spans: spans.map(wireSpan) }] },
  ],
})

function wireSpan(span: ReeveSpan): Wire {
  const { traceId, spanId, parentId, flags, name, kind, from, to, attributes, events, links, error, droppedEvents } =
    span
  return {
    traceId,
    spanId,
    ...present({ parentSpanId: parentId }),
    // bits 9 and 10: whether the parent is remote, and that this is known
    flags: flags | 0x100 | (span.hasRemoteParent === true ? 0x200 : 0),
    name,
    kind: kind === 'client' ? 3 : 1,
    startTimeUnixNano: nanos(from),
    endTimeUnixNano: nanos(to),
    attributes: wireAttributes(attributes),
    ...(events.length === 0 ? {} : { events: events.map(wireEvent) }),
    ...present({ droppedEventsCount: droppedEvents }),
    ...(links.length === 0 ? {} : { links: links.map(wireLink) }),
    status: error === undefined ? {} : { code: 2, ...present({ message: error.message }) },
  }
}

const wireEvent = ({ name, at, attributes }: SpanEvent): Wire => ({
  timeUnixNano: nanos(at),
  name,
  attributes: wireAttributes(attributes),
})

const wireLink = ({ traceId, spanId, attributes }: SpanLink): Wire => ({
  traceId,
  spanId,
  attributes: wireAttributes(attributes),
})

/** Milliseconds as nanoseconds: too large for a number of JSON. */
const nanos = (ms: number): string => (BigInt(Math.round(ms)) * 1_000_000n).toString()

const wireAttributes = (attributes: SpanAttributes): readonly Wire[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' && fractions.has(key) ? { doubleValue: value } : wireValue(value),
  }))

/** Numbers that may have fractions: a backend wants one type for each name. */
const fractions: ReadonlySet<string> = new Set([
  reeve.costUsd,
  'reeve.cost_usd',
  'reeve.confidence',
  'reeve.wanted',
  'reeve.left',
  'reeve.spent',
])

function wireValue(value: AttributeValue): Wire {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map((each) => wireValue(each)) } }
}

/** What a document of metrics counts: between which moments, and with which attributes at every point. */
export interface MetricsPeriod {
  /** Milliseconds since 1970. */
  readonly since: number
  readonly at: number
  /** By these a backend tells one source of points from another. */
  readonly own?: SpanAttributes
  /** What is so now, by the name of the gauge. */
  readonly gauges?: { readonly [name: string]: number }
}

/** Histograms that grow: they are cumulative, so that sending them again counts nothing twice. */
export class Histograms {
  readonly #points = new Map<string, Point>()

  get isEmpty(): boolean {
    return this.#points.size === 0
  }

  add({ metric, value, attributes }: Measurement): void {
    const key = JSON.stringify([metric, Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))])
    const { bounds } = histograms[metric]
    const point = this.#points.get(key) ?? {
      metric,
      attributes,
      counts: Array.from({ length: bounds.length + 1 }, () => 0),
      count: 0,
      sum: 0,
      min: value,
      max: value,
    }
    this.#points.set(key, point)
    const bucket = bounds.findIndex((bound) => value <= bound)
    point.counts[bucket === -1 ? bounds.length : bucket]!++
    point.count++
    point.sum += value
    point.min = Math.min(point.min, value)
    point.max = Math.max(point.max, value)
  }

  /** The document of `/v1/metrics`. */
  document(resource: SpanAttributes, { since, at, own = {}, gauges = {} }: MetricsPeriod): Wire {
    const metrics: Wire[] = Object.entries(histograms).flatMap(([name, { unit, description, bounds }]) => {
      const points = [...this.#points.values()].filter(({ metric }) => metric === name)
      if (points.length === 0) return []
      const dataPoints = points.map(({ attributes, counts, count, sum, min, max }) => ({
        attributes: wireAttributes({ ...attributes, ...own }),
        startTimeUnixNano: nanos(since),
        timeUnixNano: nanos(at),
        count: String(count),
        sum,
        min,
        max,
        bucketCounts: counts.map(String),
        explicitBounds: bounds,
      }))
      return [{ name, unit, description, histogram: { aggregationTemporality: 2, dataPoints } }]
    })
    for (const [name, value] of Object.entries(gauges))
      metrics.push({ name, gauge: { dataPoints: [{ attributes: [], timeUnixNano: nanos(at), asInt: String(value) }] } })
    return {
      resourceMetrics: [{ resource: { attributes: wireAttributes(resource) }, scopeMetrics: [{ scope, metrics }] }],
    }
  }
}

interface Point {
  readonly metric: Measurement['metric']
  readonly attributes: SpanAttributes
  readonly counts: number[]
  count: number
  sum: number
  min: number
  max: number
}

/** At most so many spans in a document, and about so many characters: receivers have bounds. */
const mostSpans = 512
const mostCharacters = 1_000_000

/** Spans in parts that receivers take. */
export function* batchesOf(spans: readonly ReeveSpan[]): Generator<readonly ReeveSpan[]> {
  let batch: ReeveSpan[] = []
  let size = 0
  for (const span of spans) {
    const own = charactersOf(span)
    if (batch.length >= mostSpans || (batch.length > 0 && size + own > mostCharacters)) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(span)
    size += own
  }
  if (batch.length > 0) yield batch
}

/** A measure, not an exact count: a flat rate, and texts that may be long. */
function charactersOf({ attributes, events }: ReeveSpan): number {
  let total = 500
  for (const each of [attributes, ...events.map((event) => event.attributes)])
    for (const value of Object.values(each)) total += typeof value === 'string' ? value.length : 50
  return total
}

/** What of the environment cannot be obeyed is said once in a process. */
const warned = new Set<string>()

/** Posts documents to where options and environment say. */
export class OtlpClient {
  /** The attributes of the resource. */
  readonly resource: SpanAttributes
  readonly #settings: OtlpSettings
  readonly #options: OtlpOptions

  constructor(options: OtlpOptions, env: Environment = process.env) {
    this.#options = options
    this.#settings = otlpSettings(options, env)
    this.resource = this.#settings.resource
    for (const problem of this.#settings.problems) {
      if (warned.has(problem)) continue
      warned.add(problem)
      process.emitWarning(`reeve/otel: ${problem}`)
    }
  }

  traces(spans: readonly ReeveSpan[], signal?: AbortSignal): Promise<Rejected> {
    return this.#post('traces', tracesDocument(this.resource, spans), 'rejectedSpans', signal)
  }

  metrics(of: Histograms, period: MetricsPeriod, signal?: AbortSignal): Promise<Rejected> {
    return this.#post('metrics', of.document(this.resource, period), 'rejectedDataPoints', signal)
  }

  /**
   * Posts a document until it was taken. Rejects with `telemetry.failed`: after the last try (`retryable`), or at once
   * for an answer that no other try would mend.
   */
  async #post(kind: Signal, document: Wire, rejected: string, signal: AbortSignal | undefined): Promise<Rejected> {
    const { attempts = 5, fetch: send = fetch } = this.#options
    const { url, headers, gzip, timeoutMs } = this.#settings[kind]
    const text = JSON.stringify(document)
    const body = gzip ? gzipSync(text) : text
    const { host, pathname } = new URL(url)
    const where = `${host}${pathname}`
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      const given = await this.#try(where, () =>
        send(url, {
          method: 'POST',
          redirect: 'manual',
          body,
          headers: {
            'user-agent': 'reeve',
            ...headers,
            'content-type': 'application/json',
            ...(gzip ? { 'content-encoding': 'gzip' } : {}),
          },
          signal: AbortSignal.any([AbortSignal.timeout(timerMs(timeoutMs)), ...(signal === undefined ? [] : [signal])]),
        }),
      )
      if (given.status === 'taken') return rejectedIn(given.body, rejected)
      signal?.throwIfAborted()
      if (!given.retryable || attempt >= attempts)
        throw new ReeveError('telemetry.failed', given.message, {
          retryable: given.retryable,
          hint: given.retryable
            ? 'Nothing is lost: what was not taken can be exported again, under the same ids.'
            : 'Check the address and the headers of the receiver (OTLP over HTTP with JSON).',
        })
      const wait = Math.min(500 * 2 ** (attempt - 1), 30_000) * (1 - jitter() / 2)
      await pause(Math.max(wait, given.afterMs ?? 0), signal)
    }
  }

  async #try(where: string, send: () => Promise<Response>): Promise<Tried> {
    let answer: Response
    try {
      answer = await send()
    } catch (thrown) {
      return { status: 'refused', retryable: true, message: `${where} could not be reached: ${fetchProblem(thrown)}` }
    }
    const { status, headers } = answer
    const body = await bodyOf(answer)
    if (status >= 200 && status < 300) return { status: 'taken', body }
    const retryable = status === 429 || status === 502 || status === 503 || status === 504
    const afterMs = retryAfter((name) => headers.get(name), afterMost)
    const message = `${where} answered ${status}`
    return {
      status: 'refused',
      retryable,
      message,
      ...present({ afterMs }),
    }
  }
}

type Tried =
  | { readonly status: 'taken'; readonly body: string }
  | { readonly status: 'refused'; readonly retryable: boolean; readonly message: string; readonly afterMs?: number }

/** As much of an answer as is read. */
const longestAnswer = 65_536

async function bodyOf(answer: Response): Promise<string> {
  const reader = (answer.body as ReadableStream<Uint8Array> | null)?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let next = await reader.read(); !next.done && text.length < longestAnswer; next = await reader.read())
      text += decoder.decode(next.value, { stream: true })
  } catch {
    // what was accepted stays accepted, whatever became of the answer
  }
  await reader.cancel().catch(() => {})
  return text
}

/** What a receiver says that it did not take. A warning is one of nothing. */
function rejectedIn(body: string, count: string): Rejected {
  const nothing = { rejected: 0, message: '' }
  let answer: unknown
  try {
    answer = JSON.parse(body)
  } catch {
    return nothing
  }
  const partial = ownMember(answer, 'partialSuccess')
  const given = ownMember(partial, count)
  const rejected = typeof given === 'string' || typeof given === 'number' ? Number(given) : 0
  const message = ownMember(partial, 'errorMessage')
  return {
    rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
    message: typeof message === 'string' ? message.slice(0, 1_000) : '',
  }
}

const ownMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [member: string]: unknown })[name]
    : undefined

/** A receiver that asks for a longer wait than this is tried again after it. Milliseconds. */
const afterMost = 5 * 60_000
