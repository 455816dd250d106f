/** Store contract: the index of runs: what it lacks, what is found by it, what is counted, and what is left of a removed run. */
import assert from 'node:assert/strict'
import { present, type RunId } from '@reeve/core'
import type { FailureCause, IndexedRun, RunCounter, RunFilter, UsageShare } from '@reeve/engine'
import { hasTerms, termsOf, wordsOf, type NewIndexedRun, type StoreIndex } from '@reeve/engine/storage'
import { run, type StorePlay, type StoreProcess } from './stage.ts'

const indexOf = ({ store }: StoreProcess): StoreIndex => store.index!
const names = (found: readonly { readonly run: string }[]): readonly string[] => found.map(({ run: id }) => id)

const kept = (id: RunId, texts: readonly string[], more: Partial<IndexedRun> = {}): NewIndexedRun => ({
  indexed: {
    run: id,
    isFinal: true,
    words: wordsOf(texts),
    input: { text: texts[0] ?? '' },
    shares: [],
    ...more,
  },
  counters: [{ name: 'runs', labels: { agent: 'a' }, value: 1 }],
})

const failureOf = (code: string, cause: string): FailureCause => ({ code, cause, agent: 'a', message: 'no' })

export const runIndexCases: readonly StorePlay[] = [
  {
    invariant: 'K1',
    name: 'the index lacks every run until it is kept, and again when it has ended; child runs are not in it',
    index: true,
    async play(stage) {
      const a = await stage.open()
      const index = indexOf(a)
      const [one, two] = [run('one'), run('two')]
      await a.commit((draft) => {
        draft.begin(one, { at: 10, caller: { tenant: 'north' } }).begin(two, { at: 20 })
        draft.begin('one>x' as RunId, { at: 30 })
      })
      assert.deepEqual(await index.behind(9), [two, one])
      assert.deepEqual(await index.behind(1), [two])
      assert.deepEqual(
        [await index.countBehind(9), await index.countBehind(1), await index.countBehind(9, 'north')],
        [2, 1, 1],
      )
      assert.equal((await a.store.queries.summary(one))?.input, undefined)
      await index.keep([kept(one, ['hello'], { isFinal: false }), kept(two, ['hello'], { isFinal: false })])
      assert.deepEqual(await index.behind(9), [])
      assert.deepEqual((await a.store.queries.summary(one))?.input, { text: 'hello' })
      await a.commit((draft) => draft.holds(one).end(one, 1))
      assert.deepEqual(await index.behind(9), [one])
      // what was read before it ended is not the end of it
      await index.keep([kept(one, ['late'], { isFinal: false })])
      assert.deepEqual(await index.behind(9), [one])
      await index.keep([kept(one, ['hello'], { output: { text: 'bye', cut: true } })])
      assert.deepEqual([await index.behind(9), await index.countBehind(9)], [[], 0])
      assert.deepEqual((await a.store.queries.summary(one))?.output, { text: 'bye', cut: true })
      assert.deepEqual(names(await a.store.queries.summaries({ text: 'late' })), [])
    },
  },
  {
    invariant: 'K5',
    name: 'a run that two processes keep is counted once; what was counted stays when the run is removed, its texts do not',
    index: true,
    async play(stage) {
      const a = await stage.open()
      const index = indexOf(a)
      const [one, two] = [run('one'), run('two')]
      await a.commit((draft) => draft.begin(one).begin(two))
      await a.commit((draft) => draft.holds(one).end(one, 1).holds(two).end(two, 1))
      const secret = kept(one, ['a very private word'])
      await Promise.all([index.keep([secret, kept(two, [])]), index.keep([kept(two, []), secret])])
      const counted = async (): Promise<readonly RunCounter[]> => index.counters()
      assert.deepEqual(await counted(), [{ name: 'runs', labels: { agent: 'a' }, value: 2 }])
      assert.deepEqual(names(await a.store.queries.summaries({ text: 'private' })), ['one'])
      await a.store.remove(one)
      assert.deepEqual(names(await a.store.queries.summaries({ text: 'private' })), [])
      assert.deepEqual(names(await index.rows({})), ['two'])
      assert.deepEqual(await counted(), [{ name: 'runs', labels: { agent: 'a' }, value: 2 }])
      // removed while its journal was read
      await index.keep([secret])
      assert.deepEqual(names(await a.store.queries.summaries({ text: 'private' })), [])
      assert.deepEqual(await counted(), [{ name: 'runs', labels: { agent: 'a' }, value: 2 }])
      // a run of the same id is another run
      await a.begin(one)
      assert.deepEqual(await index.behind(9), [one])
      await index.keep([kept(one, ['public'], { isFinal: false })])
      assert.deepEqual(names(await a.store.queries.summaries({ text: 'public' })), ['one'])
    },
  },
  {
    invariant: 'K10',
    name: 'words of any language are found alone, as the beginning of one and as a phrase; a query is never more than words',
    index: true,
    async play(stage) {
      const a = await stage.open()
      const texts = [
        'The order 4711-B of Zürich is late',
        'Κύριε, ORDER again; order again',
        '東京都に行きます',
        'สวัสดีครับ hello',
        'हिन्दी में एक वाक्य',
        'مرحبا بالعالم',
        '{"json":["order",{"deep":"value_1"}],"n":4711}',
        "it's o'hara's; DROP TABLE run; --",
        '🙂 \0 \ud800 \u202e nothing else',
        `${'long '.repeat(700)} end`,
        `${'x'.repeat(100)} y`,
        '',
      ]
      const ids = texts.map((_, i) => run(`t${String(i).padStart(2, '0')}`))
      const more = ['the second text', 'order']
      await a.commit((draft) => ids.forEach((id, i) => draft.begin(id, { at: i })))
      await a.commit((draft) => ids.forEach((id) => draft.holds(id).end(id, 1)))
      const runs = ids.map((id, i) => kept(id, [texts[i]!, ...more.slice(0, i % 3)]))
      await indexOf(a).keep(runs)
      const queries = [
        ['order', 'ORDER', 'order again', '"order again"', '"again order"', 'ord*', 'or*', 'o*', 'zurich', 'ZÜRICH'],
        [
          '4711',
          '4711-B',
          '47*',
          'κυριε',
          'κύριε',
          '東京',
          '京東',
          '都',
          'สวัสดี',
          'हिन्दी',
          'بالعالم',
          'value',
          'value_1',
        ],
        ["o'hara", 'drop table', '"text order"', '"late the"', '"second text"', 'text*', '"text"*', 'lo* en*'],
        ['long long', '"long long long"', 'x'.repeat(100), `${'x'.repeat(64)}`, 'x*', 'y', 'nothing', 'absent'],
        [
          '',
          ' ',
          '"',
          '""',
          '*',
          '"*"',
          "'",
          '\0',
          '\ud800',
          '·',
          '"· ·"',
          '& | ! ( )',
          'NEAR(order again)',
          'text:order',
        ],
        [
          'order OR absent',
          'order AND late',
          'NOT order',
          '-order',
          '^order',
          "order'; DROP TABLE run; --",
          ':*',
          "\\'",
        ],
        ['order "', 'order *', '"order', 'a'.repeat(1_000), 'order '.repeat(100)],
      ].flat()
      for (const text of queries) {
        const expected = runs
          .filter(({ indexed }) => hasTerms(indexed.words, termsOf(text)))
          .map(({ indexed }) => indexed.run)
        for (const filter of [
          { text },
          { text, agent: 'a' },
          { text, since: 0 },
          { text, status: ['completed'] as const },
        ])
          assert.deepEqual(
            names(await a.store.queries.summaries(filter)),
            expected.toReversed(),
            `${JSON.stringify(text)} ${Object.keys(filter).join(' ')}`,
          )
        assert.equal(await a.store.queries.count({ text }, 99), expected.length)
      }
      assert.ok(names(await a.store.queries.summaries({ text: '東京' })).length === 1)
      assert.deepEqual(names(await a.store.queries.summaries({ text: 'order', childrenOf: ids[0]! })), [])
    },
  },
  {
    invariant: 'K11',
    name: 'rows are those of the list, in its order and in pages, with what the index has of each',
    index: true,
    async play(stage) {
      const a = await stage.open()
      const share: UsageShare = {
        agent: 'a',
        version: '1',
        model: 'm',
        calls: 1,
        input: 1,
        output: 2,
        cached: 0,
        usd: 0.5,
        unknown: 0,
        unpriced: 0,
      }
      const ids = Array.from({ length: 30 }, (_, i) => run(`r${String(i).padStart(2, '0')}`))
      await a.commit((draft) =>
        ids.forEach((id, i) =>
          draft.begin(id, {
            at: Math.floor(i / 4),
            version: String(i % 2),
            caller: { tenant: i % 3 === 0 ? 'north' : 'south' },
          }),
        ),
      )
      const ended = ids.filter((_, i) => i % 5 !== 0)
      await a.commit((draft) => ended.forEach((id) => draft.holds(id).end(id, 1)))
      await indexOf(a).keep(
        ended.map((id, i) =>
          kept(id, ['some words'], {
            waitMs: i,
            shares: [share],
            ...present({ failure: i % 2 === 0 ? failureOf(`code.${i % 4}`, `cause-${i % 6}`) : undefined }),
          }),
        ),
      )
      const filters: readonly RunFilter[] = [
        {},
        { tenant: 'north' },
        { version: '1' },
        { status: ['completed'] },
        { status: ['running'] },
        { status: ['running', 'completed'], tenant: 'south' },
        { code: 'code.0' },
        { code: 'code.2', cause: 'cause-2' },
        { cause: 'cause-4' },
        { cause: 'none' },
        { text: 'words' },
        { text: 'words', code: 'code.0', tenant: 'north' },
      ]
      for (const filter of filters) {
        const listed = names(await a.store.queries.summaries(filter))
        assert.deepEqual(names(await indexOf(a).rows(filter)), listed, JSON.stringify(filter))
        assert.equal(await a.store.queries.count(filter, 99), listed.length)
        const pages: string[] = []
        for (let after: RunFilter['after']; ;) {
          const page = await indexOf(a).rows({ ...filter, limit: 7, ...present({ after }) })
          pages.push(...names(page))
          if (page.length < 7) break
          after = page.at(-1)!
        }
        assert.deepEqual(pages, listed)
      }
      assert.deepEqual(names(await indexOf(a).rows({ code: 'code.0' })).length > 3, true)
      const [row] = await indexOf(a).rows({ cause: 'cause-4' })
      const i = ended.indexOf(row!.run)
      assert.deepEqual(
        [row!.agent, row!.createdAt, row!.status, row!.waitMs, JSON.parse(row!.failure!), JSON.parse(row!.shares!)],
        ['a', Math.floor(ids.indexOf(row!.run) / 4), 'completed', i, failureOf(`code.${i % 4}`, 'cause-4'), [share]],
      )
      const [open] = await indexOf(a).rows({ status: ['running'], limit: 1 })
      assert.deepEqual([open!.endedAt, open!.waitMs, open!.failure, open!.shares], [null, null, null, null])
    },
  },
]
