/**
 * A fake language model server for tests over real HTTP: aimock behind all five wires, and a proxy that does to its
 * answers what aimock cannot: end them early but cleanly, reset them, alter them.
 *
 * Owns: starting and stopping servers, the table of wires. Does not own: what is asserted.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LLMock, type FixtureOpts, type JournalEntry } from '@copilotkit/aimock'
import type { ResolveOptions } from '../../src/model/index.ts'

type OnArguments = Parameters<LLMock['on']>

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

/** What a proxy makes of one answer of the fake server. */
interface Alteration {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /**
   * 'clean': the body ends as if it were complete. 'reset': the connection dies after the body. 'open': nothing more
   * comes, ever. Default 'clean'.
   */
  readonly end?: 'clean' | 'reset' | 'open'
}

/** A request as it really was on the wire; the journal of the fake server shows it in OpenAI's form. */
interface SentRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** An answer on its way through a proxy. */
export interface PassingAnswer {
  readonly path: string
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
  /** The server itself, for what is not wrapped. */
  readonly mock: LLMock
  /** Says what is answered to what. The first rule that matches wins. */
  on(match: OnArguments[0], response: OnArguments[1], options?: FixtureOpts): void
  /** The server's own journal of requests: the outside witness of what was really asked. */
  requests(): JournalEntry[]
  /** Forgets rules and requests. */
  reset(): void
  /** A proxy before the server that alters its answers, or only witnesses. It is closed with the server. */
  proxy(alter?: (answer: PassingAnswer) => Alteration): Promise<FakeProxy>
  /** A proxy that ends the body at a share of it, at the border of an event if it is a stream. */
  cutProxy(at?: { readonly share?: number; readonly end?: 'clean' | 'reset' }): Promise<FakeProxy>
  close(): Promise<void>
}

const secret = 'sk-test-0123456789abcdef'

/** The key that all fake clients use; it must never appear in a failure. */
export const fakeKey = secret

function optionsFor(url: string): ResolveOptions {
  const providers = wires.map((wire) => wire.model.slice(0, wire.model.indexOf('/')))
  const each = (value: string): Record<string, string> =>
    Object.fromEntries(providers.map((provider) => [provider, value]))
  return { env: {}, baseURLs: each(url), apiKeys: each(secret) }
}

/**
 * Starts a fake server on a free port of the loopback interface. Requests that match no rule are answered with an
 * error.
 */
export async function startFakeLlm(): Promise<FakeLlm> {
  const mock = new LLMock({ port: 0, strict: true, logLevel: 'silent' })
  await mock.start()
  const proxies: FakeProxy[] = []
  const proxy = async (alter: (answer: PassingAnswer) => Alteration = () => ({})): Promise<FakeProxy> => {
    const made = await startProxy(mock.url, alter)
    proxies.push(made)
    return made
  }
  return {
    url: mock.url,
    options: optionsFor(mock.url),
    mock,
    on: (match, response, options) => void mock.on(match, response, options),
    requests: () => mock.getRequests(),
    reset: () => {
      mock.clearFixtures()
      mock.clearRequests()
      mock.resetMatchCounts()
    },
    proxy,
    cutProxy: ({ share = 0.5, end = 'clean' } = {}) => proxy((answer) => ({ body: cut(answer, share), end })),
    close: async () => {
      await Promise.all(proxies.map((each) => each.close()))
      await mock.stop()
    },
  }
}

function cut(answer: PassingAnswer, share: number): string {
  const part = answer.body.slice(0, Math.floor(answer.body.length * share))
  if (!answer.contentType.includes('event-stream')) return part
  return part.slice(0, part.lastIndexOf('\n\n') + 2)
}

async function startProxy(upstream: string, alter: (answer: PassingAnswer) => Alteration): Promise<FakeProxy> {
  const sent: SentRequest[] = []
  let departures = 0
  const server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableEnded) departures++
    })
    forward(upstream, request, response, alter, sent).catch(() => response.destroy())
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

async function forward(
  upstream: string,
  request: IncomingMessage,
  response: ServerResponse,
  alter: (answer: PassingAnswer) => Alteration,
  sent: SentRequest[],
): Promise<void> {
  let asked = ''
  for await (const piece of request.setEncoding('utf8')) asked += String(piece)
  const path = request.url ?? '/'
  sent.push({ path, headers: request.headers, body: asked })
  const answer = await fetch(upstream + path, {
    method: request.method ?? 'POST',
    headers: { 'content-type': 'application/json' },
    body: asked,
  })
  const contentType = answer.headers.get('content-type') ?? 'application/json'
  const body = await answer.text()
  const altered = alter({ path, status: answer.status, contentType, body })
  const text = altered.body ?? body
  response.writeHead(altered.status ?? answer.status, { 'content-type': contentType, ...altered.headers })
  response.flushHeaders()
  if (altered.end === 'open') response.write(text)
  else if (altered.end === 'reset') response.write(text, () => response.socket?.resetAndDestroy())
  else response.end(text)
}

function closed(server: Server): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  return done
}
