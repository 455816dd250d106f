/**
 * The wire of Anthropic's messages.
 *
 * Owns: its streams, bodies, errors and rules.
 */
import type { JsonObject } from '../../core/index.ts'
import type { ProviderRule, ProviderWire } from './wire.ts'
import { memberOf, textAt } from './wire.ts'

/** What Anthropic refuses. */
export const anthropicRules: readonly ProviderRule[] = []

const body = (message: string): JsonObject => ({ type: 'error', error: { type: 'invalid_request_error', message } })

/** The wire of Anthropic's messages. */
export const anthropicWire: ProviderWire = {
  takes: (method, path) => method === 'POST' && path === '/v1/messages',
  modelOf: (_, request) => textAt(request, 'model') ?? '',
  isStreamed: (_, request) => memberOf(request, 'stream') === true,
  stream: () => [],
  whole: () => ({}),
  failed: ({ message = 'failed' }) => ({ status: 500, headers: {}, body: body(message) }),
  broken: () => [],
  refused: (_, why) => ({ status: 400, headers: {}, body: body(why) }),
  ping: { stage: 'open', event: 'ping', data: { type: 'ping' } },
}
