/** Store contract: how operators find runs and questions. Every filter alone and with others, in pages. */
import assert from 'node:assert/strict'
import { cancelled, failed, failure, present, type RunId } from '@reeve/core'
import type { Caller } from '@reeve/journal'
import type { Question, QuestionFilter, RunFilter, RunStatus, RunSummary } from '@reeve/engine'
import type { StoreQueries } from '@reeve/engine/storage'
import { below, root, run, type BatchDraft, type StorePlay } from './stage.ts'

const names = (runs: readonly RunSummary[]): readonly string[] => runs.map((each) => each.run)

/** All runs of a filter, read in pages of this size. */
async function paged(queries: StoreQueries, filter: RunFilter, limit: number): Promise<readonly RunSummary[]> {
  const all: RunSummary[] = []
  for (let after: RunSummary | undefined; ;) {
    const page = await queries.summaries({ ...filter, limit, ...present({ after }) })
    assert.ok(page.length <= limit)
    all.push(...page)
    if (page.length < limit) return all
    after = page.at(-1)!
  }
}

/** More than are read at once where a filter leaves few. */
const many = 620
const agents = ['clerk', 'payer', 'rare'] as const

/** A run of a large store, by its number: everything of it follows from that. */
function numbered(i: number): {
  readonly id: RunId
  readonly agent: string
  readonly at: number
  readonly caller: Caller
  readonly status: RunStatus
  readonly usd: number | undefined
} {
  const status = (['running', 'waiting', 'completed', 'failed', 'paused'] as const)[i % 5]!
  return {
    id: run(`n${i}`),
    agent: i % 97 === 0 ? 'rare' : agents[i % 2]!,
    // many begin at the same moment
    at: 1_000 + Math.floor(i / 4),
    caller: {
      user: i % 89 === 0 ? 'eve' : 'ann',
      tenant: i % 3 === 0 ? 'north' : 'south',
      metadata: { plan: i % 2, region: 'eu' },
    },
    status,
    usd: status === 'running' || status === 'paused' ? undefined : i / 100,
  }
}

function putNumbered(draft: BatchDraft, i: number): void {
  const { id, agent, at, caller, status, usd } = numbered(i)
  const usage = { calls: 1, tokens: i, ...present({ usd }) }
  draft.begin(id, { agent, at, caller })
  if (status === 'waiting') {
    draft.ask(root(id), 'q', { at: at + 10 })
    draft.batch.parked.push({ run: id, heard: 0, usage })
  } else if (status === 'paused') draft.batch.control.push({ run: id, state: 'paused' })
  else if (status === 'failed') {
    draft.end(id, 1, { at: at + 20, outcome: failed(failure('agent.failed', 'as asked', 'internal')) })
    draft.batch.ended.splice(-1, 1, { run: id, status, at: at + 20, usage, why: why('agent.failed: as asked') })
  } else if (status === 'completed') {
    draft.end(id, 1, { at: at + 20 })
    draft.batch.ended.splice(-1, 1, { run: id, status, at: at + 20, usage })
  }
}

const why = (reason: string): string => JSON.stringify({ reason })

const isNumbered = (
  i: number,
  { status, agent, user, tenant, metadata, since = 0, before = Infinity, usdFrom }: RunFilter,
): boolean => {
  const each = numbered(i)
  return (
    (status === undefined || status.includes(each.status)) &&
    (agent === undefined || each.agent === agent) &&
    (user === undefined || each.caller.user === user) &&
    (tenant === undefined || each.caller.tenant === tenant) &&
    Object.entries(metadata ?? {}).every(([key, value]) => each.caller.metadata?.[key] === value) &&
    each.at >= since &&
    each.at < before &&
    (usdFrom === undefined || (each.usd !== undefined && each.usd >= usdFrom))
  )
}

