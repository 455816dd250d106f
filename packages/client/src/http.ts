/**
 * Requests: one call of the server's API.
 *
 * Owns: the address, headers, errors, when a request is made again. Does not own: which requests there are (client.ts,
 * remote-run.ts), streams (event-source.ts).
 * Holds: only what may be made twice is made again: a GET, and a start, which has an id.
 */
import { timerMs } from '@reeve/core/clock'
import type { RunId } from '@reeve/core'
import type { VerbAnswer, VerbInput, VerbPath } from '@reeve/server/verbs'
import { ClientError, errorIn, invalidAnswer, unreachable } from './client-error.ts'

/** Where the server is, and who asks. */
export interface ReeveClientOptions {
  /** Where the server is: `http://127.0.0.1:4111`. In a page of that server: `''`, or nothing. */
  readonly baseUrl?: string
  /** A bearer token, or a function that gives the one to use now. Absent: the browser's cookie. */
  readonly token?: string | (() => string | Promise<string>)
  /** Instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * How often a GET or a start is made again after no answer, or a 503 or 429. Default 3. Streams and `outcome()` go on
   * until they are ended.
   */
  readonly retries?: number
  /** A stream that sends nothing for so long is opened again, in milliseconds. Default 45,000. */
  readonly heartbeatTimeoutMs?: number
}

/** What a call may be given besides. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

type QueryValue = string | number | boolean | readonly string[] | undefined

/** The query of a request; a list is repeated, what is undefined is left out. */
type Query = Readonly<Record<string, QueryValue>>

/** A request. */
export interface Call extends CallOptions {
  readonly query?: object
  readonly body?: unknown
  /** It may be made twice: a GET may, unless this says otherwise. */
  readonly repeatable?: boolean
}

/** The answer with its status. */
export interface ServerReply<T> {
  readonly status: number
  readonly value: T
}

const longestWaitMs = 30_000

/** Makes requests to one server. */
export class Http {
  readonly heartbeatTimeoutMs: number
  readonly #base: string
  readonly #options: ReeveClientOptions
  readonly #retries: number

  constructor(options: ReeveClientOptions) {
    this.#options = options
    this.#base = `${(options.baseUrl ?? '').replace(/\/+$/, '')}/api`
    this.#retries = options.retries ?? 3
    this.heartbeatTimeoutMs = options.heartbeatTimeoutMs ?? 45_000
  }

  async get<T>(path: string, call?: Call): Promise<T> {
    return (await this.send<T>('GET', path, call)).value
  }

  /** The answer as it is. Made again as a GET is. */
  async text(path: string, call?: Call): Promise<string> {
    return (await this.#send('GET', path, { ...call }, (response) => response.text())).value
  }

  async post<T = void>(path: string, body: unknown = {}, call?: Call): Promise<T> {
    return (await this.send<T>('POST', path, { ...call, body })).value
  }

  async delete<T = void>(path: string, call?: Call): Promise<T> {
    return (await this.send<T>('DELETE', path, call)).value
  }

  /** Calls a verb of the server: the table of verbs says what it is given, and what it answers. */
  async verb<Path extends VerbPath>(path: Path, input: VerbInput<Path>, call?: Call): Promise<VerbAnswer<Path>> {
    return (await this.verbReply(path, input, call)).value
  }

  /** The same with its status: 202 where it waits for a process, and none has done it yet. */
  verbReply<Path extends VerbPath>(
    path: Path,
    body: VerbInput<Path>,
    call?: Call,
  ): Promise<ServerReply<VerbAnswer<Path>>> {
    return this.send('POST', path, { ...call, body })
  }

  /** Rejects with `ClientError`, or with the reason of the signal. */
  send<T>(method: string, path: string, call: Call = {}): Promise<ServerReply<T>> {
    return this.#send(method, path, call, async (response) => (await jsonOf(this.urlOf(path), response)) as T)
  }

  async #send<T>(
    method: string,
    path: string,
    call: Call,
    read: (response: Response) => Promise<T>,
  ): Promise<ServerReply<T>> {
    const repeatable = call.repeatable ?? method === 'GET'
    for (let failures = 0; ; failures++) {
      try {
        const response = await this.open(method, path, call)
        return { status: response.status, value: await read(response) }
      } catch (thrown) {
        call.signal?.throwIfAborted()
        if (!repeatable || failures >= this.#retries || !isPassing(thrown)) throw thrown
        await pause(thrown.retryAfterMs ?? backoff(250, failures), call.signal)
      }
    }
  }

  urlOf(path: string, query?: object): string {
    return `${this.#base}${path}${queryText(query as Query | undefined)}`
  }

  /** The response, if it is a success; its body is not read yet. */
  async open(
    method: string,
    path: string,
    { query, body, signal }: Call,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const url = this.urlOf(path, query)
    const { token, fetch: given } = this.#options
    const bearer = typeof token === 'function' ? await token() : token
    let response: Response
    try {
      response = await (given ?? globalThis.fetch)(url, {
        method,
        headers: {
          accept: 'application/json',
          // a form of another site cannot send it
          'x-reeve': '1',
          ...(body === undefined ? undefined : { 'content-type': 'application/json' }),
          ...(bearer === undefined ? undefined : { authorization: `Bearer ${bearer}` }),
          ...this.#options.headers,
          ...headers,
        },
        ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
        ...(signal === undefined ? undefined : { signal }),
      })
    } catch (thrown) {
      signal?.throwIfAborted()
      throw unreachable(url, thrown)
    }
    if (response.ok) return response
    throw await errorIn(url, response)
  }
}

async function jsonOf(url: string, response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  const text = await response.text().catch((thrown: unknown) => {
    throw unreachable(url, thrown)
  })
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch (thrown) {
    throw invalidAnswer(url, response.status, 'it is not JSON', thrown)
  }
}

/** Whether it may be otherwise a moment later. */
export const isPassing = (thrown: unknown): thrown is ClientError =>
  thrown instanceof ClientError && (thrown.status === 0 || thrown.status === 429 || thrown.status >= 502)

/** How long to wait after so many failures: doubled each time, by chance down to a half of it. */
export const backoff = (firstMs: number, failures: number): number =>
  Math.min(longestWaitMs, firstMs * 2 ** failures) * (0.5 + Math.random() / 2)

/** Waits. Rejects with the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal!.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, timerMs(ms))
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** `?a=1&b=2&b=3`, or nothing. Metadata are `metadata.<key>`. */
function queryText(query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? (value as readonly string[]) : [value as string | undefined])
      if (each !== undefined) params.append(name, String(each))
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** A new id with 128 random bits. */
export const newRunId = (): RunId => `run_${newKey()}` as RunId

export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
