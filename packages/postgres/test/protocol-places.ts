/** Processes that serve protocols over one PostgreSQL store, and requests to them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@reeve/core'
import { createRuntime, type Runtime } from '@reeve/public'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'
import { freshPostgres } from '../../../test/servers/postgres.ts'
import { sentEvents } from '../../server/test/serving.ts'

/** Lets in as an admin. */
export const token = 'the-token-of-these-processes'

/** A server in a process of its own. */
export interface Place {
  readonly ask: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Response>
  /** The JSON of an answer. */
  readonly json: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<JsonObject>
  /** Everything that a stream says, to its end; nothing where there is no stream (204). */
  readonly all: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<JsonObject[]>
  readonly url: string
}

type Undo = (() => unknown)[]

async function place(store: string, folder: string, drives: boolean, undo: Undo): Promise<Place> {
  const file = new URL('protocol-child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, ['--no-warnings', file, store, folder, token, drives ? 'drive' : 'serve'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  undo.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  const [url] = (await once(child, 'message')) as [string]
  const ask: Place['ask'] = (path, body, headers = {}) =>
    fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    url,
    ask,
    json: async (...asked) => (await (await ask(...asked)).json()) as JsonObject,
    all: async (...asked) => {
      const seen: JsonObject[] = []
      const response = await ask(...asked)
      if (response.body !== null) for await (const { data } of sentEvents(response)) seen.push(data as JsonObject)
      return seen
    },
  }
}

/** Three processes on one store. */
export interface ThreePlaces {
  readonly places: readonly [Place, Place, Place]
  /** Of this process: it drives nothing. */
  readonly runtime: Runtime
  /** Lets a run of `slow` go on, by the name that it was given. */
  readonly letGo: (name: string) => void
  readonly close: () => Promise<void>
}

/** The first process drives the runs, the others serve only. */
export async function threePlaces(): Promise<ThreePlaces> {
  const undo: Undo = []
  const postgres = await freshPostgres()
  undo.push(postgres.dispose)
  const folder = temporaryFolder('protocols')
  undo.push(() => removeFolder(folder))
  const store = `${postgres.server}?schema=${postgres.schema}`
  // one after the other: the first one makes the tables
  const driving = await place(store, folder, true, undo)
  const [second, third] = await Promise.all([place(store, folder, false, undo), place(store, folder, false, undo)])
  const runtime = await createRuntime({ store, drive: false })
  undo.push(() => runtime.close())
  return {
    places: [driving, second, third],
    runtime,
    letGo: (name) => writeFileSync(join(folder, name), ''),
    async close() {
      for (const one of undo.splice(0).reverse()) await one()
    },
  }
}
