/** What the official clients send in a browser: a page of a named origin is told that it may send each of it. */
import { HttpAgent } from '@ag-ui/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { DefaultChatTransport } from 'ai'
import OpenAI from 'openai'
import { a2a } from 'reeve/a2a'
import { agUi } from 'reeve/ag-ui'
import { uiMessages } from 'reeve/ai-sdk'
import { mcpServer } from 'reeve/mcp'
import { openai } from 'reeve/openai'
import { expect, test } from 'vitest'
import { asking, connect, text } from './a2a-client.ts'
import { serve, token } from './serving.ts'
import { chief } from './team.ts'

const origin = 'https://app.example.com'
/** Those that no page has to ask for. `accept-encoding` and the like are the browser's own. */
const safe = new Set(['accept', 'accept-language', 'content-language', 'accept-encoding', 'connection', 'host'])

const clients: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'AG-UI': async (url) => {
    const client = new HttpAgent({ url: `${url}/ag-ui`, threadId: 't', headers: { Authorization: `Bearer ${token}` } })
    client.addMessage({ id: 'm', role: 'user', content: 'Hello.' })
    await client.runAgent()
  },
  A2A: async (url) => {
    for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
      const client = await connect(url, binding)
      await client.sendMessage(asking(text('Hello.')))
    }
  },
  MCP: async (url) => {
    for (const mode of ['legacy', 'auto'] as const) {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      const requestInit = { headers: { Authorization: `Bearer ${token}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
      await client.callTool({ name: 'run_status', arguments: {} })
      await client.close()
    }
  },
  OpenAI: async (url) => {
    const client = new OpenAI({
      baseURL: `${url}/v1`,
      apiKey: token,
      dangerouslyAllowBrowser: true,
      organization: 'o',
      project: 'p',
    })
    for await (const _model of client.models.list()) void _model
    await client.responses.create({ model: 'chief', input: 'Hello.', background: true }, { idempotencyKey: 'k' })
    const stream = client.chat.completions.stream({ model: 'chief', messages: [{ role: 'user', content: 'Hello.' }] })
    await stream.finalChatCompletion().catch(() => undefined)
  },
  useChat: async (url) => {
    const transport = new DefaultChatTransport({ api: `${url}/chat`, headers: { Authorization: `Bearer ${token}` } })
    const stream = await transport.sendMessages({
      trigger: 'submit-message',
      chatId: 'c',
      messageId: undefined,
      messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }],
      abortSignal: undefined,
    })
    for await (const _chunk of stream) void _chunk
  },
}

test.each(Object.keys(clients))('%s', async (name) => {
  const sent = new Map<string, Set<string>>()
  const protocols = [
    uiMessages({ agent: 'chief' }),
    openai(),
    agUi({ agent: 'chief' }),
    a2a({ agents: ['chief'] }),
    mcpServer(),
  ]
  const { url } = await serve(
    [chief],
    protocols.map((protocol) => ({
      ...protocol,
      handle(request, context) {
        const { pathname } = new URL(request.url)
        const names = sent.get(pathname) ?? new Set()
        // one that no client has set is Node's
        for (const [header, value] of request.headers)
          if (header !== 'user-agent' || value !== 'node') names.add(header)
        sent.set(pathname, names)
        return protocol.handle(request, context)
      },
    })),
    [origin],
  )
  await clients[name]!(url)
  expect(sent.size).toBeGreaterThan(0)
  for (const [path, names] of sent) {
    const answer = await fetch(url + path, {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    })
    const allowed = answer.headers.get('Access-Control-Allow-Headers')!.split(', ')
    const refused = [...names].filter(
      (each) => !allowed.includes(each) && !safe.has(each) && !/^(sec-|content-length$|cookie$)/.test(each),
    )
    expect([path, refused]).toEqual([path, []])
  }
})