const filters: readonly RunFilter[] = [
  {},
  { status: ['waiting'] },
  { status: ['failed', 'completed'] },
  { status: ['running', 'paused', 'waiting'] },
  { status: ['stuck'] },
  { status: [] },
  { agent: 'clerk' },
  { agent: 'rare' },
  { agent: 'none' },
  { user: 'ann' },
  { user: 'eve' },
  { tenant: 'south' },
  { tenant: 'east' },
  { metadata: { plan: 1 } },
  { metadata: { plan: '1' } },
  { metadata: { plan: 0, region: 'eu' } },
  { since: 1_050 },
  { before: 1_050 },
  { since: 1_040, before: 1_041 },
  { since: 1_040.5, before: 1_041.5 },
  { since: 1e20 },
  { since: -1e20, before: 1e20 },
  { usdFrom: 5 },
  { usdFrom: 6.1 },
  { usdFrom: 1_000 },
  { status: ['failed'], tenant: 'north', metadata: { plan: 1 }, since: 1_010, usdFrom: 1 },
  { status: ['waiting'], agent: 'payer', user: 'ann', before: 1_100 },
  { status: ['completed'], user: 'eve' },
  { agent: 'rare', tenant: 'north' },
  { tenant: 'north', user: 'ann', metadata: { region: 'eu' } },
]

