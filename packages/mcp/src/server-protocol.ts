/**
 * MCP as a protocol of a server of Reeve: streamable HTTP, for the revisions 2025-11-25 and 2026-07-28.
 *
 * Owns: `mcpServer()`, errors as JSON-RPC says them. Does not own: the tools (run-tools.ts), who may call, how large a
 * body may be (server), the protocol itself (`@modelcontextprotocol/server`).
 * Holds: nothing is kept between two requests: any process of an installation answers any of them.
 */
import {
  detached,
  expects,
  isName,
  isObject,
  listOf,
  mustBeOptions,
  optionProblems,
  own,
  ReeveError,
  refuseProblems,
  present,
  type Checks,
  type Json,
} from '@reeve/core'
import type { Protocol, ProtocolContext, ShownError } from '@reeve/server'
import { serverPackage } from './packages.ts'
import { runServers } from './run-server.ts'

export interface McpServerOptions {
  /** The path at which it answers. Default `/mcp`. */
  readonly path?: string
  /** The names of the agents that callers may start. Default: every agent of the runtime. */
  readonly agents?: readonly string[]
}

const checks: Checks<McpServerOptions> = {
  path: expects((given) => typeof given === 'string' && /^(\/[\w.~-]+)+$/u.test(given), 'a path, such as /mcp'),
  agents: listOf(expects(isName, 'the name of an agent'), 'agents'),
}

/**
 * A protocol for `createServer({ protocols: [mcpServer()] })`: MCP clients start runs, look at them, decide and answer,
 * each as the principal that their credential stands for. Needs the optional peer `@modelcontextprotocol/server`.
 * Throws `config.invalid` for invalid options.
 */
export function mcpServer(options: McpServerOptions = {}): Protocol {
  mustBeOptions(options, 'mcpServer', 'config.invalid')
  refuseProblems('config.invalid', optionProblems(checks, options, 'mcpServer'))
  const { path = '/mcp', agents } = options
  return {
    paths: [path],
    headers: ['mcp-method', 'mcp-name', 'mcp-protocol-version', 'mcp-session-id'],
    async handle(request, context) {
      if (new URL(request.url).pathname.replace(/\/$/, '') !== path)
        throw new ReeveError('request.unknown-path', 'MCP is not answered below its path', {
          hint: `It is at ${path}.`,
        })
      const parsedBody = request.method === 'POST' ? await messageIn(context) : undefined
      const [{ createMcpHandler }, server] = await Promise.all([serverPackage(), runServers(context, agents)])
      const handler = createMcpHandler(server, { keepAliveMs: context.heartbeatMs })
      context.signal.addEventListener('abort', () => detached(handler.close, () => undefined), { once: true })
      return handler.fetch(request, parsedBody === undefined ? {} : { parsedBody })
    },
    refuse: ({ status, ...error }) =>
      Response.json({ jsonrpc: '2.0', id: null, error: rpcError(status, error) }, { status }),
  }
}

/** The one message of a body. Revisions that are served know no batches. */
async function messageIn({ body }: ProtocolContext): Promise<Json> {
  const message = await body()
  if (message === undefined || Array.isArray(message)) throw invalid('the body is not one JSON-RPC message')
  if (isObject(message)) {
    const params = own(message, 'params')
    const named = { id: own(message, 'id'), method: own(message, 'method') }
    const names = { ...named, 'params.name': isObject(params) ? own(params, 'name') : undefined }
    for (const [where, name] of Object.entries(names))
      if (typeof name === 'string' && name.length > longestName)
        throw invalid(`${where} has more than ${longestName} characters`)
  }
  return message
}

/** What the package sends back of a message, in characters. */
const longestName = 1_000

const invalid = (problem: string): ReeveError => new ReeveError('input.invalid', problem, { hint: 'Nothing was done.' })

/** Codes of JSON-RPC; what it has no code for is a server error. */
const rpcCodes: Readonly<Record<number, number>> = { 400: -32700, 404: -32601, 500: -32603 }

const rpcError = (status: number, { code, message, hint, retryable }: Omit<ShownError, 'status'>): object => ({
  code: rpcCodes[status] ?? -32000,
  message,
  data: { code, ...present({ hint }), retryable },
})
