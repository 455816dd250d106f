/**
 * Store contract: what becomes of a post. Answers compete for one row, the first one wins; an ended run takes no post.
 */
import assert from 'node:assert/strict'
import type { PostResult } from '@reeve/engine'
import { deadlineBody } from '@reeve/engine/storage'
import { below, root, run, settled, type StorePlay, type StoreProcess } from './stage.ts'

const one = run('r1')
const act = root(one)

/** The unread rows of a run. */
async function mailOf(a: StoreProcess): Promise<readonly (readonly [string, string])[]> {
  const origin = await a.store.reader.origin(one, 0, () => 'reg_x')
  return origin!.mail.map(({ key, body }) => [key, body] as const)
}
const clock = (a: StoreProcess, address: string, at: number): Promise<readonly PostResult[]> =>
  a
    .commit((draft) => draft.row({ act, target: 'question', key: address, at, body: deadlineBody(address) }))
    .then(({ posts }) => posts)
const answer = (a: StoreProcess, address: string, at?: number, body?: string): Promise<readonly PostResult[]> =>
  a.commit((draft) => draft.answer(act, address, at, body)).then(({ posts }) => posts)

export const postCases: readonly StorePlay[] = [
  {
    invariant: 'K2',
    name: 'the first answer to a question is accepted, the second lost, and the question shown as answered',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).ask(act, 'q'))
      assert.equal((await a.store.queries.questions())[0]?.answered, undefined)
      assert.deepEqual(await answer(a, 'q', 5, 'first'), ['accepted'])
      assert.deepEqual(await answer(a, 'q', 6, 'second'), ['lost'])
      assert.deepEqual(await mailOf(a), [['ask:q', '"first"']])
      assert.equal((await a.store.queries.questions({ id: `int_${act}_q` }))[0]?.answered, true)
    },
  },
  {
    invariant: 'K2',
    name: 'of two answers in one commit the first one wins',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).ask(act, 'q'))
      assert.deepEqual((await a.commit((draft) => draft.answer(act, 'q', 5, 1).answer(act, 'q', 5, 2))).posts, [
        'accepted',
        'lost',
      ])
      assert.deepEqual(await mailOf(a), [['ask:q', '1']])
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'of answers from many processes at once one is accepted',
    async play(stage) {
      const all = [await stage.open(), await stage.open(), await stage.open()]
      const addresses = Array.from({ length: 20 }, (_, i) => `q${i}`)
      await all[0]!.commit((draft) => {
        draft.begin(one)
        for (const each of addresses) draft.ask(act, each)
      })
      for (const address of addresses) {
        const results = await Promise.all(all.map((each) => answer(each, address)))
        assert.deepEqual(results.flat().sort(), ['accepted', 'lost', 'lost'])
      }
      assert.equal((await mailOf(all[0]!)).length, addresses.length)
    },
  },
  {
    invariant: 'K2',
    name: 'an answer to a question no longer asked is closed, to an answered one lost, to none unknown',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).ask(act, 'closed').ask(act, 'heard').ask(act, 'open'))
      await answer(a, 'heard')
      await a.commit((draft) => {
        draft.holds(one)
        draft.batch.taken.push({ act, key: 'ask:heard' })
        draft.batch.closed.push({ act, address: 'heard' }, { act, address: 'closed' })
      })
      const { posts } = await a.commit((draft) =>
        draft
          .answer(act, 'closed')
          .answer(act, 'heard')
          .answer(act, 'never')
          .answer(root(run('none')), 'q')
          .answer(act, 'open'),
      )
      assert.deepEqual(posts, ['closed', 'lost', 'closed', 'unknown', 'accepted'])
    },
  },
  {
    invariant: 'K5',
    name: 'what a commit asks is there for its posts, and what it closes is not',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).ask(act, 'old').activation(below(act, 'w')).ask(below(act, 'w'), 'q'))
      const { posts } = await a.commit((draft) => {
        draft.holds(one).ask(act, 'new').answer(act, 'new').answer(act, 'old').answer(below(act, 'w'), 'q')
        draft.batch.closed.push({ act, address: 'old' })
        draft.batch.closedActs.push(below(act, 'w'))
      })
      assert.deepEqual(posts, ['accepted', 'closed', 'closed'])
    },
  },
  {
    invariant: 'K2',
    name: 'two questions at one address are told apart by their kinds, and each has a row of its own',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) =>
        draft
          .begin(one)
          .ask(act, 'x', { id: 'int_1' })
          .ask(act, 'x', { id: 'int_2', kind: 'in-doubt', key: 'doubt:x#1' }),
      )
      const doubt = { act, target: 'question', key: 'x', kinds: ['in-doubt'], body: '2' } as const
      const { posts } = await a.commit((draft) => draft.row(doubt).answer(act, 'x').row(doubt).answer(act, 'x'))
      assert.deepEqual(posts, ['accepted', 'accepted', 'lost', 'lost'])
      assert.deepEqual(
        (await mailOf(a)).map(([key]) => key),
        ['doubt:x#1', 'ask:x'],
      )
    },
  },
  {
    invariant: 'K2',
    name: 'an answer at the deadline counts; one after it has lost, and what is read is the deadline',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).ask(act, 'at', { until: 100 }).ask(act, 'after', { until: 100 }))
      assert.deepEqual(
        [await answer(a, 'at', 100, 'yes'), await answer(a, 'after', 101, 'yes')],
        [['accepted'], ['lost']],
      )
      assert.deepEqual(await mailOf(a), [
        ['ask:at', '"yes"'],
        ['ask:after', deadlineBody('after')],
      ])
      assert.deepEqual(await a.store.reader.due(1_000), [])
      assert.deepEqual([await clock(a, 'at', 200), await clock(a, 'after', 200)], [['lost'], ['lost']])
    },
  },
  {
    invariant: 'K2',
    name: 'the clock competes with an answer, once',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) =>
        draft.begin(one).ask(act, 'q', { until: 100 }).ask(act, 't', { until: 100, kind: 'timer' }),
      )
      assert.deepEqual(
        [await clock(a, 'q', 101), await clock(a, 't', 101), await clock(a, 't', 102)],
        [['accepted'], ['accepted'], ['lost']],
      )
      assert.deepEqual(await answer(a, 'q', 90), ['lost'])
      assert.deepEqual(
        (await mailOf(a)).map(([, body]) => body),
        [deadlineBody('q'), deadlineBody('t')],
      )
      assert.deepEqual([await a.store.reader.due(1_000), await a.store.reader.nextDeadline()], [[], undefined])
    },
  },
  {
    invariant: 'K2',
    name: 'a message is accepted once under its key by a working activation; else closed or unknown',
    async play(stage) {
      const a = await stage.open()
      const [w, w2] = [below(act, 'w'), below(act, 'w2')]
      await a.commit((draft) => draft.begin(one).activation(w).activation(w2).log(w, 1, settled()))
      const { posts } = await a.commit((draft) =>
        draft
          .holds(one)
          .log(w2, 1, settled())
          .message(act, 'msg:1', { body: '1' })
          .message(act, 'msg:1', { body: '2' })
          .message(w, 'msg:1')
          .message(w2, 'msg:1')
          .message(below(act, 'none'), 'msg:1'),
      )
      assert.deepEqual(posts, ['accepted', 'accepted', 'closed', 'closed', 'unknown'])
      assert.deepEqual((await a.commit((draft) => draft.message(act, 'msg:1', { body: '3' }))).posts, ['accepted'])
      assert.deepEqual(await mailOf(a), [['msg:1', '1']])
    },
  },
  {
    invariant: 'K2',
    name: 'a message that was read before is accepted and not given again',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).message(act, 'msg:1'))
      await a.commit((draft) => draft.holds(one).batch.taken.push({ act, key: 'msg:1' }))
      assert.deepEqual((await a.commit((draft) => draft.message(act, 'msg:1'))).posts, ['accepted'])
      assert.deepEqual([await mailOf(a), (await a.take(one)).mail], [[], []])
    },
  },
  {
    invariant: 'K2',
    name: 'an unread message returns to its sender as refused, with the reason, unless the sender has ended',
    async play(stage) {
      const a = await stage.open()
      const [w, w2] = [below(act, 'w'), below(act, 'w2')]
      await a.commit((draft) =>
        draft.begin(one).activation(w).activation(w2).log(w, 1, settled()).log(w2, 1, settled()),
      )
      const { posts } = await a.commit((draft) =>
        draft
          .holds(one)
          .message(w, 'm1', { refusalTo: act, from: one })
          .message(below(act, 'none'), 'm2', { refusalTo: act, from: one })
          .message(act, 'm3', { refusalTo: w, from: one, body: '3' })
          .message(w, 'm4', { refusalTo: w2, from: one }),
      )
      assert.deepEqual(posts, ['closed', 'unknown', 'accepted', 'closed'])
      assert.deepEqual(await mailOf(a), [
        ['refused:m1', JSON.stringify({ type: 'refused', id: 'm1', reason: 'closed' })],
        ['refused:m2', JSON.stringify({ type: 'refused', id: 'm2', reason: 'unknown' })],
        ['m3', '3'],
      ])
    },
  },
  {
    invariant: 'K2',
    name: 'a command is accepted once under its key; closed if its target has ended; unknown without a run',
    async play(stage) {
      const a = await stage.open()
      const w = below(act, 'w')
      await a.commit((draft) => draft.begin(one).activation(w).log(w, 1, settled()).begin(run('over')))
      await a.commit((draft) => draft.holds(run('over')).end(run('over'), 1))
      const { posts } = await a.commit((draft) =>
        draft
          .command(one, '!cancel')
          .command(one, '!cancel')
          .command(one, '!pause:1')
          .row({ act: w, target: 'run', key: '!cancel' })
          .command(run('over'), '!cancel')
          .command(run('none'), '!cancel'),
      )
      assert.deepEqual(posts, ['accepted', 'lost', 'accepted', 'closed', 'closed', 'unknown'])
      assert.deepEqual(
        (await mailOf(a)).map(([key]) => key),
        ['!cancel', '!pause:1'],
      )
    },
  },
]