export const queryCases: readonly StorePlay[] = [
  {
    invariant: 'K9',
    name: 'every filter of runs, alone and with others, finds what fits it, newest first, in pages too',
    async play(stage) {
      const a = await stage.open()
      const all = Array.from({ length: many }, (_, i) => i)
      await a.commit((draft) => all.forEach((i) => putNumbered(draft, i)))
      const { queries } = a.store
      // the ids are texts
      const order = all
        .map((i) => numbered(i))
        .toSorted((x, y) => y.at - x.at || (x.id < y.id ? 1 : -1))
        .map(({ id }) => Number(id.slice(1)))
      for (const filter of filters) {
        const fits = order.filter((i) => isNumbered(i, filter)).map((i) => `n${i}`)
        const what = JSON.stringify(filter)
        assert.deepEqual(names(await queries.summaries(filter)), fits, what)
        assert.deepEqual(names(await paged(queries, filter, 150)), fits, `in pages: ${what}`)
      }
      // what no id can be is not there
      assert.equal(await queries.summary('n\u00001' as RunId), undefined)
      assert.deepEqual(await queries.questions({ id: 'n\u00001' }), [])
      assert.deepEqual(await queries.questions({ run: 'n\u00001' as RunId }), [])
      for (const limit of [1, 7])
        assert.deepEqual(
          names(await queries.summaries({ user: 'eve', limit })),
          names(await queries.summaries({ user: 'eve' })).slice(0, limit),
        )
    },
  },
  {
    invariant: 'K9',
    name: 'pages of runs go on where they were, while runs begin, end and are removed',
    async play(stage) {
      const a = await stage.open()
      const { queries } = a.store
      await a.commit((draft) => {
        for (let i = 0; i < 9; i++) draft.begin(run(`p${i}`), { at: 10 * i, caller: { user: 'ann' } })
      })
      const first = await queries.summaries({ user: 'ann', limit: 3 })
      assert.deepEqual(names(first), ['p8', 'p7', 'p6'])
      await a.commit((draft) => {
        draft
          .begin(run('new'), { at: 100, caller: { user: 'ann' } })
          .begin(run('p6b'), { at: 60, caller: { user: 'ann' } })
        for (const id of [run('p6'), run('p5')]) draft.holds(id).end(id, 1)
      })
      await a.store.remove(run('p6'))
      const after = first.at(-1)!
      assert.deepEqual(names(await queries.summaries({ user: 'ann', limit: 3, after })), ['p5', 'p4', 'p3'])
      assert.deepEqual(names(await queries.summaries({ user: 'ann', limit: 2 })), ['new', 'p8'])
      assert.deepEqual(
        names(await queries.summaries({ user: 'ann', after: { createdAt: 60, run: run('p7') }, limit: 2 })),
        ['p6b', 'p5'],
      )
      assert.deepEqual(names(await queries.summaries({ after: { createdAt: 0, run: run('p0') } })), [])
    },
  },
  {
    invariant: 'K9',
    name: 'a list by status agrees with the status of each run, whatever state it is in, with child runs and unread mail',
    async play(stage) {
      const a = await stage.open()
      const child = (of: RunId, name: string): RunId => below(root(of), `>${name}`).slice('act_'.length) as RunId
      const kinds = ['rests', 'asks', 'work', 'stuck'] as const
      await a.commit((draft) => {
        const put = (id: RunId, kind: (typeof kinds)[number]): void => {
          draft.begin(id, { caller: { user: 'ann' } })
          if (kind === 'asks' || kind === 'stuck') draft.ask(root(id), 'q')
          if (kind === 'stuck') draft.aside(id, 'replay.diverged: x')
          if (kind !== 'work') draft.park(id)
        }
        for (const kind of kinds) {
          put(run(`alone-${kind}`), kind)
          for (const low of kinds) {
            const id = run(`${kind}-${low}`)
            put(id, kind)
            put(child(id, 'w'), low)
            put(child(child(id, 'w'), 'x'), 'rests')
          }
        }
        for (const state of ['pausing', 'paused', 'human_control']) {
          put(run(state), 'asks')
          draft.batch.control.push({ run: run(state), state })
        }
        put(run('told'), 'asks')
        put(run('timer'), 'rests')
        draft.ask(root(run('timer')), 't', { kind: 'timer', until: 5 })
        put(run('over'), 'work')
        draft.end(run('over'), 1, { outcome: cancelled('no') })
      })
      await a.commit((draft) => draft.command(run('told'), '!pause:1'))
      const { queries } = a.store
      const all = await queries.summaries()
      assert.ok(all.every((each) => !each.run.includes('>')))
      const statuses = [...new Set(all.map(({ status }) => status))].sort()
      assert.deepEqual(statuses, ['cancelled', 'human_control', 'paused', 'pausing', 'running', 'stuck', 'waiting'])
      for (const status of statuses) {
        const fits = names(all.filter((each) => each.status === status))
        for (const more of [{}, { user: 'ann' }])
          assert.deepEqual(names(await queries.summaries({ ...more, status: [status] })), fits, status)
      }
      const of = new Map(all.map((each) => [each.run as string, each.status]))
      assert.deepEqual(
        ['rests-asks', 'asks-work', 'rests-stuck', 'rests-rests', 'told', 'timer'].map((id) => of.get(id)),
        ['waiting', 'running', 'waiting', 'running', 'pausing', 'running'],
      )
      const id = run('rests-asks')
      assert.deepEqual(names(await queries.summaries({ childrenOf: id, status: ['waiting'] })), [child(id, 'w')])
      assert.deepEqual(names(await queries.summaries({ childrenOf: id, user: 'ann', limit: 5 })).length, 2)
      assert.deepEqual(names(await queries.summaries({ childrenOf: id, user: 'bob' })), [])
      // what it waits for counts its child runs
      assert.equal((await queries.summary(id))?.waitsFor?.questions, 1)
      // a status moves between two reads
      await a.take(run('alone-asks'))
      const waiting = names(await queries.summaries({ status: ['waiting'] }))
      assert.ok(
        !waiting.includes('alone-asks') &&
          waiting.length === names(all.filter((each) => each.status === 'waiting')).length - 1,
      )
      assert.ok(names(await queries.summaries({ status: ['running'] })).includes('alone-asks'))
      await a.commit((draft) =>
        draft.holds(run('alone-asks'), 2).batch.closed.push({ act: root(run('alone-asks')), address: 'q' }),
      )
      await a.commit((draft) => draft.holds(run('alone-asks'), 2).park(run('alone-asks')))
      assert.equal((await queries.summary(run('alone-asks')))?.status, 'running')
      assert.ok(names(await queries.summaries({ status: ['running'] })).includes('alone-asks'))
    },
  },
  {
    invariant: 'K10',
    name: 'tags of any text are found by exactly that text, and by no other',
    async play(stage) {
      const a = await stage.open()
      const texts = [
        '__proto__',
        'constructor',
        "o'hara",
        '"',
        '%',
        '_',
        '*',
        '?',
        '\\',
        '\0',
        '\u0001',
        'ü',
        '\ud83d\ude00',
        '\ud800',
        '\udc00',
        '',
        ' ',
        'a',
        'A',
        'x'.repeat(5_000),
        `${'x'.repeat(4_999)}y`,
        '1',
        'true',
        'null',
        '$1',
        ';--',
      ]
      const values = [...texts, 1, 0, 1.5, true, false, null]
      const metadata = (key: string, value: unknown): never =>
        JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`) as never
      await a.commit((draft) => {
        for (const [i, text] of texts.entries()) {
          draft.begin(run(`user${i}`), { caller: { user: text, session: text as never, tenant: text } })
          draft.begin(run(`key${i}`), { caller: { metadata: metadata(text, 'v') } })
        }
        for (const [i, value] of values.entries())
          draft.begin(run(`value${i}`), { caller: { metadata: metadata('k', value) } })
        draft.begin(run('deep'), { caller: { metadata: { k: { k: 'v' }, l: ['v'] } } })
      })
      const { queries } = a.store
      for (const [i, text] of texts.entries()) {
        for (const filter of [
          { user: text },
          { session: text },
          { tenant: text },
          { user: text, session: text, tenant: text },
        ])
          assert.deepEqual(names(await queries.summaries(filter)), [`user${i}`])
        assert.deepEqual(names(await queries.summaries({ metadata: metadata(text, 'v') })), [`key${i}`])
      }
      for (const [i, value] of values.entries())
        assert.deepEqual(names(await queries.summaries({ metadata: metadata('k', value) })), [`value${i}`])
      assert.deepEqual(names(await queries.summaries({ metadata: { l: 'v' } })), [])
      assert.equal((await queries.summaries({ metadata: {} })).length, texts.length * 2 + values.length + 1)
    },
  },
  {
    invariant: 'K11',
    name: 'a summary says what a run has used when it came to rest or ended, and why it ended; unknown stays unknown',
    async play(stage) {
      const a = await stage.open()
      const id = run('r')
      const { queries } = a.store
      await a.begin(id)
      assert.equal((await queries.summary(id))?.usage, undefined)
      const used = { calls: 2, tokens: 30, unpriced: 2 }
      await a.commit((draft) =>
        draft.holds(id).ask(root(id), 'q').batch.parked.push({ run: id, heard: 0, usage: used }),
      )
      assert.deepEqual((await queries.summary(id))?.usage, used)
      assert.deepEqual(names(await queries.summaries({ usdFrom: 0 })), [])
      await a.take(id)
      // what is not known anew stays
      await a.commit((draft) => draft.holds(id, 2).park(id))
      assert.deepEqual((await queries.summary(id))?.usage, used)
      await a.take(id)
      const [usage, what] = [
        { calls: 3, tokens: 40, usd: 0.25, unpriced: 2 },
        failure('agent.failed', 'no', 'internal'),
      ]
      await a.commit((draft) => {
        draft.holds(id, 3).end(id, 1, { outcome: failed(what) })
        const reason = JSON.stringify({ reason: 'agent.failed: no', failure: what })
        draft.batch.ended.splice(0, 1, { run: id, status: 'failed', at: 5, usage, why: reason })
      })
      const { reason, failure: said, usage: all, waitsFor } = (await queries.summary(id))!
      assert.deepEqual([reason, said, all, waitsFor], ['agent.failed: no', what, usage, undefined])
      assert.deepEqual(
        [names(await queries.summaries({ usdFrom: 0.25 })), names(await queries.summaries({ usdFrom: 0.26 }))],
        [['r'], []],
      )
    },
  },
  {
    invariant: 'K1',
    name: 'the row of a run that completed says which workers of it failed, alone and in a list',
    async play(stage) {
      const a = await stage.open()
      const id = run('r')
      const { queries } = a.store
      const failures = [{ worker: 'checker', code: 'model.failed' as const }]
      await a.begin(id)
      await a.commit((draft) => {
        draft.holds(id).end(id, 1)
        const said = JSON.stringify({ failures, failureCount: 30 })
        draft.batch.ended.splice(0, 1, { run: id, status: 'completed', at: 5, why: said })
      })
      const [listed] = await queries.summaries({ status: ['completed'] })
      for (const row of [await queries.summary(id), listed])
        assert.deepEqual(
          [row?.status, row?.failures, row?.failureCount, row?.reason],
          ['completed', failures, 30, undefined],
        )
    },
  },
  {
    invariant: 'K9',
    name: 'open questions of all runs are listed oldest first, by kind, tenant and run, in pages, without answered ones',
    async play(stage) {
      const a = await stage.open()
      const kinds = ['approval', 'interrupt', 'in-doubt', 'diverged'] as const
      const asked = Array.from({ length: 40 }, (_, i) => ({
        id: `q${String(i).padStart(2, '0')}`,
        run: run(`a${i % 4}`),
        kind: kinds[i % 4]!,
        at: 100 - Math.floor(i / 3),
        tenant: i % 4 === 0 ? undefined : 'north',
      }))
      await a.commit((draft) => {
        for (let i = 0; i < 4; i++) draft.begin(run(`a${i}`), { caller: i === 0 ? {} : { tenant: 'north' } })
        for (const { id, run: of, kind, at, tenant } of asked)
          draft.ask(root(of), id, { id, kind, at, ...present({ tenant }) })
        draft.ask(root(run('a0')), 't', { kind: 'timer', until: 1, at: 1 })
      })
      const { queries } = a.store
      const order = asked.toSorted((x, y) => x.at - y.at || (x.id < y.id ? -1 : 1))
      const check = async (filter: QuestionFilter, fits: (one: (typeof asked)[number]) => boolean): Promise<void> => {
        const expected = order.filter(fits).map(({ id }) => id)
        assert.deepEqual(
          (await queries.questions(filter)).map(({ id }) => id),
          expected,
        )
        const pages: string[] = []
        for (let after: Question | undefined; ;) {
          const page = await queries.questions({ ...filter, limit: 7, ...present({ after }) })
          pages.push(...page.map(({ id }) => id))
          if (page.length < 7) break
          after = page.at(-1)!
        }
        assert.deepEqual(pages, expected)
      }
      await check({}, () => true)
      await check({ kind: 'approval' }, ({ kind }) => kind === 'approval')
      await check({ tenant: 'north' }, ({ tenant }) => tenant === 'north')
      await check({ tenant: 'south' }, () => false)
      await check({ tenant: 'north', kind: 'diverged' }, ({ kind }) => kind === 'diverged')
      await check({ run: run('a1') }, (one) => one.run === 'a1')
      await a.commit((draft) => draft.answer(root(run('a1')), 'q01').answer(root(run('a0')), 'q00'))
      await check({ unanswered: true }, ({ id }) => id !== 'q01' && id !== 'q00')
      await check({ unanswered: true, run: run('a0') }, (one) => one.run === 'a0' && one.id !== 'q00')
      assert.equal((await queries.questions({ id: 'q01' }))[0]?.answered, true)
      const first = order.find((one) => one.run === 'a1' && one.id !== 'q01')!
      assert.deepEqual((await queries.summary(run('a1')))?.waitsFor, {
        questions: 9,
        oldest: { id: first.id, kind: first.kind, askedAt: first.at },
      })
    },
  },
]
