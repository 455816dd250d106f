/**
 * MCP over standard input and output: for a client that starts the server as a process of its own.
 *
 * Owns: serving one connection until its client leaves. Does not own: the tools (run-tools.ts), who the caller is.
 */
import type { Readable, Writable } from 'node:stream'
import type { ProtocolContext } from '../../server/index.ts'
import { serverStdioPackage } from './packages.ts'
import { runServers } from './run-server.ts'

/** The options of `serveMcpStdio`. */
export interface McpStdioOptions {
  /** The names of the agents that may be started. Default: every agent of the runtime. */
  readonly agents?: readonly string[]
  /** Default: standard input and output of this process. */
  readonly input?: Readable
  readonly output?: Writable
}

/**
 * Serves the caller of a context over standard input and output; resolves when the client has left, or the signal of
 * the context aborts. Nothing else may write to the output. Needs the optional peer `@modelcontextprotocol/server`.
 */
export async function serveMcpStdio(context: ProtocolContext, options: McpStdioOptions = {}): Promise<void> {
  const { agents, input = process.stdin, output = process.stdout } = options
  const { serveStdio, StdioServerTransport } = await serverStdioPackage()
  const server = await runServers(context, agents)
  const left = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error'] as const) input.once(event, () => resolve())
    context.signal.addEventListener('abort', () => resolve(), { once: true })
    if (context.signal.aborted) resolve()
  })
  const serving = serveStdio(server, { transport: new StdioServerTransport(input, output) })
  await left
  await serving.close()
}
