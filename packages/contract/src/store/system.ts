/** Store contract: how the store is: how many runs there are, who drives them, what waits for a process, how large it is. */
import assert from 'node:assert/strict'
import { below, root, run, stepped, type StorePlay } from './stage.ts'

const [one, two, three] = [run('r1'), run('r2'), run('r3')] as const

export const systemCases: readonly StorePlay[] = [
  {
    invariant: 'K9',
    name: 'runs of a filter are counted as they are listed, up to a bound',
    async play(stage) {
      const a = await stage.open()
      const ids = Array.from({ length: 12 }, (_, i) => run(`c${i}`))
      await a.commit((draft) => {
        for (const [i, id] of ids.entries())
          draft.begin(id, { agent: i % 2 === 0 ? 'even' : 'odd', caller: { tenant: i < 9 ? 'north' : 'south' } })
        for (const id of ids.slice(0, 5)) draft.holds(id).end(id, 1)
        for (const id of ids.slice(5, 8)) draft.holds(id).ask(root(id), 'q').park(id)
      })
      const { queries } = a.store
      assert.deepEqual(
        [
          await queries.count({}, 99),
          await queries.count({}, 7),
          await queries.count({ status: ['completed'] }, 99),
          await queries.count({ status: ['completed'] }, 3),
          await queries.count({ status: ['waiting'] }, 99),
          await queries.count({ status: ['running', 'waiting'] }, 99),
          await queries.count({ status: ['waiting'], tenant: 'south' }, 99),
          await queries.count({ status: ['running'], tenant: 'north' }, 99),
          await queries.count({ status: ['completed'], tenant: 'none' }, 99),
          await queries.count({ agent: 'odd' }, 99),
          await queries.count({ status: [] }, 99),
        ],
        [12, 7, 5, 3, 3, 7, 0, 1, 0, 6, 0],
      )
    },
  },
  {
    invariant: 'K2',
    name: 'a process with a lease is told with the runs in its hands, by kind; one that has gone is not',
    shared: true,
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.store.lease.beat()
      await b.store.lease.beat()
      await a.commit((draft) =>
        draft.begin(one, { agent: 'x' }).begin(two, { agent: 'x' }).begin(three, { agent: 'y', version: '2' }),
      )
      await a.commit((draft) => draft.begin(run('parked')).begin(run('ended')))
      await a.commit((draft) => draft.holds(run('parked')).park(run('parked')).holds(run('ended')).end(run('ended'), 1))
      const { queries } = b.store
      const shown = async (most: number): Promise<unknown> => {
        const all = await queries.processes(b.store.time(), most)
        return new Map(all.map(({ id, isAlive, drives, isMore = false }) => [id, { isAlive, drives, isMore }]))
      }
      const idle = { isAlive: true, drives: [], isMore: false }
      assert.deepEqual(
        await shown(3),
        new Map<string, unknown>([
          [
            a.store.lease.id,
            {
              isAlive: true,
              drives: [
                { agent: 'x', version: '1', runs: 2 },
                { agent: 'y', version: '2', runs: 1 },
              ],
              isMore: false,
            },
          ],
          [b.store.lease.id, idle],
        ]),
      )
      const few = (await queries.processes(b.store.time(), 2)).find(({ id }) => id === a.store.lease.id)
      assert.equal(few?.isMore, true)
      await a.store.release()
      assert.deepEqual(await shown(3), new Map([[b.store.lease.id, idle]]))
    },
  },
  {
    invariant: 'K2',
    name: 'what a process says of itself is told with it, the last of it, and is gone with it',
    shared: true,
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      if (a.store.lease.report === undefined) return
      await a.store.lease.beat()
      const said = async (): Promise<unknown> =>
        (await b.store.queries.processes(b.store.time(), 9)).find(({ id }) => id === a.store.lease.id)?.report
      assert.equal(await said(), undefined)
      const report = { at: 7, begun: 5, delayMs: 3, takenOver: 1, stalled: [{ run: one, since: 6, waitsFor: 'code' }] }
      await a.store.lease.report(JSON.stringify({ ...report, at: 6 }))
      await a.store.lease.report(JSON.stringify(report))
      assert.deepEqual(await said(), report)
      await a.store.lease.report('{"at":"of another version"}')
      assert.equal(await said(), undefined)
      await a.store.lease.report(JSON.stringify(report))
      await a.store.release()
      assert.equal(await said(), undefined)
    },
  },
  {
    invariant: 'K9',
    name: 'runs in memory or ready of which nothing was recorded since a moment; not those that rest, are stuck or have ended',
    async play(stage) {
      const a = await stage.open()
      if (a.store.reader.unmoved === undefined) return
      const { reader } = a.store
      await a.commit((draft) =>
        draft
          .begin(one, { owner: null, at: 300 })
          .begin(two, { at: 500 })
          .begin(three, { at: 900 })
          .begin(run('parked'), { at: 300 })
          .begin(run('ended'), { at: 300 }),
      )
      await a.commit((draft) => draft.holds(run('parked')).park(run('parked')).holds(run('ended')).end(run('ended'), 1))
      const found = async (before: number, most: number): Promise<unknown> =>
        new Map((await reader.unmoved!(before, most)).map((each) => [each.run, [each.owner, each.since]]))
      assert.deepEqual(
        await found(900, 9),
        new Map<string, unknown>([
          [one, [null, 300]],
          [two, [a.store.lease.id, 500]],
        ]),
      )
      assert.deepEqual(await found(300, 9), new Map())
      assert.equal((await reader.unmoved!(901, 2)).length, 2)
    },
  },
  {
    invariant: 'K9',
    name: 'the backlog: runs that are ready, the one that began first, and runs with mail that nobody has read',
    async play(stage) {
      const a = await stage.open()
      const { queries } = a.store
      assert.deepEqual(await queries.backlog(9), { ready: 0, unheard: 0 })
      await a.commit((draft) =>
        draft
          .begin(one, { owner: null, at: 500, agent: 'z' })
          .begin(two, { owner: null, at: 300 })
          .begin(three, { at: 100 })
          .begin(run('asks'))
          .begin(run('held')),
      )
      await a.commit((draft) => draft.holds(run('asks')).park(run('asks')))
      await a.commit((draft) =>
        draft
          .message(root(run('asks')), 'm1')
          .message(root(run('asks')), 'm2')
          .message(root(run('held')), 'm3'),
      )
      assert.deepEqual(await queries.backlog(9), { ready: 2, first: { run: two, since: 300 }, unheard: 1 })
      assert.equal((await queries.backlog(1)).ready, 1)
      const { epoch } = await a.take(two)
      assert.deepEqual((await queries.backlog(9)).first, { run: one, since: 500 })
      await a.commit((draft) =>
        draft
          .holds(two, epoch)
          .activation(below(root(two), 'w'))
          .log(root(two), 1, stepped('s')),
      )
      await a.store.release()
      const after = await queries.backlog(99)
      // what was let go is ready again, and counts from when something was last recorded of it
      assert.deepEqual([after.ready, after.first?.run], [4, three])
    },
  },
  {
    invariant: 'K9',
    name: 'the store says how large it is, or that it does not know',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one))
      const size = await a.store.queries.size()
      assert.ok(size === undefined || (Number.isSafeInteger(size) && size > 0))
    },
  },
]
