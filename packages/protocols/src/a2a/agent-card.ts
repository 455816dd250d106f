/**
 * The card of an agent: what it is, where it answers, how a caller is let in. Anyone may read it.
 *
 * Owns: the card. Does not own: the agent (../../runtime), who is let in (../../server).
 * Holds: of an agent it says the name, the description and the version; nothing of its workers and tools.
 */
import { present, type Json, type JsonObject } from '@reeve/core'
import type { RegisteredAgent } from '@reeve/runtime'
import { protocolVersion } from './wire.ts'

/** What a card says besides the agent. */
export interface CardOptions {
  /** Who runs the agent. */
  readonly provider?: { readonly organization: string; readonly url: string }
  readonly documentationUrl?: string
  readonly iconUrl?: string
  /**
   * How callers are let in, as A2A writes it: schemes by name, and which of them is needed. Default: a bearer token.
   */
  readonly security?: { readonly schemes: JsonObject; readonly requirements: readonly Json[] }
}

const bearer: NonNullable<CardOptions['security']> = {
  schemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  requirements: [{ schemes: { bearer: { list: [] } } }],
}

/** The card of an agent that answers at this address. */
export function agentCard(
  { name, version, description = name, inputSchema }: RegisteredAgent,
  url: string,
  { provider, documentationUrl, iconUrl, security = bearer }: CardOptions,
): JsonObject {
  const inputs = inputSchema === undefined ? ['text/plain', 'application/json'] : ['application/json', 'text/plain']
  return {
    name,
    description,
    version,
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion })),
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: security.schemes,
    securityRequirements: security.requirements,
    defaultInputModes: inputs,
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ id: name, name, description, tags: [name] }],
    ...present({ provider, documentationUrl, iconUrl }),
  }
}
