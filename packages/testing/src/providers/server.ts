/**
 * A strict provider: a server on loopback that refuses what a vendor refuses and answers as the vendor answers.
 *
 * Owns: the HTTP, which rule was broken, which answer comes, streams that break, the witness of what came in.
 * Does not own: the rules and the forms of a vendor (the files of the wires), which rules a vendor has (presets.ts).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isObject, type JsonObject } from '@reeve/core'
import { resolveModel, type Model, type ResolveOptions } from '@reeve/model'
import { isProviderFailure, type ProviderAnswer, type ProviderFailure, type ProviderReply } from './answer.ts'
import { providerPresets } from './presets.ts'
import type {
  Frame,
  IdSource,
  ProviderName,
  ProviderRequest,
  ProviderRule,
  ProviderWire,
  VendorFailure,
} from './wire.ts'

export interface StrictProviderOptions {
  /** Whose rules and whose form. */
  readonly preset: ProviderName
  /**
   * What is answered: a function of the request and of its number among those that were not refused, or a list, one
   * after the other. A list that is used up, and a function that throws, answer with the vendor's 500.
   */
  readonly answer:
    readonly ProviderReply[] | ((request: ProviderRequest, number: number) => ProviderReply | Promise<ProviderReply>)
  /** Ids of rules that do not hold here: for a server that is laxer than most. Default: none. */
  readonly without?: readonly string[]
  /** Rules besides those of the vendor: of one's own gateway. Default: none. */
  readonly rules?: readonly ProviderRule[]
  /** The key that is asked for. Default: `sk-strict-provider-key`. */
  readonly key?: string
}

/** A request that was refused. */
export interface RefusedRequest {
  /** The id of the rule. */
  readonly rule: string
  /** What was wrong. */
  readonly why: string
  readonly request: ProviderRequest
}

/** A strict provider at work. */
export interface StrictProvider extends AsyncDisposable {
  readonly preset: ProviderName
  /** `http://127.0.0.1:<port>`. */
  readonly url: string
  /** Base URLs and keys by provider, as the model layer takes them. */
  readonly options: Required<Pick<ResolveOptions, 'env' | 'baseURLs' | 'apiKeys'>>
  /** The same as variables of the environment: for `createRuntime` and for child processes. */
  readonly env: { readonly [name: string]: string }
  /** The id of a model of this vendor: `groq/llama-3.3-70b-versatile`. */
  readonly model: string
  /**
   * The model as what stands behind `model:` of an agent: no variable of the environment is needed. `name`: another
   * model of the vendor, without the vendor's name.
   */
  resolve(name?: string): Model
  /** All that came in, in order; those that were refused, too. */
  readonly requests: readonly ProviderRequest[]
  /** What was refused, and by which rule. */
  readonly refused: readonly RefusedRequest[]
  /** Clients that went away before their answer was complete. */
  readonly departures: number
  /** Resolves when that many answers have stalled in all. */
  stalled(count?: number): Promise<void>
  /** Lets all answers that have stalled go on. */
  release(): void
  /** Stops the server and cuts every connection. */
  close(): Promise<void>
}

const usualKey = 'sk-strict-provider-key'

/** Starts a strict provider on a free port of the loopback interface. */
export async function strictProvider(options: StrictProviderOptions): Promise<StrictProvider> {
  const server = new ProviderServer(options)
  await server.listen()
  return server
}

class ProviderServer implements StrictProvider {
  readonly preset: ProviderName
  readonly requests: ProviderRequest[] = []
  readonly refused: RefusedRequest[] = []
  departures = 0
  readonly #given: StrictProviderOptions
  readonly #wire: ProviderWire
  readonly #rules: readonly ProviderRule[]
  readonly #server: Server
  readonly #key: string
  #answered = 0
  #stalls = 0
  #held: (() => void)[] = []
  #watchers: { readonly count: number; readonly resolve: () => void }[] = []
  readonly #ids: IdSource

