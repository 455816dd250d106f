/**
 * A fake language model server for tests over real HTTP: strict providers behind all five wires at one address, which
 * answer by rules, and a proxy that does to their answers what no vendor does.
 *
 * Owns: starting and stopping servers, the table of wires, which rule answers which request.
 * Does not own: what is refused and in what form (packages/testing/src/providers), what is asserted.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isObject, type Json, type JsonObject } from '@reeve/core'
import type { ResolveOptions } from '../src/index.ts'
import {
  strictProvider,
  type ProviderName,
  type ProviderReply,
  type ProviderRequest,
  type RefusedRequest,
  type StrictProvider,
} from '../../testing/src/providers/index.ts'

/** The five protocols that models are spoken to in. */
export const wires = [
  { name: 'openai-compatible', model: 'openai-compatible/qwen3', path: '/v1/chat/completions' },
  { name: 'openai chat', model: 'openai-chat/gpt-5', path: '/v1/chat/completions' },
  { name: 'openai responses', model: 'openai/gpt-5', path: '/v1/responses' },
  { name: 'anthropic', model: 'anthropic/claude-sonnet-5', path: '/v1/messages' },
  { name: 'google', model: 'google/gemini-3.5-flash', path: '/v1beta/models/gemini-3.5-flash:' },
] as const

/** One of the five. */
export type Wire = (typeof wires)[number]

/** What a request is answered by. All that is given must be so. */
export interface Match {
  /** A part of the last text of a user. */
  readonly userMessage?: string
  /** Whether the conversation has a result of a tool. */
  readonly hasToolResult?: boolean
  /** Anything else. */
  readonly predicate?: (request: ProviderRequest) => boolean
  /** Only the request of that number, from 0, of those for which the rest is so. */
  readonly sequenceIndex?: number
}

/** The answer of a rule, or what makes it for a wire. */
export type Reply = ProviderReply | ((request: ProviderRequest) => ProviderReply)

/** What a proxy makes of one answer of the fake server. */
interface Alteration {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /**
   * 'clean': the body ends as if it were complete. 'reset': the connection dies after the body. 'open': nothing more
   * comes, ever. 'nothing': the connection dies before an answer. Default 'clean'.
   */
  readonly end?: 'clean' | 'reset' | 'open' | 'nothing'
}

/** A request as it really was on the wire. */
export interface SentRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** When it came, in milliseconds since 1970. */
  readonly at: number
  /** Of the answer, as soon as there is one. */
  status?: number
}

