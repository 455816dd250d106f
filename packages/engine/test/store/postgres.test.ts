/**
 * The store on PostgreSQL: what no other store has to cope with. The store contract is in postgres-contract.test.ts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { ReeveError, type RunId } from '@reeve/core'
import { PostgresStore } from '@reeve/postgres'
import { announce } from '../../../postgres/src/writers.ts'
import { root, run, settled, started, stepped, type StoreProcess } from '../../../contract/src/store/stage.ts'
import { freePort, stoppablePostgres } from '../../../restate/test/harness.ts'
import { removeFolder, temporaryFolder } from '../../../../test/servers/place.ts'
import { onServer } from './postgres-place.ts'
import { batch, World } from './postgres-world.ts'
import { Wire } from './proxy.ts'

const [one, two] = [run('r1'), run('r2')] as const
/** For as long as a test may take: on a busy machine it takes a while until a lost session or server is back. */
const until = async (condition: () => unknown): Promise<void> => {
  await expect.poll(condition, { timeout: 60_000 }).toBeTruthy()
}

async function errorOf(store: PostgresStore, work: () => unknown): Promise<ReeveError> {
  try {
    await work()
  } catch (thrown) {
    return store.errorOf(thrown)
  }
  throw new Error('this was to fail')
}

describe('the schema', () => {
  test('is made once, by the first of several processes', async () => {
    await using world = await World.fresh()
    await world.sql('drop schema $s')
    const stores = Array.from({ length: 6 }, () => world.store())
    await Promise.all(stores.map(async (store) => store.lease.beat()))
    expect(await world.sql('select value from $s.meta where key = $1', ['version'])).toEqual([{ value: '6' }])
  })

  test('of another program is left as it is', async () => {
    await using world = await World.fresh()
    await world.sql('create table $s.entry(mine text); insert into $s.entry values ($$kept$$)')
    const store = world.store()
    const error = await errorOf(store, () => store.lease.beat())
    expect([error.code, error.retryable]).toEqual(['store.foreign', false])
    expect(error.message).toContain(`PostgreSQL at`)
    expect(await world.sql('select * from $s.entry')).toEqual([{ mine: 'kept' }])
    expect(await world.sql('select tablename from pg_tables where schemaname = $1', [world.schema])).toEqual([
      { tablename: 'entry' },
    ])
  })

  test('with a table called meta that is another program’s is left as it is', async () => {
    await using world = await World.fresh()
    await world.sql('create table $s.meta(key text, value text)')
    const store = world.store()
    expect((await errorOf(store, () => store.queries.summaries())).code).toBe('store.foreign')
  })

  test('K12: of a version that no upgrade leads from is left as it is, and the error says what to do', async () => {
    await using world = await World.fresh()
    await world.store().lease.beat()
    await world.sql(`update $s.meta set value = '4' where key = 'version'`)
    const store = world.store()
    const error = await errorOf(store, () => store.queries.summaries())
    expect([error.code, error.hint]).toEqual(['store.older', expect.stringContaining('Nothing was changed')])
    expect(error.message).toContain('schema 4')
    expect(await world.sql(`select value from $s.meta where key = 'version'`)).toEqual([{ value: '4' }])
  })

  test('of a newer version is left as it is', async () => {
    await using world = await World.fresh()
    await world.store().lease.beat()
    await world.sql(`update $s.meta set value = '99' where key = 'version'`)
    const store = world.store()
    expect((await errorOf(store, () => store.queries.summaries())).code).toBe('store.newer')
  })

  test('is not made by a reader: without tables the store is empty, until another process makes them', async () => {
    await using world = await World.fresh()
    await world.sql('drop schema $s')
    const looker = world.store()
    looker.listen(() => {})
    const { reader, queries } = looker
    const asked = [
      await Promise.all([
        reader.run(one),
        queries.summary(one),
        reader.birth(one),
        reader.end(one),
        reader.nextDeadline(),
      ]),
      await Promise.all([
        queries.summaries(),
        reader.feed(one, 0),
        queries.questions(),
        queries.questions({ run: one }),
        reader.left(),
      ]),
      await Promise.all([
        reader.withoutCode(),
        reader.withMail(),
        reader.endedBefore(9, 9),
        reader.due(9),
        reader.below(root(one)),
      ]),
      await Promise.all([reader.log(root(one)), reader.valueKeys('reg_x')]),
      [
        await reader.hasNews(one, 0),
        await reader.value('reg_x', 'k'),
        await reader.origin(one, 1, () => 's'),
        await reader.ends(new Set([one])),
      ],
      [await looker.changed(), await looker.unread(new Map())],
    ]
    expect(asked).toEqual([
      [undefined, undefined, undefined, undefined, undefined],
      [[], [], [], [], []],
      [[], [], [], [], []],
      [[], []],
      [true, { version: 0, value: null }, undefined, new Map()],
      [undefined, { rows: [], others: [] }],
    ])
    const nothing = 'select 1 from pg_namespace where nspname = $1'
    expect(await world.sql(nothing, [world.schema])).toEqual([])
    const writer = await world.process()
    await writer.begin(one)
    expect((await queries.summaries()).map(({ run: id }) => id)).toEqual([one])
    // it is in the list of processes, so that others tell it what they write
    await until(async () => (await world.sql('select 1 from $s.process where id = $1', [looker.lease.id])).length === 1)
    const other = world.store({ schema: `${world.schema}_b` })
    await other.queries.summaries()
    await other.stop()
    await other.release()
    await other.close()
    expect(await world.sql(nothing, [`${world.schema}_b`])).toEqual([])
  })

  test('a user who may not create anything is enough where the tables are', async () => {
    await using world = await World.fresh()
    const role = `reeve_plain_${world.schema}`
    const address = new URL(world.place.server)
    address.username = role
    await world.sql(`create role ${role} login; grant usage on schema $s to ${role}`)
    try {
      const before = world.store({ postgres: address.href })
      expect(await before.queries.summaries()).toEqual([])
      const error = await errorOf(before, () => before.commit(batch(before.lease.id, (draft) => draft.begin(one))))
      expect([error.code, error.retryable, error.hint]).toEqual([
        'store.unavailable',
        false,
        expect.stringContaining('CREATE'),
      ])
      await world.store().lease.beat()
      await world.sql(`grant select, insert, update, delete on all tables in schema $s to ${role}`)
      const a = await world.process({ postgres: address.href })
      await a.commit((draft) => draft.begin(one).message(root(one), 'm').ask(root(one), 'q'))
      expect((await a.take(one)).mail).toHaveLength(1)
      await a.commit((draft) => draft.holds(one, 2).end(one, 1))
      await a.store.remove(one)
      await a.store.stop()
      await a.store.release()
    } finally {
      await world.sql(`drop owned by ${role}; drop role ${role}`)
    }
  })

  test('an invalid name is refused before anything is asked', () => {
    for (const schema of ['', 'a b', 'A', '1a', 'pg_x', 'a"b', 'x'.repeat(64)])
      expect(() => new PostgresStore({ postgres: 'postgres://h/d', schema })).toThrow(
        expect.objectContaining({ code: 'config.invalid' }),
      )
  })
})

