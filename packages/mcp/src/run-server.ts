/**
 * The MCP server over a context: the tools of its caller, in the package's own server.
 *
 * Owns: making one for a connection or a request. Does not own: the tools (run-tools.ts), where it is reached
 * (server-protocol.ts, stdio.ts).
 */
import { present } from '@reeve/core'
import type { McpServer, ServerContext, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { Json } from '@reeve/core'
import type { Schema } from '@reeve/edge'
import type { ProtocolContext } from '@reeve/server'
import { implementation, serverPackage } from './packages.ts'
import { callTool, runTools } from './run-tools.ts'

/** For how long a client may keep the list of tools. Milliseconds. */
const listHoldsMs = 60_000

/** Makes servers for this caller. `agents`: the names that may be started; default: all. */
export async function runServers(
  context: ProtocolContext,
  agents: readonly string[] | undefined,
): Promise<() => McpServer> {
  const { McpServer: Server } = await serverPackage()
  return () => {
    const held = { ttlMs: listHoldsMs, cacheScope: 'private' } as const
    const server = new Server(implementation, {
      capabilities: { tools: { listChanged: false } },
      instructions: instructionsFor(context),
      cacheHints: { 'tools/list': held, 'server/discover': held },
    })
    for (const tool of runTools(context, agents)) {
      const { name, title, description, hints: annotations } = tool
      server.registerTool(
        name,
        { title, description, annotations, inputSchema: asStandard(tool.input) },
        (given, call) => {
          const signal = AbortSignal.any([context.signal, call.mcpReq.signal])
          const tell = teller(call)
          return callTool(tool, given, { context, signal, ...present({ tell }) })
        },
      )
    }
    return server
  }
}

function instructionsFor({ principal: { name, roles, tenant } }: ProtocolContext): string {
  const where = tenant === undefined ? '' : `, in the tenant "${tenant}"`
  return `Reeve runs supervised teams of agents. You act as "${name}" with the roles ${roles.join(', ')}${where}; tools for other roles are not offered. A run goes on when a call ends: look for it with run_status.`
}

/** Sends progress, where the caller has asked for it. */
function teller({
  mcpReq: { _meta, notify },
}: ServerContext): ((at: number, line: string) => Promise<void>) | undefined {
  const token = _meta?.progressToken
  return token === undefined
    ? undefined
    : (progress, message) =>
        notify({ method: 'notifications/progress', params: { progressToken: token, progress, message } }).catch(
          // the caller is gone, which the signal says too
          () => undefined,
        )
}

const asStandard = (schema: Schema): StandardSchemaWithJSON => ({
  '~standard': {
    version: 1,
    vendor: 'reeve',
    validate: (value) => {
      const checked = schema.check((value ?? {}) as Json)
      return checked.ok ? { value: checked.value } : { issues: [{ message: checked.problem }] }
    },
    jsonSchema: { input: () => ({ ...schema.json }), output: () => ({ ...schema.json }) },
  },
})