/** An answer on its way through a proxy. */
export interface PassingAnswer {
  readonly path: string
  /** What was asked. */
  readonly asked: string
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** A running proxy. */
export interface FakeProxy {
  readonly url: string
  /** `resolveModel` options that lead all wires here. */
  readonly options: ResolveOptions
  /** What came in, in order. */
  requests(): readonly SentRequest[]
  /** How many clients went away before their answer was complete. */
  departures(): number
  close(): Promise<void>
}

/** A running fake server. */
export interface FakeLlm {
  readonly url: string
  /** `resolveModel` options that lead all wires here. */
  readonly options: ResolveOptions
  /** Says what is answered to what. The first rule that matches wins. */
  on(match: Match, reply: Reply): void
  /** The outside witness of what was really asked. */
  requests(): readonly SentRequest[]
  /** Resolves when another answer has stalled. */
  stalled(): Promise<void>
  /** Lets all answers that have stalled go on. */
  release(): void
  /** Forgets rules and requests. */
  reset(): void
  /** A proxy before the server that alters its answers, or only witnesses. It is closed with the server. */
  proxy(alter?: (answer: PassingAnswer) => Alteration): Promise<FakeProxy>
  /** A proxy that ends the body at a share of it, at the border of an event if it is a stream. */
  cutProxy(at?: { readonly share?: number; readonly end?: 'clean' | 'reset' }): Promise<FakeProxy>
  /** Rejects if a request was refused by a rule that no test has taken out with `allow`. */
  close(): Promise<void>
  /** A rule that a test breaks on purpose. */
  allow(rule: string): void
}

const secret = 'sk-test-0123456789abcdef'

/** The key that all fake clients use; it must never appear in a failure. */
export const fakeKey = secret

/** A text in pieces of that size, as it is streamed. */
export const inPieces = (text: string, size: number): readonly string[] =>
  text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []

function optionsFor(url: string): ResolveOptions {
  const providers = wires.map((wire) => wire.model.slice(0, wire.model.indexOf('/')))
  const each = (value: string): Record<string, string> =>
    Object.fromEntries(providers.map((provider) => [provider, value]))
  return { env: {}, baseURLs: each(url), apiKeys: each(secret) }
}

/** Which vendor a request is for. A server that speaks OpenAI's chat and is none we know is played by vLLM. */
function presetOf(path: string, body: string): ProviderName {
  if (path.startsWith('/v1beta/')) return 'google'
  if (path === '/v1/messages') return 'anthropic'
  if (path === '/v1/responses') return 'openai'
  return /"model":"gpt-/.test(body) ? 'openai-chat' : 'vllm'
}

/** Starts a fake server on a free port of the loopback interface. Requests that match no rule are answered with 404. */
export async function startFakeLlm(): Promise<FakeLlm> {
  let rules: { readonly match: Match; readonly reply: Reply; seen: number }[] = []
  const answer = (request: ProviderRequest): ProviderReply => {
    for (const rule of rules) {
      if (!matches(rule.match, request)) continue
      const number = rule.seen++
      if (rule.match.sequenceIndex !== undefined && rule.match.sequenceIndex !== number) continue
      return typeof rule.reply === 'function' ? rule.reply(request) : rule.reply
    }
    return { failure: 'bad-request', status: 404, message: 'no rule of the test matches this request' }
  }
  const presets = ['openai', 'openai-chat', 'anthropic', 'google', 'vllm'] as const
  const behind = new Map<ProviderName, StrictProvider>()
  for (const preset of presets) behind.set(preset, await strictProvider({ preset, key: secret, answer }))
  const front = await startProxy((path, body) => behind.get(presetOf(path, body))!.url, undefined, true)
  const proxies: FakeProxy[] = []
  const allowed = new Set<string>()
  const stalls = new Map<ProviderName, number>()
  let since = 0
  const proxy = async (alter?: (answer: PassingAnswer) => Alteration): Promise<FakeProxy> => {
    const made = await startProxy(() => front.url, alter)
    proxies.push(made)
    return made
  }
  return {
    url: front.url,
    options: optionsFor(front.url),
    on: (match, reply) => void rules.push({ match, reply, seen: 0 }),
    requests: () => front.requests().slice(since),
    stalled: async () => {
      const next = (preset: ProviderName): number => (stalls.get(preset) ?? 0) + 1
      const waits = [...behind].map(([preset, each]) => each.stalled(next(preset)).then(() => preset))
      const stalled = await Promise.race(waits)
      stalls.set(stalled, next(stalled))
    },
    release: () => {
      for (const each of behind.values()) each.release()
    },
    reset: () => {
      rules = []
      since = front.requests().length
    },
    proxy,
    cutProxy: ({ share = 0.5, end = 'clean' } = {}) => proxy((passing) => ({ body: cut(passing, share), end })),
    allow: (rule) => void allowed.add(rule),
    close: async () => {
      await Promise.all([...proxies, front].map((each) => each.close()))
      await Promise.all([...behind.values()].map((each) => each.close()))
      const refused = [...behind.values()].flatMap((each) => each.refused).filter(({ rule }) => !allowed.has(rule))
      if (refused.length > 0) throw new Error(`requests that a vendor refuses:\n${refused.map(told).join('\n')}`)
    },
  }
}

const told = ({ rule, why, request }: RefusedRequest): string => `${rule}: ${why}\n  ${request.text.slice(0, 2_000)}`

function matches({ userMessage, hasToolResult, predicate }: Match, request: ProviderRequest): boolean {
  return (
    (userMessage === undefined || lastUserText(request).includes(userMessage)) &&
    (hasToolResult === undefined || toolResult.test(request.text) === hasToolResult) &&
    (predicate === undefined || predicate(request))
  )
}

/** As each of the wires calls it. */
const toolResult = /"role":"tool"|"type":"(?:function_call_output|tool_result)"|"functionResponse":/

/** The texts of the last message of a user that has any. */
function lastUserText({ body }: ProviderRequest): string {
  const list = [body.messages, body.input, body.contents].find((value) => Array.isArray(value))
  const texts = ((list ?? []) as readonly Json[]).flatMap((message) => {
    if (!isObject(message) || message.role !== 'user') return []
    const content = message.content ?? message.parts
    if (typeof content === 'string') return [content]
    const parts = ((Array.isArray(content) ? content : []) as readonly Json[]).filter((part): part is JsonObject =>
      isObject(part),
    )
    const said = parts.flatMap((part) => (typeof part.text === 'string' ? [part.text] : []))
    return said.length === 0 ? [] : [said.join('\n')]
  })
  return texts.at(-1) ?? ''
}

function cut(answer: PassingAnswer, share: number): string {
  const part = answer.body.slice(0, Math.floor(answer.body.length * share))
  if (!answer.contentType.includes('event-stream')) return part
  return part.slice(0, part.lastIndexOf('\n\n') + 2)
}

async function startProxy(
  upstream: (path: string, body: string) => string,
  alter: ((answer: PassingAnswer) => Alteration) | undefined,
  isFront = false,
): Promise<FakeProxy> {
  const sent: SentRequest[] = []
  let departures = 0
  const server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableEnded) departures++
    })
    forward(upstream, request, response, alter, sent, isFront).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    options: optionsFor(url),
    requests: () => sent,
    departures: () => departures,
    close: () => closed(server),
  }
}

