/**
 * `npm run bench:queries`: finding runs and questions in a store of 100,000, which is made by batches as a host writes
 * them. Each figure beside the look-up of one run by its id in the same round. Then runs in numbers: the index is filled
 * as an engine fills it, runs are found by their texts, counted, and driven with an index and without one in turns.
 *
 * SQLite, and PostgreSQL where one answers: DATABASE_URL, or the one on this machine.
 */
import { join } from 'node:path'
import { Client } from 'pg'
import { rootActivation, runId, systemClock, type RunId } from '@reeve/core'
import { agent, createRuntime, type Runtime } from '@reeve/public'
import { createEngine } from '@reeve/engine/host'
import { encode } from '@reeve/journal'
import { SqliteStore } from '@reeve/sqlite/store'
import { PostgresStore } from '@reeve/postgres'
import type { IndexedRun, RunFilter, RunSummary } from '@reeve/engine'
import { type Batch, emptyBatch, type Store, wordsOf } from '@reeve/engine/storage'
import { inFolder, inTurns, ownSeconds, quantile, timed } from './measure.ts'

const count = Number(process.env['RUNS'] ?? 100_000)
const rounds = Number(process.env['ROUNDS'] ?? 60)
const atOnce = 1_000

/** `mixed`: half have ended, a third waits. `waiting`: all wait for a person. */
type Mix = 'mixed' | 'waiting'

const idOf = (i: number): RunId => runId(`run_${String(i).padStart(6, '0')}`)

function put(batch: Batch, i: number, mix: Mix): void {
  const id = idOf(i)
  const root = rootActivation(id)
  const at = 1_700_000_000_000 + i * 1_000
  const agent = i % 1_000 === 0 ? 'rare' : i % 2 === 0 ? 'clerk' : 'payer'
  const caller = {
    user: `user${i % 5_000}`,
    session: `s${i % 20_000}`,
    tenant: i % 10 === 0 ? 'small' : 'large',
    metadata: { plan: i % 2 === 0 ? 'even' : 'odd', region: 'eu', ticket: i },
  }
  const begun = encode({ type: 'activation.started', agent, version: '1', input: 'x', caller } as never)
  batch.runs.push({ id, agent, version: '1', caller: JSON.stringify(caller), at, owner: batch.owner })
  batch.epochs.set(id, 1)
  batch.acts.push(root)
  batch.log.push({ act: root, run: id, seq: 0, at, body: begun })
  const usage = { calls: 3, tokens: 1_000 + (i % 500), usd: (i % 1_000) / 100 }
  const waits = mix === 'waiting' || i % 3 === 0
  if (waits) {
    const body = JSON.stringify({ type: 'interrupt.raised', id: `int_${i}`, question: 'well?' })
    batch.questions.push({
      id: `int_${i}`,
      act: root,
      address: 'q',
      key: 'ask:q',
      kind: i % 4 === 0 ? 'approval' : 'interrupt',
      until: null,
      at,
      body,
      tenant: caller.tenant,
    })
    batch.parked.push({ run: id, heard: 0, usage })
  } else {
    const status = i % 2 === 0 ? 'completed' : 'failed'
    const end = { type: 'activation.settled', outcome: { status: 'completed', output: 'done' } }
    batch.log.push({ act: root, run: id, seq: 1, at: at + 1, body: JSON.stringify(end) })
    batch.ended.push({ run: id, status, at: at + 1, usage, ...(status === 'failed' ? { why: '{"reason":"no"}' } : {}) })
  }
}

async function fill(store: Store, mix: Mix): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    const batch = emptyBatch(store.lease.id)
    for (let i = from; i < Math.min(count, from + atOnce); i++) put(batch, i, mix)
    await store.commit(batch)
  }
}

const words = [
  'refund',
  'invoice',
  'parcel',
  'account',
  'address',
  'password',
  'contract',
  'meeting',
  'report',
  'weather',
]
const textOf = (i: number): string =>
  `Please look at the ${words[i % 10]} of customer c${i} and the ${words[(i >> 3) % 10]} of team t${i % 997}. ${'It is about many ordinary things. '.repeat(i % 20)}`