describe('a server', () => {
  test('that takes no writes is refused when the store is opened', async () => {
    await using world = await World.fresh()
    const address = new URL(world.place.server)
    address.searchParams.set('options', '-c default_transaction_read_only=on')
    const store = world.store({ postgres: address.href })
    const error = await errorOf(store, () => store.queries.summaries())
    expect([error.code, error.retryable]).toEqual(['store.read-only', false])
    expect(await world.sql('select 1 from pg_tables where schemaname = $1', [world.schema])).toEqual([])
  })

  test('a standby is refused when the store is opened; once promoted it is a server like any other', async () => {
    const settings = ['fsync=off', 'shared_buffers=16MB', 'max_connections=30']
    await using primary = await stoppablePostgres(settings)
    const before = new PostgresStore({ postgres: primary.url, onWarning: () => {} })
    await before.commit(batch(before.lease.id, (draft) => draft.begin(one)))
    await using standby = await stoppablePostgres(settings, primary)
    await until(async () => (await onServer(standby.url, 'select 1 from reeve.run')).length === 1)
    const store = new PostgresStore({ postgres: standby.url, onWarning: () => {} })
    for (const work of [
      () => store.queries.summaries(),
      () => store.lease.beat(),
      () => store.claim([one], () => true),
    ]) {
      const error = await errorOf(store, work)
      expect([error.code, error.retryable, error.message]).toEqual([
        'store.read-only',
        false,
        expect.stringContaining('standby'),
      ])
    }
    await before.stop()
    await before.close()
    await primary.kill()
    await standby.promote()
    await store.commit(batch(store.lease.id, (draft) => draft.begin(two)))
    expect((await store.queries.summaries()).map(({ run: id }) => id).sort()).toEqual([one, two])
    await store.stop()
    await store.release()
    await store.close()
  }, 30_000)

  test('that is away is store.unavailable and worth another try; when it comes back everything goes on', async () => {
    await using server = await stoppablePostgres()
    const store = new PostgresStore({ postgres: server.url, poolSize: 2, onWarning: () => {} })
    const commit = (fill: Parameters<typeof batch>[1]): unknown => store.commit(batch(store.lease.id, fill))
    await store.lease.guard()
    await commit((draft) => draft.begin(one))
    await server.kill()
    for (const work of [
      () => store.reader.run(one),
      () => store.claim([one], () => true),
      () => store.lease.beat(),
      // last: one that was on its way when the server went would be waited out
      () => commit((draft) => draft.holds(one).log(root(one), 1, stepped('a'))),
    ]) {
      const error = await errorOf(store, work)
      expect([error.code, error.retryable, store.isRefusal(error)]).toEqual(['store.unavailable', true, false])
    }
    await server.start()
    await until(
      async () =>
        store.lease.fresh || (await Promise.resolve(store.lease.reclaim([[one, 1]])).catch(() => new Set())).size === 1,
    )
    await commit((draft) => draft.holds(one).log(root(one), 1, stepped('b')))
    expect((await store.reader.feed(one, 0)).map(({ position, seq }) => [position, seq])).toEqual([
      [1, 0],
      [2, 1],
    ])
    await store.stop()
    await store.release()
    await store.close()
  }, 60_000)
})