/** The front takes any key: those that a test makes up are no business of the vendors behind it. */
function headersFor(headers: IncomingMessage['headers'], isFront: boolean): Record<string, string> {
  const unsent = ['host', 'connection', 'content-length', 'accept-encoding', 'transfer-encoding']
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    unsent.includes(name) || value === undefined ? [] : [[name, String(value)] as const],
  )
  const keys = { authorization: `Bearer ${secret}`, 'x-api-key': secret, 'x-goog-api-key': secret }
  return { ...Object.fromEntries(kept), ...(isFront && keys) }
}

async function forward(
  upstream: (path: string, body: string) => string,
  request: IncomingMessage,
  response: ServerResponse,
  alter: ((answer: PassingAnswer) => Alteration) | undefined,
  sent: SentRequest[],
  isFront: boolean,
): Promise<void> {
  let asked = ''
  for await (const piece of request.setEncoding('utf8')) asked += String(piece)
  const path = request.url ?? '/'
  const entry: SentRequest = { path, headers: request.headers, body: asked, at: Date.now() }
  sent.push(entry)
  const left = new AbortController()
  response.on('close', () => left.abort())
  const answer = await fetch(upstream(path, asked) + path, {
    method: request.method ?? 'POST',
    headers: headersFor(request.headers, isFront),
    body: asked,
    signal: left.signal,
  })
  entry.status = answer.status
  const contentType = answer.headers.get('content-type') ?? 'application/json'
  const headers = { ...Object.fromEntries(answer.headers), 'content-type': contentType }
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive'])
    delete (headers as Record<string, string>)[name]
  if (alter === undefined) return passOn(answer, response, headers)
  const body = await answer.text()
  const altered = alter({ path, asked, status: answer.status, contentType, body })
  if (altered.end === 'nothing') return void response.destroy()
  const text = altered.body ?? body
  response.writeHead(altered.status ?? answer.status, { ...headers, ...altered.headers })
  response.flushHeaders()
  if (altered.end === 'open') response.write(text)
  else if (altered.end === 'reset') response.write(text, () => response.socket?.resetAndDestroy())
  else response.end(text)
}

/** What comes is passed on as it comes, and so is its end. */
async function passOn(
  answer: Response,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  response.writeHead(answer.status, headers)
  response.flushHeaders()
  for await (const piece of answer.body ?? []) response.write(piece)
  response.end()
}

function closed(server: Server): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  return done
}
