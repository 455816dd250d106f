/**
 * What a bundled application must do wherever its bundle lies: heartbeats while its event loop stands still, an approval
 * inside a worker, and after kill -9 the same run goes on in another process. Over HTTP, as operators see it.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createClient, type ReeveClient } from '../../packages/client/src/index.ts'
import { startIn, type Started } from '../../scripts/fresh-folder.ts'
import { token } from './token.ts'

/** Where the application keeps its runs, and how the end of its lease is read there. */
export interface ScenarioStore {
  readonly name: string
  /** Until when a process of the store counts as alive. Milliseconds since 1970; 0 where there is none. */
  readonly aliveUntil: () => Promise<number>
}

/** A store in a file. */
export const sqliteStore = (file: string): ScenarioStore => ({
  name: file,
  async aliveUntil() {
    using db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 })
    return Number(db.prepare('SELECT max(until) AS until FROM process').get()?.['until'] ?? 0)
  },
})

/** A store in a schema of PostgreSQL. */
export const postgresStore = (server: string, schema: string): ScenarioStore => ({
  name: `${server}?schema=${schema}`,
  async aliveUntil() {
    const client = new pg.Client(server)
    await client.connect()
    const { rows } = await client.query<{ until: string | null }>(`SELECT max(until) AS until FROM "${schema}".process`)
    await client.end()
    return Number(rows[0]?.until ?? 0)
  },
})

/** Begins the application, and resolves when it serves. */
export type Begin = (store: string) => Promise<{ readonly app: Started; readonly url: string }>

/** Begins a program that prints `ready <address>`. */
export const beginning =
  (cwd: string, env: NodeJS.ProcessEnv, command: string, ...args: readonly string[]): Begin =>
  async (store) => {
    const app = await startIn(cwd, env, /ready (\S+)/, command, ...args, store)
    return { app, url: /ready (\S+)/.exec(app.said())![1]! }
  }

/** Throws if the application does not do all of it. */
export async function mustWork(begin: Begin, store: ScenarioStore): Promise<void> {
  const first = await begin(store.name)
  let run: string
  try {
    const client = createClient({ baseUrl: first.url, token })
    await client.agents() // some open their store with the first request
    await mustStayAlive(client, store)
    const started = await client.runs.start('desk', 'Order 7 arrived broken.')
    run = started.id
    await waitingIn(client, run)
    assert.doesNotMatch(first.app.said(), /warning/)
  } finally {
    await first.app.end('SIGKILL')
  }
  const second = await begin(store.name)
  try {
    const client = createClient({ baseUrl: second.url, token })
    const request = await waitingIn(client, run)
    assert.deepEqual(request.approval?.input, { usd: 40 })
    await client.questions.decide({ approvalId: request.id, decision: 'approve' })
    const outcome = await client.run<string>(run).outcome()
    assert.deepEqual([outcome.status, 'output' in outcome && outcome.output], ['completed', 'The refund is paid.'])
    assert.doesNotMatch(second.app.said(), /warning/)
  } finally {
    await second.app.end()
  }
}

type Question = Awaited<ReturnType<ReeveClient['questions']['list']>>['items'][number]

/** The request that this run, or a worker of it, waits with. */
async function waitingIn(client: ReeveClient, run: string): Promise<Question> {
  for (const until = performance.now() + 60_000; performance.now() < until; await delay(50)) {
    const found = (await client.questions.list()).items.find((each) => each.run === run)
    if (found !== undefined) return found
    const { outcome } = (await client.run(run).status()) as { readonly outcome?: unknown }
    if (outcome !== undefined) throw new Error(`the run has ended without a question: ${JSON.stringify(outcome)}`)
  }
  throw new Error('the run asks nothing, and does not end')
}

/** While the event loop stands still, the lease is lengthened: by the thread, for nothing else moves. */
async function mustStayAlive(client: ReeveClient, store: ScenarioStore): Promise<void> {
  const began = performance.now()
  const seen = new Set<number>()
  let isOver = false
  // the event loop may stand still before it has answered the start
  const ended = client.runs
    .start('blocker', 'now')
    .then((run) => run.outcome())
    .then((outcome) => {
      isOver = true
      assert.equal(outcome.status, 'completed')
    })
  while (!isOver && performance.now() - began < 30_000) {
    seen.add(await store.aliveUntil())
    await Promise.race([ended, delay(100)])
  }
  await ended
  // by itself, the event loop writes one before it stands still and one when it moves again
  assert.ok(seen.size >= 4, `the heartbeat was seen with ${seen.size} value(s) while the process was blocked`)
}
