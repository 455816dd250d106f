/** What only a server can do: break connections. */
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { begin, begun, eventually, onStore, postgresUrl, settledText, sql, started } from './hand.ts'

onStore('PostgreSQL', (place) => {
  /** Ends connections of this place's own stores, as a restart of the server does. */
  const breakOff = async (which: string): Promise<void> => {
    const { schema } = place.options() as { schema: string }
    await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reeve ${schema}' AND ${which}`)
  }

  test('K1: a listener whose connection breaks comes back and says that it may have missed something', async () => {
    const store = await place.store()
    const root = await begin(store)
    const heard = vi.fn<(run: string) => void>()
    store.watch(heard)
    await eventually(() => expect(heard).toHaveBeenCalledWith('all'))
    heard.mockClear()
    await breakOff("query LIKE 'LISTEN%'")
    await eventually(() => expect(heard).toHaveBeenCalledWith('all'))
    heard.mockClear()
    await root.written({}, [begun('x')])
    await eventually(() => expect(heard).toHaveBeenCalledWith(root.run))
  })

  test('K1: news is told after the commit, once for many, and what waits is told when the store closes', async () => {
    const store = await place.store()
    const { schema } = place.options() as { schema: string }
    const root = await begin(store)
    const ear = new pg.Client({ connectionString: postgresUrl })
    const payloads: string[] = []
    ear.on('notification', ({ payload }) => payloads.push(payload ?? ''))
    await ear.connect()
    await ear.query(`LISTEN "${schema}"`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    payloads.length = 0
    const heard = vi.fn<(run: string) => void>()
    store.watch(heard)
    const posts = Array.from({ length: 30 }, (_, i) => i).map((i) =>
      store.post({ target: 'activation', to: root.id, key: `n${i}`, body: '{}', now: 1 }),
    )
    await Promise.all(posts)
    expect(heard).toHaveBeenCalledWith(root.run)
    await root.written({ settled: 'completed' }, [settledText])
    await store.close()
    await eventually(() => expect(payloads.some((payload) => payload.startsWith('x') && payload.endsWith(` ${root.run}`))).toBe(true))
    expect(payloads.length).toBeLessThan(30)
    await ear.end()
  })

  test('K5: a connection that breaks fails what it was doing with a word on whether to try again, and the next one works', async () => {
    const store = await place.store()
    const root = await begin(store)
    const writing = Array.from({ length: 20 }, (_, i) =>
      store.post({ target: 'activation', to: root.id, key: `m${i}`, body: '{}', now: 1 }).then(
        () => 'written',
        (thrown: { code: string; retryable: boolean }) => `${thrown.code} ${thrown.retryable}`,
      ),
    )
    await breakOff("query NOT LIKE 'LISTEN%'")
    const results = new Set(await Promise.all(writing))
    results.delete('written')
    results.delete('store.unavailable true')
    expect([...results]).toEqual([])
    for (let i = 0; i < 20; i++)
      await store.post({ target: 'activation', to: root.id, key: `m${i}`, body: '{}', now: 1 }).catch(() => undefined)
    expect((await root.pulled()).rows).toHaveLength(20)
  })

  test('K1: a payload is not taken out while somebody else is putting it in', async () => {
    const store = await place.store()
    const { schema } = place.options() as { schema: string }
    const input = 'the same brief '.repeat(3_000)
    const old = await begin(store, undefined, started(input))
    await old.written({ settled: 'completed' }, [settledText])
    const young = await begin(store)
    // Half-way through its commit it has to wait, for an entry of its own place that is taken back in the end.
    const rival = new pg.Client({ connectionString: postgresUrl })
    await rival.connect()
    await rival.query(`BEGIN; INSERT INTO "${schema}".entry(run, position, act, seq, at, body) VALUES('x', 1, '${young.id}', 1, 0, '')`)
    const putting = young.written({}, [started(input)])
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'reeve ${schema}' AND wait_event_type = 'Lock'`
    await eventually(async () => expect(await sql(waiting)).toHaveLength(1))
    const taking = store.remove(old.run)
    await eventually(async () => expect(await sql(waiting)).toHaveLength(2))
    await rival.query('ROLLBACK')
    await rival.end()
    await Promise.all([putting, taking])
    expect((await store.read(young.run, 0)).map(({ event }) => (event as unknown as { input: unknown }).input)).toEqual([null, input])
  })
})
