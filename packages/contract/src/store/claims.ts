/** Store contract: who gets which runs. One process holds a run at a time, under an epoch that grows. */
import assert from 'node:assert/strict'
import type { RunId } from '@reeve/core'
import type { ClaimCandidate } from '@reeve/engine/storage'
import { root, run, stepped, type StorePlay, type StoreProcess, type StoreStage } from './stage.ts'

const [one, two, ten] = [run('r1'), run('r2'), run('r10')] as const
const anyAgent = (): boolean => true

/** Runs that were lost so often with a process that died. Returns the one that found it out last. */
async function lose(stage: StoreStage, losses: Readonly<Record<string, number>>): Promise<StoreProcess> {
  const names = Object.keys(losses)
  let a = await stage.open({ lossLimit: 9 })
  await a.commit((draft) => names.forEach((id, i) => draft.begin(run(id), { at: 100 - i })))
  for (let round = 1; ; round++) {
    await stage.kill(a)
    a = await stage.open({ lossLimit: 9 })
    await a.store.lease.releaseDead()
    const again = names.filter((id) => losses[id]! > round).map(run)
    if (again.length === 0) return a
    assert.equal((await a.claim(...again)).length, again.length)
  }
}

export const claimCases: readonly StorePlay[] = [
  {
    invariant: 'K2',
    name: 'a claim makes a run this process’s own under a growing epoch, and returns its earlier state',
    async play(stage) {
      const a = await stage.open()
      const caller = JSON.stringify({ user: 'ann' })
      await a.begin(one, { agent: 'clerk', version: '7', at: 5, caller: { user: 'ann' }, owner: null })
      const { run: was, epoch } = await a.take(one)
      assert.deepEqual([was.id, was.agent, was.version, was.created, was.caller], [one, 'clerk', '7', 5, caller])
      assert.deepEqual([was.owner, was.epoch, epoch, was.command, was.losses], [null, 1, 2, undefined, 0])
      const stored = await a.store.reader.run(one)
      assert.deepEqual([stored?.owner, stored?.epoch], [a.id, 2])
      // also what it holds already
      const again = await a.take(one)
      assert.deepEqual([again.run.owner, again.run.epoch, again.epoch], [a.id, 2, 3])
    },
  },
  {
    invariant: 'K2',
    name: 'each is asked for once before it is claimed; who is not admitted is left as it was',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) =>
        draft.begin(one, { owner: null }).begin(two, { owner: null }).begin(ten, { owner: null }),
      )
      const asked: ClaimCandidate[] = []
      const claimed = await a.store.claim([one, two, run('none'), ten], (candidate) => {
        asked.push(candidate)
        return candidate.id !== two
      })
      assert.deepEqual(
        asked.map(({ id, owner, epoch }) => [id, owner, epoch]),
        [one, two, ten].map((id) => [id, null, 1]),
      )
      assert.deepEqual(
        claimed.map(({ run: { id } }) => id),
        [one, ten],
      )
      const left = await a.store.reader.run(two)
      assert.deepEqual([left?.owner, left?.epoch], [null, 1])
    },
  },
  {
    invariant: 'K2',
    name: 'left out are runs that have ended, that another one holds, and that are not there',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two, { owner: 'prc_other' }).begin(ten))
      await a.commit((draft) => draft.holds(one).end(one, 1))
      const claimed = await a.claim(one, two, run('none'), ten)
      assert.deepEqual(
        claimed.map(({ run: { id } }) => id),
        [ten],
      )
      assert.equal((await a.store.reader.run(two))?.epoch, 1)
      assert.deepEqual(await a.claim(), [])
    },
  },
  {
    invariant: 'K2',
    name: 'runs are given in the order in which they were asked for, a hundred as well as one',
    async play(stage) {
      const a = await stage.open()
      const ids = Array.from({ length: 100 }, (_, i) => run(`c${(i * 37) % 100}`))
      await a.commit((draft) => {
        for (const id of ids)
          draft.begin(id, { owner: null }).log(root(id), 1, stepped(id)).message(root(id), `m ${id}`)
      })
      const order = ids.toSorted()
      const claimed = await a.claim(...order)
      assert.deepEqual(
        claimed.map(({ run: { id } }) => id),
        order,
      )
      for (const {
        run: { id },
        past,
        mail,
      } of claimed) {
        assert.deepEqual([...past.activation(root(id as RunId))].at(-1)?.event, stepped(id))
        assert.deepEqual(
          mail.map(({ key }) => key),
          [`m ${id}`],
        )
      }
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'of competing claims each run goes to one process, by name or by readiness',
    async play(stage) {
      const all = [await stage.open(), await stage.open(), await stage.open()]
      for (const byName of [true, false]) {
        const ids = Array.from({ length: 60 }, (_, i) => run(`${byName}${i}`))
        await all[0]!.commit((draft) => {
          for (const id of ids) draft.begin(id, { owner: null })
        })
        const won = await Promise.all(
          all.map(async (each) =>
            each.store.claim(byName ? ids : { drives: anyAgent, lossesBelow: 2, limit: 100 }, anyAgent),
          ),
        )
        assert.deepEqual(won.flatMap((each) => each.map(({ run: { id } }) => id)).sort(), ids.toSorted())
        for (const [i, each] of won.entries())
          for (const {
            run: { id },
            epoch,
          } of each) {
            const stored = await all[0]!.store.reader.run(id as RunId)
            assert.deepEqual([stored?.owner, stored?.epoch, epoch], [all[i]!.id, 2, 2])
          }
      }
    },
  },
  {
    invariant: 'K2',
    name: 'ready runs are unheld, not parked and not ended: oldest first, of the driven kinds, up to a limit',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => {
        for (let i = 0; i < 6; i++)
          draft.begin(run(`x${i}`), {
            owner: null,
            at: [30, 10, 20, 60, 50, 40][i]!,
            agent: i < 3 ? 'a' : 'b',
            version: i === 5 ? '2' : '1',
          })
        draft
          .begin(run('mine'), { at: 1 })
          .begin(run('other'), { at: 1, owner: 'prc_other' })
          .begin(run('quiet'), { at: 1 })
          .begin(run('over'), { at: 1 })
      })
      await a.commit((draft) => draft.holds(run('quiet')).park(run('quiet')).holds(run('over')).end(run('over'), 1))
      const ready = { lossesBelow: 2, limit: 100 }
      const asked = async (
        drives: (kind: { agent: string; version: string }) => boolean,
        limit = 100,
      ): Promise<readonly string[]> => {
        const seen: string[] = []
        await a.store.claim({ ...ready, drives, limit }, ({ id }) => {
          seen.push(id)
          return false
        })
        return seen
      }
      // of one kind the oldest come first; kinds may come one after the other
      assert.deepEqual(await asked(({ agent }) => agent === 'a'), ['x1', 'x2', 'x0'])
      assert.deepEqual(await asked(({ agent, version }) => agent === 'b' && version === '1'), ['x4', 'x3'])
      assert.deepEqual((await asked(anyAgent)).toSorted(), ['x0', 'x1', 'x2', 'x3', 'x4', 'x5'])
      assert.deepEqual(await asked(() => false), [])
      assert.deepEqual(await asked(({ agent }) => agent === 'a', 2), ['x1', 'x2'])
      // the same, asked without a claim
      const { reader } = a.store
      assert.deepEqual(await reader.ready(({ agent }) => agent === 'a', 100), ['x1', 'x2', 'x0'])
      assert.deepEqual(await reader.ready(({ agent }) => agent === 'a', 2), ['x1', 'x2'])
      assert.deepEqual([...(await reader.ready(anyAgent, 100))].toSorted(), ['x0', 'x1', 'x2', 'x3', 'x4', 'x5'])
      assert.deepEqual([(await reader.ready(anyAgent, 4)).length, await reader.ready(() => false, 100)], [4, []])
      const got = await a.store.claim({ ...ready, drives: ({ agent }) => agent === 'a', limit: 2 }, anyAgent)
      assert.deepEqual(
        got.map(({ run: { id } }) => id),
        ['x1', 'x2'],
      )
      const rest = await a.store.claim({ ...ready, drives: ({ agent }) => agent === 'a', limit: 2 }, anyAgent)
      assert.deepEqual(
        rest.map(({ run: { id } }) => id),
        ['x0'],
      )
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'runs that were lost often stand apart from the others: the least often lost first',
    async play(stage) {
      const a = await lose(stage, { x1: 1, x3: 3, x2: 2 })
      const losses = await Promise.all(
        ['x1', 'x2', 'x3'].map(async (id) => (await a.store.reader.run(run(id)))?.losses),
      )
      assert.deepEqual(losses, [1, 2, 3])
      const ids = async (
        wanted: { lossesBelow: number } | { lossesFrom: number },
        limit = 9,
      ): Promise<readonly string[]> => {
        const seen: string[] = []
        await a.store.claim({ drives: anyAgent, limit, ...wanted }, ({ id }) => {
          seen.push(id)
          return false
        })
        return seen
      }
      assert.deepEqual([await ids({ lossesBelow: 2 }), await ids({ lossesFrom: 2 })], [['x1'], ['x2', 'x3']])
      assert.deepEqual(
        [await ids({ lossesFrom: 2 }, 1), await ids({ lossesFrom: 3 }), await ids({ lossesFrom: 4 })],
        [['x2'], ['x3'], []],
      )
      const [claimed] = await a.store.claim({ drives: anyAgent, limit: 1, lossesFrom: 2 }, anyAgent)
      assert.deepEqual([claimed?.run.id, claimed?.run.losses, claimed?.run.owner], ['x2', 2, null])
    },
  },
  {
    invariant: 'K2',
    name: 'a run begun without an owner is ready, and its first entry is there for its claimer',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one, { owner: null, input: { n: 1 } })
      assert.deepEqual(await a.ready(), [one])
      const [claimed] = await a.store.claim({ drives: anyAgent, lossesBelow: 2, limit: 1 }, anyAgent)
      const birth = claimed?.past.lastEvent(root(one))
      assert.deepEqual(birth?.type === 'activation.started' ? birth.input : undefined, { n: 1 })
      assert.deepEqual(await a.ready(), [])
    },
  },
]