/** A run as an indexer keeps it. */
function indexedOf(i: number): IndexedRun {
  const isFinal = i % 3 !== 0
  const hasFailed = isFinal && i % 2 === 1
  const [input, output] = [textOf(i), `The answer to ${i} is ${words[(i * 7) % 10]}.`]
  const message = `order ${i} was refused by "gate ${i % 5}"`
  const share = { agent: 'clerk', version: '1', model: i % 4 === 0 ? 'large' : 'small' }
  return {
    run: idOf(i),
    isFinal,
    input: { text: input.slice(0, 300) },
    words: wordsOf([input, ...(isFinal ? [hasFailed ? message : output] : [])]),
    shares: isFinal
      ? [{ ...share, calls: 3, input: 1_000, output: 100, cached: 0, usd: 0.01, unknown: 0, unpriced: 0 }]
      : [],
    ...(isFinal ? { waitMs: i % 5_000 } : {}),
    ...(isFinal && !hasFailed ? { output: { text: output } } : {}),
    ...(hasFailed ? { failure: { code: 'tool.failed', cause: `tool.failed-${i % 40}`, agent: 'clerk', message } } : {}),
  }
}

async function fillIndex(store: Store): Promise<void> {
  for (let from = 0; from < count; from += atOnce)
    await store.index!.keep(
      Array.from({ length: Math.min(count, from + atOnce) - from }, (_, i) => ({
        indexed: indexedOf(from + i),
        counters: [],
      })),
    )
}

const found: readonly (readonly [string, RunFilter])[] = [
  ['a word of one run', { text: `c${count - 1}` }],
  ['a word of 1 in 997', { text: 't500' }],
  ['a word of a third', { text: 'refund' }],
  ['a word of all', { text: 'customer' }],
  ['two words', { text: 'refund parcel' }],
  ['a phrase of all', { text: '"many ordinary things"' }],
  ['the beginning of a word of many', { text: 'c1*' }],
  ['one letter of all', { text: 'c*' }],
  ['a word of none', { text: 'absent' }],
  ['a word of all, a status that none has', { text: 'customer', status: ['stuck'] }],
  ['a word of all, a tenant', { text: 'customer', tenant: 'small' }],
  ['a code', { code: 'tool.failed' }],
  ['a cause', { cause: 'tool.failed-7' }],
]
const lastTenThousand = { since: 1_700_000_000_000 + (count - 10_000) * 1_000 }

/** Runs in numbers: what is asked of an index that is full. */
async function measureFigures(name: string, store: Store, analyze: () => Promise<unknown>): Promise<void> {
  const took = await timed(() => fillIndex(store))
  await analyze()
  console.log(`\n${name}, the index of ${count} runs, kept in ${(took / 1_000).toFixed(1)} s\n`)
  console.log('| a page of 50 | p50 ms | p99 ms | found |\n|---|--:|--:|--:|')
  for (const [what, filter] of found) {
    const times: number[] = []
    let length = 0
    for (let i = 0; i < Math.ceil(rounds / 4); i++)
      times.push(await timed(async () => ({ length } = await store.queries.summaries({ ...filter, ...page }))))
    console.log(`| ${what} | ${quantile(times, 0.5).toFixed(2)} | ${quantile(times, 0.99).toFixed(2)} | ${length} |`)
  }
  // the engine closes nothing here: the store goes on
  const engine = createEngine(store, { index: false })
  console.log('\n| in numbers | ms | of it this process at work | runs |\n|---|--:|--:|--:|')
  for (const [what, ask] of [
    ['totals of 10,000', () => engine.totals(lastTenThousand)],
    ['totals of 10,000 by agent and day', () => engine.totals(lastTenThousand, { by: 'agent', bucket: 'day' })],
    ['totals of all', () => engine.totals({})],
    ['totals of all by model and day', () => engine.totals({}, { by: 'model', bucket: 'day' })],
    ['totals of all by user', () => engine.totals({}, { by: 'user' })],
  ] as const) {
    let runs = 0
    await ask()
    const before = ownSeconds()
    const ms = await timed(async () => (runs = (await ask()).all.runs))
    console.log(`| ${what} | ${ms.toFixed(0)} | ${((ownSeconds() - before) * 1_000).toFixed(0)} | ${runs} |`)
  }
  let causes = 0
  const ms = await timed(async () => (causes = (await engine.causes({})).causes.length))
  console.log(`| causes of all | ${ms.toFixed(0)} | | ${causes} causes |`)
}

