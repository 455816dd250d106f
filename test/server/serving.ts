/** A server under test: a real store, a real socket, and small requests to it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/runtime/index.ts'
import { createServer, listen, type ListeningServer, type ReeveServerOptions } from '../../src/server/index.ts'

/** A runtime and its server on a socket. */
export interface Serving {
  readonly runtime: Runtime
  readonly server: ListeningServer
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
  open.push(() => runtime.close())
  const errors: unknown[] = []
  const handler = createServer({ runtime, onError: (error) => errors.push(error), ...serverOptions })
  const server = await listen(handler, { port: 0 })
  open.push(() => server.close())
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/api${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const said = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: said === '' ? undefined : (JSON.parse(said) as unknown),
    }
  }
  return {
    runtime,
    server,
    errors,
    get: (path, headers) => ask('GET', path, undefined, headers),
    post: (path, body = {}, headers) => ask('POST', path, body, headers),
    remove: (path) => ask('DELETE', path),
  }
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
      if (data !== undefined)
        yield { ...(id === undefined ? {} : { id: Number(id) }), data: JSON.parse(data) as unknown }
    }
  }
}
