/**
 * The MCP server over a context: the tools of its caller.
 *
 * Owns: what its client is told of it. Does not own: the tools (run-tools.ts), how tools are served (tool-server.ts),
 * where it is reached (server-protocol.ts, stdio.ts).
 */
import type { McpServer } from '@modelcontextprotocol/server'
import type { ProtocolContext } from '@reeve/server'
import { callTool, runTools } from './run-tools.ts'
import { toolServers, type ServedCall } from './tool-server.ts'

/** Makes servers for this caller. `agents`: the names that may be started; default: all. */
export const runServers = (
  context: ProtocolContext,
  agents: readonly string[] | undefined,
): Promise<() => McpServer> => {
  const offer = () => ({
    instructions: instructionsFor(context),
    tools: runTools(context, agents).map((tool) => ({
      ...tool,
      answer: (given: unknown, call: ServedCall) => callTool(tool, given, { context, ...call }),
    })),
  })
  return toolServers(offer, context.signal)
}

function instructionsFor({ principal: { name, roles, tenant } }: ProtocolContext): string {
  const where = tenant === undefined ? '' : `, in the tenant "${tenant}"`
  return `Reeve runs supervised teams of agents. You act as "${name}" with the roles ${roles.join(', ')}${where}; tools for other roles are not offered. A run goes on when a call ends: look for it with run_status.`
}