const driven = Number(process.env['DRIVEN'] ?? 400)
const clerk = agent({
  name: 'clerk',
  description: 'Works.',
  model: () => ({ text: 'It is done.', usage: { input: 10, output: 5, usd: 0.01 } }),
})

/** Milliseconds for runs that are driven a few at a time, with the index filled beside them or not. */
async function drivingMs(store: string, index: boolean): Promise<number> {
  await using runtime: Runtime = await createRuntime({ store, agents: [clerk], index, onWarning: () => {} })
  return await timed(async () => {
    for (let from = 0; from < driven; from += 20)
      await Promise.all(Array.from({ length: 20 }, (_, i) => runtime.run(clerk, textOf(from + i))))
  })
}

async function measureDriving(name: string, storeFor: () => Promise<string>): Promise<void> {
  const { without, withIndex } = await inTurns(3, {
    without: async () => drivingMs(await storeFor(), false),
    withIndex: async () => drivingMs(await storeFor(), true),
  })
  console.log(
    `\n${name}: ${driven} runs driven in ${without.toFixed(0)} ms without the index, ${withIndex.toFixed(0)} ms with it: ×${(withIndex / without).toFixed(2)}`,
  )
  const store = await storeFor()
  await drivingMs(store, false)
  await using runtime = await createRuntime({ store, drive: false, index: false, onWarning: () => {} })
  const filled = await timed(async () => {
    while ((await runtime.unindexed()) > 0);
  })
  console.log(`${name}: ${driven} runs taken into the index in ${filled.toFixed(0)} ms`)
}

const page = { limit: 50 }
const middle = { createdAt: 1_700_000_000_000 + (count / 2) * 1_000, run: idOf(count / 2) }
const searches: readonly (readonly [string, RunFilter])[] = [
  ['newest', {}],
  ['status waiting', { status: ['waiting'] }],
  ['status running (none has it)', { status: ['running'] }],
  ['status stuck (none has it)', { status: ['stuck'] }],
  ['status failed, stuck or paused', { status: ['failed', 'stuck', 'paused'] }],
  ['agent (half of them)', { agent: 'clerk' }],
  ['agent (1 of 1,000)', { agent: 'rare' }],
  ['user', { user: 'user77' }],
  ['session', { session: 's77' }],
  ['tenant (9 of 10)', { tenant: 'large' }],
  ['metadata, two of them', { metadata: { plan: 'odd', region: 'eu' } }],
  ['metadata, one run', { metadata: { ticket: 4_711 } }],
  ['cost at least, 1 of 1,000', { usdFrom: 9.99 }],
  ['cost at least, half', { usdFrom: 5 }],
  ['between two days', { since: 1_700_000_000_000 + 40_000_000, before: 1_700_000_000_000 + 41_000_000 }],
  ['tenant, status, agent', { tenant: 'large', status: ['failed', 'waiting'], agent: 'payer' }],
  ['two halves with nothing in common', { agent: 'clerk', metadata: { plan: 'odd' } }],
  [
    'two halves with nothing in common, and a status',
    { status: ['waiting'], agent: 'clerk', metadata: { plan: 'odd' } },
  ],
  ['a tenth that has another agent', { tenant: 'small', agent: 'payer' }],
  ['from the middle, status', { status: ['waiting'], after: middle }],
  ['from the middle, tenant', { tenant: 'large', after: middle }],
]

