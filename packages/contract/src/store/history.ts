/** Store contract: what is read with a claim is everything of the run as it was then, and answers at once. */
import assert from 'node:assert/strict'
import { completed, failed, type ActivationId } from '@reeve/core'
import { account, below, root, run, settled, started, stepped, type StorePlay } from './stage.ts'

const one = run('r1')
const act = root(one)

export const pastCases: readonly StorePlay[] = [
  {
    invariant: 'K3',
    name: 'the logs of a run’s activations are there, in order, whether they have settled or not',
    async play(stage) {
      const a = await stage.open()
      const [w, v] = [below(act, 'w'), below(below(act, 'w'), 'v')]
      await a.commit((draft) => draft.begin(one, { at: 5 }).activation(w, started('w'), 6).log(act, 1, stepped('s'), 7))
      await a.commit((draft) =>
        draft
          .holds(one)
          .activation(v, started('v'), 8)
          .log(w, 1, stepped('t'), 9)
          .log(w, 2, settled(completed(1)), 10),
      )
      await a.commit((draft) => draft.holds(one).log(act, 2, stepped('u'), 11))
      const { past } = await a.take(one)
      const log = (id: ActivationId): unknown => [...past.activation(id)].map(({ seq, at, event }) => [seq, at, event])
      assert.deepEqual(log(act), [
        [0, 5, started()],
        [1, 7, stepped('s')],
        [2, 11, stepped('u')],
      ])
      // of one that has settled it may be its last word alone
      assert.deepEqual((log(w) as unknown[]).at(-1), [2, 10, settled(completed(1))])
      assert.deepEqual(log(v), [[0, 8, started('v')]])
      assert.deepEqual(
        [past.lastEvent(act), past.lastEvent(w), past.lastEvent(v)],
        [stepped('u'), settled(completed(1)), started('v')],
      )
      assert.deepEqual([log(below(act, 'none')), past.lastEvent(below(act, 'none'))], [[], undefined])
      // it may be asked again
      assert.equal([...past.activation(act)].length, 3)
    },
  },
  {
    invariant: 'K1',
    name: 'what a later entry stands for is left out of a claim, and stays in the log and the feed',
    async play(stage) {
      const a = await stage.open()
      const w = below(act, 'w')
      const two = run('r2')
      await a.commit((draft) => {
        draft.begin(one).activation(w, started('w'))
        for (let seq = 1; seq < 20; seq++) draft.log(act, seq, stepped(`s${seq}`)).log(w, seq, stepped(`t${seq}`))
        draft.sum(act, 2, 5).sum(act, 8, 10).sum(w, 1, 19)
      })
      const seqs = (entries: Iterable<{ readonly seq: number }>): number[] => [...entries].map(({ seq }) => seq)
      const all = Array.from({ length: 20 }, (_, seq) => seq)
      const first = await a.take(one)
      assert.deepEqual(seqs(first.past.activation(act)), [0, 1, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
      assert.deepEqual(seqs(first.past.activation(w)), [0, 19])
      assert.deepEqual(first.past.lastEvent(w), stepped('t19'))
      // one that begins before others is in their place; those of other activations stay
      await a.commit((draft) => draft.holds(one, first.epoch).sum(act, 8, 12))
      await a.commit((draft) => draft.holds(one, first.epoch).sum(act, 1, 18))
      const { epoch, past } = await a.take(one)
      assert.deepEqual(seqs(past.activation(act)), [0, 18, 19])
      assert.deepEqual(seqs(past.activation(w)), [0, 19])
      assert.deepEqual(seqs(await a.store.reader.log(act)), all)
      assert.equal((await a.store.reader.feed(one, 0)).length, 40)
      // nothing is left out for a process that has lost the run
      await a.commit((draft) => draft.begin(two).log(root(two), 1, stepped('s')))
      const held = await a.take(two)
      const { fenced } = await a.commit((draft) => draft.holds(two, held.epoch - 1).sum(root(two), 1, 1))
      assert.deepEqual(fenced, [two])
      // a run of the same id begins with a log of its own
      await a.commit((draft) => draft.holds(one, epoch).end(one, 20))
      await a.store.remove(one)
      await a.commit((draft) => draft.begin(one).log(act, 1, stepped('s')).log(act, 2, stepped('s2')))
      assert.deepEqual(seqs((await a.take(one)).past.activation(act)), [0, 1, 2])
    },
  },
  {
    invariant: 'K3',
    name: 'a log of ten thousand entries, and one of a thousand workers',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => {
        draft.begin(one)
        for (let seq = 1; seq <= 10_000; seq++) draft.log(act, seq, stepped(`s${seq}`, null))
      })
      await a.commit((draft) => {
        draft.holds(one)
        for (let i = 0; i < 1_000; i++)
          draft.activation(below(act, `w${i}`)).log(below(act, `w${i}`), 1, settled(completed(i)))
      })
      const { past } = await a.take(one)
      const log = [...past.activation(act)]
      assert.equal(log.length, 10_001)
      for (const [i, { seq, event }] of log.entries())
        assert.ok(seq === i && (i === 0 || (event as { address: string }).address === `s${i}`))
      for (let i = 0; i < 1_000; i++) assert.deepEqual(past.lastEvent(below(act, `w${i}`)), settled(completed(i)))
    },
  },
  {
    invariant: 'K2',
    name: 'questions asked and not closed are found by id, answered or not; counted for people, without timers',
    async play(stage) {
      const a = await stage.open()
      const w = below(act, 'w')
      await a.commit((draft) =>
        draft
          .begin(one)
          .activation(w)
          .ask(act, 'q', { id: 'int_q' })
          .ask(act, 'answered', { id: 'apr_a', kind: 'approval' })
          .ask(w, 'doubt', { id: 'int_d', kind: 'in-doubt', key: 'doubt:doubt#1' })
          .ask(act, 'closed', { id: 'int_c' })
          .ask(act, 't', { id: `${act}:t`, kind: 'timer', until: 99 }),
      )
      await a.commit((draft) => draft.holds(one).answer(act, 'answered').batch.closed.push({ act, address: 'closed' }))
      const { past, questions } = await a.take(one)
      assert.deepEqual(
        ['int_q', 'apr_a', 'int_d', 'int_c', 'int_none'].map((id) => past.asked(id)),
        [true, true, true, false, false],
      )
      assert.equal(questions, 3)
    },
  },
  {
    invariant: 'K11',
    name: 'accounts are there as they were written last, one for each activation that has one',
    async play(stage) {
      const a = await stage.open()
      const w = below(act, 'w')
      await a.commit((draft) => {
        draft.begin(one).activation(w).activation(below(act, 'v'))
        draft.batch.accounts.push({ act, run: one, state: account(1) }, { act: w, run: one, state: account(2) })
      })
      await a.commit((draft) => draft.holds(one).batch.accounts.push({ act, run: one, state: account(5) }))
      const { accounts } = await a.take(one)
      assert.deepEqual(
        new Map(accounts),
        new Map([
          [act, account(5)],
          [w, account(2)],
        ]),
      )
    },
  },
  {
    invariant: 'K1',
    name: 'a run with nothing but its birth has no mail, no accounts and no questions',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one, { owner: null })
      const { accounts, mail, questions, past } = await a.take(one)
      assert.deepEqual([accounts.size, mail, questions, past.asked('int_q')], [0, [], 0, false])
    },
  },
  {
    invariant: 'K1',
    name: 'a run’s start, end and records, also of those below, can be read from outside',
    async play(stage) {
      const a = await stage.open()
      const [w, v] = [below(act, 'w'), below(below(act, 'w'), 'v')]
      await a.commit((draft) =>
        draft
          .begin(one, { input: 'in' })
          .activation(w, started('w'))
          .activation(v, started('v'))
          .log(act, 1, stepped('s'))
          .log(w, 1, stepped('t')),
      )
      const { reader } = a.store
      assert.deepEqual([await reader.birth(one), await reader.end(one)], [started('a', '1', 'in'), undefined])
      assert.deepEqual([await reader.birth(run('none')), await reader.end(run('none'))], [undefined, undefined])
      assert.deepEqual(
        (await reader.below(w)).map(({ activation, seq, event }) => [activation, seq, event]),
        [
          [w, 0, started('w')],
          [v, 0, started('v')],
          [w, 1, stepped('t')],
        ],
      )
      assert.deepEqual(
        [...(await reader.log(w))].map(({ seq, event }) => [seq, event]),
        [
          [0, started('w')],
          [1, stepped('t')],
        ],
      )
      const outcome = failed({ code: 'x', message: 'y', class: 'internal' } as never)
      await a.commit((draft) => draft.holds(one).end(one, 2, { outcome }))
      assert.deepEqual(await reader.end(one), { outcome, usage: [] })
    },
  },
]
