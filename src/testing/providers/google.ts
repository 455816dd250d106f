/**
 * The wire of Google's generateContent.
 *
 * Owns: its streams, bodies, errors and rules.
 */
import type { JsonObject } from '../../core/index.ts'
import type { ProviderRule, ProviderWire } from './wire.ts'

/** What Google refuses. */
export const googleRules: readonly ProviderRule[] = []

const body = (code: number, message: string): JsonObject => ({ error: { code, message, status: 'INVALID_ARGUMENT' } })

/** The wire of Google's generateContent. */
export const googleWire: ProviderWire = {
  takes: (method, path) => method === 'POST' && /^\/v1beta\/models\/[^/:]+:(?:streamG|g)enerateContent$/.test(path),
  modelOf: (path) => /models\/([^/:]+)/.exec(path)?.[1] ?? '',
  isStreamed: (path) => path.endsWith(':streamGenerateContent'),
  stream: () => [],
  whole: () => ({}),
  failed: ({ message = 'failed' }) => ({ status: 500, headers: {}, body: body(500, message) }),
  broken: () => [],
  refused: (_, why) => ({ status: 400, headers: {}, body: body(400, why) }),
  ping: { stage: 'open', comment: '' },
}
