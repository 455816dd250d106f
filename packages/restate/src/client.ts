/**
 * What is said to a Restate server: calls through its ingress, and the operator's words through its admin API, over
 * plain HTTP.
 *
 * Owns: the forms of requests, and how long an answer is waited for. Does not own: which error an answer is
 * (http-answer.ts), what is called (the engine), nor trying again: every wait is bounded, nothing is repeated here.
 */
import { connectionErrorText, isObject, messageOf, ReeveError, timerMs, tlsProblem } from '@reeve/core'
import {
  addressOf,
  CallFailed,
  listOf,
  refusal,
  registrationFailed,
  shaped,
  textOf,
  unreachable,
  wrongAddress,
  wrongTls,
  type HttpAnswer,
  type Side,
} from './http-answer.ts'

/** Where a Restate server is, and how it lets us in. */
export interface ClientOptions {
  /** For calls: `http://127.0.0.1:8080`. */
  readonly ingress: string
  /** For the operator: `http://127.0.0.1:9070`. */
  readonly admin: string
  /** Sent to the ingress as a bearer token. */
  readonly ingressToken?: string
  /** Sent to the admin API as a bearer token. */
  readonly adminToken?: string
  /** How long an answer may take. Default 10 s. */
  readonly timeoutMs?: number
}

/** What the server knows of workers at one address. */
export interface Deployment {
  readonly id: string
  readonly uri: string
  readonly services: readonly string[]
  /** ISO 8601. */
  readonly createdAt: string
}

/** A service, and the deployment that new calls of it go to. */
export interface ServiceInfo {
  readonly name: string
  readonly deployment: string
  readonly metadata: Readonly<Record<string, unknown>>
}

interface RequestOptions {
  readonly method: string
  readonly body?: unknown
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** How long an answer is waited for, if not for the time of the client, and what ends the wait before. */
export type RequestWait = Pick<RequestOptions, 'timeoutMs' | 'signal'>

export class RestateClient {
  readonly ingress: string
  readonly admin: string
  readonly #headers: Readonly<Record<Side, Readonly<Record<string, string>>>>
  readonly #timeoutMs: number

  constructor({ ingress, admin, ingressToken, adminToken, timeoutMs = 10_000 }: ClientOptions) {
    this.ingress = addressOf('ingress', ingress)
    this.admin = addressOf('admin', admin)
    const bearer = (token: string | undefined): Record<string, string> =>
      token === undefined ? {} : { authorization: `Bearer ${token}` }
    this.#headers = { ingress: bearer(ingressToken), admin: bearer(adminToken) }
    this.#timeoutMs = timeoutMs
  }

  /** Leaves a call with the server, which sees to it. Resolves with the id of the invocation. */
  async send(service: string, handler: string, body: unknown): Promise<string> {
    const path = `/${encodeURIComponent(service)}/${encodeURIComponent(handler)}/send`
    const answer = await this.#ask('ingress', path, { method: 'POST', body })
    const id = textOf(answer.json, 'invocationId')
    if (id === '') throw wrongAddress('ingress', this.ingress, answer)
    return id
  }

  /** Resolves if both sides are there and are what they should be. */
  async check(): Promise<{ readonly version: string }> {
    const [health, version] = await Promise.all([
      this.#ask('ingress', '/restate/health', { method: 'GET' }),
      this.#ask('admin', '/version', { method: 'GET' }),
    ])
    if (!isObject(health.json) || !('services' in health.json)) throw wrongAddress('ingress', this.ingress, health)
    return { version: textOf(shaped(version, this.admin, ['version', 'min_admin_api_version']), 'version') }
  }

  /**
   * Makes a worker known. The server asks it what it serves, which is the answer: new calls of these services go to it
   * from now on. The same address again is the same deployment; with `force` its services are asked for again. A server
   * that does not answer in time has said nothing of the worker: `engine.unreachable`, retryable.
   */
  async register(
    uri: string,
    { force = false, ...patience }: { readonly force?: boolean } & RequestWait = {},
  ): Promise<readonly ServiceInfo[]> {
    try {
      const answer = await this.#ask('admin', '/deployments', { method: 'POST', body: { uri, force }, ...patience })
      return servicesIn(answer, this.admin)
    } catch (error) {
      throw error instanceof CallFailed ? registrationFailed(uri, error) : error
    }
  }

