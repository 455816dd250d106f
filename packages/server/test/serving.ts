/** A server under test: a real store, a real socket, and small requests to it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect } from 'vitest'
import type { Json, JsonObject } from '@reeve/core'
import { schemaProblem } from '@reeve/edge'
import { createRuntime, type Runtime, type RuntimeOptions } from '@reeve/runtime'
import { createServer, listen, type ListeningServer, type ReeveServer, type ReeveServerOptions } from '../src/index.ts'

/** A runtime and its server on a socket. */
export interface Serving {
  readonly runtime: Runtime
  readonly server: ListeningServer
  /** Lets in as an admin, where no `auth` is given. */
  readonly token: string
  /** Errors that were the server's. */
  readonly errors: unknown[]
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>
  readonly remove: (path: string) => Promise<Answer>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** An operation of the document, with its path. */
export interface Operation {
  readonly path: string
  readonly method: string
  readonly operation: {
    readonly operationId: string
    readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: JsonObject }[]
    readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: JsonObject } } }
    readonly responses: Readonly<
      Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonObject }>> } | undefined>
    >
  }
}

/** All operations of an OpenAPI document. */
export const operationsOf = (document: JsonObject): readonly Operation[] =>
  Object.entries(
    document['paths'] as Readonly<Record<string, Readonly<Record<string, Operation['operation']>>>>,
  ).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )

/** The operation that answers this request: one without names in its path goes before one with them. */
function operationFor(document: JsonObject, method: string, path: string): Operation | undefined {
  const isFor = (operation: Operation): boolean =>
    operation.method === method &&
    new RegExp(`^${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  const found = operationsOf(document).filter(isFor)
  return found.find((each) => !each.path.includes('{')) ?? found[0]
}

/** What is wrong with an answer, by the document; undefined if nothing. */
export function answerProblem(
  document: JsonObject,
  method: string,
  path: string,
  { status, body }: Pick<Answer, 'status' | 'body'>,
): string | undefined {
  const found = operationFor(document, method, path)
  if (found === undefined) return status === 404 || status === 405 ? undefined : `no operation for ${method} ${path}`
  const { operationId, responses } = found.operation
  const response = responses[String(status)]
  if (response === undefined) return `${operationId}: status ${status} is not in the document`
  const schema = response.content?.['application/json']?.schema
  if (schema === undefined) return body === undefined ? undefined : `${operationId}: ${status} should have no body`
  const problem = schemaProblem(body as Json, schema, document)
  return problem === undefined ? undefined : `${operationId} ${status}: ${problem}`
}

/** The items of a page. */
export const itemsOf = <T = { readonly id: string }>({ body }: Answer): readonly T[] =>
  (body as { readonly items: readonly T[] }).items

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** A folder that is removed after the test. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'reeve-server-'))
  open.push(() => Promise.resolve(rmSync(path, { recursive: true, force: true })))
  return path
}

/** Serves a runtime on a store in a file. Closed after the test. */
export async function serving(
  options: RuntimeOptions = {},
  serverOptions: Omit<ReeveServerOptions, 'runtime'> = {},
): Promise<Serving> {
  const runtime = await createRuntime({ store: join(folder(), 'reeve.db'), strict: true, ...options })
  open.push(() => runtime.close({ graceMs: 0 }))
  const errors: unknown[] = []
  const handler = createServer({ runtime, onError: (error) => errors.push(error), ...serverOptions })
  const server = await listen(handler, { port: 0 })
  open.push(() => server.close())
  const token = handler.token ?? ''
  let known: Promise<JsonObject> | undefined
  const document = (): Promise<JsonObject> => (known ??= documentOf(createServer({ runtime })))
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/api${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const said = await response.text()
    const answer = {
      status: response.status,
      headers: response.headers,
      body: said === '' ? undefined : (JSON.parse(said) as unknown),
    }
    // every answer in every test is what the document says
    const { pathname } = new URL(response.url)
    expect(answerProblem(await document(), method, pathname, answer)).toBeUndefined()
    return answer
  }
  return {
    runtime,
    server,
    token,
    errors,
    get: (path, headers) => ask('GET', path, undefined, headers),
    post: (path, body = {}, headers) => ask('POST', path, body, headers),
    remove: (path) => ask('DELETE', path),
  }
}

/** The OpenAPI document of a server without `auth`. */
export async function documentOf(handler: ReeveServer): Promise<JsonObject> {
  const response = await handler.fetch(
    new Request('http://127.0.0.1/api/openapi.json', { headers: { Authorization: `Bearer ${handler.token}` } }),
  )
  return (await response.json()) as JsonObject
}

/** A message of a stream, with its id. */
export interface Sent {
  readonly id?: number
  readonly data: unknown
}

/** Reads a stream of server-sent events. `comments` counts heartbeats. */
export async function* sentEvents(response: Response, onComment: () => void = () => {}): AsyncGenerator<Sent> {
  let held = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body!) {
    held += decoder.decode(bytes as Uint8Array, { stream: true })
    for (let end = held.indexOf('\n\n'); end !== -1; end = held.indexOf('\n\n')) {
      const lines = held.slice(0, end).split('\n')
      held = held.slice(end + 2)
      if (lines.some((line) => line.startsWith(':'))) onComment()
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6)
      const id = lines.find((line) => line.startsWith('id: '))?.slice(4)
      // the last word of protocols of chats is no JSON
      if (data !== undefined && data !== '[DONE]')
        yield { ...(id === undefined ? {} : { id: Number(id) }), data: JSON.parse(data) as unknown }
    }
  }
}