async function measure(name: string, store: Store, mix: Mix, filled?: () => Promise<unknown>): Promise<void> {
  const made = await timed(() => fill(store, mix))
  // what the server does by itself within a minute
  await filled?.()
  console.log(`\n${name}, ${count} runs (${mix}), made in ${(made / 1_000).toFixed(1)} s\n`)
  console.log('| a page of 50 | p50 ms | p99 ms | beside one run by its id | found |\n|---|--:|--:|--:|--:|')
  const { reader, queries } = store
  const asked: readonly (readonly [string, () => Promise<readonly unknown[]>])[] = [
    ...searches.map(
      ([what, filter]) =>
        [what, async (): Promise<readonly RunSummary[]> => queries.summaries({ ...filter, ...page })] as const,
    ),
    ['questions, oldest', async () => queries.questions({ ...page, unanswered: true })],
    [
      'questions, from the middle',
      async () => queries.questions({ ...page, after: { askedAt: middle.createdAt, id: '' } }),
    ],
    ['questions, kind', async () => queries.questions({ ...page, kind: 'approval' })],
    ['questions, tenant', async () => queries.questions({ ...page, tenant: 'small' })],
    ['questions, a kind that none has', async () => queries.questions({ ...page, kind: 'diverged' })],
  ]
  for (const [what, ask] of asked) {
    const [times, beside]: number[][] = [[], []]
    let found = 0
    await ask()
    for (let i = 0; i < rounds; i++) {
      beside!.push(await timed(() => reader.run(idOf((i * 7_919) % count))))
      times!.push(await timed(async () => (found = (await ask()).length)))
    }
    const ratio = quantile(times!, 0.5) / quantile(beside!, 0.5)
    console.log(
      `| ${what} | ${quantile(times!, 0.5).toFixed(2)} | ${quantile(times!, 0.99).toFixed(2)} | ×${ratio.toFixed(0)} | ${found} |`,
    )
  }
}

async function postgresHere(): Promise<string | undefined> {
  const url = process.env['DATABASE_URL'] ?? 'postgres://root@127.0.0.1:5432/test'
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return url
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}

const mixes = (process.env['MIXES'] ?? 'mixed,waiting').split(',') as readonly Mix[]
const close = async (store: Store): Promise<void> => {
  await store.stop()
  await store.release()
  await store.close()
}

for (const mix of mixes)
  await inFolder(async (folder) => {
    const file = join(folder, 'reeve.db')
    const store = new SqliteStore({ file, clock: systemClock, durability: 'relaxed' })
    store.lease.beat()
    await measure('SQLite', store, mix)
    if (mix === 'mixed') await measureFigures('SQLite', store, async () => store.db.exec('PRAGMA optimize'))
    await close(store)
    if (mix === 'waiting') return
    let stores = 0
    await measureDriving('SQLite', async () => join(folder, `driven${stores++}.db`))
  })

const drivenSchemas: string[] = []
const address = await postgresHere()
if (address === undefined) console.log('\nNo PostgreSQL answers: set DATABASE_URL.')
else
  for (const mix of mixes) {
    const schema = `reeve_bench_${process.pid}_${mix}`
    const client = new Client({ connectionString: address })
    await client.connect()
    const store = new PostgresStore({ postgres: address, schema, leaseMs: 60_000, onWarning: () => {} })
    try {
      await store.lease.beat()
      await measure('PostgreSQL', store, mix, () =>
        client.query(`ANALYZE ${schema}.run, ${schema}.tag, ${schema}.question, ${schema}.inbox`),
      )
      if (mix === 'mixed')
        await measureFigures('PostgreSQL', store, () => client.query(`ANALYZE ${schema}.run, ${schema}.indexed`))
      await close(store)
      if (mix === 'mixed')
        await measureDriving('PostgreSQL', async () => {
          const fresh = `${schema}_${drivenSchemas.length}`
          drivenSchemas.push(fresh)
          return `${address}?schema=${fresh}`
        })
    } finally {
      for (const each of drivenSchemas.splice(0)) await client.query(`DROP SCHEMA IF EXISTS ${each} CASCADE`)
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await client.end()
    }
  }
