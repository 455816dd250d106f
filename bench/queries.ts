/**
 * `npm run bench:queries`: finding runs and questions in a store of 100,000, which is made by batches as a host writes
 * them. Each figure beside the look-up of one run by its id in the same round.
 *
 * SQLite, and PostgreSQL where one answers: DATABASE_URL, or the one on this machine.
 */
import { join } from 'node:path'
import { Client } from 'pg'
import { rootActivation, runId, systemClock, type RunId } from '@reeve/core'
import { encode } from '@reeve/journal'
import { SqliteStore } from '@reeve/sqlite/store'
import { PostgresStore } from '@reeve/postgres'
import type { RunFilter, RunSummary } from '@reeve/engine'
import { type Batch, emptyBatch, type Store } from '@reeve/engine/storage'
import { inFolder, quantile, timed } from './measure.ts'

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

const mixes: readonly Mix[] = ['mixed', 'waiting']
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
    await close(store)
  })

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
      await close(store)
    } finally {
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await client.end()
    }
  }
