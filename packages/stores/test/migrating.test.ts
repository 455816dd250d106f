/**
 * Migrating stores of 0.1: broken off and repeated, what cannot be migrated, sources that are still at work, and what
 * is said of such a store where it is named as one of today.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ReeveError } from '@reeve/core'
import { migrateStore } from '../src/migration/index.ts'
import { createRuntime } from '@reeve/runtime'
import { reeve } from '../../cli/test/command.ts'
import { cast } from './cast.ts'
import { copied, freshSchema, linesOf, plantFile, plantSchema, type Line } from './plant.ts'

let dir = ''
let files = 0
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'reeve-migrating-'))))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const inFolder = (name: string): string => join(dir, `${++files}-${name}`)
const lines = linesOf('sqlite')
/** Everything of these runs, and no stream. */
const only = (...runs: readonly string[]): readonly Line[] =>
  lines.filter(
    ({ table, row }) =>
      table === 'floor' ||
      (runs.includes((table === 'run' ? row['id'] : row['run']) as string) && !['done', 'blob_use'].includes(table)),
  )
function planted(from: readonly Line[] = lines): string {
  const file = inFolder('events.db')
  plantFile(file, from)
  return file
}
function behind<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file)
  try {
    return work(db)
  } finally {
    db.close()
  }
}
const thrownBy = async (work: Promise<unknown>): Promise<ReeveError> => {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(ReeveError.is(thrown), String(thrown)).toBe(true)
  return thrown as ReeveError
}
const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

