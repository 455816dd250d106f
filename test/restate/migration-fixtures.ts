/**
 * Records test/migration/fixtures: event stores of the Restate adapter of 0.1, with runs in every state that matters. `node test/restate/migration-fixtures.ts`.
 *
 * Owns: bringing the runs there on a real server, and how a store is written down: its DDL, and one line of JSON per row.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { tables } from '../../src/adapters/eventstore/schema.ts'
import { restate, type RestateEngine, type RestateOptions } from '../../src/adapters/restate/index.ts'
import { delay } from '../../src/core/index.ts'
import { createRuntime, type Run, type Runtime } from '../../src/runtime/index.ts'
import { cast, longText, lost, type Outside } from '../migration/cast.ts'
import { freePort, freshPostgres, freshRestateServer, type TestServer } from './harness.ts'

type Line = Record<string, unknown>
const kept = ['floor', 'run', 'activation', 'entry', 'inbox', 'question', 'account', 'stream', 'value', 'done', 'blob', 'blob_use']
const folder = new URL('../migration/fixtures/', import.meta.url).pathname

async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await check()); await delay(20))
    if (performance.now() > end) throw new Error(`${what}: not in a minute`)
}

const waits = async (...runs: readonly Run[]): Promise<void> => {
  for (const run of runs) await run.until('waiting')
}

async function record(server: TestServer, store: RestateOptions['store']): Promise<void> {
  const begun: string[] = []
  const dive = Promise.withResolvers<void>()
  /** From now on every activation dies after its next commit. */
  let dies = false
  const outside: Outside = {
    note: (what) => begun.push(what),
    gate: (what, signal) =>
      what === 'dive' ? dive.promise : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  }
  const port = await freePort()
  const options = {
    store,
    ingress: server.ingress,
    admin: server.admin,
    namespace: `fixtures${port}`,
    listen: { port },
    parkAfterMs: 300,
    sweepMs: 10_000,
    crash: (point: string) => dies && point === 'commit.after',
    onWarning: () => {},
  }
  const open = async (agents: readonly ReturnType<typeof lost>[], drive = true): Promise<{ engine: RestateEngine; runtime: Runtime }> => {
    const engine = restate(options)
    return { engine, runtime: await createRuntime({ engine, agents, drive, onMissingVersion: 'park' }) }
  }
  const first = await open([...cast(outside), lost(outside)])
  const unknown = await first.runtime.start('lost', 'me', { runId: 'stuck' })
  await waits(unknown)
  await first.runtime.start('payer', 'doubt-asked', { runId: 'doubt-asked' })
  await until('it pays', () => begun.includes('doubt-asked: pay'))
  await first.engine.kill()

  const { engine, runtime } = await open(cast(outside))
  const start = (agent: string, id: string, more: object = {}): Promise<Run> =>
    runtime.start(agent, id, { runId: id, user: 'ada', ...more })
  await waits(runtime.handle('doubt-asked'))
  await waits(
    await start('clerk', 'approval', { limits: { minutes: 60, tokens: 10_000 } }),
    await start('asker', 'question'),
    await start('leader', 'delegation'),
  )
  await waits(await start('patient', 'deadline'))
  await start('sleeper', 'sleep')
  await until('it sleeps', async () => (await engine.read('sleep' as never)).some(({ event }) => event.type === 'timer.set'))
  // ended ones
  await (await start('quick', 'completed')).outcome()
  await (await start('failing', 'failed')).outcome()
  const cancelled = await start('asker', 'cancelled')
  await waits(cancelled)
  await cancelled.cancel('not wanted', 'bob')
  await cancelled.outcome()
  // values, a session with one run behind another, what is spent
  await waits(await start('keeper', 'values-alone'), await start('keeper', 'session-1', { session: 'talks', values: { count: 5 } }))
  await start('keeper', 'session-2', { session: 'talks' })
  await until('it stands in line', async () => (await runtime.runs()).some((each) => each.run === 'session-2' && each.status === 'queued'))
  await engine.stream('mem_notes').update('note', () => longText('remember'))
  const spent = await start('spender', 'spent', { limits: { turns: 3, minutes: 30 } })
  await waits(spent)
  const before = (await question(spent))!
  await spent.answer({ interruptId: before, value: 'yes' })
  await until('it asks again', async () => (await question(spent)) !== before)
  await waits(spent)
  // a team
  const crew = await start('crew', 'team')
  await until(
    'its writer is done',
    async () => begun.includes('writer: draft') && (await engine.questions({ run: 'team' as never })).length === 1,
  )
  await until('the task is settled', async () => (await engine.read('team' as never)).some(({ event }) => event.type === 'task.settled'))
  // paused, with something held; half paused; in human control
  const paused = await start('asker', 'paused')
  await waits(paused)
  await paused.pause({ by: 'ann', reason: 'lunch' })
  await until('it is paused', async () => (await paused.view()).status === 'paused')
  await paused.answer({ interruptId: (await question(paused))!, value: 'answered while paused', by: 'bob' })
  await until('the step is held', async () =>
    (await engine.read('paused' as never)).some(
      ({ event }) =>
        event.type === 'step.settled' || event.type === 'effect.held' || JSON.stringify(event).includes('answered while paused'),
    ),
  )
  const human = await start('asker', 'human')
  await waits(human)
  await human.takeOver({ by: 'ann', reason: 'mine' })
  await until('a human has it', async () => (await human.view()).status === 'human_control')
  const pausing = await start('slow', 'pausing')
  await until('it works', () => begun.includes('slow: work'))
  await pausing.pause({ by: 'ann' })
  await until('it is pausing', async () => (await pausing.view()).status === 'pausing')
  // forks
  const origin = await engine.read('question' as never)
  await waits(await runtime.fork({ run: 'question', at: origin.at(-1)!.position, runId: 'fork', by: 'ann' }))
  // without its code
  const stuck = runtime.handle('stuck')
  await stuck.answer({ interruptId: (await question(stuck))!, value: 'nobody' })
  await until('it is stuck', async () => (await stuck.view()).status === 'stuck')
  // out when its process dies
  await start('payer', 'doubt-new')
  await until('it pays', () => begun.includes('doubt-new: pay'))
  await start('slow', 'working')
  await until('it works', () => begun.filter((what) => what === 'slow: work').length === 2)
  const asked = await start('asker', 'answered')
  const dropped = await start('asker', 'cancel-unread')
  const posted = await start('asker', 'pause-unread')
  await waits(asked, dropped, posted)
  const letter = await start('chief', 'cancel-letter')
  await waits(letter)
  await start('chief', 'end-unread')
  await until('it dives', () => begun.includes('end-unread: dive'))
  await delay(1_000)
  dies = true
  dive.resolve()
  await letter.cancel('not wanted', 'bob')
  await until('the end is written', async () =>
    (await engine.read('end-unread' as never)).some(({ event }) => event.type === 'activation.settled'),
  )
  await until('the cancel is known', async () =>
    (await engine.read('cancel-letter' as never)).some(({ event }) => event.type === 'cancel.received'),
  )
  await engine.kill()
  dies = false
  void crew

  // what nobody has read
  const desk = await open([], false)
  await desk.runtime.handle('answered').answer({ interruptId: (await question(desk.runtime.handle('answered')))!, value: 'unread' })
  await desk.runtime.handle('cancel-unread').cancel('too late', 'bob')
  await desk.runtime.handle('pause-unread').pause({ by: 'bob' })
  await desk.runtime.handle('team').post({ to: 'reader_1', content: 'from outside', by: 'cyd', id: 'late' })
  await desk.engine.close()
}

