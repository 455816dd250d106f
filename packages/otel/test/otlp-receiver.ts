/**
 * A receiver of OTLP over HTTP with JSON, as small as it can be, and the shape of its documents: that of
 * opentelemetry-proto 1.x in its JSON form (ids in hexadecimal digits, 64-bit numbers as texts, no other members).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'

const nanos = z.string().regex(/^[1-9]\d{0,19}$/)
const hex = (digits: number): z.ZodType<string> =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-f]{${digits}}$`))
    .refine((text) => !/^0+$/.test(text))
const anyValue: z.ZodType = z.lazy(() =>
  z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ boolValue: z.boolean() }),
    z.strictObject({ intValue: z.string().regex(/^-?\d{1,19}$/) }),
    z.strictObject({ doubleValue: z.number() }),
    z.strictObject({ arrayValue: z.strictObject({ values: z.array(anyValue) }) }),
  ]),
)
const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value: anyValue }))
  .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, 'keys are unique')
const resource = z.strictObject({ attributes })
const scope = z.strictObject({ name: z.string() })
const span = z
  .strictObject({
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16).optional(),
    flags: z.number().int().min(0).max(0xffff_ffff),
    name: z.string().min(1),
    kind: z.union([z.literal(1), z.literal(3)]),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes,
    events: z.array(z.strictObject({ timeUnixNano: nanos, name: z.string().min(1), attributes })).optional(),
    droppedEventsCount: z.number().int().optional(),
    links: z.array(z.strictObject({ traceId: hex(32), spanId: hex(16), attributes })).optional(),
    status: z.strictObject({ code: z.literal(2).optional(), message: z.string().optional() }),
  })
  .refine((each) => BigInt(each.startTimeUnixNano) <= BigInt(each.endTimeUnixNano), 'it begins before it ends')
const traces = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({ resource, scopeSpans: z.array(z.strictObject({ scope, spans: z.array(span).min(1) })) }),
  ),
})
const point = z
  .strictObject({
    attributes,
    startTimeUnixNano: nanos,
    timeUnixNano: nanos,
    count: z.string(),
    sum: z.number(),
    min: z.number(),
    max: z.number(),
    bucketCounts: z.array(z.string().regex(/^\d+$/)),
    explicitBounds: z.array(z.number()),
  })
  .refine(({ bucketCounts, explicitBounds }) => bucketCounts.length === explicitBounds.length + 1, 'a bucket too few')
  .refine(({ bucketCounts, count }) => bucketCounts.reduce((sum, each) => sum + Number(each), 0) === Number(count))
const histogram = z.strictObject({
  name: z.string(),
  unit: z.string(),
  description: z.string(),
  histogram: z.strictObject({ aggregationTemporality: z.literal(2), dataPoints: z.array(point).min(1) }),
})
const gauge = z.strictObject({
  name: z.string(),
  gauge: z.strictObject({
    dataPoints: z.array(z.strictObject({ attributes, timeUnixNano: nanos, asInt: z.string().regex(/^\d+$/) })),
  }),
})
const metrics = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({
      resource,
      scopeMetrics: z.array(z.strictObject({ scope, metrics: z.array(z.union([histogram, gauge])) })),
    }),
  ),
})

export type WireSpan = z.infer<typeof span>
export type WireMetric = z.infer<typeof histogram>

/** Throws unless it is a document of OTLP. */
export const spansIn = (document: unknown): readonly WireSpan[] =>
  traces.parse(document).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
export const metricsIn = (document: unknown): readonly z.infer<typeof gauge | typeof histogram>[] =>
  metrics.parse(document).resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((each) => each.metrics))

/** The value of an attribute; lists as lists, whole numbers as numbers. */
export function attribute({ attributes: list }: { readonly attributes: WireSpan['attributes'] }, key: string): unknown {
  const read = (value: unknown): unknown => {
    const [[form, given] = []] = Object.entries(value as Record<string, unknown>)
    if (form === 'intValue') return Number(given)
    return form === 'arrayValue' ? (given as { values: unknown[] }).values.map(read) : given
  }
  const found = list.find((each) => each.key === key)
  return found === undefined ? undefined : read(found.value)
}

/** What came in. */
export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** Spans, in the order in which they came. */
  readonly spans: WireSpan[]
  readonly metrics: (WireMetric | z.infer<typeof gauge>)[]
  /** Everything that came, as text. */
  readonly texts: string[]
  readonly headers: IncomingMessage['headers'][]
}

/** Answers of a receiver before it takes anything: each is used once. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Listens on a port of its own. A document of another shape is answered 400, and kept as a problem. */
export async function receiver(answers: Answer[] = []): Promise<Receiver & { readonly problems: unknown[] }> {
  const got: Pick<Receiver, 'spans' | 'metrics' | 'texts' | 'headers'> & { problems: unknown[] } = {
    spans: [],
    metrics: [],
    texts: [],
    headers: [],
    problems: [],
  }
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      got.headers.push(request.headers)
      const answer = answers.shift()
      if (answer !== undefined) return answer(request, response)
      const bytes = Buffer.concat(pieces)
      const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
      got.texts.push(text)
      try {
        if (request.url === '/v1/traces') got.spans.push(...spansIn(JSON.parse(text)))
        else if (request.url === '/v1/metrics') got.metrics.push(...metricsIn(JSON.parse(text)))
        else throw new Error(`path ${request.url}`)
        response.setHeader('Content-Type', 'application/json').end('{}')
      } catch (thrown) {
        got.problems.push(thrown)
        response.writeHead(400).end()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ...got,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The spans as a tree of names, children in the order in which they began. */
export function tree(spans: readonly WireSpan[], parent?: string, depth = 0): readonly string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  return spans
    .filter(({ parentSpanId }) =>
      parent === undefined ? parentSpanId === undefined || !ids.has(parentSpanId) : parentSpanId === parent,
    )
    .sort((a, b) => (a.startTimeUnixNano < b.startTimeUnixNano ? -1 : 1))
    .flatMap((each) => ['  '.repeat(depth) + each.name, ...tree(spans, each.spanId, depth + 1)])
}
