/**
 * What is said to a Restate server: calls through its ingress, and the operator's words through its admin API, over plain HTTP.
 *
 * Owns: the forms of requests, and how long an answer is waited for. Does not own: which error an answer is (answer.ts), what is called (the engine), nor
 * trying again: every wait is bounded, nothing is repeated here.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, messageOf, ReeveError } from '../../core/index.ts'
import {
  addressOf,
  CallFailed,
  listOf,
  refusal,
  registrationFailed,
  shaped,
  textOf,
  unreachable,
  workerUnreachable,
  wrongAddress,
  type Answer,
  type Side,
} from './answer.ts'

export { CallFailed } from './answer.ts'

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
  /** Sent with everything. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long an answer may take. Default 10 s. */
  readonly timeoutMs?: number
}

/** How a handler is called. */
export interface CallOptions {
  /** The key of the object or workflow. */
  readonly key?: string
  /** Calls with the same one are the same call. */
  readonly idempotencyKey?: string
  /** Calls the waiting off, not what was called; rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** How long the answer may take; instead of the client's. */
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

/** A service, and the deployment that new invocations of it go to. */
export interface ServiceInfo {
  readonly name: string
  readonly deployment: string
  readonly revision: number
  readonly handlers: readonly string[]
}

/** Where an invocation stands. `paused`: it was paused, or its attempts are used up; it waits for `resume`. */
export type InvocationStatus = 'pending' | 'scheduled' | 'ready' | 'running' | 'backing-off' | 'suspended' | 'paused' | 'completed'

/** What the server knows of an invocation; what is not known is missing. */
export interface InvocationInfo {
  readonly id: string
  readonly status: InvocationStatus
  readonly retry_count?: number
  readonly pinned_deployment_id?: string
  readonly target_service_name?: string
}

interface Sent {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export class RestateClient {
  readonly ingress: string
  readonly admin: string
  readonly #headers: Readonly<Record<Side, Readonly<Record<string, string>>>>
  readonly #timeoutMs: number

  constructor({ ingress, admin, ingressToken, adminToken, headers = {}, timeoutMs = 10_000 }: ClientOptions) {
    this.ingress = addressOf('ingress', ingress)
    this.admin = addressOf('admin', admin)
    const bearer = (token: string | undefined): Record<string, string> => (token === undefined ? {} : { authorization: `Bearer ${token}` })
    this.#headers = { ingress: { ...headers, ...bearer(ingressToken) }, admin: { ...headers, ...bearer(adminToken) } }
    this.#timeoutMs = timeoutMs
  }

  // ---- calls

  /** Calls a handler and waits for what it returns. Rejects with `CallFailed` if the handler refuses for good. */
  async call<T>(service: string, handler: string, body: unknown, options: CallOptions = {}): Promise<T> {
    const answer = await this.#ask('ingress', pathOf(service, handler, options.key), calling(body, options))
    if (!answer.headers.has('x-restate-id')) throw wrongAddress('ingress', this.ingress, answer)
    return (answer.text === '' ? undefined : answer.json) as T
  }

  /** Leaves a call with the server, which sees to it. `isNew`: false if the same call (idempotency key, or workflow key) was left before. */
  async send(
    service: string,
    handler: string,
    body: unknown,
    options: CallOptions & { readonly delayMs?: number } = {},
  ): Promise<{ readonly invocationId: string; readonly isNew: boolean }> {
    const delay = options.delayMs === undefined ? '' : `?delay=${options.delayMs}ms`
    const answer = await this.#ask('ingress', `${pathOf(service, handler, options.key)}/send${delay}`, calling(body, options))
    const { invocationId, status } = isObject(answer.json) ? answer.json : {}
    if (typeof invocationId !== 'string') throw wrongAddress('ingress', this.ingress, answer)
    return { invocationId, isNew: status === 'Accepted' }
  }

