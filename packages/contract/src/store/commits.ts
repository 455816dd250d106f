/** Store contract: a commit is everything or nothing, and of what another process holds nothing is written. */
import assert from 'node:assert/strict'
import type { RunId } from '@reeve/core'
import { type BatchResult, noRun } from '@reeve/engine/storage'
import {
  account,
  below,
  root,
  run,
  settled,
  started,
  stepped,
  type BatchDraft,
  type StorePlay,
  type StoreProcess,
} from './stage.ts'

const [one, two, ten] = [run('r1'), run('r2'), run('r10')] as const

/** What a commit can change about a run, all at once. */
function everything(draft: BatchDraft, id: RunId, seq: number): BatchDraft {
  const { batch } = draft
    .log(root(id), seq, stepped('s'))
    .ask(root(id), 'late')
    .message(root(id), 'msg:late', { from: id })
    .value('reg_x', id, 0, 'written', { run: id, once: 'late' })
    .park(id)
    .aside(id, 'for a reason')
  batch.taken.push({ act: root(id), key: 'msg:first' })
  batch.closed.push({ act: root(id), address: 'first' })
  batch.control.push({ run: id, state: 'paused' })
  batch.accounts.push({ act: root(id), run: id, state: account(2) })
  batch.ended.push({ run: id, status: 'completed', at: 5 })
  return draft
}

/** Everything that is kept of a run, as far as a reader sees it. */
async function picture({ store }: StoreProcess, id: RunId): Promise<unknown> {
  const { reader, queries } = store
  const origin = await reader.origin(id, Number.MAX_SAFE_INTEGER, () => 'reg_x')
  return {
    run: await reader.run(id),
    feed: await reader.feed(id, 0),
    questions: await queries.questions({ run: id }),
    mail: origin?.mail,
    accounts: [...(origin?.accounts ?? [])],
    value: await reader.value('reg_x', id),
  }
}

const begun = (draft: BatchDraft, id: RunId): BatchDraft => {
  draft.begin(id).ask(root(id), 'first').message(root(id), 'msg:first', { from: id })
  draft.batch.accounts.push({ act: root(id), run: id, state: account(1) })
  return draft
}

/** A second birth of an activation: no store takes it. */
const impossible = (draft: BatchDraft, id: RunId): BatchDraft => draft.log(root(id), 0, started())

