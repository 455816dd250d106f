/**
 * A memory with its process dying: at every point of a run, and with kill -9 between the row of a turn and its record.
 * What was recalled is not asked again; a turn has one row.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { createRuntime, registerAgents, startRequest, type SessionMemory } from '@reeve/runtime'
import { scripted } from '@reeve/testing'
import { pgvectorMemory } from 'reeve/pgvector'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'
import { diesEverywhere } from '../../../test/replay/dying.ts'
import { vectorServer, type VectorServer } from './vector-server.ts'
import { dimensions, words } from './words.ts'

let server: VectorServer
let folder: string
beforeAll(async () => {
  folder = temporaryFolder('pgvector')
  server = await vectorServer()
}, 60_000)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  removeFolder(folder)
})

const rowsOf = (table: string, run: string) =>
  server.query<{ readonly answer: string; readonly created: Date }>(
    `SELECT answer, created FROM "${server.schema}"."${table}" WHERE run = $1`,
    [run],
  )
const io = { key: 'k', epoch: 1, attempt: 1, now: 0, signal: new AbortController().signal } as never
const argo = {
  caller: { user: 'ann', session: 'before' },
  run: 'before',
  agent: 'chat',
  answeredBy: 'chat',
  prompt: 'My ship is called Argo.',
  answer: 'Noted.',
} as never

const opened = Promise.withResolvers<Awaited<ReturnType<typeof pgvectorMemory>>>()
beforeAll(async () => {
  const { url, schema } = server
  const memory = await pgvectorMemory({ url, schema, table: 'crashes', dimensions, embed: words })
  await memory.save(argo, io)
  opened.resolve(memory)
})
afterAll(async () => (await opened.promise).close())

const shown: string[] = []
const chat = agent({
  name: 'chat',
  model: scripted(({ messages }) => {
    shown.push(JSON.stringify(messages))
    return 'Argo.'
  }),
})
/** Each life of a process begins with what was there before its run. */
const memory: SessionMemory = {
  async recall(query, given) {
    await server.query(`DELETE FROM "${server.schema}"."crashes" WHERE run = $1`, [query.run])
    return (await opened.promise).recall(query, given)
  },
  save: async (turn, given) => (await opened.promise).save(turn, given),
}
const registry = registerAgents([chat], [], 'park', { endOf: () => Promise.resolve(undefined), memory })

diesEverywhere(
  {
    name: 'a run that remembers another session',
    registry,
    start: startRequest(registry.require(chat), 'What is my ship called?', {
      user: 'ann',
      session: 's',
      runId: 'simulated',
    }),
  },
  { status: 'completed', output: 'Argo.' },
)

test('and each of these was shown the other session, and left one row', async () => {
  expect(shown.length).toBeGreaterThan(10)
  for (const each of shown) expect(each).toContain('My ship is called Argo.')
  expect((await rowsOf('crashes', 'simulated')).map(({ answer }) => answer)).toEqual(['Argo.'])
})

test('two processes killed with kill -9 between the row and its record: one row each, and nothing recalled twice', async () => {
  const { url, schema } = server
  const table = 'killed'
  const begin = async (run: string): Promise<ChildProcess> => {
    const args = [join(import.meta.dirname, 'memory-child.ts'), join(folder, `${run}.db`), url, schema, table, run]
    const child = spawn(process.execPath, ['--no-warnings', ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
    await Promise.race([
      once(child.stdout!, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${run} ended`))),
    ])
    return child
  }
  const children = await Promise.all(['one', 'two'].map(begin))
  await Promise.all(
    children.map(async (child) => {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }),
  )
  for (const run of ['one', 'two']) {
    const before = await rowsOf(table, run)
    expect(before.map(({ answer }) => answer)).toEqual(['Argo.'])
    const asked: string[] = []
    const real = await pgvectorMemory({ url, schema, table, dimensions, embed: words })
    const again = agent({
      name: 'chat',
      version: '1',
      model: () => {
        asked.push('model')
        return 'another answer'
      },
    })
    const runtime = await createRuntime({
      store: join(folder, `${run}.db`),
      agents: [again],
      memory: {
        recall: (query, given) => {
          asked.push('recall')
          return real.recall(query, given)
        },
        save: (turn, given) => {
          asked.push('save')
          return real.save(turn, given)
        },
      },
    })
    expect(await runtime.handle(run).outcome()).toMatchObject({ status: 'completed', output: 'Argo.' })
    expect(asked).toEqual(['save'])
    expect(await rowsOf(table, run)).toEqual(before)
    await runtime.close()
    await real.close()
  }
}, 60_000)
