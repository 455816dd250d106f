/**
 * Span ids: how spans of an SDK get the ids of the journal.
 *
 * Owns: the id generator that is given to the SDK. The API of OpenTelemetry cannot name the id of a span: an SDK draws it
 * from its generator. So the generator gives the wanted ids while a span of Reeve is started, which is synchronous, and
 * random ones otherwise.
 */
import { randomHex } from '@reeve/core'

interface WantedIds {
  readonly traceId: string
  readonly spanId: string
}

let wanted: WantedIds | undefined

/**
 * The `idGenerator` of a tracer provider: spans of runs get the ids of their journal, the same after every crash; other
 * spans get random ones.
 */
export const spanIds = {
  generateTraceId: (): string => wanted?.traceId ?? randomHex(32),
  generateSpanId: (): string => wanted?.spanId ?? randomHex(16),
}

/** Starts a span with these ids. `start` is synchronous. */
export function withIds<T>(ids: WantedIds, start: () => T): T {
  const before = wanted
  wanted = ids
  try {
    return start()
  } finally {
    wanted = before
  }
}
