/** What every protocol does with a request of its caller: the trace it belongs to, the page it comes from. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { a2a } from '../src/a2a/index.ts'
import { agUi } from '../src/ag-ui/index.ts'
import { uiMessages } from '../src/ai-sdk/index.ts'
import { mcpServer } from '@reeve/mcp'
import { openai } from '../src/openai/index.ts'
import { echo } from '../../runtime/test/hand.ts'
import { servingProtocols, tokenOf, type Ask } from './protocol-serving.ts'

const origin = 'https://app.example.com'
const serve = () =>
  servingProtocols(
    [echo],
    [
      uiMessages({ agent: 'echo' }),
      openai(),
      agUi({ agent: 'echo' }),
      a2a({ agents: ['echo'] }),
      mcpServer({ agents: ['echo'] }),
    ],
    [origin],
  )

interface Start {
  readonly protocol: string
  /** Starts a run with these headers. `key`: another one each time. */
  readonly start: (at: { readonly ask: Ask; readonly url: string }, headers: Headers, key: string) => Promise<unknown>
}
type Headers = Record<string, string>

const asked =
  (path: string, body: (key: string) => object, more: Headers = {}): Start['start'] =>
  async ({ ask }, headers, key) =>
    (await ask(path, body(key), 'ann', { ...more, ...headers })).text()

const starts: readonly Start[] = [
  {
    protocol: 'useChat',
    start: asked('/chat', (id) => ({
      id: `chat-${id}`,
      messages: [{ id, role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
    })),
  },
  {
    protocol: 'OpenAI, chat',
    start: asked('/v1/chat/completions', () => ({ model: 'echo', messages: [{ role: 'user', content: 'hello' }] })),
  },
  { protocol: 'OpenAI, responses', start: asked('/v1/responses', () => ({ model: 'echo', input: 'hello' })) },
  {
    protocol: 'AG-UI',
    start: asked('/ag-ui', (id) => ({
      threadId: `thread-${id}`,
      runId: id,
      messages: [{ id, role: 'user', content: 'hello' }],
      tools: [],
      context: [],
      state: {},
    })),
  },
  {
    protocol: 'A2A',
    start: asked(
      '/a2a/echo',
      (messageId) => ({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId, role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
      }),
      { 'A2A-Version': '1.0' },
    ),
  },
  {
    protocol: 'MCP',
    async start({ url }, headers) {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
      const requestInit = { headers: { ...headers, Authorization: `Bearer ${tokenOf('ann')}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
      await client.callTool({ name: 'start_run', arguments: { input: 'hello' } })
      await client.close()
    },
  },
]

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const hostile = [
  'x',
  caller.toUpperCase(),
  `${caller},${caller}`,
  'é',
  '00-'.repeat(1_000),
  caller.replace('0a', '../'),
]

describe.each(starts)('$protocol', ({ start }) => {
  test('a run is a part of the trace of its request; a header that is malformed is ignored', async () => {
    const { ask, server, runtime } = await serve()
    const started = async (headers: Headers, key: string): Promise<unknown> => {
      await start({ ask, url: server.url }, headers, key)
      const [run] = await runtime.runs({ limit: 1 })
      expect(await runtime.handle(run!.run).outcome()).toMatchObject({ status: 'completed', output: 'hello' })
      return run!.caller
    }
    expect(await started({ traceparent: caller }, 'm0')).toMatchObject({ user: 'ann', traceparent: caller })
    expect(await started({ traceparent: `cc${caller.slice(2)}-later` }, 'm1')).toMatchObject({ traceparent: caller })
    for (const [i, traceparent] of [undefined, ...hostile].entries()) {
      const { traceparent: recorded, user } = (await started(
        traceparent === undefined ? {} : { traceparent },
        `n${i}`,
      )) as { readonly traceparent?: string; readonly user: string }
      expect([user, recorded]).toEqual(['ann', undefined])
    }
    expect(await runtime.runs()).toHaveLength(3 + hostile.length)
  })
})

describe('a page of another origin', () => {
  const allowed = async (url: string, path: string, from = origin): Promise<string[]> => {
    const response = await fetch(url + path, {
      method: 'OPTIONS',
      headers: { Origin: from, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x' },
    })
    return (response.headers.get('Access-Control-Allow-Headers') ?? '').split(', ')
  }

  test('is told the headers of the protocol that answers there, and of no other', async () => {
    const { server } = await serve()
    const common = await allowed(server.url, '/api/runs')
    expect(common).toEqual(expect.arrayContaining(['authorization', 'content-type', 'last-event-id', 'traceparent']))
    const own = async (path: string): Promise<string[]> =>
      (await allowed(server.url, path)).filter((name) => !common.includes(name))
    expect(await own('/a2a/echo')).toEqual(['a2a-extensions', 'a2a-version'])
    expect(await own('/mcp')).toEqual(['mcp-method', 'mcp-name', 'mcp-protocol-version', 'mcp-session-id'])
    expect(await own('/v1/responses')).toEqual(expect.arrayContaining(['openai-beta', 'x-stainless-retry-count']))
    expect(await own('/chat')).toEqual([])
    expect(await own('/ag-ui')).toEqual([])
    expect(await allowed(server.url, '/a2a/echo', 'https://evil.example.com')).toEqual([''])
  })

  test('a protocol that names no headers of HTTP is refused', async () => {
    const protocol = { ...a2a({ agents: ['echo'] }), headers: ['x y'] }
    await expect(servingProtocols([echo], [protocol])).rejects.toMatchObject({ code: 'config.invalid' })
  })
})
