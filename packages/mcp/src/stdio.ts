/**
 * MCP over standard input and output: for a client that starts the server as a process of its own.
 *
 * Owns: the caller of one connection. Does not own: the tools (run-tools.ts), the connection (tool-server.ts).
 */
import type { ProtocolContext } from '@reeve/server'
import { runServers } from './run-server.ts'
import { serveStdio, type StdioOptions } from './tool-server.ts'

/** The options of `serveMcpStdio`. */
export interface McpStdioOptions extends StdioOptions {
  /** The names of the agents that may be started. Default: every agent of the runtime. */
  readonly agents?: readonly string[]
}

/**
 * Serves the caller of a context over standard input and output; resolves when the client has left, or the signal of
 * the context aborts. Nothing else may write to the given output. Needs the optional peer `@modelcontextprotocol/server`.
 */
export async function serveMcpStdio(context: ProtocolContext, options: McpStdioOptions = {}): Promise<void> {
  const { agents, ...stdio } = options
  await serveStdio(await runServers(context, agents), context.signal, stdio)
}
