/** Store contract: contents, by the piece: who has them, what becomes of them with their runs, and when they are durable. */
import assert from 'node:assert/strict'
import type { RunId } from '@reeve/core'
import type { StoreContents } from '@reeve/engine/storage'
import { run, type StorePlay, type StoreProcess } from './stage.ts'

const [one, two] = [run('r1'), run('r2')]
const contentsOf = ({ store }: StoreProcess): StoreContents => store.contents!
const has = async (process: StoreProcess, id: RunId, ...keys: readonly string[]): Promise<readonly boolean[]> =>
  Promise.all(keys.map(async (key) => (await contentsOf(process).piece(id, key)) !== undefined))
const end = (process: StoreProcess, id: RunId): Promise<unknown> =>
  process.commit((draft) => draft.holds(id).end(id, 1))
const pieces = (...keys: readonly string[]): ReadonlyMap<string, string> =>
  new Map(keys.map((key) => [key, `"the text of ${key}"`]))

export const contentCases: readonly StorePlay[] = [
  {
    invariant: 'K1',
    name: 'a piece that was kept is read as it was, whatever is in it; kept twice it is there once',
    contents: true,
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      const strange = JSON.stringify(`\u0000 \ud83d "quotes" \\ \u2028 ${'\u{1f600}'.repeat(70_000)}`)
      await contentsOf(a).keep(
        one,
        new Map([
          ['strange', strange],
          ['empty', '""'],
        ]),
      )
      await contentsOf(a).keep(one, new Map([['strange', strange]]))
      assert.equal(await contentsOf(a).piece(one, 'strange'), strange)
      assert.equal(await contentsOf(a).piece(one, 'empty'), '""')
      assert.equal(await contentsOf(a).piece(one, 'none'), undefined)
      await contentsOf(a).keep(one, new Map())
    },
  },
  {
    invariant: 'K1',
    name: 'a run reads no pieces of another run, and none is kept for a run that is not there',
    contents: true,
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two))
      await contentsOf(a).keep(one, pieces('x'))
      assert.deepEqual(await has(a, two, 'x'), [false])
      const { code } = await a.fails(async () => contentsOf(a).keep(run('none'), pieces('x', 'y')))
      assert.equal(code, 'run.unknown')
      assert.deepEqual(await has(a, run('none'), 'x', 'y'), [false, false])
      // what was refused is in nobody's way
      await contentsOf(a).keep(two, pieces('y'))
      assert.deepEqual(await has(a, two, 'x', 'y'), [false, true])
    },
  },
  {
    invariant: 'K1',
    name: 'with a run its pieces are removed, but for those that another run has; a run of its id begins without them',
    contents: true,
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two))
      await contentsOf(a).keep(one, pieces('own', 'shared'))
      await contentsOf(a).keep(two, pieces('shared'))
      await end(a, one)
      assert.deepEqual(await has(a, one, 'own', 'shared'), [true, true])
      await a.store.remove(one)
      assert.deepEqual(await has(a, one, 'own', 'shared'), [false, false])
      assert.deepEqual(await has(a, two, 'own', 'shared'), [false, true])
      await a.begin(one)
      assert.deepEqual(await has(a, one, 'own', 'shared'), [false, false])
      await end(a, two)
      await a.store.remove(two)
      assert.deepEqual(await has(a, two, 'shared'), [false])
    },
  },
  {
    invariant: 'K5',
    name: 'a run that begins with a share of another one has those pieces with that commit, and keeps them without the other',
    contents: true,
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await contentsOf(a).keep(one, pieces('x', 'y', 'z'))
      await a.commit((draft) => {
        draft.begin(two)
        draft.batch.shares.push({ from: one, to: two, keys: ['x', 'z', 'never kept'] })
      })
      assert.deepEqual(await has(a, two, 'x', 'y', 'z', 'never kept'), [true, false, true, false])
      await end(a, one)
      await a.store.remove(one)
      assert.equal(await contentsOf(a).piece(two, 'x'), '"the text of x"')
      assert.deepEqual(await has(a, two, 'x', 'y', 'z'), [true, false, true])
    },
  },
  {
    invariant: 'K5',
    name: 'a run that exists already is given no share: nothing of its beginning is written',
    contents: true,
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two))
      await contentsOf(a).keep(one, pieces('x'))
      const { existed } = await a.commit((draft) => {
        draft.begin(two)
        draft.batch.shares.push({ from: one, to: two, keys: ['x'] })
      })
      assert.deepEqual([existed, await has(a, two, 'x')], [[two], [false]])
    },
  },
  {
    invariant: 'K1',
    name: 'what is archived reads its pieces as before',
    contents: true,
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await contentsOf(a).keep(one, pieces('x'))
      await end(a, one)
      await a.begin(two)
      while (await a.store.archive(Number.MAX_SAFE_INTEGER)) continue
      assert.equal(await contentsOf(a).piece(one, 'x'), '"the text of x"')
    },
  },
  {
    invariant: 'K5',
    name: 'pieces outlive the process that kept them, and two processes that keep the same ones do no harm',
    contents: true,
    shared: true,
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.begin(one)
      await Promise.all([
        (async () => contentsOf(a).keep(one, pieces('x', 'y', 'a')))(),
        (async () => contentsOf(b).keep(one, pieces('b', 'y', 'x')))(),
      ])
      assert.deepEqual(await has(a, one, 'x', 'y', 'a', 'b'), [true, true, true, true])
      await stage.kill(a)
      assert.deepEqual(await has(b, one, 'x', 'y', 'a', 'b'), [true, true, true, true])
      assert.deepEqual(await has(await stage.open(), one, 'x'), [true])
    },
  },
  {
    invariant: 'K1',
    name: 'a store that is closed keeps and gives no pieces, and says so as a store',
    contents: true,
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await stage.close(a)
      for (const work of [() => contentsOf(a).keep(one, pieces('x')), () => contentsOf(a).piece(one, 'x')])
        assert.match((await a.fails(async () => work())).code, /^store\./)
    },
  },
]
