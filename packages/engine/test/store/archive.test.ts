/**
 * K1: what is archived of an SQLite store reads as it did before: after every chunk, in every question, and for those
 * who post to it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { ReeveError, rootActivation, runOf, type ActivationId, type RunId, type SessionId } from '@reeve/core'
import {
  account,
  type BatchDraft,
  root,
  run,
  settled,
  started,
  stepped,
  StoreProcess,
} from '../../../contract/src/store/stage.ts'
import { Archiver } from '../../../sqlite/src/archive.ts'
import { backupStore } from '@reeve/sqlite'
import { SqliteStore } from '@reeve/sqlite/store'

const forEver = Number.MAX_SAFE_INTEGER

function inFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-archive-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'reeve.db')
}
function open(file: string): SqliteStore {
  const store = new SqliteStore({ file, durability: 'relaxed', onWarning: () => {} })
  onTestFinished(() => {
    if (store.db.isOpen) store.close()
  })
  return store
}

interface Act {
  readonly id: ActivationId
  seq: number
  isOver: boolean
}
/** What is written, one commit each; `run` and `act` choose among those that are open. */
const moves = [
  'log',
  'log',
  'long',
  'worker',
  'child',
  'settle',
  'account',
  'mail',
  'take',
  'ask',
  'answer',
  'value',
  'sum',
  'end',
] as const
const move = fc.record({ do: fc.constantFrom(...moves), run: fc.nat(7), act: fc.nat(7) })
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never

/** Writes random runs into a store. All but the last one have ended. Returns every activation. */
async function play(store: SqliteStore, plan: readonly Move[]): Promise<readonly ActivationId[]> {
  const process = new StoreProcess(store)
  const runs = new Map<RunId, Act[]>()
  const every: ActivationId[] = []
  let now = 0
  let n = 0
  const born = (id: ActivationId): Act => {
    every.push(id)
    return { id, seq: 1, isOver: false }
  }
  const begin = async (id: RunId): Promise<void> => {
    await process.commit((draft) =>
      draft.begin(id, { at: ++now, caller: { user: 'ann', session: 's' as SessionId }, input: id }),
    )
    runs.set(id, [born(rootActivation(id))])
  }
  const end = (id: RunId, draft: BatchDraft): void => {
    draft.holds(id).end(id, runs.get(id)![0]!.seq, { at: ++now })
    runs.delete(id)
  }
  for (const id of ['r1', 'r2', 'r3']) await begin(run(id))
  for (const { do: what, run: which, act: chosen } of plan) {
    const open = [...runs.keys()]
    if (open.length === 0) break
    const id = open[which % open.length]!
    const acts = runs.get(id)!.filter(({ isOver }) => !isOver)
    const act = acts[chosen % acts.length]!
    const at = ++now
    const name = `n${++n}`
    if (what === 'child') {
      await begin(`${act.id.slice(4)}>>${name}` as RunId)
      continue
    }
    await process.commit((draft) => {
      draft.holds(id)
      if (what === 'log') draft.log(act.id, act.seq++, stepped(name), at)
      // long strings are kept beside the log, once for all that have them
      else if (what === 'long') draft.log(act.id, act.seq++, stepped(name, `${chosen % 2}${'long '.repeat(4_000)}`), at)
      else if (what === 'worker') {
        const worker = born(`${act.id}>${name}` as ActivationId)
        draft.activation(worker.id, started(name), at)
        runs.get(id)!.push(worker)
      } else if (what === 'settle' && act !== runs.get(id)![0]) {
        draft.log(act.id, act.seq++, settled(), at)
        act.isOver = true
      } else if (what === 'account') draft.batch.accounts.push({ act: act.id, run: id, state: account(chosen) })
      else if (what === 'mail') draft.message(act.id, `m${which % 2}`)
      else if (what === 'take') draft.batch.taken.push({ act: act.id, key: `m${which % 2}` })
      else if (what === 'ask') draft.ask(act.id, `q${which % 2}`)
      else if (what === 'answer') draft.answer(act.id, `q${which % 2}`, at)
      else if (what === 'value') draft.value('ses_s', name, 0, name, { run: id, once: name })
      else if (what === 'sum' && act.seq > 3) draft.sum(act.id, 1, act.seq - 1)
      else if (what === 'end') end(id, draft)
    })
  }
  for (const id of [...runs.keys()].reverse()) await process.commit((draft) => end(id, draft))
  await begin(run('last'))
  return every
}

