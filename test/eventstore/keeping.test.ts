/** What is kept beside the logs: long payloads, values of sessions, the list of runs; and how a run is taken out. */
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { newId, rootActivation, type Json, type RunId } from '../../src/core/index.ts'
import { encode } from '../../src/journal/index.ts'
import { answer, approval, begin, begun, claim, onBothStores, settledText, sql, started, type Place } from './hand.ts'

const long = (seed: string): string => `${seed} `.repeat(40_000 / (seed.length + 1))

/** How many rows a table has, asked behind the store's back. */
async function count(place: Place, table: string, where = ''): Promise<number> {
  const options = place.options()
  if ('postgres' in options)
    return (await sql<{ n: number }>(`SELECT count(*)::int AS n FROM "${options.schema ?? ''}".${table} ${where}`))[0]!.n
  const db = new DatabaseSync(options.sqlite)
  try {
    return (db.prepare(`SELECT count(*) AS n FROM ${table} ${where}`).get() as { n: number }).n
  } finally {
    db.close()
  }
}

const write = (stream: string, key: string, run: RunId, expected: number, value: Json, once: string): never =>
  ({
    stream,
    key,
    expected,
    value,
    by: { run, once },
    event: encode({ type: 'value.updated', key, value, version: expected + 1, by: run }),
    at: 1_000,
  }) as never

