/** Servers of protocols under test: principals with roles, and requests with their credentials. */
import type { Agent } from '@reeve/agent'
import type { JsonObject } from '@reeve/core'
import type { Protocol, Role } from '@reeve/server'
import { sentEvents, serving, type Serving } from '../../server/test/serving.ts'

const principals: Readonly<Record<string, { readonly roles: readonly Role[]; readonly tenant?: string }>> = {
  ann: { roles: ['admin'] },
  bob: { roles: ['operator'] },
  vic: { roles: ['viewer'] },
  eve: { roles: ['admin'], tenant: 'other' },
}
export const tokenOf = (name: string): string => name.padEnd(24, '-')
const auth = {
  tokens: Object.fromEntries(Object.entries(principals).map(([name, each]) => [tokenOf(name), { name, ...each }])),
}

/** Sends a body as this principal; undefined: without a credential. */
export type Ask = (path: string, body: unknown, as?: string, headers?: Record<string, string>) => Promise<Response>

/** Serves these agents over these protocols. */
export async function servingProtocols(
  agents: readonly Agent[],
  protocols: readonly Protocol[],
  origins: readonly string[] = [],
): Promise<Serving & { readonly ask: Ask }> {
  const served = await serving({ agents }, { auth, protocols, origins })
  const ask: Ask = (path, body, as = 'ann', headers = {}) =>
    fetch(served.server.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(as === '' ? {} : { Authorization: `Bearer ${tokenOf(as)}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return { ...served, ask }
}

/** All that a stream says. */
export async function streamed(response: Response): Promise<readonly JsonObject[]> {
  const seen: JsonObject[] = []
  for await (const { data } of sentEvents(response)) seen.push(data as JsonObject)
  return seen
}