/** What the store says, question by question. */
function answers({ reader, queries }: SqliteStore, acts: readonly ActivationId[]): unknown {
  const ids = [...new Set(acts.map(runOf)), run('none')]
  const top = reader.lastPosition()
  const paged = (from: number, size: number): unknown[] => {
    const pages: unknown[] = []
    for (let next = from; next < top;) {
      const page = reader.page(next, size)
      pages.push(page)
      next = page.upTo
    }
    return pages
  }
  return {
    top,
    pages: [1, 3, 7, 1_000].map((size) => paged(0, size)),
    later: paged(Math.floor(top / 2), 4),
    summaries: queries.summaries({}),
    found: [queries.summaries({ user: 'ann' }), queries.count({ status: ['completed'] }, 99), queries.questions()],
    ended: reader.endedBefore(forEver, 99),
    runs: ids.map((id) => {
      const feed = reader.feed(id, 0)
      return {
        row: reader.run(id),
        feed,
        parts: feed.map(({ position }) => [reader.feed(id, position, 2), reader.hasNews(id, position)]),
        none: [0, 1].map((from) => reader.feed(id, from, 0)),
        tail: reader.feed(id, Math.floor(top / 2)),
        ends: [reader.birth(id), reader.end(id), queries.summary(id)],
        accounts: reader.accounts(id),
        mail: reader.unreadOf(id),
        origin: reader.origin(id, top, () => 'ses_s'),
      }
    }),
    acts: [...acts, 'act_none' as ActivationId, `${acts[0]!}>none` as ActivationId].map((act) => [
      [...reader.log(act)],
      reader.lastEvent(act),
      reader.below(act),
    ]),
  }
}

/** What it throws. */
function thrownBy(work: () => unknown): ReeveError {
  try {
    work()
  } catch (thrown) {
    if (ReeveError.is(thrown)) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

const count = ({ db }: SqliteStore, table: string): number =>
  (db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n

test('K1: after every chunk that is moved, every question has the answer that it had before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), async (plan, entries) => {
      const store = open(inFolder())
      const acts = await play(store, plan)
      const before = answers(store, acts)
      const archiver = new Archiver(store.db, { entries, span: 20 }, { chunks: 1 })
      while (archiver.some(forEver)) expect(answers(store, acts)).toEqual(before)
      // all but the run that has not ended
      expect(store.db.prepare("SELECT id FROM activation WHERE id GLOB 'act_*'").all()).toEqual([{ id: 'act_last' }])
      expect(answers(store, acts)).toEqual(before)
      store.close()
      expect(answers(open(store.name), acts)).toEqual(before)
    }),
    { numRuns: 40 },
  )
}, 120_000)

test('K2: who posts to what is archived hears what was heard before, and leaves the same behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 40, maxLength: 100 }), async (plan) => {
      const store = open(inFolder())
      const acts = await play(store, plan)
      const copy = `${store.name}.copy`
      await backupStore(store.name, copy)
      const plain = open(copy)
      const archiver = new Archiver(store.db, { entries: 5 })
      while (archiver.some(forEver));
      const fill = (draft: BatchDraft): void => {
        draft.begin(run('sender'))
        for (const act of [...acts, 'act_none' as ActivationId, `${acts[0]!}>none` as ActivationId]) {
          draft
            .message(act, 'm0', { refusalTo: root(run('sender')) })
            .message(act, 'm1')
            .command(runOf(act), '!cancel')
            .answer(act, 'q0')
            .answer(act, 'q1')
        }
      }
      const [one, other] = [await new StoreProcess(store).commit(fill), await new StoreProcess(plain).commit(fill)]
      expect(one.posts).toEqual(other.posts)
      const all = [...acts, root(run('sender'))]
      const mail = ({ reader }: SqliteStore): unknown => reader.unread(0).map(({ act, key, body }) => [act, key, body])
      expect(mail(store)).toEqual(mail(plain))
      expect(answers(store, all)).toMatchObject({ top: store.reader.lastPosition() })
    }),
    { numRuns: 100 },
  )
}, 120_000)

/** Many entries of two runs in turns, then a run that holds the newest position. */
async function long(store: SqliteStore, entries: number): Promise<void> {
  const process = new StoreProcess(store)
  await process.commit((draft) => {
    draft.begin(run('one')).begin(run('two'), { input: 'x'.repeat(20_000) })
    for (let seq = 1; seq <= entries; seq++) {
      draft.log(root(run('one')), seq, stepped(`s${seq}`))
      // one of the two is written to but rarely: what lies between its entries is another run's
      if (seq % 700 === 0) draft.log(root(run('two')), seq / 700, stepped(`t${seq}`, 'x'.repeat(20_000)))
    }
  })
  await process.commit((draft) =>
    draft
      .holds(run('one'))
      .end(run('one'), entries + 1)
      .holds(run('two'))
      .end(run('two'), Math.floor(entries / 700) + 1)
      .begin(run('last')),
  )
}

test('K1: a page of all runs has what long and sparse runs hold of it, wherever their chunks begin', async () => {
  const store = open(inFolder())
  await long(store, 30_000)
  const { reader } = store
  const whole = reader.page(0, 100_000)
  while (store.archive(Date.now()));
  expect(count(store, 'log')).toBe(1)
  const spans = store.db.prepare('SELECT max(last - first) AS n FROM archive').get() as { n: number }
  expect(spans.n).toBeGreaterThan(9_000)
  expect(spans.n).toBeLessThan(10_000)
  for (const from of [0, 1, 9_999, 10_000, 10_001, 25_000, 30_000])
    for (const size of [1, 900])
      expect(reader.page(from, size).events).toEqual(whole.events.filter(({ id }) => id > from).slice(0, size))
})

