/**
 * Store contract: a process that is dead loses its runs, one that stood still looks first, one that goes in order gives
 * them back.
 */
import assert from 'node:assert/strict'
import { until } from '../engine/stage.ts'
import { asideFor } from '@reeve/engine/storage'
import { keysOf, root, run, stepped, type StorePlay, type StoreProcess } from './stage.ts'

const [one, two, ten] = [run('r1'), run('r2'), run('r10')] as const

/** Looks for the dead until it has found one. */
async function releasesDead(a: StoreProcess): Promise<Awaited<ReturnType<typeof a.store.lease.releaseDead>>> {
  let found = { owners: 0, aside: [] } as Awaited<ReturnType<typeof a.store.lease.releaseDead>>
  await until('the dead are found', async () => {
    found = await a.store.lease.releaseDead()
    return found.owners > 0
  })
  return found
}
const lossesOf = async ({ store }: StoreProcess, id = one): Promise<number | undefined> =>
  (await store.reader.run(id))?.losses

export const leaseCases: readonly StorePlay[] = [
  {
    invariant: 'K2',
    name: 'after a heartbeat a lease is fresh and no heartbeat is due; every process has an id of its own',
    async play(stage) {
      const a = await stage.open()
      const { lease } = a.store
      await lease.guard()
      lease.moved()
      lease.stretch(0)
      assert.deepEqual([lease.fresh, lease.heartbeatDue, lease.id.length > 0], [true, false, true])
    },
  },
  {
    invariant: 'K2',
    name: 'a process that stood still is stale until it has looked again; unclaimed runs are then its own',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two))
      await stage.stall(a)
      const { lease } = a.store
      assert.equal(lease.fresh, false)
      const own = await lease.reclaim([
        [one, 1],
        [two, 7],
        [ten, 1],
      ])
      assert.deepEqual([[...own], lease.fresh], [[one], true])
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'the runs of a dead process are ready for others, with one loss more; it is found once',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.commit((draft) => draft.begin(one).begin(two).begin(ten))
      await a.commit((draft) => draft.holds(two).park(two).holds(ten).end(ten, 1))
      assert.deepEqual([await b.ready(), await b.claim(one)], [[], []])
      await stage.kill(a)
      assert.deepEqual(await releasesDead(b), { owners: 1, aside: [] })
      assert.deepEqual((await b.store.lease.releaseDead()).owners, 0)
      assert.deepEqual(await b.ready(), [one])
      const claimed = await b.take(one)
      assert.deepEqual([claimed.run.losses, claimed.epoch, await lossesOf(b, two)], [1, 2, 0])
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'a living process loses no runs, nor does one that holds none',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.begin(one)
      assert.deepEqual(await b.store.lease.releaseDead(), { owners: 0, aside: [] })
      assert.equal((await b.store.reader.run(one))?.owner, a.id)
      assert.deepEqual((await a.commit((draft) => draft.holds(one).log(root(one), 1, stepped('s')))).fenced, [])
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'a process that stood still and was robbed finds out when it looks again',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.commit((draft) => draft.begin(one).begin(two))
      await stage.stall(a)
      await releasesDead(b)
      await b.take(one)
      assert.equal(a.store.lease.fresh, false)
      assert.deepEqual(
        [
          ...(await a.store.lease.reclaim([
            [one, 1],
            [two, 1],
          ])),
        ],
        [],
      )
      // it lives again: what it takes now is its own
      assert.equal(a.store.lease.fresh, true)
      assert.equal((await a.take(two)).epoch, 2)
      await b.store.lease.beat()
      assert.equal((await b.store.lease.releaseDead()).owners, 0)
      assert.deepEqual([...(await a.store.lease.reclaim([[two, 2]]))], [two])
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'a run lost too often is set aside with its commands read; held for long enough it is normal again',
    async play(stage) {
      let a = await stage.open({ lossLimit: 3 })
      await a.commit((draft) => draft.begin(one).begin(two))
      const aside: string[] = []
      for (let losses = 1; losses <= 3; losses++) {
        await stage.kill(a)
        const b = await stage.open({ lossLimit: 3 })
        const found = await releasesDead(b)
        aside.push(...found.aside.map(({ run: id, error }) => `${losses} ${id} ${error.code}`))
        if (losses < 3) {
          assert.equal((await b.claim(one, two)).length, 2)
          assert.equal(await lossesOf(b), losses)
          if (losses === 2) {
            await b.store.lease.resetLosses([two])
            assert.equal(await lossesOf(b, two), 0)
            await b.commit((draft) => draft.command(one, '!resume:1').command(one, '!cancel'))
          }
        }
        a = b
      }
      assert.deepEqual(aside, [`3 ${one} run.crash-loop`])
      const stored = await a.store.reader.run(one)
      assert.deepEqual([asideFor(stored!)?.code, stored?.parked, await a.ready()], ['run.crash-loop', 1, [two]])
      const { mail, run: was } = await a.take(one)
      assert.deepEqual([keysOf(mail), was.command], [['!cancel'], 'cancel'])
    },
  },
  {
    invariant: 'K2',
    name: 'a run of an unknown owner is freed without counting a loss',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one, { owner: 'prc_unknown' })
      assert.deepEqual(await a.ready(), [])
      await releasesDead(a)
      assert.deepEqual([await a.ready(), await lossesOf(a)], [[one], 0])
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'a process that leaves in order returns its runs at once, without a loss or a new epoch',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.commit((draft) => draft.begin(one).begin(two))
      await a.commit((draft) => draft.holds(two).park(two))
      await stage.close(a)
      assert.deepEqual(await b.ready(), [one])
      const claimed = await b.take(one)
      assert.deepEqual([claimed.run.losses, claimed.run.epoch, claimed.epoch], [0, 1, 2])
      assert.equal((await b.store.lease.releaseDead()).owners, 0)
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'what a process is told that another one wrote: that there is news',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      let heard = 0
      a.store.listen(() => heard++)
      await until('nothing is new', () => a.store.moved() === undefined)
      await b.begin(one)
      await until('it has heard of it', async () => {
        const moved = a.store.moved()
        return (
          moved === 'all' ||
          moved?.has(one) === true ||
          (await a.commit((draft) => draft.message(root(one), 'm'))).moved
        )
      })
      assert.ok(heard >= 0)
    },
  },
]