  /** Whether the server reaches a worker there. Nothing is registered. */
  async reaches(uri: string, patience: RequestWait = {}): Promise<boolean> {
    try {
      const body = { uri, force: true, dry_run: true }
      await this.#ask('admin', '/deployments', { method: 'POST', body, ...patience })
      return true
    } catch (error) {
      if (error instanceof CallFailed && ReeveError.is(registrationFailed(uri, error))) return false
      throw error
    }
  }

  /** What is registered, the oldest first. */
  async deployments(patience: RequestWait = {}): Promise<readonly Deployment[]> {
    const answer = await this.#ask('admin', '/deployments', { method: 'GET', ...patience })
    const found = listOf(answer, this.admin, 'deployments').map((each) => ({
      id: textOf(each, 'id'),
      uri: textOf(each, 'uri') || textOf(each, 'arn'),
      services: namesOf(each['services']),
      createdAt: textOf(each, 'created_at'),
    }))
    return found.sort((a, b) => a.createdAt.localeCompare(b.createdAt))
  }

  /** Every service, as new calls see it. */
  async services(patience: RequestWait = {}): Promise<readonly ServiceInfo[]> {
    return servicesIn(await this.#ask('admin', '/services', { method: 'GET', ...patience }), this.admin)
  }

  /**
   * Asks in SQL what the server knows (`sys_invocation`, `sys_inbox`, `state`, …). A column that is NULL is missing
   * from its row.
   */
  async query<T>(sql: string): Promise<readonly T[]> {
    const answer = await this.#ask('admin', '/query', { method: 'POST', body: { query: sql } })
    return listOf(answer, this.admin, 'rows') as unknown as readonly T[]
  }

  /** One request, one answer that is a success, or the error that it is. */
  async #ask(side: Side, path: string, sent: RequestOptions): Promise<HttpAnswer> {
    const address = this[side]
    const answer = await this.#fetch(side, path, sent)
    if (answer.status < 200 || answer.status > 299) throw refusal(side, address, path, answer)
    return answer
  }

  async #fetch(
    side: Side,
    path: string,
    { method, body, timeoutMs = this.#timeoutMs, signal }: RequestOptions,
  ): Promise<HttpAnswer> {
    const late = AbortSignal.timeout(timerMs(timeoutMs))
    const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    try {
      const answer = await fetch(this[side] + path, {
        method,
        headers: { accept: 'application/json', ...this.#headers[side], ...content },
        redirect: 'manual',
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return { status: answer.status, headers: answer.headers, text, json: parsed(text) }
    } catch (error) {
      const problem = tlsProblem(error)
      if (problem !== undefined) throw wrongTls(side, this[side], problem, causeOf(error), error)
      const why = late.aborted ? `no answer to ${method} ${path} within ${timeoutMs / 1_000} s` : causeOf(error)
      throw unreachable(side, this[side], why, error)
    }
  }
}

const servicesIn = (answer: HttpAnswer, address: string): readonly ServiceInfo[] =>
  listOf(answer, address, 'services')
    .map((each) => ({
      name: textOf(each, 'name'),
      deployment: textOf(each, 'deployment_id'),
      metadata: isObject(each['metadata']) ? each['metadata'] : {},
    }))
    .sort((a, b) => a.name.localeCompare(b.name))

const namesOf = (list: unknown): readonly string[] =>
  (Array.isArray(list) ? list : []).map((each) => textOf(each, 'name')).sort()

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** What is behind `fetch failed`. */
function causeOf(error: unknown): string {
  let found = error
  while (found instanceof Error && found.cause !== undefined) found = found.cause
  return connectionErrorText(messageOf(found))
}
