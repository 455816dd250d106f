/**
 * `@reeve/mcp/tools`: tools of any kind as an MCP server, in the official package's own.
 *
 * Owns: registering them, progress, serving them over standard input and output. Does not own: any tool, who may call.
 */
import { Writable, type Readable } from 'node:stream'
import type { McpServer, ServerContext, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { present, type Json } from '@reeve/core'
import type { Schema } from '@reeve/edge'
import { implementation, serverPackage, serverStdioPackage } from './packages.ts'

/** The result of a call, as the protocol has it. */
export type ToldResult = {
  content: { type: 'text'; text: string }[]
  structuredContent: Record<string, unknown>
  isError?: true
}

/** What a client is told of what a tool does to the world. */
export interface ToolHints {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}
export const readsOnly: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** The caller of a tool, besides what it gives. */
export interface ServedCall {
  /** Aborts when the caller has left, or has cancelled the call. */
  readonly signal: AbortSignal
  /** Shows progress, where the caller has asked for it. */
  readonly tell?: (position: number, line: string) => Promise<void>
}

/** A tool as it is offered. */
export interface OfferedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Schema
  readonly hints: ToolHints
  /** Never rejects: what goes wrong is told as the result. */
  readonly answer: (given: unknown, call: ServedCall) => Promise<ToldResult>
}

/** What a server offers. */
export interface Offer {
  /** What the client's model is told of the server. */
  readonly instructions: string
  readonly tools: readonly OfferedTool[]
}

/** For how long a client may keep the list of tools. Milliseconds. */
const listHoldsMs = 60_000

/** Makes servers, one for each connection or request. Needs the optional peer `@modelcontextprotocol/server`. */
export async function toolServers(offer: () => Offer, left: AbortSignal): Promise<() => McpServer> {
  const { McpServer: Server } = await serverPackage()
  return () => {
    const { instructions, tools } = offer()
    const held = { ttlMs: listHoldsMs, cacheScope: 'private' } as const
    const server = new Server(implementation, {
      capabilities: { tools: { listChanged: false } },
      instructions,
      cacheHints: { 'tools/list': held, 'server/discover': held },
    })
    for (const { name, title, description, hints: annotations, input, answer } of tools) {
      server.registerTool(
        name,
        { title, description, annotations, inputSchema: asStandard(input) },
        (given, context) => {
          const signal = AbortSignal.any([left, context.mcpReq.signal])
          return answer(given, { signal, ...present({ tell: teller(context) }) })
        },
      )
    }
    return server
  }
}

/** Where a client is spoken to that starts the server as a process of its own. */
export interface StdioOptions {
  /** Default: standard input of this process. */
  readonly input?: Readable
  /**
   * Default: standard output of this process, which the protocol then has for itself: what else is written to
   * `process.stdout` goes to standard error. What native code and child processes write to it is not caught.
   */
  readonly output?: Writable
}

/**
 * Serves over standard input and output; resolves when the client has left, or the signal aborts. Nothing else may write
 * to the given output.
 */
export async function serveStdio(
  server: () => McpServer,
  signal: AbortSignal,
  { input = process.stdin, output }: StdioOptions,
): Promise<void> {
  const { serveStdio: serve, StdioServerTransport } = await serverStdioPackage()
  const left = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error'] as const) input.once(event, () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted) resolve()
  })
  const own = output === undefined ? ownStandardOutput() : { output, giveBack: () => {} }
  try {
    const serving = serve(server, { transport: new StdioServerTransport(input, own.output) })
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

/** Sends progress, where the caller has asked for it. */
function teller({ mcpReq: { _meta, notify } }: ServerContext): ServedCall['tell'] {
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