  // ---- the operator

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
   * Makes a worker known. The server asks it what it serves: new invocations of these services go to it from now on. The same address again is the
   * same deployment; with `force` its services are asked for again.
   */
  async register(uri: string, { force = false }: { readonly force?: boolean } = {}): Promise<{ readonly id: string }> {
    try {
      const answer = await this.#ask('admin', '/deployments', { method: 'POST', body: { uri, force } })
      return { id: textOf(shaped(answer, this.admin, ['id', 'services']), 'id') }
    } catch (error) {
      if (ReeveError.is(error, 'engine.unreachable') && (await this.#adminAnswers()))
        throw workerUnreachable(uri, 'it does not answer', error)
      throw error instanceof CallFailed ? registrationFailed(uri, error) : error
    }
  }

  /** Whether the server reaches a worker there. Nothing is registered. */
  async reaches(uri: string): Promise<boolean> {
    try {
      await this.#ask('admin', '/deployments', { method: 'POST', body: { uri, force: true, dry_run: true } })
      return true
    } catch (error) {
      if (error instanceof CallFailed && ReeveError.is(registrationFailed(uri, error))) return false
      throw error
    }
  }

  /** What is registered, the oldest first. */
  async deployments(): Promise<readonly Deployment[]> {
    const answer = await this.#ask('admin', '/deployments', { method: 'GET' })
    const found = listOf(answer, this.admin, 'deployments').map((each) => ({
      id: textOf(each, 'id'),
      uri: textOf(each, 'uri') || textOf(each, 'arn'),
      services: namesOf(each['services']),
      createdAt: textOf(each, 'created_at'),
    }))
    return found.sort((a, b) => a.createdAt.localeCompare(b.createdAt))
  }

  /** Forgets a deployment. Invocations that are pinned to it can only be moved or killed afterwards: look for them first. */
  async removeDeployment(id: string): Promise<void> {
    await this.#ask('admin', `/deployments/${encodeURIComponent(id)}?force=true`, { method: 'DELETE' })
  }

  /** Changes where the workers of a deployment are. The server asks the new address first; services must be the same. */
  async moveDeployment(id: string, uri: string): Promise<void> {
    try {
      await this.#ask('admin', `/deployments/${encodeURIComponent(id)}`, { method: 'PATCH', body: { uri } })
    } catch (error) {
      throw error instanceof CallFailed ? registrationFailed(uri, error) : error
    }
  }

  /** Every service by name, as new invocations see it. */
  async services(): Promise<readonly ServiceInfo[]> {
    const answer = await this.#ask('admin', '/services', { method: 'GET' })
    const found = listOf(answer, this.admin, 'services').map((each) => ({
      name: textOf(each, 'name'),
      deployment: textOf(each, 'deployment_id'),
      revision: Number(each['revision']),
      handlers: namesOf(each['handlers']),
    }))
    return found.sort((a, b) => a.name.localeCompare(b.name))
  }

  /** Asks in SQL what the server knows (`sys_invocation`, `sys_inbox`, `state`, …). A column that is NULL is missing from its row. */
  async query<T>(sql: string): Promise<readonly T[]> {
    const answer = await this.#ask('admin', '/query', { method: 'POST', body: { query: sql } })
    return listOf(answer, this.admin, 'rows') as unknown as readonly T[]
  }

  /** Where invocations stand. Those that the server does not know (any more) are not in the answer. */
  async invocationStatus(ids: readonly string[]): Promise<ReadonlyMap<string, InvocationStatus>> {
    return new Map([...(await this.invocations(ids)).values()].map(({ id, status }) => [id, status]))
  }

  /** The same, with what is needed to judge them. */
  async invocations(ids: readonly string[]): Promise<ReadonlyMap<string, InvocationInfo>> {
    const found = new Map<string, InvocationInfo>()
    const valid = ids.filter((id) => /^inv_\w+$/.test(id))
    for (let from = 0; from < valid.length; from += 200) {
      const some = valid.slice(from, from + 200).map((id) => `'${id}'`)
      const columns = 'id, status, retry_count, pinned_deployment_id, target_service_name'
      const rows = await this.query<InvocationInfo>(`select ${columns} from sys_invocation where id in (${some.join(', ')})`)
      for (const row of rows) found.set(row.id, row)
    }
    return found
  }

  /** Lets it end by itself: what it waits for rejects, and so on down its calls. Resolves when the server has heard it. */
  cancel = (id: string): Promise<void> => this.#tell(id, 'cancel')
  /** Ends it as it is, without a word to its code. What it has called goes on. */
  kill = (id: string): Promise<void> => this.#tell(id, 'kill')
  /** Lets it stand until `resume`, as soon as no step of it is being done. Resolves when the server has heard it. */
  pause = (id: string): Promise<void> => this.#tell(id, 'pause')
  /** Lets it go on: a paused one, one that backs off (at once), one that is suspended. */
  resume = (id: string): Promise<void> => this.#tell(id, 'resume')
  /** Forgets one that has ended, with its result. */
  purge = (id: string): Promise<void> => this.#tell(id, 'purge')

  /**
   * Lets an invocation go on in the code of another deployment (an id, or `latest`), from where it is: its steps so far must be the first ones there too.
   * A paused, suspended or backing-off one is moved at once. A running one is refused (`CallFailed` 409, nothing is done), unless `evenIfRunning`: then
   * it is paused after the step that is being done. If that takes longer than the client waits, it rejects with 409, and the invocation **will** be
   * paused later, since the server cannot take a pause back: move it again, or resume it.
   */
  async moveInvocation(
    id: string,
    deployment: string,
    { evenIfRunning = false }: { readonly evenIfRunning?: boolean } = {},
  ): Promise<void> {
    const move = `resume?deployment=${encodeURIComponent(deployment)}`
    try {
      return await this.#tell(id, move)
    } catch (error) {
      if (!(error instanceof CallFailed) || error.status !== 409) throw error
    }
    const status = (await this.invocationStatus([id])).get(id)
    if (status === 'running' && !evenIfRunning) throw new CallFailed(409, `the invocation ${id} is running`, '')
    await this.pause(id)
    await this.#untilPaused(id)
    try {
      await this.#tell(id, move)
    } catch (error) {
      await this.resume(id)
      throw error
    }
  }

  async #untilPaused(id: string): Promise<void> {
    const limit = AbortSignal.timeout(this.#timeoutMs)
    while (!limit.aborted) {
      const status = (await this.invocationStatus([id])).get(id)
      if (status === 'paused') return
      if (status === undefined || status === 'completed') throw new CallFailed(409, `the invocation ${id} has ended`, '')
      await sleep(25)
    }
    throw new CallFailed(
      409,
      `the invocation ${id} is in the middle of a step and will be paused after it; move it again, or resume it`,
      '',
    )
  }

  async #tell(id: string, what: string): Promise<void> {
    await this.#ask('admin', `/invocations/${encodeURIComponent(id)}/${what}`, { method: 'PATCH' })
  }

  async #adminAnswers(): Promise<boolean> {
    try {
      return (await this.#ask('admin', '/health', { method: 'GET', timeoutMs: 1_000 })).status === 200
    } catch {
      return false
    }
  }

  /** One request, one answer that is a success, or the error that it is. */
  async #ask(side: Side, path: string, sent: Sent): Promise<Answer> {
    const address = this[side]
    const answer = await this.#fetch(side, path, sent)
    if (answer.status < 200 || answer.status > 299) throw refusal(side, address, path, answer)
    return answer
  }