const bouncer = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path))

describe.skipIf(bouncer === undefined)('PgBouncer', () => {
  /** Between this process and the server, in this mode. */
  async function pooled(
    server: string,
    mode: 'session' | 'transaction',
    work: (address: string) => Promise<void>,
  ): Promise<void> {
    const folder = temporaryFolder('pgbouncer')
    const [target, address] = [new URL(server), new URL(server)]
    const port = await freePort()
    address.host = `127.0.0.1:${port}`
    const settings = `[databases]
${target.pathname.slice(1)} = host=${target.hostname} port=${target.port || '5432'} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
`
    const file = join(folder, 'pgbouncer.ini')
    writeFileSync(file, settings)
    chmodSync(folder, 0o755)
    // it does not run as root
    const who = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    const child = spawn(bouncer!, ['-q', file], { stdio: 'ignore', ...who })
    try {
      await until(async () => onServer(address.href, 'select 1').catch(() => undefined))
      await work(address.href)
    } finally {
      child.kill('SIGKILL')
      await once(child, 'exit')
      removeFolder(folder)
    }
  }

  test('in transaction mode is refused, and nothing is changed', async () => {
    await using world = await World.fresh()
    await pooled(world.place.server, 'transaction', async (postgres) => {
      for (let i = 0; i < 3; i++) {
        const store = new PostgresStore({ postgres, schema: world.schema })
        const error = await errorOf(store, () => store.queries.summaries())
        await store.close()
        expect([error.code, error.hint]).toEqual(['config.invalid', expect.stringContaining('session')])
      }
    })
    expect(await world.sql('select 1 from pg_tables where schemaname = $1', [world.schema])).toEqual([])
  })

  test('in session mode is like the server itself', async () => {
    await using world = await World.fresh()
    await pooled(world.place.server, 'session', async (postgres) => {
      const store = new PostgresStore({ postgres, schema: world.schema, poolSize: 2 })
      await store.lease.guard()
      store.listen(() => {})
      await store.commit(batch(store.lease.id, (draft) => draft.begin(one)))
      await until(async () => (await world.sql('select 1 from $s.process where session is not null')).length === 1)
      expect(await store.reader.feed(one, 0)).toHaveLength(1)
      await store.stop()
      await store.release()
      await store.close()
    })
  })
})

describe('a password', () => {
  const secret = 'hunter2%40x'
  const bare = 'hunter2@x'

  test('is in no name, message or cause', async () => {
    const addresses = [`postgres://ann:${secret}@127.0.0.1:1/db`, `postgres://ann:${secret}@nowhere.invalid/db`]
    for (const postgres of addresses) {
      const store = new PostgresStore({ postgres })
      const error = await errorOf(store, () => store.queries.summaries())
      await store.close()
      expect(error.code).toBe('store.unavailable')
      const shown = inspect([store.name, error], { depth: 20, showHidden: true })
      expect(shown).toContain('ann@')
      expect([shown.includes(secret), shown.includes(bare), shown.includes('hunter2')]).toEqual([false, false, false])
    }
  })

  test('is not repeated where the address cannot be read', async () => {
    for (const postgres of [`mysql://ann:${secret}@h/d`, `postgres://ann:${secret}@h:port/d`, 'hunter2']) {
      let thrown: unknown
      try {
        const store = new PostgresStore({ postgres })
        thrown = await errorOf(store, () => store.queries.summaries())
        await store.close()
      } catch (error) {
        thrown = error
      }
      expect(ReeveError.is(thrown, 'config.invalid')).toBe(true)
      expect(inspect(thrown, { depth: 20, showHidden: true })).not.toContain('hunter2')
    }
  })
})

