/**
 * MCP over standard input and output: for a client that starts the server as a process of its own.
 *
 * Owns: serving one connection until its client leaves. Does not own: the tools (run-tools.ts), who the caller is.
 */
import { Writable, type Readable } from 'node:stream'
import type { ProtocolContext } from '@reeve/server'
import { serverStdioPackage } from './packages.ts'
import { runServers } from './run-server.ts'

/** The options of `serveMcpStdio`. */
export interface McpStdioOptions {
  /** The names of the agents that may be started. Default: every agent of the runtime. */
  readonly agents?: readonly string[]
  /** Default: standard input of this process. */
  readonly input?: Readable
  /**
   * Default: standard output of this process, which the protocol then has for itself: what else is written to
   * `process.stdout` goes to standard error. What native code and child processes write to it is not caught.
   */
  readonly output?: Writable
}

/**
 * Serves the caller of a context over standard input and output; resolves when the client has left, or the signal of
 * the context aborts. Nothing else may write to the given output. Needs the optional peer `@modelcontextprotocol/server`.
 */
export async function serveMcpStdio(context: ProtocolContext, options: McpStdioOptions = {}): Promise<void> {
  const { agents, input = process.stdin } = options
  const { serveStdio, StdioServerTransport } = await serverStdioPackage()
  const server = await runServers(context, agents)
  const left = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error'] as const) input.once(event, () => resolve())
    context.signal.addEventListener('abort', () => resolve(), { once: true })
    if (context.signal.aborted) resolve()
  })
  const own = options.output === undefined ? ownStandardOutput() : { output: options.output, giveBack: () => {} }
  try {
    const serving = serveStdio(server, { transport: new StdioServerTransport(input, own.output) })
    await left
    await serving.close()
  } finally {
    own.giveBack()
  }
}

/** Standard output for the protocol alone: what others write to it goes to standard error until it is given back. */
function ownStandardOutput(): { readonly output: Writable; readonly giveBack: () => void } {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  const before = Object.getOwnPropertyDescriptor(stdout, 'write')
  const output = new Writable({
    write: (piece: Buffer, _encoding, done) => void write(piece, (error) => done(error)),
  })
  stdout.write = stderr.write.bind(stderr)
  const giveBack = (): void => {
    if (before === undefined) delete (stdout as Partial<typeof stdout>).write
    else Object.defineProperty(stdout, 'write', before)
  }
  return { output, giveBack }
}