  async #fetch(side: Side, path: string, { method, headers, body, signal, timeoutMs = this.#timeoutMs }: Sent): Promise<Answer> {
    const late = AbortSignal.timeout(timeoutMs)
    const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    try {
      const answer = await fetch(this[side] + path, {
        method,
        headers: { accept: 'application/json', ...this.#headers[side], ...headers, ...content },
        redirect: 'manual',
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return { status: answer.status, headers: answer.headers, text, json: parsed(text) }
    } catch (error) {
      signal?.throwIfAborted()
      throw unreachable(side, this[side], late.aborted ? `no answer within ${timeoutMs / 1000} s` : causeOf(error), error)
    }
  }
}

const calling = (body: unknown, { idempotencyKey, signal, timeoutMs }: CallOptions): Sent => ({
  method: 'POST',
  body,
  signal,
  timeoutMs,
  headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey.replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent) },
})

const pathOf = (...parts: readonly [service: string, handler: string, key: string | undefined]): string => {
  const [service, handler, key] = parts
  return [service, ...(key === undefined ? [] : [key]), handler].map((part) => `/${encodeURIComponent(part)}`).join('')
}

const namesOf = (list: unknown): readonly string[] => (Array.isArray(list) ? list : []).map((each) => textOf(each, 'name')).sort()

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
  return messageOf(found)
}
