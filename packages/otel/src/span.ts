/**
 * Spans and measurements: what the projection gives, whichever sink receives it. Plain data.
 */
import type { RunId } from '@reeve/core'
import type { SpanAttributes } from './attributes.ts'

/** Something that happened during a span. */
export interface SpanEvent {
  readonly name: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly attributes: SpanAttributes
}

/** Another span that this one has to do with. */
export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: SpanAttributes
}

/** A span, in the words of OpenTelemetry. Times are milliseconds since 1970. */
export interface ReeveSpan {
  /** The run that was started from outside. */
  readonly run: RunId
  readonly traceId: string
  readonly spanId: string
  /** Absent: it is the root of its trace. */
  readonly parentId?: string
  /** The parent is the caller's: a span of another process. */
  readonly hasRemoteParent?: true
  /** Bit 1: sampled. */
  readonly flags: number
  readonly name: string
  /** `client`: a call of a model. */
  readonly kind: 'internal' | 'client'
  readonly from: number
  readonly to: number
  readonly attributes: SpanAttributes
  readonly events: readonly SpanEvent[]
  /** Events beyond the bound. */
  readonly droppedEvents?: number
  readonly links: readonly SpanLink[]
  /** It ended in an error. `message` only where content was asked for. */
  readonly error?: { readonly message?: string }
}

/** Of a run that is traced: what its root span begins with. */
export type SpanBeginning = Omit<ReeveSpan, 'to' | 'error'>

/** One value for a histogram. */
export interface Measurement {
  readonly metric: MetricName
  readonly value: number
  readonly at: number
  readonly attributes: SpanAttributes
}

/** A histogram: its unit, what it counts, and the bounds of its buckets. */
export interface Histogram {
  readonly unit: string
  readonly description: string
  readonly bounds: readonly number[]
}

export type MetricName = 'gen_ai.client.token.usage' | 'gen_ai.client.operation.duration' | 'reeve.approval.wait'

/** The bounds of the first two are those of the conventions. */
export const histograms: Readonly<Record<MetricName, Histogram>> = {
  'gen_ai.client.token.usage': {
    unit: '{token}',
    description: 'Tokens of model calls',
    bounds: Array.from({ length: 14 }, (_, i) => 4 ** i),
  },
  'gen_ai.client.operation.duration': {
    unit: 's',
    description: 'How long model calls, tools and agents took',
    bounds: Array.from({ length: 14 }, (_, i) => 2 ** i / 100),
  },
  'reeve.approval.wait': {
    unit: 's',
    description: 'How long approvals waited for a decision',
    bounds: [1, 10, 60, 300, 1_800, 3_600, 14_400, 86_400, 259_200, 604_800],
  },
}