describe('a commit', () => {
  test('whose connection is ended by the server while it waits is sent again, and written once (K5)', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    await a.begin(one)
    const other = new Client({ connectionString: world.place.server })
    await other.connect()
    await other.query(`begin; select 1 from ${world.schema}.run for update`)
    const done = a.commit((draft) => draft.holds(one).log(root(one), 1, stepped('s')).message(root(one), 'm'))
    const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%${world.schema}%receipt%'`
    await until(async () => (await world.sql(waiting)).length === 1)
    await world.sql(`select pg_terminate_backend(pid) from (${waiting}) x`)
    await until(async () => (await world.sql(waiting)).length === 1)
    await other.query('commit')
    await other.end()
    expect(await done).toMatchObject({ fenced: [], posts: ['accepted'], position: 2 })
    expect((await a.store.reader.feed(one, 0)).map(({ seq }) => seq)).toEqual([0, 1])
    expect((await a.take(one)).mail).toHaveLength(1)
  })

  test('that was written and whose answer was lost is told as what it was (K5)', async () => {
    await using world = await World.fresh()
    await using wire = await Wire.to(world.place.server)
    const a = await world.process({ postgres: wire.url })
    const b = await world.process()
    await b.commit((draft) => draft.begin(two).ask(root(two), 'q').ask(root(two), 'p'))
    await b.commit((draft) => draft.answer(root(two), 'p'))
    await a.commit((draft) =>
      draft
        .begin(one)
        .begin(run('r3'))
        .message(root(run('r3')), 'unread')
        .value('reg_x', 'k', 0, 1),
    )
    await a.commit((draft) => draft.holds(one).value('reg_x', 'l', 0, 1, { run: one, once: 'l' }))
    wire.mute('reeve_gate')
    const done = a.commit((draft) =>
      draft
        .holds(one)
        .holds(run('r3'))
        .log(root(one), 1, stepped('s'))
        .answer(root(two), 'q')
        .answer(root(two), 'p')
        .message(root(run('nobody')), 'm')
        .command(two, '!pause')
        .value('reg_x', 'k', 0, 2)
        .value('reg_x', 'k', 1, 2)
        .value('reg_x', 'l', 1, 5, { run: one, once: 'l' })
        .park(one)
        .park(run('r3')),
    )
    await until(async () => (await b.store.reader.feed(one, 1)).length === 1)
    wire.cut()
    expect(await done).toEqual({
      moved: false,
      fenced: [],
      existed: [],
      awake: ['r3'],
      posts: ['accepted', 'lost', 'unknown', 'accepted'],
      values: [{ status: 'moved' }, { status: 'written' }, { status: 'repeated', seq: 1 }],
      position: 2,
    })
    expect(await b.store.reader.value('reg_x', 'k')).toEqual({ version: 2, value: 2 })
    expect((await b.take(one)).run.parked).toBe(1)
    // and the next one goes on from there
    expect((await a.commit((draft) => draft.holds(run('r3')).log(root(run('r3')), 1, stepped('s')))).fenced).toEqual([])
  })

  test('that the server is given only after it was waited out is not written (K5)', async () => {
    await using world = await World.fresh()
    await using wire = await Wire.to(world.place.server)
    const a = await world.process({ postgres: wire.url })
    await a.begin(one)
    wire.hold('reeve_gate')
    const done = a.commit((draft) => draft.holds(one).log(root(one), 1, stepped('s')).message(root(one), 'm'))
    await new Promise((resolve) => setTimeout(resolve, 50))
    wire.cut()
    expect(await done).toMatchObject({ fenced: [], posts: ['accepted'], position: 2 })
    await wire.deliver()
    expect((await a.store.reader.feed(one, 0)).map(({ position, seq }) => [position, seq])).toEqual([
      [1, 0],
      [2, 1],
    ])
    expect((await a.commit((draft) => draft.holds(one).log(root(one), 2, stepped('t')))).position).toBe(3)
  })

  test('is waited out for as long as the server is away, and not told as failed before (K5)', async () => {
    await using world = await World.fresh()
    await using wire = await Wire.to(world.place.server)
    const a = await world.process({ postgres: wire.url })
    const b = await world.process()
    await a.begin(one)
    wire.mute('reeve_gate')
    let isOver = false
    const done = a.commit((draft) => draft.holds(one).log(root(one), 1, stepped('s'))).finally(() => (isOver = true))
    await until(async () => (await b.store.reader.feed(one, 1)).length === 1)
    wire.isDown = true
    wire.cut()
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(isOver).toBe(false)
    wire.isDown = false
    expect(await done).toMatchObject({ fenced: [], position: 2 })
  })

  test('two processes that post to each other’s runs: both rows are written, in any order (K2)', async () => {
    await using world = await World.fresh()
    const [a, b] = [await world.process(), await world.process()]
    await a.begin(one)
    await b.begin(two)
    const rounds = 60
    const talk = async (me: typeof a, mine: typeof one, theirs: typeof one): Promise<string[]> => {
      const said: string[] = []
      for (let i = 1; i <= rounds; i++) {
        const { posts, fenced } = await me.commit((draft) =>
          draft
            .holds(mine)
            .log(root(mine), i, stepped(`s${i}`))
            .message(root(theirs), `m${i}`)
            .message(root(mine), `own${i}`),
        )
        said.push(...posts, ...fenced)
      }
      return said
    }
    const said = await Promise.all([talk(a, one, two), talk(b, two, one)])
    expect(said.flat().filter((each) => each !== 'accepted')).toEqual([])
    for (const id of [one, two]) {
      const feed = await a.store.reader.feed(id, 0)
      // positions are the run's own, without gaps
      expect(feed.map(({ position }) => position)).toEqual(Array.from({ length: rounds + 1 }, (_, i) => i + 1))
    }
  })

  test('a conflict is retried: no caller sees a deadlock', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    await a.commit((draft) => draft.begin(one).begin(two))
    const other = new Client({ connectionString: world.place.server })
    await other.connect()
    await other.query(`begin; select 1 from ${world.schema}.run where id = 'r2' for update`)
    const done = a.commit((draft) => draft.holds(one).holds(two).log(root(two), 1, stepped('s')))
    await until(
      async () =>
        (
          await world.sql(
            `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%${world.schema}%'`,
          )
        ).length === 1,
    )
    // the wrong way round
    const third = other.query(`select 1 from ${world.schema}.run where id = 'r1' for update`).then(
      () => other.query('commit'),
      () => other.query('rollback'),
    )
    expect((await done).position).toBe(2)
    await third
    await other.end()
  })

  test('with a key that PostgreSQL cannot hold is refused, and the store is well', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    await a.begin(one)
    for (const key of ['a\0b', 'x'.repeat(10_000).replaceAll('x', () => Math.random().toString(36))]) {
      const thrown = await a.refused((draft) => draft.message(root(one), key))
      expect(a.store.isRefusal(thrown)).toBe(true)
      expect(a.store.refusedBy(thrown, undefined).code).toBe('store.refused')
    }
    expect((await a.commit((draft) => draft.message(root(one), 'm'))).posts).toEqual(['accepted'])
  })

  test('keys of values may have any character', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    const keys = ['a\0b', 'a\u{10FFFF}0b', '\u{10FFFF}', '']
    await a.commit((draft) => {
      for (const [i, key] of keys.entries()) draft.value('reg_x', key, 0, i)
    })
    expect([...(await a.store.reader.valueKeys('reg_x'))].sort()).toEqual(keys.toSorted())
    for (const [i, key] of keys.entries()) expect((await a.store.reader.value('reg_x', key)).value).toBe(i)
  })

  test('of a run that begins anew after it was removed: its feed begins above where the other one ended', async () => {
    await using world = await World.fresh()
    const [a, b] = [await world.process(), await world.process()]
    await b.begin(two)
    await a.commit((draft) => draft.begin(one).log(root(one), 1, stepped('s')).log(root(one), 2, settled()))
    await a.commit((draft) => draft.holds(one).batch.ended.push({ run: one, status: 'completed', at: 1 }))
    await a.store.remove(one)
    // another process, which has not heard of it
    expect(await b.commit((draft) => draft.begin(one))).toMatchObject({ existed: [], position: 4 })
    expect((await b.store.reader.feed(one, 0)).map(({ position }) => position)).toEqual([4])
  })

  test('entries that are large come back as they were, with the claim, the feed and the end', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    const text = 'ünïcødé "quoted" \\ '.repeat(2_000)
    const output = { text, again: text, mine: { '$reeve.blob': 'not one of ours' } }
    await a.commit((draft) =>
      draft
        .begin(one, { input: output })
        .log(root(one), 1, stepped('s', output))
        .log(root(one), 2, settled({ status: 'completed', output }))
        .batch.ended.push({ run: one, status: 'completed', at: 1 }),
    )
    expect((await a.store.reader.feed(one, 0)).map(({ event }) => event)).toEqual([
      started('a', '1', output),
      stepped('s', output),
      settled({ status: 'completed', output }),
    ])
    expect(await a.store.reader.end(one)).toEqual({ outcome: { status: 'completed', output }, usage: [] })
    await a.begin(two, { input: output })
    expect([...(await a.take(two)).past.activation(root(two))].map(({ event }) => event)).toEqual([
      started('a', '1', output),
    ])
    expect(await world.sql(`select run, count(*)::int as blobs from $s.blob group by run order by run`)).toEqual([
      { run: 'r1', blobs: 2 },
      { run: 'r2', blobs: 2 },
    ])
  })
})