export const commitCases: readonly StorePlay[] = [
  {
    invariant: 'K5',
    name: 'a commit writes all its parts: run, log, questions, mail, accounts and values',
    async play(stage) {
      const a = await stage.open()
      const caller = { user: 'ann', session: 'ses_1' as never }
      const result = await a.commit((draft) => {
        draft
          .begin(one, { agent: 'clerk', version: '7', at: 5, caller, input: { n: 1 } })
          .log(root(one), 1, stepped('s'), 6)
        draft.activation(below(root(one), 'w'), started('worker', '2'), 7)
        draft.ask(root(one), 'q', { until: 99, at: 8 }).message(root(one), 'msg:1', { from: one })
        draft.batch.accounts.push({ act: root(one), run: one, state: account(1) })
      })
      const feed = await a.store.reader.feed(one, 0)
      assert.deepEqual(
        { ...result, moved: false },
        {
          moved: false,
          fenced: [],
          existed: [],
          awake: [],
          posts: ['accepted'],
          values: [],
          position: feed.at(-1)!.position,
        },
      )
      assert.deepEqual(
        feed.map(({ position: _, ...rest }) => rest),
        [
          { run: one, activation: root(one), seq: 0, at: 5, event: started('clerk', '7', { n: 1 }) },
          { run: one, activation: root(one), seq: 1, at: 6, event: stepped('s') },
          { run: one, activation: below(root(one), 'w'), seq: 0, at: 7, event: started('worker', '2') },
        ],
      )
      const stored = await a.store.reader.run(one)
      assert.deepEqual(
        { ...stored, end_position: undefined },
        {
          id: one,
          agent: 'clerk',
          version: '7',
          status: 'running',
          control: null,
          stuck: null,
          parked: 0,
          epoch: 1,
          owner: a.id,
          caller: JSON.stringify(caller),
          created: 5,
          ended: null,
          losses: 0,
          end_position: undefined,
        },
      )
      assert.deepEqual(await a.store.queries.questions({ run: one }), [
        {
          id: `int_${root(one)}_q`,
          kind: 'interrupt',
          run: one,
          activation: root(one),
          address: 'q',
          askedAt: 8,
          until: 99,
          body: { address: 'q' },
        },
      ])
      const origin = await a.store.reader.origin(one, 0, () => 'reg_x')
      assert.deepEqual(
        origin?.mail.map(({ act, key }) => [act, key]),
        [[root(one), 'msg:1']],
      )
      assert.deepEqual([...(origin?.accounts ?? [])], [[root(one), account(1)]])
    },
  },
  {
    invariant: 'K5',
    name: 'all or nothing: refused content leaves nothing of its batch, and the store stays usable',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => begun(draft, one))
      const before = await picture(a, one)
      const thrown = await a.refused((draft) => {
        impossible(everything(draft.begin(two).holds(one), one, 1), one)
          .value('reg_x', 'outside', 0, 1)
          .message(root(one), 'msg:outside')
      })
      assert.equal(a.store.isRefusal(thrown), true)
      assert.equal(a.store.refusedBy(thrown, one).code, 'store.refused')
      assert.match(a.store.refusedBy(thrown, one).message, /r1/)
      assert.equal(a.store.errorOf(thrown).code.startsWith('store.'), true)
      assert.deepEqual(await picture(a, one), before)
      assert.equal(await a.store.reader.run(two), undefined)
      assert.deepEqual(await a.store.reader.value('reg_x', 'outside'), { version: 0, value: null })
      // the same without what was refused
      const { posts, values, fenced, existed } = await a.commit((draft) =>
        everything(draft.begin(two).holds(one), one, 1).value('reg_x', 'outside', 0, 1),
      )
      assert.deepEqual(
        [posts, values.map(({ status }) => status), fenced, existed],
        [['accepted'], ['written', 'written'], [], []],
      )
    },
  },
  {
    invariant: 'K5',
    name: 'a string of any length and any characters comes back as it was',
    async play(stage) {
      const a = await stage.open()
      const texts = [
        '',
        'a'.repeat(300_000),
        'ü€😀'.repeat(5_000),
        '\u0000\u001f"\\\u2028',
        'half \ud800 a pair',
        '\\u0000 \\ud800',
        '!blob:x',
        '$1',
      ]
      await a.begin(one, {
        input: { texts, [`key ${'k'.repeat(9_000)}`]: 'same'.repeat(4_000), again: 'same'.repeat(4_000) },
      })
      await a.commit((draft) =>
        draft
          .holds(one)
          .value('reg_x', 'é 😀', 0, texts.slice(0, 4))
          .message(root(one), 'msg:😀', { body: JSON.stringify(texts[2]) }),
      )
      const [birth] = await a.store.reader.feed(one, 0)
      assert.ok(birth?.event.type === 'activation.started')
      assert.deepEqual((birth.event.input as { texts: string[] }).texts, texts)
      assert.equal((birth.event.input as { again: string }).again, 'same'.repeat(4_000))
      assert.deepEqual(await a.store.reader.birth(one), birth.event)
      const { past, mail } = await a.take(one)
      assert.deepEqual(
        [...past.activation(root(one))].map(({ event }) => event),
        [birth.event],
      )
      assert.deepEqual(
        mail.map(({ key, body }) => [key, JSON.parse(body) as unknown]),
        [['msg:😀', texts[2]]],
      )
      assert.deepEqual((await a.store.reader.value('reg_x', 'é 😀')).value, texts.slice(0, 4))
    },
  },
  {
    invariant: 'K2',
    name: 'a run held under another epoch is not written; the batch’s other runs are',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => begun(begun(draft, one), two))
      assert.equal((await a.take(one)).epoch, 2)
      const before = await picture(a, one)
      const result = await a.commit((draft) => {
        everything(draft.holds(one, 1), one, 1)
        draft.holds(two, 1).log(root(two), 1, stepped('s')).message(root(two), 'msg:2', { from: two })
        draft.value('reg_x', 'two', 0, 2, { run: two, once: 'x' })
      })
      assert.deepEqual(result.fenced, [one])
      assert.deepEqual(result.posts, ['lost', 'accepted'])
      assert.deepEqual(result.values, [{ status: 'lost' }, { status: 'written' }])
      assert.deepEqual(await picture(a, one), before)
      assert.equal((await a.store.reader.feed(two, 0)).length, 2)
      // under the right one it goes on
      assert.deepEqual((await a.commit((draft) => draft.holds(one, 2).log(root(one), 1, stepped('s')))).fenced, [])
    },
  },
  {
    invariant: 'K2',
    name: 'a run that is unheld, foreign, parked, ended or missing takes nothing',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) =>
        draft
          .begin(one)
          .begin(two, { owner: null })
          .begin(ten, { owner: 'prc_somebody' })
          .begin(run('over'))
          .begin(run('quiet')),
      )
      await a.commit((draft) => draft.holds(run('over')).end(run('over'), 1).holds(run('quiet')).park(run('quiet')))
      const ids = [two, ten, run('over'), run('quiet'), run('none')]
      const result = await a.commit((draft) => {
        for (const id of ids) draft.holds(id).log(root(id), 2, stepped('s'))
        draft.holds(one).log(root(one), 1, stepped('s'))
      })
      assert.deepEqual([...result.fenced].sort(), [...ids].sort())
      for (const id of ids)
        assert.ok(
          (await a.store.reader.feed(id, 0)).every(({ event }) => event.type !== 'step.settled'),
          id,
        )
      assert.equal((await a.store.reader.feed(one, 0)).length, 2)
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'a process that lost its runs writes nothing of them, even before it knows',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.commit((draft) => begun(begun(draft, one), two))
      await stage.stall(a)
      assert.equal((await b.store.lease.releaseDead()).owners, 1)
      assert.equal((await b.take(one)).epoch, 2)
      assert.equal((await b.commit((draft) => draft.holds(one, 2).log(root(one), 1, stepped('b')))).fenced.length, 0)
      const result = await a.commit((draft) => {
        everything(everything(draft.holds(one).holds(two), one, 1), two, 1).begin(ten)
      })
      assert.deepEqual([...result.fenced].sort(), [one, two])
      assert.deepEqual(result.posts, ['lost', 'lost'])
      assert.deepEqual(
        (await b.store.reader.feed(one, 0)).map(({ event }) => event),
        [started(), stepped('b')],
      )
      assert.equal((await b.store.reader.run(ten))?.owner, a.id)
    },
  },
  {
    invariant: 'K2',
    name: 'an existing run is not begun again, nothing is written to it, and the batch says so',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one, { agent: 'first' }).begin(two, { owner: null }))
      const before = [await picture(a, one), await picture(a, two)]
      const result = await a.commit((draft) => {
        draft.begin(one, { agent: 'second' }).message(root(one), 'msg:x', { from: one })
        draft.begin(two).value('reg_x', two, 0, 1, { run: two, once: 'x' })
        draft.begin(ten)
      })
      assert.deepEqual([[...result.existed].sort(), result.fenced, result.posts], [[one, two], [], ['lost']])
      assert.deepEqual(result.values, [{ status: 'lost' }])
      assert.deepEqual([await picture(a, one), await picture(a, two)], before)
      assert.ok((await a.store.reader.run(ten)) !== undefined)
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'two processes begin the same run at once: one does',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      const ids = Array.from({ length: 20 }, (_, i) => run(`both${i}`))
      const results: BatchResult[] = []
      for (const id of ids)
        results.push(...(await Promise.all([a, b].map((each) => each.commit((draft) => draft.begin(id))))))
      assert.equal(results.flatMap(({ existed }) => existed).length, ids.length)
      for (const id of ids) assert.equal((await a.store.reader.feed(id, 0)).length, 1)
    },
  },
  {
    invariant: 'K1',
    name: 'feed positions grow in writing order, without a gap per activation, and reads continue after one',
    async play(stage) {
      const a = await stage.open()
      const [w, w2] = [below(root(one), 'w'), below(root(one), 'w2')]
      const first = await a.commit((draft) => draft.begin(one).begin(ten).log(root(one), 1, stepped('s1')))
      await a.commit((draft) => draft.holds(ten).log(root(ten), 1, stepped('t1')))
      const second = await a.commit((draft) =>
        draft.holds(one).activation(w).log(root(one), 2, stepped('s2')).activation(w2).log(w, 1, stepped('s3')),
      )
      const feed = await a.store.reader.feed(one, 0)
      assert.deepEqual(
        feed.map(({ activation, seq }) => [activation, seq]),
        [
          [root(one), 0],
          [root(one), 1],
          [w, 0],
          [root(one), 2],
          [w2, 0],
          [w, 1],
        ],
      )
      for (const [i, { position }] of feed.entries()) assert.ok(position > (feed[i - 1]?.position ?? 0))
      assert.deepEqual([first.position, second.position], [feed[1]!.position, feed[5]!.position])
      for (const [i, { position }] of feed.entries())
        assert.deepEqual(await a.store.reader.feed(one, position), feed.slice(i + 1))
      assert.equal((await a.commit((draft) => draft.holds(one).message(root(one), 'msg:1'))).position, 0)
    },
  },
  {
    invariant: 'K2',
    name: 'a row or value of a run outside the batch is lost, and so is one without a run',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two))
      const { posts, values } = await a.commit((draft) =>
        draft
          .message(root(one), 'msg:1', { from: two })
          .message(root(one), 'msg:2', { from: noRun })
          .message(root(one), 'msg:3')
          .value('reg_x', 'k', 0, 1, { run: two, once: 'x' })
          .value('reg_x', 'k', 0, 2),
      )
      assert.deepEqual(posts, ['lost', 'lost', 'accepted'])
      assert.deepEqual(values, [{ status: 'lost' }, { status: 'written' }])
    },
  },
  {
    invariant: 'K1',
    name: 'a run whose name is the beginning of another one’s has nothing of it',
    async play(stage) {
      const a = await stage.open()
      const names = ['r', 'r1', 'r10', 'r1.', 'r1-x', 'r1:x', 'R1'].map(run)
      for (const id of names) {
        await a.commit((draft) => {
          begun(draft, id).activation(below(root(id), 'w'))
          draft.batch.accounts.push({ act: below(root(id), 'w'), run: id, state: account(3) })
        })
      }
      for (const id of names) {
        assert.deepEqual(
          (await a.store.reader.feed(id, 0)).map(({ activation }) => activation),
          [root(id), below(root(id), 'w')],
        )
        assert.deepEqual(
          (await a.store.queries.questions({ run: id })).map((asked) => asked.run),
          [id],
        )
        const { accounts, mail, questions } = await a.take(id)
        assert.deepEqual(
          [[...accounts.keys()].sort(), mail.map(({ act }) => act), questions],
          [[root(id), below(root(id), 'w')], [root(id)], 1],
        )
      }
      await a.commit((draft) => draft.holds(one, 2).end(one, 1))
      assert.equal((await a.store.queries.questions()).length, names.length - 1)
      await a.store.remove(one)
      for (const id of names) assert.equal((await a.store.reader.feed(id, 0)).length, id === one ? 0 : 2, id)
    },
  },
  {
    invariant: 'K5',
    name: 'an ended run leaves no open question or unread mail at any depth; it is not ready again',
    async play(stage) {
      const a = await stage.open()
      const w = below(root(one), 'w')
      await a.commit((draft) => begun(draft, one).activation(w).ask(w, 'q', { until: 50 }).message(w, 'msg:w'))
      const { fenced } = await a.commit((draft) => draft.holds(one).log(w, 1, settled()).end(one, 1, { at: 77 }))
      assert.deepEqual(fenced, [])
      const stored = await a.store.reader.run(one)
      assert.deepEqual([stored?.status, stored?.ended, stored?.owner, stored?.control], ['completed', 77, null, null])
      assert.deepEqual(
        [await a.store.queries.questions(), await a.store.reader.due(1_000), await a.store.reader.withMail()],
        [[], [], []],
      )
      assert.deepEqual([await a.claim(one), await a.ready(), await a.unread()], [[], [], { keys: [], others: [] }])
    },
  },
]