const question = async (run: Run): Promise<string | undefined> => {
  const state = await run.until('waiting')
  return 'questions' in state ? state.questions[0]?.id : undefined
}

function write(name: string, ddl: string, rows: ReadonlyMap<string, readonly Line[]>): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}${name}.sql`, ddl)
  const lines = [...rows].flatMap(([table, each]) => each.map((row) => JSON.stringify({ table, row })))
  writeFileSync(`${folder}${name}.jsonl`, lines.join('\n') + '\n')
  process.stdout.write(`${name}: ${[...rows].map(([table, each]) => `${each.length} ${table}`).join(', ')}\n`)
}

const order = (table: string): string =>
  ({
    entry: 'run, position',
    floor: 'one',
    stream: 'id',
    value: 'stream, key',
    done: 'run, stream, once',
    blob: 'hash',
    blob_use: 'run, hash',
    account: 'act',
  })[table] ?? 'num'

const server = await freshRestateServer()
try {
  const dir = mkdtempSync(join(tmpdir(), 'fixtures-'))
  const file = join(dir, 'events.db')
  await record(server, { sqlite: file })
  const db = new DatabaseSync(file, { readOnly: true })
  const ddl = (db.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'").all() as { sql: string }[])
    .map(({ sql }) => `${sql};\n`)
    .join('')
  const { application_id: id } = db.prepare('PRAGMA application_id').get() as { application_id: number }
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  write(
    'sqlite',
    `${ddl}PRAGMA application_id=${id};\nPRAGMA user_version=${version};\n`,
    new Map(kept.map((table) => [table, db.prepare(`SELECT * FROM ${table} ORDER BY ${order(table)}`).all() as Line[]])),
  )
  db.close()
  rmSync(dir, { recursive: true })

  await using postgres = await freshPostgres()
  await record(server, { postgres: postgres.url, schema: postgres.schema })
  const client = new Client(postgres.server)
  await client.connect()
  const rows = new Map<string, Line[]>()
  for (const table of ['meta', ...kept])
    rows.set(
      table,
      (await client.query<Line>(`SELECT * FROM "${postgres.schema}".${table} ORDER BY ${table === 'meta' ? 'program' : order(table)}`))
        .rows,
    )
  await client.end()
  const dialect = {
    serial: 'BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY',
    id: 'TEXT COLLATE "C"',
    busy: ' WITH (fillfactor = 60)',
    passing: 'UNLOGGED TABLE',
  }
  write('postgres', `${tables(dialect)}CREATE TABLE meta(program TEXT PRIMARY KEY, version INTEGER NOT NULL);\n`, rows)
} finally {
  await server.dispose()
}