function child(...args: readonly string[]): {
  readonly process: ChildProcess
  readonly lines: AsyncIterableIterator<string>
  readonly ended: Promise<void>
} {
  const started = spawn(process.execPath, [join(import.meta.dirname, 'migrate-child.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => started.once('close', () => resolve()))
  return { process: started, lines: createInterface({ input: started.stdout })[Symbol.asyncIterator](), ended }
}

describe('broken off', () => {
  test.each(['sqlite', 'postgres'] as const)(
    'K1: killed after every commit and called again, into %s: every run is there once, and whole',
    async (kind) => {
      const many = 450
      const from = planted([
        ...only('question'),
        ...Array.from({ length: many }, (_, n) => copied(lines, 'question', `q${n}`)).flat(),
      ])
      const before = hashOf(from)
      await using schema = await freshSchema()
      const to = kind === 'sqlite' ? inFolder('reeve.db') : schema.address
      let last = ''
      let kills = 0
      for (; ; kills++) {
        const migrating = child('migrate', from, to)
        // What is there is said run by run; the first line after that follows a commit of its own.
        let previous = 0
        for await (const line of migrating.lines) {
          last = line
          const done = Number(line.split(' ')[0])
          if (Number.isNaN(done)) break
          if (done > previous + 1) migrating.process.kill('SIGKILL')
          previous = done
        }
        await migrating.ended
        if (last.startsWith('written')) break
      }
      expect(kills).toBeGreaterThanOrEqual(4)
      expect(last).toMatch(/refused 0$/)
      expect(hashOf(from)).toBe(before)
      const done: string[] = []
      await using runtime = await createRuntime({
        store: to,
        agents: cast({ note: (what) => done.push(what), gate: () => Promise.resolve() }),
      })
      const runs = await runtime.runs({ limit: 1_000 })
      expect([runs.length, new Set(runs.map(({ status }) => status))]).toEqual([many + 1, new Set(['waiting'])])
      for (const { run, id } of (await runtime.questions()).slice(0, 20)) {
        await runtime.answer({ interruptId: id, value: 'go' })
        expect(await runtime.handle(run).outcome()).toMatchObject({ status: 'completed', output: { answer: 'go' } })
      }
      expect(done).toEqual(Array.from({ length: 20 }, () => 'question: after'))
    },
    60_000,
  )
})

describe('what only a kill leaves behind', () => {
  test('K6: a run that had written a value, and not noted it, does not write it twice', async () => {
    // as if its process had died between the two: the end of the step, and all that follows it, is not there
    const act = 'act_values-alone'
    const step = lines.find(
      ({ table, row }) =>
        table === 'entry' &&
        row['act'] === act &&
        String(row['body']).includes('"step.settled"') &&
        String(row['body']).includes('value.update:count'),
    )!
    const end = Number(step.row['seq'])
    const cut = lines.flatMap((line): Line[] => {
      const { table, row } = line
      if (table === 'entry' && row['act'] === act && Number(row['seq']) >= end) return []
      if (table === 'question' && row['act'] === act) return []
      if (table === 'activation' && row['id'] === act)
        return [{ table, row: { ...row, seq: end, resting: 0, working: 1 } }]
      return [line]
    })
    const to = inFolder('reeve.db')
    const migrated = await migrateStore({ from: planted(cut), to })
    expect(migrated).toMatchObject({ streams: 3, refused: [] })
    await using runtime = await createRuntime({
      store: to,
      agents: cast({ note: () => {}, gate: () => Promise.resolve() }),
    })
    const run = runtime.handle('values-alone')
    await expect.poll(async () => (await runtime.questions({ run: run.id })).length).toBe(1)
    await run.answer({ interruptId: (await runtime.questions({ run: run.id }))[0]!.id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({ output: { count: 1, again: 11 } })
  })

  test('a file whose worker was killed has a log beside it, which is read and left as it is', async () => {
    const from = planted(only('question'))
    const holder = child('hold', from)
    expect((await holder.lines.next()).value).toBe('open')
    holder.process.kill('SIGKILL')
    await holder.ended
    expect(existsSync(`${from}-wal`)).toBe(true)
    const before = [hashOf(from), hashOf(`${from}-wal`)]
    expect(await migrateStore({ from, to: inFolder('reeve.db') })).toMatchObject({ written: 1, refused: [] })
    expect([hashOf(from), hashOf(`${from}-wal`)]).toEqual(before)
  })

  test('K2, K11: the epoch continues above all given out; a running clock stops where its process was last heard', async () => {
    const since = (row: Line['row']): number => Number(row['touched'])
    const touched = since(lines.find(({ table, row }) => table === 'activation' && row['id'] === 'act_doubt-new')!.row)
    const changed = only('doubt-new').map(({ table, row }) =>
      table === 'activation'
        ? { table, row: { ...row, epoch: 7 } }
        : table === 'account'
          ? {
              table,
              row: { ...row, since: touched - 5_000, state: String(row['state']).replace('"ms":0', '"ms":100') },
            }
          : { table, row },
    )
    const to = inFolder('reeve.db')
    await migrateStore({ from: planted(changed), to })
    expect(behind(to, (db) => db.prepare('SELECT epoch, owner, losses, parked FROM run').get())).toEqual({
      epoch: 7,
      owner: null,
      losses: 0,
      parked: 0,
    })
    const { body } = behind(to, (db) => db.prepare('SELECT body FROM account').get()) as { body: string }
    expect(JSON.parse(body)).toMatchObject({ ms: 5_100 })
  })
})

describe('what cannot be migrated', () => {
  test('is named with its reason, the same beforehand; the others are not held up', async () => {
    const others = [
      ...only('question'),
      ...['hole', 'unread', 'strange'].flatMap((id) => copied(lines, 'question', id)),
      ...copied(lines, 'completed', 'unpacked'),
    ]
    const broken = others.flatMap((line): Line[] => {
      const { table, row } = line
      if (table !== 'entry') return [line]
      if (row['run'] === 'hole' && row['seq'] === 1) return []
      if (row['run'] === 'strange' && row['seq'] === 1)
        return [{ table, row: { ...row, body: '{"type":"fact.invented"}' } }]
      if (row['run'] === 'unread' && row['seq'] === 1) return [{ table, row: { ...row, body: '{"type":' } }]
      return [line]
    })
    const from = planted(broken)
    const to = inFolder('reeve.db')
    const expected = {
      runs: 5,
      written: 1,
      refused: [
        { what: 'run hole', why: expect.stringContaining('journal.hole') as string },
        { what: 'run unread', why: expect.stringContaining('store.corrupt') as string },
        { what: 'run strange', why: expect.stringContaining('journal.unknown-event') as string },
        { what: 'run unpacked', why: expect.stringContaining('is missing') as string },
      ],
    }
    expect(await migrateStore({ from, to, check: true })).toMatchObject(expected)
    expect(existsSync(to)).toBe(false)
    expect(await migrateStore({ from, to })).toMatchObject(expected)
    const cli = await reeve(dir, 'migrate', from, to, '--check')
    expect([cli.code, cli.out]).toEqual([
      1,
      expect.stringContaining('run hole: journal.hole: the journal of act_hole goes on at 2 after 1 entries'),
    ])
    expect(cli.out).toContain('1 run was migrated before.')
    expect(cli.out).toContain('Nothing was written.')
  }, 60_000)

  test.each(['sqlite', 'postgres'] as const)(
    'another run of the same id, and other values of a stream, stay as they are in %s',
    async (kind) => {
      const agents = cast({ note: () => {}, gate: () => Promise.resolve() })
      await using schema = await freshSchema()
      const to = kind === 'sqlite' ? inFolder('reeve.db') : schema.address
      {
        await using runtime = await createRuntime({ store: to, agents })
        await (await runtime.start('asker', 'another', { runId: 'question' })).until('waiting')
        await (await runtime.start('keeper', 'x', { runId: 'mine', session: 'talks' })).until('waiting')
      }
      const { written, refused } = await migrateStore({ from: planted(), to })
      expect(written).toBe(25)
      expect(refused).toEqual([
        { what: 'stream ses_talks', why: 'run.conflict: the target has other values in it: write 1 differs' },
        { what: 'run question', why: 'run.conflict: the target has another run of this id: entry 1 differs' },
      ])
      await using runtime = await createRuntime({ store: to, drive: false })
      expect((await runtime.handle('question').view()).activations[0]).toMatchObject({ agent: 'asker' })
    },
  )

  test('what went on in the target since is the same run', async () => {
    const from = planted(only('question', 'paused'))
    const to = inFolder('reeve.db')
    await migrateStore({ from, to })
    {
      await using runtime = await createRuntime({
        store: to,
        agents: cast({ note: () => {}, gate: () => Promise.resolve() }),
      })
      await runtime.answer({ interruptId: (await runtime.questions({ run: 'question' }))[0]!.id, value: 'go' })
      await runtime.handle('question').outcome()
    }
    expect(await migrateStore({ from, to })).toMatchObject({ written: 0, there: 2, refused: [] })
  })
})

describe('a source that is still at work', () => {
  test('in a file: another process has it open', async () => {
    const from = planted(only('question'))
    const holder = child('hold', from)
    try {
      expect((await holder.lines.next()).value).toBe('open')
      const to = inFolder('reeve.db')
      const error = await thrownBy(migrateStore({ from, to }))
      expect([error.code, error.retryable, error.message]).toEqual([
        'store.busy',
        true,
        expect.stringContaining(`process ${holder.process.pid}`),
      ])
      expect(existsSync(to)).toBe(false)
    } finally {
      holder.process.kill('SIGKILL')
      await holder.ended
    }
  })

  test('in PostgreSQL: a worker is connected', async () => {
    await using schema = await freshSchema()
    await plantSchema(schema)
    const worker = new Client({ connectionString: schema.server, application_name: `reeve ${schema.schema}` })
    await worker.connect()
    try {
      expect(await thrownBy(migrateStore({ from: schema.address, to: inFolder('reeve.db') }))).toMatchObject({
        code: 'store.busy',
      })
    } finally {
      await worker.end()
    }
  })

  test.each(['sqlite', 'postgres'] as const)('in %s: something was written to it meanwhile', async (kind) => {
    await using schema = await freshSchema()
    const file = planted()
    await plantSchema(schema)
    const write = async (): Promise<void> => {
      if (kind === 'sqlite')
        return behind(file, (db) => db.exec("UPDATE activation SET epoch = epoch + 1 WHERE id = 'act_sleep'"))
      const client = new Client(schema.server)
      await client.connect()
      await client.query(`UPDATE "${schema.schema}".activation SET epoch = epoch + 1 WHERE id = 'act_sleep'`)
      await client.end()
    }
    const to = inFolder('reeve.db')
    const error = await thrownBy(
      migrateStore({ from: kind === 'sqlite' ? file : schema.address, to, onProgress: write }),
    )
    expect([error.code, error.message]).toEqual([
      'store.busy',
      expect.stringContaining('it was written to during the migration'),
    ])
  })
})

describe('places that are not meant', () => {
  test('a store of today, a foreign file, no file, and the same place twice', async () => {
    const today = inFolder('today.db')
    await (await createRuntime({ store: today })).close()
    const foreign = inFolder('foreign.db')
    writeFileSync(foreign, 'my shopping list\n'.repeat(100))
    const to = inFolder('reeve.db')
    expect(await thrownBy(migrateStore({ from: today, to }))).toMatchObject({
      code: 'store.foreign',
      hint: expect.stringContaining('needs no migration') as string,
    })
    expect(await thrownBy(migrateStore({ from: foreign, to }))).toMatchObject({ code: 'store.foreign' })
    expect(await thrownBy(migrateStore({ from: inFolder('nothing.db'), to }))).toMatchObject({
      code: 'store.unavailable',
    })
    const from = planted(only('question'))
    expect(await thrownBy(migrateStore({ from, to: from }))).toMatchObject({ code: 'config.invalid' })
    expect(existsSync(to)).toBe(false)
    await using schema = await freshSchema()
    expect(await thrownBy(migrateStore({ from: schema.address, to }))).toMatchObject({ code: 'store.foreign' })
    await plantSchema(schema, linesOf('postgres').slice(0, 1))
    expect(await thrownBy(migrateStore({ from, to: schema.address }))).toMatchObject({ code: 'store.older' })
  })

  test('an event store that is named as a store of today is refused by name, with the command to run', async () => {
    const file = planted(only('question'))
    const before = hashOf(file)
    const inFile = await thrownBy(createRuntime({ store: file }))
    expect(inFile).toMatchObject({
      code: 'store.older',
      retryable: false,
      hint: expect.stringContaining(`reeve migrate ${file} reeve.db`) as string,
    })
    expect(hashOf(file)).toBe(before)
    await using schema = await freshSchema()
    await plantSchema(schema)
    const inSchema = await thrownBy(
      createRuntime({ store: schema.address, agents: [] }).then((runtime) => runtime.runs()),
    )
    expect(inSchema).toMatchObject({
      code: 'store.older',
      hint: expect.stringContaining(`reeve migrate 'postgres://…?schema=${schema.schema}' reeve.db`) as string,
    })
    const cli = await reeve(dir, 'runs', '--store', file)
    expect([cli.code, cli.err]).toEqual([2, expect.stringContaining(`reeve migrate ${file}`)])
  }, 60_000)

  test('K10: what was kept out of the source stays out of the target', async () => {
    const mark = { table: 'value', row: { stream: '!store', key: 'redacted', version: 1, body: 'true' } }
    const to = inFolder('reeve.db')
    expect(await migrateStore({ from: planted([...only('question'), mark]), to })).toMatchObject({ written: 1 })
    expect(
      await thrownBy(createRuntime({ store: to, agents: cast({ note: () => {}, gate: () => Promise.resolve() }) })),
    ).toMatchObject({
      code: 'store.redacted',
    })
    // and what was not kept out does not get in where it is kept out
    expect(await thrownBy(migrateStore({ from: planted(only('paused')), to }))).toMatchObject({
      code: 'store.redacted',
    })
  })
})

describe('reeve migrate', () => {
  test('says what is to be done, does it, and says what is there', async () => {
    const from = planted()
    const to = inFolder('reeve.db')
    expect(await reeve(dir, 'migrate', from, to, '--check')).toMatchObject({
      code: 0,
      out: `26 runs in the source. To be written to ${to}: 26 runs and 3 streams of values.\nNothing was written.\n`,
    })
    expect(await reeve(dir, 'migrate', from, to)).toMatchObject({
      code: 0,
      out: `26 runs in the source. Written to ${to}: 26 runs and 3 streams of values.\n`,
    })
    const again = await reeve(dir, 'migrate', from, to, '--json')
    expect(JSON.parse(again.out)).toEqual({ runs: 26, written: 0, there: 26, streams: 0, refused: [] })
    expect((await reeve(dir, 'runs', '--store', to)).out).toContain('session-2')
  }, 60_000)
})
