/** Routes of the installation: whether it is there, what it serves, which agents may be started. */
import type { JsonObject } from '@reeve/core'
import { route, type Route } from '../route.ts'
import { flag, jsonObject, list, name, object, optional, text } from '../wire-schema.ts'
import type { AgentDocument } from '../wire.ts'

type ToolDocument = AgentDocument['tools'][number]

export const installationRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/health',
    summary: 'Whether the server answers and reaches its store.',
    answer: object<{ readonly ok: boolean }>('Health', { ok: flag() }),
    async handle({ runtime }) {
      await runtime.runs({ limit: 1 })
      return { ok: true }
    },
  }),
  route({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document.',
    answer: jsonObject<JsonObject>(),
    handle: ({ document }) => document(),
  }),
  route({
    method: 'GET',
    path: '/agents',
    summary: 'The agents that may be started, with all that they can reach.',
    answer: list(
      object<AgentDocument>('AgentDocument', {
        name: name(),
        version: name(),
        description: optional(text()),
        inputSchema: optional(jsonObject()),
        instructions: optional(text()),
        tools: list(
          object<ToolDocument>('ToolDocument', {
            name: name(),
            description: text(),
            inputSchema: optional(jsonObject()),
            searchable: optional(
              flag<true>({ description: 'Its model finds it by search. Absent: it is always sent.' }),
            ),
          }),
        ),
        workers: list(name()),
        tenants: optional(list(name({ description: 'Those that it belongs to. Absent: everybody.' }))),
      }),
    ),
    handle: ({ runtime }) => runtime.agents(),
  }),
]
