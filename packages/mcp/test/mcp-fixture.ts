/** An MCP server made with the official package, on a socket: of either revision, restartable, and changeable. */
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { afterEach } from 'vitest'

/** A tool of the server. */
export interface FixtureTool {
  readonly description?: string
  readonly input?: Record<string, unknown>
  readonly output?: Record<string, unknown>
  readonly annotations?: Record<string, boolean>
  readonly call: (
    given: Record<string, unknown>,
    context: ServerContext,
  ) => CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>
}

export interface Fixture {
  readonly url: string
  /** Its tools, which may be changed while it serves. */
  readonly tools: Record<string, FixtureTool>
  /** The authorizations of the requests so far. */
  readonly authorizations: (string | null)[]
  /** Stops it: connections are cut. */
  stop(): Promise<void>
  /** Begins again on the same port, without any session. */
  start(): Promise<void>
}

export const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] })

const open: Fixture[] = []
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.stop()
})

/** Serves; stopped after the test. `legacy`: with sessions, as servers of 2025-11-25 do. */
export async function mcpFixture(tools: Record<string, FixtureTool>, legacy = false): Promise<Fixture> {
  const authorizations: (string | null)[] = []
  const made = (): McpServer => {
    const server = new McpServer({ name: 'fixture', version: '1' })
    for (const [name, { description, input, output, annotations, call }] of Object.entries(tools))
      server.registerTool(
        name,
        {
          inputSchema: fromJsonSchema<Record<string, unknown>>((input ?? { type: 'object' }) as never),
          ...(description === undefined ? {} : { description }),
          ...(output === undefined ? {} : { outputSchema: fromJsonSchema(output as never) }),
          ...(annotations === undefined ? {} : { annotations }),
        },
        call,
      )
    return server
  }
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const modern = createMcpHandler(made)
  const inSession = async (request: Request): Promise<Response> => {
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : sessions.get(id)
    if (id !== null && known === undefined) return new Response('no such session', { status: 404 })
    if (known !== undefined) return known.handleRequest(request)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
    })
    await made().connect(transport)
    return transport.handleRequest(request)
  }
  const fetchOf = (request: Request): Promise<Response> => {
    authorizations.push(request.headers.get('authorization'))
    return legacy ? inSession(request) : modern.fetch(request)
  }
  let server: ReturnType<typeof serve> | undefined
  let port = 0
  const fixture: Fixture = {
    get url() {
      return `http://127.0.0.1:${port}/mcp`
    },
    tools,
    authorizations,
    async start() {
      await new Promise<void>((resolve) => {
        server = serve({ fetch: fetchOf, hostname: '127.0.0.1', port }, () => resolve())
      })
      port = (server!.address() as AddressInfo).port
    },
    async stop() {
      sessions.clear()
      const was = server
      server = undefined
      if (was === undefined) return
      if ('closeAllConnections' in was) was.closeAllConnections()
      await new Promise((resolve) => was.close(resolve))
    },
  }
  await fixture.start()
  open.push(fixture)
  return fixture
}