onBothStores((place) => {
  test('K1: a long payload is stored once, comes back as it was, and goes with the last run that has it', async () => {
    const store = await place.store()
    const input = { a: long('shared'), b: [long('shared'), { '$reeve.blob': 'mine' }] }
    const [one, two] = [await begin(store, undefined, started(input)), await begin(store, undefined, started(input))]
    const shared = await count(place, 'blob')
    await one.written({}, [started(long('one'))])
    const child = await one.child('w')
    await child.written({}, [started(long('shared'))])
    expect(await count(place, 'blob')).toBe(shared + 1)
    expect((await store.first(one.run)) as unknown).toMatchObject({ input })
    expect((await claim(store, one.id)).claimed.log.map(({ event }) => (event as unknown as { input: unknown }).input)).toEqual([
      input,
      long('one'),
    ])
    await (await claim(store, one.id)).written({ settled: 'completed' }, [settledText])
    expect(await store.remove(one.run)).toBe(true)
    expect(await count(place, 'blob')).toBe(shared)
    expect((await store.first(two.run)) as unknown).toMatchObject({ input })
    await two.written({ settled: 'completed' }, [settledText])
    await store.remove(two.run)
    expect(await count(place, 'blob')).toBe(0)
    expect(await count(place, 'blob_use')).toBe(0)
  })

  test('K1: a payload that one run puts in while another takes it out is there', async () => {
    const [one, two] = [await place.store(), await place.store()]
    for (let i = 0; i < 8; i++) {
      const input = long(`round ${i}`)
      const old = await begin(one, undefined, started(input))
      await old.written({ settled: 'completed' }, [settledText])
      const young = await begin(two)
      await Promise.all([one.remove(old.run), young.written({}, [started(input)]), young.store.summaries({})])
      expect((await two.read(young.run, 0)).map(({ event }) => (event as unknown as { input: unknown }).input)).toEqual([null, input])
    }
  })

  test('K1: of many writers of a value none overwrites another, and a repeated write gives what the first one wrote', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const { run } = await begin(one)
    const stream = newId('ses')
    const add = async (store: typeof one, once: string): Promise<void> => {
      for (;;) {
        const { version, value } = await store.value(stream, 'n')
        const result = await store.writeValue(write(stream, 'n', run, version, ((value as number | null) ?? 0) + 1, once))
        if (result.status === 'written') return
      }
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => add(i % 2 === 0 ? one : two, `once${i % 15}`)))
    expect(await one.value(stream, 'n')).toEqual({ version: 15, value: 15 })
    expect(await one.writeValue(write(stream, 'n', run, 99, 1_000, 'once0'))).toMatchObject({ status: 'written' })
    expect(await one.value(stream, 'n')).toEqual({ version: 15, value: 15 })
    expect(await one.writeValue(write(stream, 'n', run, 3, 1_000, 'new'))).toEqual({ status: 'moved' })
    expect((await one.read(stream as RunId, 0)).map(({ position, seq }) => [position, seq])).toEqual(
      Array.from({ length: 15 }, (_, i) => [i + 1, i]),
    )
    expect(await one.value(stream, 'other')).toEqual({ version: 0, value: null })
  })

  test('K1: removing a run leaves nothing of it, and nothing of its session is changed', async () => {
    const store = await place.store()
    const blobs = await count(place, 'blob')
    const root = await begin(store, { turns: 3 })
    const worker = await root.child('w', { turns: 1 })
    const own = `ses_/${root.run}`
    await store.writeValue(write('ses_kept', 'k', root.run, 0, 'kept', 'a'))
    await store.writeValue(write(own, 'k', root.run, 0, long('own'), 'b'))
    await worker.written({ opened: [approval('a')], posts: [{ to: root.id, key: 'm', body: '{}', refusable: true }] })
    await store.post(answer(worker.id, 'a'))
    expect(await store.remove(root.run)).toBe(false)
    const ended = await root.written({ settled: 'completed', now: 4_000 }, [settledText])
    expect(ended.othersRest).toBe(false)
    expect(await store.endedBefore(4_001, 10)).toContain(root.run)
    expect(await store.endedBefore(4_000, 10)).not.toContain(root.run)
    expect(await store.remove(root.run)).toBe(true)
    expect(await store.summary(root.run)).toBeUndefined()
    expect(await store.value('ses_kept', 'k')).toEqual({ version: 1, value: 'kept' })
    expect(await store.value(own, 'k')).toEqual({ version: 0, value: null })
    for (const table of ['entry', 'activation', 'inbox', 'question', 'account', 'done', 'blob_use', 'part'])
      expect([table, await count(place, table, `WHERE run LIKE '%${root.run}%'`)]).toEqual([table, 0])
    expect(await count(place, 'stream', `WHERE id = '${own}'`)).toBe(0)
    expect(await count(place, 'blob')).toBe(blobs)
    await expect(store.remove(root.run)).rejects.toMatchObject({ code: 'run.unknown' })
    expect(await worker.commit({}, [begun('x')])).toEqual({ status: 'gone' })
    expect(
      await store.create({ run: root.run, agent: 'a', version: '1', caller: undefined, limits: undefined, first: started(), at: 1 }),
    ).toBe(true)
  })

  test('K1: a run that is created again after it was removed gives out no position and no generation again', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const run = newId('run') as RunId
    const again = { run, agent: 'a', version: '1', caller: undefined, limits: undefined, first: started(), at: 1 }
    await one.create(again)
    let last = { position: 0, generation: -1 }
    for (let round = 0; round < 5; round++) {
      const root = await claim(one, rootActivation(run))
      const worker = await root.child('w')
      const generation = (await one.bury(worker.id, `inv_${worker.id}`))!
      expect((await two.tip(run))!.generation).toBeGreaterThan(last.generation)
      expect(generation - 1).toBeGreaterThan(last.generation)
      const others = await Promise.all(Array.from({ length: 3 }, () => begin(two)))
      for (const each of [root, ...others]) await each.written({ settled: 'completed' }, [begun('x'), settledText])
      const positions = (await one.read(run, 0)).map(({ position }) => position)
      expect(positions).toEqual(Array.from({ length: 4 }, (_, i) => positions[0]! + i))
      expect(positions[0]).toBeGreaterThan(last.position)
      last = { position: positions.at(-1)!, generation }
      // Removed at the same time as others, and created again while it is: its own history is what counts.
      const removed = [...others.map((other) => other.run), run].map((each, i) => (i % 2 === 0 ? one : two).remove(each))
      const [created] = await Promise.all([two.create(again), ...removed])
      if (!created) await two.create(again)
    }
  })

  test('K1: runs are listed newest first, by agent, status and number', async () => {
    const store = await place.store()
    const agent = newId('agent')
    const made: RunId[] = []
    for (let i = 0; i < 6; i++) {
      const run = newId('run') as RunId
      made.unshift(run)
      await store.create({
        run,
        agent,
        version: '1',
        caller: undefined,
        limits: undefined,
        first: started(),
        at: 7_000 + Math.floor(i / 2),
      })
    }
    const ids = async (filter: Parameters<typeof store.summaries>[0]): Promise<RunId[]> =>
      (await store.summaries({ agent, ...filter })).map(({ run }) => run)
    expect(await ids({})).toEqual(made)
    expect(await ids({ limit: 2 })).toEqual(made.slice(0, 2))
    const [ended, waiting, stuck] = await Promise.all(made.slice(0, 3).map((run) => claim(store, `act_${run}` as never)))
    await ended!.written({ settled: 'failed' }, [settledText])
    await waiting!.written({ resting: true, opened: [approval('a')] })
    await stuck!.written({ stuck: 'no code', resting: true })
    expect(await ids({ status: ['failed'] })).toEqual([made[0]])
    expect(await ids({ status: ['waiting'] })).toEqual([made[1]])
    expect(await ids({ status: ['stuck', 'completed', 'failed'] })).toEqual([made[0], made[2]])
    expect(await ids({ status: ['running'], limit: 2 })).toEqual(made.slice(3, 5))
    expect(await ids({ status: [] })).toEqual([])
    expect((await store.summaries({})).length).toBeGreaterThanOrEqual(6)
  })
})