describe('an inbox', () => {
  /** A transaction of somebody else, in the middle. */
  class Rival implements AsyncDisposable {
    readonly #client: Client
    readonly #world: World
    readonly #pid: number
    private constructor(world: World, client: Client, pid: number) {
      this.#world = world
      this.#client = client
      this.#pid = pid
    }
    static async in(world: World): Promise<Rival> {
      const client = new Client({ connectionString: world.place.server })
      await client.connect()
      await client.query('begin')
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      return new Rival(world, client, rows[0]!.pid)
    }
    async sql(text: string): Promise<void> {
      await this.#client.query(text.replaceAll('$s', this.#world.schema))
    }
    /** Resolves when somebody waits for this transaction. */
    async standsInTheWay(): Promise<void> {
      await until(
        async () =>
          (await this.#world.sql('select pid from pg_stat_activity where $1 = any(pg_blocking_pids(pid))', [this.#pid]))
            .length,
      )
    }
    async [Symbol.asyncDispose](): Promise<void> {
      await this.#client.end()
    }
  }
  const insert = (id: string, key: string): string =>
    `insert into $s.inbox(run, act, key, body) values ('${id}', 'act_${id}', '${key}', '{"type":"message","id":"${key}"}')`

  /** Reads until so many rows have come. Returns their keys. */
  async function rowsOf(holder: StoreProcess, id: RunId, count: number): Promise<readonly string[]> {
    const keys: string[] = []
    let lastRow = 0
    await until(async () => {
      const { rows } = await holder.store.unread(new Map([[id, { lastRow }]]))
      lastRow = rows.at(-1)?.position ?? lastRow
      for (const { key } of rows) keys.push(key)
      return keys.length >= count
    })
    return keys
  }

  test('a row in flight holds up the next, also from a process without a run: none is passed over (K2)', async () => {
    await using world = await World.fresh()
    const [holder, poster] = [await world.process(), await world.process()]
    await holder.begin(one)
    await using rival = await Rival.in(world)
    await rival.sql("select 1 from $s.run where id = 'r1' for no key update")
    await rival.sql(insert('r1', 'first'))
    const posted = poster.commit((draft) => draft.message(root(one), 'second'))
    await rival.standsInTheWay()
    expect((await holder.unread({ r1: 0 })).keys).toEqual([])
    await rival.sql('commit')
    expect((await posted).posts).toEqual(['accepted'])
    expect(await rowsOf(holder, one, 2)).toEqual(['first', 'second'])
  })

  test.each(['run', 'activation'] as const)(
    'the same holds for a run that begins while a row for it is on its way: target %s (K2)',
    async (target) => {
      await using world = await World.fresh()
      const [holder, first, second] = [await world.process(), await world.process(), await world.process()]
      await holder.begin(one)
      await using before = await Rival.in(world)
      await using after = await Rival.in(world)
      await before.sql(insert('r1', 'before'))
      await after.sql(insert('r1', 'after'))
      const between = { act: root(two), target }
      // what comes before and after it stands still: a row of this key may be there in a moment
      const firstPosted = first.commit((draft) => {
        const other = target === 'run' ? 'activation' : 'run'
        draft.row({ act: root(one), target: other, key: 'before' }).row({ ...between, key: 'first' })
        draft.row({ act: root(one), target: other, key: 'after' })
      })
      await before.standsInTheWay()
      await holder.begin(two)
      await before.sql('rollback')
      await after.standsInTheWay()
      const secondPosted = second.commit((draft) => draft.row({ ...between, key: 'second' }))
      await until(
        async () =>
          (await world.sql("select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%$s%'"))
            .length === 2,
      )
      expect((await holder.unread({ r2: 0 })).keys).toEqual([])
      await after.sql('rollback')
      expect([(await firstPosted).posts, (await secondPosted).posts]).toEqual([
        ['accepted', 'accepted', 'accepted'],
        ['accepted'],
      ])
      expect(await rowsOf(holder, two, 2)).toEqual(['first', 'second'])
    },
  )

  test('several processes post to one run: its holder is given every row once, in its order (K2)', async () => {
    await using world = await World.fresh()
    const holder = await world.process()
    holder.store.listen(() => {})
    await holder.begin(one)
    const posters = await Promise.all([0, 1, 2].map(() => world.process()))
    const count = 100
    let posting = posters.length
    const posted = posters.map(async (poster, p) => {
      for (let i = 0; i < count; i++) await poster.commit((draft) => draft.message(root(one), `m${p}.${i}`))
      posting--
    })
    const given: string[] = []
    let lastRow = 0
    const read = async (): Promise<void> => {
      const { rows } = await holder.store.unread(new Map([[one, { lastRow }]]))
      for (const row of rows) {
        expect(row.position).toBeGreaterThan(lastRow)
        lastRow = row.position
        given.push(row.key)
      }
    }
    while (posting > 0) {
      await read()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await Promise.all(posted)
    const gathered = async (): Promise<number> => {
      await read()
      return given.length
    }
    await expect.poll(gathered).toBe(posters.length * count)
    for (const p of posters.keys())
      expect(given.filter((key) => key.startsWith(`m${p}.`))).toEqual(
        Array.from({ length: count }, (_, i) => `m${p}.${i}`),
      )
  })
})

describe('news', () => {
  test('what one process writes another one hears of; its own it does not; a gap is everything', async () => {
    await using world = await World.fresh()
    const [a, b] = [await world.process(), await world.process()]
    let heard = 0
    a.store.listen(() => {})
    b.store.listen(() => heard++)
    await until(() => b.store.moved() === 'all')
    await until(() => a.store.moved() === 'all')
    const before = heard
    await a.commit((draft) => draft.begin(one))
    let said = 0
    /** Whether a run is among what is told; everything is told every second, whatever was heard. */
    const hears = (id: string): boolean => {
      const moved = b.store.moved()
      return moved === 'all' || moved?.has(run(id)) === true
    }
    // one that begins is known to the others only after a moment
    await until(async () => {
      await a.commit((draft) => draft.holds(one).log(root(one), ++said, stepped(`s${said}`)))
      return typeof b.store.moved() === 'object'
    })
    await a.commit((draft) => draft.begin(two, { owner: null }))
    await until(() => hears('r2'))
    expect(heard).toBeGreaterThan(before)
    expect(typeof a.store.moved()).not.toBe('object')
    // mail for a run of another process, and a run that is there for anybody
    expect(await b.unread()).toEqual({ keys: [], others: ['r2'] })
    await b.commit((draft) => draft.message(root(one), 'm'))
    await until(async () => (await a.unread({ r1: 0 })).keys.length === 1)
    await world.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reeve ' || $1 and pid <> pg_backend_pid()`,
      [world.schema],
    )
    const then = heard
    await until(() => heard > then)
    expect(b.store.moved()).toBe('all')
  })
})

describe('a lease', () => {
  test('a session that is lost for a moment costs no run: nothing leaves until it is back (K2)', async () => {
    await using world = await World.fresh()
    await using wire = await Wire.to(world.place.server)
    const a = await world.process({ leaseMs: 60_000, postgres: wire.url })
    const b = await world.process({ leaseMs: 60_000 })
    await a.begin(one)
    const session = async (): Promise<unknown> =>
      (await world.sql('select 1 from $s.process where id = $1 and session is not null', [a.id]))[0]
    await until(session)
    expect(a.store.lease.fresh).toBe(true)
    wire.isDown = true
    wire.cut()
    await until(() => !a.store.lease.fresh)
    expect((await b.store.lease.releaseDead()).owners).toBe(0)
    wire.isDown = false
    await until(() => a.store.lease.fresh)
    const end = Date.now() + 800
    while (Date.now() < end) expect((await b.store.lease.releaseDead()).owners).toBe(0)
    expect((await a.commit((draft) => draft.holds(one).log(root(one), 1, stepped('s')))).fenced).toEqual([])
  }, 60_000)

  test('a session lost for longer counts as its process’s end, which checks before anything leaves (K2)', async () => {
    await using world = await World.fresh()
    await using wire = await Wire.to(world.place.server)
    const a = await world.process({ leaseMs: 60_000, postgres: wire.url })
    const b = await world.process({ leaseMs: 60_000 })
    await a.begin(one)
    await until(async () => (await world.sql('select 1 from $s.process where session is not null')).length === 2)
    wire.isDown = true
    wire.cut()
    await until(async () => (await b.store.lease.releaseDead()).owners === 1)
    const claimed = await b.take(one)
    expect([claimed.run.losses, claimed.epoch]).toEqual([1, 2])
    wire.isDown = false
    expect(a.store.lease.fresh).toBe(false)
    expect([...(await a.store.lease.reclaim([[one, 1]]))]).toEqual([])
    expect((await a.commit((draft) => draft.holds(one).log(root(one), 1, stepped('s')))).fenced).toEqual([one])
  })

  test('what was let go in order is there for others at once, with no loss', async () => {
    await using world = await World.fresh()
    const [a, b] = [await world.process(), await world.process()]
    await a.begin(one)
    await a.store.stop()
    await a.store.release()
    const claimed = await b.take(one)
    expect([claimed.run.losses, claimed.run.owner]).toEqual([0, null])
    expect(await world.sql('select count(*)::int as n from $s.process')).toEqual([{ n: 1 }])
  })
})

describe('the feed of all runs', () => {
  test('K1: what a slower commit has numbered before is not passed over, and no other lock delays it', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    const b = await world.process()
    await a.begin(one)
    await b.begin(two)
    const before = await a.store.reader.page('now', 10)
    const [held, other] = [new Client(world.place.server), new Client(world.place.server)]
    await held.connect()
    await other.connect()
    try {
      // a transaction of another program that writes and takes locks
      await other.query('begin')
      await other.query('select pg_advisory_xact_lock_shared(7, 0), pg_advisory_xact_lock(0)')
      await other.query(`create table ${world.schema}.theirs(x int)`)
      // the commit of `a` stands still once it has numbered its entries
      await held.query('begin')
      await held.query(`lock table ${world.schema}.question in access exclusive mode`)
      const slow = a.commit((draft) => draft.holds(one).log(root(one), 1, stepped('slow')).ask(root(one), 'q'))
      await expect
        .poll(() =>
          world.sql('select 1 from pg_locks l where not granted and relation = $1::regclass', [
            `${world.schema}.question`,
          ]),
        )
        .toHaveLength(1)
      await b.commit((draft) => draft.holds(two).log(root(two), 1, stepped('fast')))
      expect(await world.sql('select act from $s.entry where seq = 1')).toEqual([{ act: root(two) }])
      const during = await b.store.reader.page(before.upTo, 10)
      expect(during.events).toEqual([])
      await held.query('commit')
      await slow
      const after = await b.store.reader.page(during.upTo, 10)
      expect(after.events.map(({ event }) => event)).toEqual([stepped('slow'), stepped('fast')])
      expect(after.events.map(({ id }) => id)).toEqual([before.upTo + 1, before.upTo + 2])
    } finally {
      await held.end()
      await other.end()
    }
  })

  test('K1: a commit that is broken off delays nothing for longer than its session lasts', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    await a.begin(one)
    const { upTo } = await a.store.reader.page('now', 10)
    const held = new Client(world.place.server)
    await held.connect()
    await held.query('begin')
    await held.query(announce(`"${world.schema}"`))
    await a.begin(two)
    expect((await a.store.reader.page(upTo, 10)).events).toEqual([])
    await held.end()
    await expect.poll(async () => (await a.store.reader.page(upTo, 10)).events.map((event) => event.run)).toEqual([two])
  })

  test('K1: the very first entry of a store is not passed over either', async () => {
    await using world = await World.fresh()
    const a = await world.process()
    const held = new Client(world.place.server)
    await held.connect()
    try {
      // the first commit of all stands still once it has its number
      await held.query('begin')
      await held.query(announce(`"${world.schema}"`))
      await held.query(`select nextval('${world.schema}.entry_num_seq')`)
      await a.begin(two)
      expect(await a.store.reader.page(0, 10)).toEqual({ events: [], upTo: 0 })
      await held.query('commit')
      const { events } = await a.store.reader.page(0, 10)
      expect(events.map(({ id, run }) => [id, run])).toEqual([[2, two]])
    } finally {
      await held.end()
    }
  })
})
