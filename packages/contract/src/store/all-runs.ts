/** Store contract: the feed of all runs, in pages. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { RunId } from '@reeve/core'
import type { FeedEvent } from '@reeve/engine'
import type { Store } from '@reeve/engine/storage'
import { below, root, run, settled, stepped, type StorePlay, type StoreProcess, type StoreStage } from './stage.ts'

const [one, two, three] = [run('r1'), run('r2'), run('r3')] as const

/** Everything after an event, in pages of this size. */
async function tail({ reader }: Store, from: number, size: number): Promise<readonly FeedEvent[]> {
  const events: FeedEvent[] = []
  for (let last = from; ;) {
    const page = await reader.page(last, size)
    assert.ok(page.events.length <= size)
    assert.ok(page.events.every(({ id }) => id > last && id <= page.upTo))
    events.push(...page.events)
    if (page.upTo === last) return events
    last = page.upTo
  }
}

const comparableEvents = (events: readonly FeedEvent[]): unknown =>
  events.map(({ run: id, activation, seq, event }) => [id, activation, seq, event])

async function threeRuns(stage: StoreStage): Promise<StoreProcess> {
  const a = await stage.open()
  const w = below(root(one), 'w')
  await a.commit((draft) => draft.begin(one).begin(two))
  await a.commit((draft) => draft.holds(one).activation(w).value('mem_x', 'k', 0, 'v'))
  await a.commit((draft) => draft.holds(two).log(root(two), 1, stepped('s', 'long '.repeat(2_000))))
  await a.commit((draft) => draft.value('reg_agents', 'k', 0, 'v').begin(three).end(three, 1))
  await a.commit((draft) => draft.holds(one).log(w, 1, settled()).end(one, 1).value('mem_x', 'k', 1, 'w'))
  return a
}

export const allRunsCases: readonly StorePlay[] = [
  {
    invariant: 'K1',
    name: 'the feed of all runs has every event of every run, each run’s in its order, and no values of streams',
    async play(stage) {
      const { store } = await threeRuns(stage)
      const events = await tail(store, 0, 100)
      assert.deepEqual(
        events.map(({ id }) => id),
        [...new Set(events.map(({ id }) => id))].sort((a, b) => a - b),
      )
      for (const id of [one, two, three])
        assert.deepEqual(
          events.filter((event) => event.run === id).map(({ id: _, ...recorded }) => recorded),
          await store.reader.feed(id, 0),
        )
      assert.equal(events.length, 8)
      const { upTo } = await store.reader.page('now', 5)
      assert.deepEqual(await store.reader.page('now', 5), { events: [], upTo })
      assert.deepEqual(await store.reader.page(upTo, 5), { events: [], upTo })
    },
  },
  {
    invariant: 'K1',
    name: 'read on from any event of all runs, in pages of any size, the same events come with the same ids',
    async play(stage) {
      const { store } = await threeRuns(stage)
      const events = await tail(store, 0, 100)
      for (const size of [1, 2, 3])
        for (const from of [0, ...events.map(({ id }) => id)])
          assert.deepEqual(
            await tail(store, from, size),
            events.filter(({ id }) => id > from),
          )
    },
  },
  {
    invariant: 'K1',
    name: 'a run that is removed leaves the feed of all runs; the others keep their ids, and none is given again',
    async play(stage) {
      const process = await threeRuns(stage)
      const { store } = process
      const before = await tail(store, 0, 100)
      const end = await store.reader.page('now', 1)
      await store.remove(one)
      await store.remove(three)
      const left = before.filter((event) => event.run === two)
      assert.deepEqual(await tail(store, 0, 2), left)
      await process.begin(one)
      const again = (await tail(store, 0, 2)).slice(left.length)
      assert.deepEqual(
        again.map((event) => event.run),
        [one],
      )
      assert.ok(again[0]!.id > end.upTo)
    },
  },
  {
    invariant: 'K1',
    name: 'who reads all runs while several processes write misses nothing and gets nothing twice',
    shared: true,
    async play(stage) {
      const [reader, ...writers] = [await stage.open(), await stage.open(), await stage.open(), await stage.open()]
      let writing: number = writers.length
      const write = async (process: (typeof writers)[number], w: number): Promise<void> => {
        for (let i = 0; i < 25; i++) {
          const id = run(`w${w}-${i}`)
          // commits of very different lengths: a short one overtakes a long one
          const steps = i % 3 === 0 ? 150 : 1
          await process.commit((draft) => {
            draft.begin(id)
            for (let seq = 1; seq <= steps; seq++) draft.log(root(id), seq, stepped(`s${seq}`, null))
          })
        }
        writing--
      }
      const seen: FeedEvent[] = []
      const read = async (): Promise<void> => {
        for (let last = 0; ;) {
          const isLast = writing === 0
          const { events, upTo } = await reader.store.reader.page(last, 7)
          seen.push(...events)
          if (isLast && upTo === last) return
          // a store may answer without a turn of the event loop, and its writers need one
          if (upTo === last) await setImmediate()
          last = upTo
        }
      }
      await Promise.all([read(), ...writers.map(write)])
      assert.deepEqual(comparableEvents(seen), comparableEvents(await tail(reader.store, 0, 1_000)))
      const runs = new Map<RunId, number[]>()
      for (const { run: id, seq } of seen) runs.set(id, [...(runs.get(id) ?? []), seq])
      assert.equal(runs.size, 75)
      for (const seqs of runs.values())
        assert.deepEqual(
          seqs,
          seqs.map((_, i) => i),
        )
      assert.equal(seen.length, 3 * (9 * 151 + 16 * 2))
    },
  },
]