  constructor(given: StrictProviderOptions) {
    const { wire, rules } = providerPresets[given.preset]
    const without = new Set(given.without)
    this.preset = given.preset
    this.#given = given
    this.#wire = wire
    this.#key = given.key ?? usualKey
    this.#rules = [...rules, ...(given.rules ?? [])].filter(({ id }) => !without.has(id))
    this.#ids = idSource()
    this.#server = createServer((request, response) => {
      response.on('close', () => {
        if (!response.writableFinished) this.departures++
      })
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get options(): StrictProvider['options'] {
    return { env: {}, baseURLs: { [this.preset]: this.url }, apiKeys: { [this.preset]: this.#key } }
  }

  get env(): StrictProvider['env'] {
    const { variable } = providerPresets[this.preset]
    return { [`${variable}_BASE_URL`]: this.url, [`${variable}_API_KEY`]: this.#key }
  }

  get model(): string {
    return `${this.preset}/${providerPresets[this.preset].model}`
  }

  resolve(name?: string): Model {
    return resolveModel(name === undefined ? this.model : `${this.preset}/${name}`, this.options)
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', resolve)
    })
  }

  async close(): Promise<void> {
    this.release()
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  release(): void {
    const held = this.#held
    this.#held = []
    for (const go of held) go()
  }

  async stalled(count = 1): Promise<void> {
    if (this.#stalls >= count) return
    await new Promise<void>((resolve) => this.#watchers.push({ count, resolve }))
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { request, fault } = await readRequest(incoming, this.preset, this.#wire)
    this.requests.push(request)
    if (!this.#wire.takes(request.method, request.path))
      return this.#fail(
        { failure: 'bad-request', status: 404, message: `no such path: ${request.path}` },
        request,
        response,
      )
    if (!isAuthorized(request, this.#key)) return this.#fail({ failure: 'unauthorized' }, request, response)
    if (fault !== undefined) return this.#refuse(notJson, fault, request, response)
    for (const rule of this.#rules) {
      const why = rule.check(request)
      if (why !== undefined) return this.#refuse(rule, why, request, response)
    }
    const reply = await this.#reply(request)
    if (isProviderFailure(reply)) return this.#fail(reply, request, response)
    await this.#answer(reply, request, response)
  }

  async #reply(request: ProviderRequest): Promise<ProviderAnswer | ProviderFailure> {
    const number = this.#answered++
    const { answer } = this.#given
    let reply: ProviderReply | undefined
    try {
      reply = typeof answer === 'function' ? await answer(request, number) : answer[number]
    } catch (thrown) {
      return { failure: 'unavailable', status: 500, message: `the answer of the test has thrown: ${String(thrown)}` }
    }
    if (reply === undefined)
      return { failure: 'unavailable', status: 500, message: `the test has no answer for request ${number + 1}` }
    return typeof reply === 'string' ? { text: reply } : reply
  }

  #refuse(rule: ProviderRule, why: string, request: ProviderRequest, response: ServerResponse): void {
    this.refused.push({ rule: rule.id, why, request })
    const { status, headers, body } = this.#wire.refused(rule, why, request)
    sendJson(response, status, body, headers)
  }

  #fail(failure: ProviderFailure, request: ProviderRequest, response: ServerResponse): void {
    if (failure.failure === 'html') {
      response.writeHead(failure.status ?? 502, { 'content-type': 'text/html', ...failure.headers })
      response.end(textOf(failure.body) ?? '<html><head><title>502 Bad Gateway</title></head><body></body></html>')
      return
    }
    if (failure.failure === 'empty') {
      response.writeHead(failure.status ?? 200, { 'content-type': 'application/json', ...failure.headers })
      response.end()
      return
    }
    const made = this.#wire.failed(failure as VendorFailure, request)
    const headers = { ...made.headers, ...failure.headers }
    if (typeof failure.body === 'string') {
      response.writeHead(failure.status ?? made.status, { 'content-type': 'text/plain', ...headers })
      response.end(failure.body)
    } else sendJson(response, failure.status ?? made.status, failure.body ?? made.body, headers)
  }

  async #answer(answer: ProviderAnswer, request: ProviderRequest, response: ServerResponse): Promise<void> {
    if (request.streamed) return this.#stream(answer, request, response)
    const { breaks } = answer
    if (breaks?.with === 'error') return this.#fail({ failure: breaks.failure ?? 'overloaded' }, request, response)
    if (breaks?.with === 'stall') await this.#stall(response)
    const text = JSON.stringify(this.#wire.whole(answer, request, this.#ids))
    response.writeHead(200, { 'content-type': 'application/json', ...answer.headers })
    if (breaks === undefined || breaks.with === 'stall') response.end(text)
    else {
      const part = breaks.after === 'headers' ? '' : text.slice(0, Math.floor(text.length / 2))
      if (breaks.with === 'end') response.end(part)
      else await dropAfter(response, part)
    }
  }

  async #stream(answer: ProviderAnswer, request: ProviderRequest, response: ServerResponse): Promise<void> {
    const frames = this.#wire.stream(answer, request, this.#ids)
    const { breaks, pings = 0 } = answer
    const until = breaks === undefined ? frames.length : placeOf(breaks.after ?? 'content', frames)
    const send = (list: readonly Frame[]): void => {
      for (const frame of list) {
        for (let n = 0; n < pings; n++) response.write(lineOf(this.#wire.ping))
        response.write(lineOf(frame))
      }
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...answer.headers,
    })
    response.flushHeaders()
    send(frames.slice(0, until))
    switch (breaks?.with) {
      case undefined:
        break
      case 'error':
        send(this.#wire.broken(breaks.failure ?? 'overloaded', request))
        break
      case 'end':
        break
      case 'reset':
        return dropAfter(response, '')
      case 'stall':
        await this.#stall(response)
        send(frames.slice(until))
        break
    }
    response.end()
  }

  async #stall(response: ServerResponse): Promise<void> {
    const released = new Promise<void>((resolve) => {
      this.#held.push(resolve)
      response.once('close', resolve)
    })
    this.#stalls++
    for (const { count, resolve } of this.#watchers) if (this.#stalls >= count) resolve()
    this.#watchers = this.#watchers.filter(({ count }) => this.#stalls < count)
    await released
  }
}

const notJson: ProviderRule = {
  id: 'http/json-body',
  providers: [],
  what: 'The body is one JSON object.',
  source: 'https://platform.openai.com/docs/guides/error-codes/api-errors',
  check: () => undefined,
}

function idSource(): IdSource {
  let next = 0
  return (prefix) => `${prefix}${String(++next).padStart(8, '0')}`
}

async function readRequest(
  incoming: IncomingMessage,
  provider: ProviderName,
  wire: ProviderWire,
): Promise<{ readonly request: ProviderRequest; readonly fault: string | undefined }> {
  let text = ''
  for await (const chunk of incoming.setEncoding('utf8')) text += chunk as string
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://127.0.0.1')
  let body: JsonObject = {}
  let fault: string | undefined
  try {
    const parsed: unknown = JSON.parse(text)
    if (isObject(parsed)) body = parsed
    else fault = 'the body is not a JSON object'
  } catch {
    fault = 'we could not parse the JSON body of your request'
  }
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
  const request: ProviderRequest = {
    provider,
    method: incoming.method ?? '',
    path: pathname,
    query: searchParams,
    headers,
    text,
    body,
    model: wire.modelOf(pathname, body),
    streamed: wire.isStreamed(pathname, body),
  }
  return { request, fault }
}

/** The three places in which vendors look for a key; a local server looks nowhere. */
function isAuthorized(request: ProviderRequest, key: string): boolean {
  if (!providerPresets[request.provider].needsKey) return true
  const { headers } = request
  return [headers.authorization?.replace(/^Bearer /, ''), headers['x-api-key'], headers['x-goog-api-key']].includes(key)
}

/** A piece of the content; what else a wire sends of it opens and closes things. */
const isPiece = (frame: Frame): boolean =>
  frame.stage === 'content' && 'data' in frame && (frame.event === undefined || frame.event.endsWith('delta'))

/** How many frames are sent before the break. */
function placeOf(after: 'headers' | 'open' | 'content' | number, frames: readonly Frame[]): number {
  const before = (found: number): number => (found < 0 ? frames.length : found)
  if (after === 'headers') return 0
  if (after === 'open') return before(frames.findIndex(({ stage }) => stage !== 'open'))
  const end = before(frames.findIndex(({ stage }) => stage === 'end'))
  if (after === 'content') return end
  let pieces = 0
  const last = frames.findIndex((frame) => isPiece(frame) && ++pieces === after)
  return after === 0 ? placeOf('open', frames) : last < 0 ? end : last + 1
}

function lineOf(frame: Frame): string {
  if ('comment' in frame) return `: ${frame.comment}\n\n`
  const data = typeof frame.data === 'string' ? frame.data : JSON.stringify(frame.data)
  return `${frame.event === undefined ? '' : `event: ${frame.event}\n`}data: ${data}\n\n`
}

const textOf = (body: string | JsonObject | undefined): string | undefined =>
  body === undefined || typeof body === 'string' ? body : JSON.stringify(body)

function sendJson(
  response: ServerResponse,
  status: number,
  body: JsonObject,
  headers: { readonly [name: string]: string },
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

/**
 * Ends the connection in the middle of the body, once what was written has left: the client reads all of it, and then
 * that the other side is gone.
 */
async function dropAfter(response: ServerResponse, text: string): Promise<void> {
  if (text !== '') await new Promise<void>((resolve) => response.write(text, () => resolve()))
  response.socket?.destroySoon()
}
