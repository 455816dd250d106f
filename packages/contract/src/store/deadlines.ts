/** Store contract: what the clock is to do. */
import assert from 'node:assert/strict'
import { deadlineBody } from '@reeve/engine/storage'
import { below, root, run, type StorePlay } from './stage.ts'

const [one, two] = [run('r1'), run('r2')] as const
const act = root(one)

export const deadlineCases: readonly StorePlay[] = [
  {
    invariant: 'K2',
    name: 'a timer is due at its time, a question after its deadline: an answer at the deadline counts',
    async play(stage) {
      const a = await stage.open()
      const { reader } = a.store
      assert.deepEqual([await reader.nextDeadline(), await reader.due(1_000)], [undefined, []])
      await a.commit((draft) => draft.begin(one).ask(act, 'q', { until: 100 }).ask(act, 'none'))
      assert.deepEqual([await reader.nextDeadline(), await reader.due(100)], [101, []])
      assert.deepEqual(
        (await reader.due(101)).map((each) => ({ ...each })),
        [{ act, address: 'q', kind: 'interrupt', until: 100 }],
      )
      await a.commit((draft) => draft.holds(one).ask(act, 't', { until: 100, kind: 'timer' }))
      assert.deepEqual(
        [await reader.nextDeadline(), (await reader.due(100)).map(({ address }) => address)],
        [100, ['t']],
      )
      await a.commit((draft) => draft.row({ act, target: 'question', key: 't', at: 100, body: deadlineBody('t') }))
      assert.equal(await reader.nextDeadline(), 101)
      await a.commit((draft) => draft.holds(one).batch.closed.push({ act, address: 'q' }))
      assert.deepEqual([await reader.nextDeadline(), await reader.due(1_000)], [undefined, []])
    },
  },
  {
    invariant: 'K3',
    name: 'due entries come in order of time, then of their activations’ start, then of asking',
    async play(stage) {
      const a = await stage.open()
      const [w, v] = [below(act, 'w'), below(act, 'v')]
      await a.commit((draft) => draft.begin(one).activation(w).activation(v).begin(two))
      const timer = (until: number): { until: number; kind: string } => ({ until, kind: 'timer' })
      await a.commit((draft) =>
        draft
          .holds(one)
          .holds(two)
          .ask(root(two), 'a', timer(50))
          .ask(v, 'b', timer(50))
          .ask(w, 'z', timer(50))
          .ask(w, 'a', timer(50))
          .ask(act, 'late', timer(60))
          .ask(act, 'x', timer(50))
          .ask(v, 'early', timer(40)),
      )
      assert.deepEqual(
        (await a.store.reader.due(99)).map(({ act: who, address }) => [who, address]),
        [
          [v, 'early'],
          [act, 'x'],
          [w, 'z'],
          [w, 'a'],
          [v, 'b'],
          [root(two), 'a'],
          [act, 'late'],
        ],
      )
    },
  },
  {
    invariant: 'K5',
    name: 'deadlines are due in held and parked runs alike; ended and removed runs have none',
    async play(stage) {
      const a = await stage.open()
      const ids = ['held', 'quiet', 'other', 'nobody', 'over', 'gone'].map(run)
      const owners: Readonly<Record<string, string | null>> = { other: 'prc_other', nobody: null }
      await a.commit((draft) => {
        for (const id of ids)
          draft.begin(id, id in owners ? { owner: owners[id]! } : {}).ask(root(id), 't', { until: 10, kind: 'timer' })
      })
      await a.commit((draft) =>
        draft.holds(ids[1]!).park(ids[1]!).holds(ids[4]!).end(ids[4]!, 1).holds(ids[5]!).end(ids[5]!, 1),
      )
      await a.store.remove(ids[5]!)
      assert.deepEqual(
        (await a.store.reader.due(10)).map(({ act: who }) => who),
        ids.slice(0, 4).map(root),
      )
    },
  },
]