test('K1: one go moves a bounded number of characters, of one run or of many, and the rest has its turn later', async () => {
  const store = open(inFolder())
  const process = new StoreProcess(store)
  const content = 'many words '.repeat(1_000)
  const runs = Array.from({ length: 30 }, (_, i) => run(`r${i}`))
  for (const [i, id] of runs.entries()) {
    const entries = i === 0 ? 200 : 5
    await process.commit((draft) => {
      draft.begin(id)
      for (let seq = 1; seq <= entries; seq++) draft.log(root(id), seq, stepped(`s${seq}`, content))
    })
    await process.commit((draft) => draft.holds(id).end(id, entries + 1, { at: i }))
  }
  await process.begin(run('newest'))
  const feeds = runs.map((id) => store.reader.feed(id, 0))
  const left = (): number => (store.db.prepare('SELECT sum(length(body)) AS n FROM log').get() as { n: number }).n
  const moved: number[] = []
  for (let isMore = true; isMore;) {
    const before = left()
    isMore = store.archive(Date.now())
    moved.push(before - left())
  }
  expect(left()).toBeLessThan(1_000)
  expect(Math.max(...moved)).toBeLessThan(600_000)
  expect(runs.map((id) => store.reader.feed(id, 0))).toEqual(feeds)
})

test('K1: archived runs are removed with their chunks; what others have in common with them stays', async () => {
  const store = open(inFolder())
  await long(store, 1_500)
  while (store.archive(Date.now()));
  const [two, last] = [store.reader.feed(run('two'), 0), store.reader.lastPosition()]
  store.remove(run('one'))
  expect(store.reader.feed(run('one'), 0)).toEqual([])
  expect(store.reader.feed(run('two'), 0)).toEqual(two)
  store.remove(run('two'))
  expect([count(store, 'archive'), count(store, 'blob'), store.reader.page(0, 99).events.length]).toEqual([0, 0, 1])
  // positions and ids begin anew for those who come
  const process = new StoreProcess(store)
  await process.begin(run('one'))
  expect(store.reader.feed(run('one'), 0).map(({ position, seq }) => [position > last, seq])).toEqual([[true, 0]])
})

test('K1: the run of the newest position stays in the log, and so does one whose child run is open', async () => {
  const store = open(inFolder())
  const process = new StoreProcess(store)
  const child = 'leader>>c' as RunId
  await process.commit((draft) => draft.begin(run('leader')).begin(child))
  await process.commit((draft) => draft.holds(run('leader')).end(run('leader'), 1, { at: 1 }).begin(run('newest')))
  await process.commit((draft) => draft.holds(run('newest')).end(run('newest'), 1, { at: 2 }))
  expect(store.archive(Date.now())).toBe(false)
  expect(count(store, 'archive')).toBe(0)
  await process.commit((draft) => draft.holds(child).end(child, 1, { at: 3 }))
  while (store.archive(Date.now()));
  expect(store.db.prepare('SELECT run FROM archive').all()).toEqual([{ run: 'newest' }])
})

test('K1: a damaged chunk is named, and fails no commit', async () => {
  const store = open(inFolder())
  await long(store, 10)
  while (store.archive(Date.now()));
  store.db.exec("UPDATE archive SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB) WHERE run = 'one'")
  const damaged = { code: 'store.corrupt', message: expect.stringContaining('of the run one') as string }
  const again = open(store.name)
  expect(() => again.reader.feed(run('one'), 0)).toThrow(expect.objectContaining(damaged) as Error)
  expect(() => again.reader.page(0, 10)).toThrow(expect.objectContaining(damaged) as Error)
  expect(again.reader.feed(run('two'), 0)).toHaveLength(2)
  const { posts } = await new StoreProcess(again).commit((draft) =>
    draft
      .message(root(run('one')), 'm')
      .answer(root(run('one')), 'q')
      .message(root(run('last')), 'm'),
  )
  expect(posts).toEqual(['closed', 'closed', 'accepted'])
})

test('K1: what comes before a damaged chunk is read; after it a reader can go on where the error says', async () => {
  const store = open(inFolder())
  const process = new StoreProcess(store)
  for (const id of ['early', 'bad', 'late']) {
    await process.begin(run(id))
    await process.commit((draft) => draft.holds(run(id)).end(run(id), 1, { at: 1 }))
  }
  await process.begin(run('newest'))
  const whole = store.reader.page(0, 99).events
  while (store.archive(Date.now()));
  store.db.exec("UPDATE archive SET body = x'00' WHERE run = 'bad'")
  const again = open(store.name).reader
  const page = again.page(0, 99)
  expect(page.events).toEqual(whole.filter(({ run: id }) => id === 'early'))
  expect(() => again.page(page.upTo, 99)).toThrow(expect.objectContaining({ code: 'store.corrupt' }) as Error)
  const { hint } = thrownBy(() => again.page(page.upTo, 99))
  const from = Number(/read on from (\d+)/.exec(hint ?? '')?.[1])
  expect(again.page(from, 99).events).toEqual(whole.filter(({ run: id }) => id === 'late' || id === 'newest'))
})
