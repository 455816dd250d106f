/**
 * Trace context: the ids by which a run and its operations are known in a distributed trace, and the header
 * `traceparent` (W3C Trace Context, version 00).
 *
 * Owns: reading and writing the header, how ids of traces and spans are derived. Does not own: spans
 * (packages/otel), where the header is read and sent.
 * Holds: ids are functions of ids in the journal, so they are the same in every process, after every crash and in every
 * export. Persistent: another derivation would split traces that were exported before.
 */
import { digest } from './hash.ts'
import { rootRun, runOf, type ActivationId, type RunId } from './ids.ts'

/** A place in a trace: the parent of whatever is done next. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /** Bit 1: the trace is recorded (`sampled`). */
  readonly flags: number
}

const layout = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s
const zeros = /^0+$/
/** Longer ones are not read. Version 00 has 55 characters. */
const longest = 512

/**
 * Reads a header as the W3C says: undefined for one that is malformed, of the invalid version `ff`, or with ids of
 * zeros only. Of a later version it reads what version 00 knows. Never throws.
 */
export function parseTraceparent(text: string): TraceParent | undefined {
  if (text.length > longest) return undefined
  const [, version, traceId, spanId, flags, rest] = layout.exec(text.trim()) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined
  // flags other than `sampled` are not ours to pass on
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 }
}

/** The header of a place, in version 00. */
export const formatTraceparent = ({ traceId, spanId, flags }: TraceParent): string =>
  `00-${traceId}-${spanId}-${flags === 0 ? '00' : '01'}`

/** Zeros alone are no id. */
const id = (content: string, digits: number): string => {
  const hex = digest(content).slice(0, digits)
  return zeros.test(hex) ? `${hex.slice(0, -1)}1` : hex
}

/**
 * The trace of a run and its child runs: that of its caller, if it was started with `traceparent`, else one made of its
 * id.
 */
export const traceIdOf = (run: RunId, traceparent?: string): string =>
  (traceparent === undefined ? undefined : parseTraceparent(traceparent)?.traceId) ??
  id(`reeve trace\0${rootRun(run)}`, 32)

/** The span of a whole run that was started from outside. */
export const runSpanId = (run: RunId): string => id(`reeve run\0${run}`, 16)

/** The span of an operation of an activation; without an address, that of the activation itself. */
export const spanIdOf = (activation: ActivationId, address?: string): string =>
  address === undefined ? id(`reeve agent\0${activation}`, 16) : id(`reeve operation\0${activation}\0${address}`, 16)

/** The header that what an operation calls is to be sent. `traceparent`: that of the caller of the run. */
export function traceparentOf(activation: ActivationId, address: string, traceparent?: string): string {
  const caller = traceparent === undefined ? undefined : parseTraceparent(traceparent)
  return formatTraceparent({
    traceId: caller?.traceId ?? traceIdOf(runOf(activation)),
    spanId: spanIdOf(activation, address),
    flags: caller?.flags ?? 1,
  })
}
