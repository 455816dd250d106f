/** Store contract: what is asked from outside of a run, by callers, operators and a process that looks for work. */
import assert from 'node:assert/strict'
import { cancelled, completed, type RunId } from '@reeve/core'
import { account, below, root, run, settled, stepped, type StorePlay } from './stage.ts'

const [one, two, ten] = [run('r1'), run('r2'), run('r10')] as const

export const readCases: readonly StorePlay[] = [
  {
    invariant: 'K9',
    name: 'runs are listed newest first, by agent, by status, so many at most',
    async play(stage) {
      const a = await stage.open()
      const ids = ['x1', 'x2', 'x3', 'x4', 'x5'].map(run)
      const caller = { user: 'ann' }
      await a.commit((draft) => {
        for (const [i, id] of ids.entries())
          draft.begin(id, { at: [20, 50, 10, 40, 30][i]!, agent: i % 2 === 0 ? 'even' : 'odd', caller })
        draft.holds(ids[2]!).end(ids[2]!, 1, { at: 99, outcome: cancelled('no') })
        draft.holds(ids[4]!).ask(root(ids[4]!), 'q').park(ids[4]!)
        draft.holds(ids[0]!).ask(root(ids[0]!), 't', { kind: 'timer', until: 500 }).park(ids[0]!)
      })
      const { queries } = a.store
      const names = async (filter?: Parameters<typeof queries.summaries>[0]): Promise<readonly string[]> =>
        (await queries.summaries(filter)).map(({ run: id }) => id)
      assert.deepEqual(await names(), ['x2', 'x4', 'x5', 'x1', 'x3'])
      assert.deepEqual(
        [await names({ agent: 'odd' }), await names({ limit: 2 }), await names({ agent: 'none' })],
        [['x2', 'x4'], ['x2', 'x4'], []],
      )
      assert.deepEqual(await names({ status: ['cancelled', 'waiting'] }), ['x5', 'x3'])
      assert.deepEqual(await names({ status: ['running'], limit: 2 }), ['x2', 'x4'])
      assert.deepEqual(await queries.summary(ids[2]!), {
        run: 'x3',
        agent: 'even',
        version: '1',
        status: 'cancelled',
        caller,
        createdAt: 10,
        endedAt: 99,
      })
      assert.deepEqual(await queries.summary(ids[4]!), {
        run: 'x5',
        agent: 'even',
        version: '1',
        status: 'waiting',
        caller,
        createdAt: 30,
        waitsFor: { questions: 1, oldest: { id: 'int_act_x5_q', kind: 'interrupt', askedAt: 1_000_000 } },
      })
      assert.deepEqual(
        [(await queries.summary(ids[0]!))?.status, await queries.summary(run('none'))],
        ['running', undefined],
      )
      // told to pause, and still unread
      await a.commit((draft) => draft.command(ids[4]!, '!pause:1'))
      assert.equal((await queries.summary(ids[4]!))?.status, 'pausing')
    },
  },
  {
    invariant: 'K9',
    name: 'open questions are listed in asking order, of all runs, of one, or one by id, without timers',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) =>
        draft
          .begin(one)
          .begin(two)
          .ask(root(two), 'c', { at: 30, id: 'int_c' })
          .ask(root(one), 'b', { at: 20, id: 'apr_b', kind: 'approval', until: 90 })
          .ask(root(one), 't', { kind: 'timer', until: 5 })
          .ask(below(root(one), 'w'), 'a', { at: 10, id: 'int_a', kind: 'in-doubt' }),
      )
      const { queries } = a.store
      const ids = async (filter?: Parameters<typeof queries.questions>[0]): Promise<readonly string[]> =>
        (await queries.questions(filter)).map(({ id }) => id)
      assert.deepEqual(
        [await ids(), await ids({ run: one }), await ids({ id: 'int_c' })],
        [['int_a', 'apr_b', 'int_c'], ['int_a', 'apr_b'], ['int_c']],
      )
      assert.deepEqual([await ids({ id: 'none' }), await ids({ run: ten })], [[], []])
      assert.deepEqual((await queries.questions({ id: 'apr_b' }))[0], {
        id: 'apr_b',
        kind: 'approval',
        run: one,
        activation: root(one),
        address: 'b',
        askedAt: 20,
        until: 90,
        body: { address: 'b' },
      })
    },
  },
  {
    invariant: 'K9',
    name: 'of many runs those that have ended are told with their ends, in one question',
    async play(stage) {
      const a = await stage.open()
      const ids = Array.from({ length: 500 }, (_, i) => run(`e${i}`))
      await a.commit((draft) => {
        for (const id of ids) draft.begin(id)
      })
      await a.commit((draft) => {
        for (const [i, id] of ids.entries()) if (i % 50 === 0) draft.holds(id).end(id, 1, { outcome: completed(i) })
      })
      const ends = await a.store.reader.ends(new Set([...ids, run('none')]))
      assert.deepEqual(
        new Map(ends),
        new Map(ids.flatMap((id, i) => (i % 50 === 0 ? [[id, { outcome: completed(i), usage: [] }] as const] : []))),
      )
      assert.deepEqual(
        [(await a.store.reader.ends(new Set())).size, (await a.store.reader.ends(new Set([ids[1]!]))).size],
        [0, 0],
      )
    },
  },
  {
    invariant: 'K9',
    name: 'a feed is read in pages, nothing twice and nothing missing, also of a run among others',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) =>
        draft
          .begin(one)
          .begin(two)
          .activation(below(root(one), 'w')),
      )
      for (let seq = 1; seq <= 10; seq++)
        await a.commit((draft) =>
          draft
            .holds(one)
            .holds(two)
            .log(root(one), seq, stepped(`s${seq}`))
            .log(below(root(one), 'w'), seq, stepped(`w${seq}`))
            .log(root(two), seq, stepped(`t${seq}`)),
        )
      const { reader } = a.store
      const whole = await reader.feed(one, 0)
      assert.equal(whole.length, 22)
      for (const limit of [1, 3, 22, 100]) {
        const paged: unknown[] = []
        for (let from = 0; ;) {
          const page = await reader.feed(one, from, limit)
          assert.ok(page.length <= limit)
          paged.push(...page)
          if (page.length < limit) break
          from = page.at(-1)!.position
        }
        assert.deepEqual(paged, whole)
      }
    },
  },
  {
    invariant: 'K9',
    name: 'a page of a feed ends after the entry that makes it too long, and is only empty at the end',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two))
      // long strings may be kept elsewhere: they count all the same
      const outputs = ['a', 'b'.repeat(40_000), 'c'.repeat(900), 'd'.repeat(40_000), 'e'.repeat(40_000), 'f']
      for (const [i, output] of outputs.entries())
        await a.commit((draft) =>
          draft
            .holds(one)
            .holds(two)
            .log(root(two), i + 1, stepped(`t${i}`))
            .log(root(one), i + 1, stepped(`s${i}`, output)),
        )
      const { reader } = a.store
      const whole = await reader.feed(one, 0)
      assert.equal(whole.length, 7)
      const sizes: number[][] = []
      for (const [limit, length] of [
        [100, 1],
        [100, 30_000],
        [2, 30_000],
        [100, 1_000_000],
      ] as const) {
        const pages: (typeof whole)[] = []
        for (let from = 0; ;) {
          const page = await reader.feed(one, from, limit, length)
          if (page.length === 0) break
          pages.push(page)
          from = page.at(-1)!.position
        }
        assert.deepEqual(pages.flat(), whole)
        assert.ok(pages.every((page) => page.length <= limit))
        sizes.push(pages.map((page) => page.filter(({ event }) => JSON.stringify(event).length > 30_000).length))
      }
      // one that is too long by itself is the last of its page
      assert.ok(sizes.slice(0, 3).every((long) => long.every((count) => count <= 1)))
      assert.equal(
        sizes[3]!.reduce((sum, count) => sum + count, 0),
        3,
      )
    },
  },
  {
    invariant: 'K9',
    name: 'a run has news after a position if anything was written after it; an ended or missing one always',
    async play(stage) {
      const a = await stage.open()
      const first = await a.commit((draft) => draft.begin(one).begin(ten).begin(two))
      const feed = await a.store.reader.feed(one, 0)
      const at = feed.at(-1)!.position
      const { reader } = a.store
      await a.commit((draft) => draft.holds(ten).log(root(ten), 1, stepped('s')))
      assert.deepEqual(
        [await reader.hasNews(one, 0), await reader.hasNews(one, at), await reader.hasNews(run('none'), at)],
        [true, false, true],
      )
      await a.commit((draft) => draft.holds(one).activation(below(root(one), 'w')))
      assert.equal(await reader.hasNews(one, at), true)
      const { position } = await a.commit((draft) => draft.holds(two).end(two, 1))
      assert.ok(position > first.position)
      assert.equal(await reader.hasNews(two, position), true)
    },
  },
  {
    invariant: 'K2',
    name: 'unheld runs with unread mail are told, and no others',
    async play(stage) {
      const a = await stage.open()
      const ids = ['held', 'quiet', 'heard', 'nobody', 'over', 'other'].map(run)
      await a.commit((draft) => {
        for (const id of ids)
          draft.begin(id, id === 'nobody' ? { owner: null } : id === 'other' ? { owner: 'prc_other' } : {})
        draft.activation(below(root(ids[1]!), 'w'))
      })
      await a.commit((draft) =>
        draft.holds(ids[1]!).park(ids[1]!).holds(ids[2]!).park(ids[2]!).holds(ids[4]!).end(ids[4]!, 1),
      )
      await a.commit((draft) => {
        for (const id of ids) draft.message(id === 'quiet' ? below(root(id), 'w') : root(id), `m ${id}`)
      })
      const { epoch, mail } = await a.take(ids[2]!)
      await a.commit((draft) =>
        draft
          .holds(ids[2]!, epoch)
          .park(ids[2]!, mail.at(-1)!.position)
          .batch.taken.push({ act: root(ids[2]!), key: 'm heard' }),
      )
      assert.deepEqual([...(await a.store.reader.withMail())].sort(), ['nobody', 'quiet'])
    },
  },
  {
    invariant: 'K1',
    name: 'runs that ended before a moment are told, the oldest first, so many at most',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => {
        for (const [i, at] of [30, 10, 20, 40].entries()) draft.begin(run(`x${i}`)).end(run(`x${i}`), 1, { at })
        draft.begin(one)
      })
      const { reader } = a.store
      assert.deepEqual(
        [await reader.endedBefore(40, 9), await reader.endedBefore(40, 2), await reader.endedBefore(10, 9)],
        [['x1', 'x2', 'x0'], ['x1', 'x2'], []],
      )
    },
  },
  {
    invariant: 'K1',
    name: 'an ended run is removed completely, its id begins anew, and feed positions are never reused',
    async play(stage) {
      const a = await stage.open()
      const w = below(root(one), 'w')
      await a.commit((draft) => {
        draft
          .begin(one, { input: 'x'.repeat(20_000) })
          .activation(w)
          .message(root(one), 'msg:1')
          .ask(w, 'q')
        draft.batch.accounts.push({ act: root(one), run: one, state: account(1) })
        draft.begin(two, { input: 'x'.repeat(20_000) })
      })
      const { position } = await a.commit((draft) => draft.holds(one).log(w, 1, settled()).end(one, 1))
      await a.store.remove(one)
      const { reader, queries } = a.store
      assert.deepEqual(
        [
          await reader.run(one),
          await reader.feed(one, 0),
          await reader.birth(one),
          await queries.questions(),
          await reader.origin(one, 0, () => 'reg_x'),
        ],
        [undefined, [], undefined, [], undefined],
      )
      assert.deepEqual((await a.commit((draft) => draft.command(one, '!cancel').message(root(one), 'm'))).posts, [
        'unknown',
        'unknown',
      ])
      // what it had in common with others is theirs still
      const birth = await reader.birth(two)
      assert.deepEqual(birth?.type === 'activation.started' ? birth.input : undefined, 'x'.repeat(20_000))
      const again = await a.commit((draft) => draft.begin(one).activation(w))
      assert.deepEqual(again.existed, [])
      const feed = await reader.feed(one, 0)
      assert.deepEqual(
        feed.map(({ seq, activation }) => [activation, seq]),
        [
          [root(one), 0],
          [w, 0],
        ],
      )
      assert.ok(feed[0]!.position > position)
      const { accounts, mail } = await a.take(one)
      assert.deepEqual([accounts.size, mail.length], [0, 0])
      assert.equal(typeof (await a.store.shrink()), 'boolean')
    },
  },
  {
    invariant: 'K1',
    name: 'runs that the store keeps in less space read as before, and are posted to as before',
    async play(stage) {
      const a = await stage.open()
      const [w, child] = [below(root(one), 'w'), 'r1>>c' as RunId]
      await a.commit((draft) =>
        draft
          .begin(one, { input: 'x'.repeat(20_000) })
          .begin(child)
          .ask(root(one), 'q'),
      )
      await a.commit((draft) => draft.holds(one).answer(root(one), 'q').activation(w).log(root(one), 1, stepped('s')))
      await a.commit((draft) => {
        draft.batch.accounts.push({ act: root(one), run: one, state: account(1) })
        draft.holds(child).end(child, 1).holds(one).log(w, 1, settled()).end(one, 2)
      })
      await a.commit((draft) => draft.begin(two))
      const { reader, queries } = a.store
      const reads = async (): Promise<unknown> => [
        await reader.feed(one, 0),
        await reader.feed(child, 0),
        await reader.feed(one, 0, 2),
        await reader.page(0, 100),
        [await reader.birth(one), await reader.end(one), await reader.birth(child), await reader.end(child)],
        [await reader.run(one), await queries.summaries(), await reader.hasNews(one, 0)],
        await reader.below(w),
        [...(await reader.log(root(one)))],
        await reader.origin(one, 0, () => 'reg_x'),
      ]
      const before = await reads()
      while (await a.store.archive(Number.MAX_SAFE_INTEGER));
      assert.deepEqual(await reads(), before)
      const { posts } = await a.commit((draft) =>
        draft
          .message(w, 'm')
          .message(below(root(one), 'none'), 'm')
          .command(one, '!cancel')
          .answer(root(one), 'q')
          .answer(w, 'q'),
      )
      assert.deepEqual(posts, ['closed', 'unknown', 'closed', 'lost', 'closed'])
    },
  },
  {
    invariant: 'K1',
    name: 'a fork starts from one moment: the run, its feed, its unread mail and its accounts',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => {
        draft
          .begin(one, { agent: 'clerk' })
          .log(root(one), 1, stepped('s'))
          .message(root(one), 'm1')
          .message(root(one), 'm2')
        draft.batch.accounts.push({ act: root(one), run: one, state: account(1) })
      })
      await a.commit((draft) => draft.holds(one).batch.taken.push({ act: root(one), key: 'm1' }))
      const { reader } = a.store
      const origin = await reader.origin(one, 1, () => 'reg_x')
      assert.deepEqual([origin?.run.agent, origin?.feed], ['clerk', await reader.feed(one, 0)])
      assert.deepEqual(
        [origin?.mail.map(({ key }) => key), origin?.accounts.get(root(one))?.limits],
        [['m2'], { turns: 9 }],
      )
      // what was read before is not read again
      const begun = await reader.feed(one, 0, 1)
      const rest = await reader.origin(one, 1, () => 'reg_x', begun)
      assert.deepEqual(rest, origin)
      assert.equal(rest?.feed[0], begun[0])
      assert.equal(await reader.origin(run('none'), 1, () => 'reg_x'), undefined)
    },
  },
]
