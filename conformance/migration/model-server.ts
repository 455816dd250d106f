/**
 * A model for the programs of this folder, over OpenAI's two protocols as OpenAI takes them: it asks `orders`, then
 * `refunds`, whatever the tools of a framework for that are called; as a worker it calls its one tool and says what came
 * of it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '@reeve/core'
import {
  strictProvider,
  type ProviderAnswer,
  type ProviderRequest,
  type RefusedRequest,
} from '../../packages/testing/src/providers/index.ts'

interface Offered {
  readonly name: string
  readonly parameters: {
    readonly properties?: Readonly<Record<string, { readonly type?: string }>>
    readonly required?: readonly string[]
  }
}
/** What of a request is looked at, in the words of both protocols. */
interface Asked {
  readonly tools?: readonly (Offered & { readonly function?: Offered })[]
  readonly messages?: readonly { readonly tool_calls?: readonly { readonly function: Json }[] }[]
  readonly input?: readonly { readonly type?: string; readonly name?: string; readonly arguments?: string }[]
}

/** What a model of the desk answers to a request. */
function answer(request: ProviderRequest): ProviderAnswer {
  const asked = request.body as Asked
  const tools = (asked.tools ?? []).map((tool) => tool.function ?? tool)
  const made = [
    ...(asked.messages ?? []).flatMap(({ tool_calls }) => tool_calls ?? []).map((made) => made.function),
    ...(Array.isArray(asked.input) ? asked.input : []).filter(({ type }) => type === 'function_call'),
  ].map((call) => JSON.stringify(call))
  const call = (name: string, input: Json): ProviderAnswer => ({ calls: [{ name, input }] })
  const has = (name: string): boolean => tools.some((tool) => tool.name === name)
  const did = (name: string): boolean => made.some((text) => text.includes(name))
  if (has('look_up')) return did('"look_up"') ? { text: 'Order 7 was paid: $40.' } : call('look_up', { order: 7 })
  if (has('refund'))
    return did('"refund"') ? { text: 'Order 7 is refunded.' } : call('refund', { order: 7, dollars: 40 })
  const worker = ['orders', 'refunds'].find((name) => !did(name))
  if (worker === undefined) return { text: 'Order 7 is refunded: $40.' }
  const brief = worker === 'orders' ? 'What was paid for order 7?' : 'Refund $40 for order 7.'
  if (has('delegate')) return call('delegate', { worker, instructions: brief })
  const tool = tools.find(({ name }) => name.includes(worker))
  if (tool === undefined) throw new Error(`no tool for ${worker} among ${tools.map(({ name }) => name).join(', ')}`)
  const texts = Object.entries(tool.parameters.properties ?? {}).filter(
    ([name, { type }]) => type === 'string' && (tool.parameters.required ?? [name]).includes(name),
  )
  return call(tool.name, Object.fromEntries(texts.slice(0, 1).map(([name]) => [name, brief])))
}

/** A running model. */
interface ModelServer {
  readonly url: string
  /** What OpenAI would not have taken. */
  readonly refused: () => readonly RefusedRequest[]
  readonly stop: () => Promise<void>
}

/** Starts it on a free port of the loopback interface. */
export async function startModelServer(): Promise<ModelServer> {
  const key = 'no-key'
  const chat = await strictProvider({ preset: 'openai-chat', key, answer })
  const responses = await strictProvider({ preset: 'openai', key, answer })
  const front = createServer((request, response) => {
    const to = request.url === '/v1/responses' ? responses : chat
    passOn(request, response, to.url).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    refused: () => [...chat.refused, ...responses.refused],
    stop: async () => {
      front.closeAllConnections()
      await new Promise((resolve) => front.close(resolve))
      await Promise.all([chat.close(), responses.close()])
    },
  }
}

async function passOn(request: IncomingMessage, response: ServerResponse, to: string): Promise<void> {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += String(piece)
  const authorization = request.headers.authorization ?? ''
  const headers = { 'content-type': 'application/json', authorization }
  const answered = await fetch(`${to}${request.url}`, { method: request.method ?? 'POST', headers, body })
  response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? 'application/json' })
  response.end(await answered.text())
}
