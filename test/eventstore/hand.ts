/**
 * A hand for the tests of the event store: a place of its own on PostgreSQL or SQLite, and the shortest way to create, claim and commit.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, vi } from 'vitest'
import {
  openEventStore,
  type Claimed,
  type Commit,
  type Committed,
  type EventStore,
  type EventStoreOptions,
} from '../../src/adapters/eventstore/index.ts'
import {
  childActivation,
  messageOf,
  newId,
  rootActivation,
  runOf,
  type ActivationId,
  type ReeveError,
  type RunId,
} from '../../src/core/index.ts'
import type { AccountLimits } from '../../src/engine/index.ts'
import { encode, type JournalEvent } from '../../src/journal/index.ts'

export const postgresUrl = process.env['REEVE_TEST_POSTGRES'] ?? 'postgres://root@127.0.0.1:5432/test'
type Kind = 'PostgreSQL' | 'SQLite'

/** Not reaching PostgreSQL is a failure, not a reason to skip. */
export async function sql<R extends pg.QueryResultRow>(text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: postgresUrl })
  try {
    await client.connect()
  } catch (thrown) {
    throw new Error(
      `PostgreSQL is needed for these tests and cannot be reached at ${postgresUrl} (set REEVE_TEST_POSTGRES): ${messageOf(thrown)}`,
      {
        cause: thrown,
      },
    )
  }
  try {
    return (await client.query<R>(text)).rows
  } finally {
    await client.end()
  }
}

export const newSchema = (): string => `reeve_${newId('t').slice(2)}`

/** What tests of one store share. */
export interface Place {
  /** Another store over the same tables, as another process would have it. */
  store(): Promise<EventStore>
  options(): EventStoreOptions
}

/** The same tests over both stores, each file in a schema and a folder of its own. */
export function onBothStores(tests: (place: Place) => void): void {
  onStore('PostgreSQL', tests)
  onStore('SQLite', tests)
}

export function onStore(kind: Kind, tests: (place: Place) => void): void {
  describe(`${kind}`, () => {
    const schema = newSchema()
    let folder = ''
    const opened: EventStore[] = []
    const options = (): EventStoreOptions =>
      kind === 'SQLite' ? { sqlite: join(folder, 'events.db') } : { postgres: postgresUrl, schema, poolSize: 4 }
    beforeAll(async () => {
      if (kind === 'PostgreSQL') await sql('SELECT 1')
      else folder = mkdtempSync(join(tmpdir(), 'reeve-events-'))
    })
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close()
    })
    afterAll(async () => {
      if (kind === 'PostgreSQL') await sql(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
      else rmSync(folder, { recursive: true, force: true })
    })
    const store = async (): Promise<EventStore> => {
      const one = openEventStore(options())
      opened.push(one)
      await one.open()
      return one
    }
    tests({ store, options })
  })
}

export const started = (input: unknown = null): string =>
  encode({ type: 'activation.started', agent: 'a', version: '1', input } as unknown as JournalEvent)
export const settledText = encode({ type: 'activation.settled', outcome: { status: 'completed', output: 7 } })
export const begun = (address: string): string =>
  encode({ type: 'step.begun', op: address, address, effect: 'read' } as unknown as JournalEvent)

/** One activation as an attempt has it. */
export class Attempt {
  readonly store: EventStore
  readonly id: ActivationId
  readonly claimed: Claimed
  seq: number

  constructor(store: EventStore, id: ActivationId, claimed: Claimed) {
    this.store = store
    this.id = id
    this.claimed = claimed
    this.seq = claimed.log.length
  }

  get run(): RunId {
    return this.claimed.run
  }

  draft(more: Partial<Commit> = {}, texts: readonly string[] = []): Commit {
    return {
      activation: this.id,
      epoch: this.claimed.epoch,
      now: 1_000,
      entries: texts.map((text, i) => ({ seq: this.seq + i, at: 1_000, text })),
      births: [],
      posts: [],
      opened: [],
      closed: [],
      taken: [],
      accounts: [],
      working: false,
      resting: false,
      ...more,
    }
  }

  async commit(more: Partial<Commit> = {}, texts: readonly string[] = []): Promise<Committed> {
    const result = await this.store.commit(this.draft(more, texts))
    if (result.status === 'written') this.seq += texts.length
    return result
  }

  async written(more: Partial<Commit> = {}, texts: readonly string[] = []): Promise<Extract<Committed, { status: 'written' }>> {
    const result = await this.commit(more, texts)
    if (result.status !== 'written') throw new Error(`not written but ${result.status}`)
    return result
  }

  async pulled(now = 1_000): Promise<Exclude<Awaited<ReturnType<EventStore['pull']>>, 'fenced'>> {
    const pulled = await this.store.pull(this.id, this.claimed.epoch, now)
    if (pulled === 'fenced') throw new Error('fenced')
    return pulled
  }

  /** A worker of its own, born and claimed. */
  async child(address: string, limits?: AccountLimits): Promise<Attempt> {
    const id = childActivation(this.id, address)
    await this.written({ births: [{ id, agent: 'w', version: '1', path: ['a', 'w'], limits, first: started(), at: 1_000 }] })
    return claim(this.store, id)
  }
}

export async function claim(store: EventStore, id: ActivationId, generation?: number): Promise<Attempt> {
  const claimed = await store.claim(id, generation ?? (await generationOf(store, id)), `inv_${id}`, 1_000)
  if (claimed === undefined) throw new Error(`there is no ${id}`)
  return new Attempt(store, id, claimed)
}

/** Of an activation that has not settled; of one that has it is its root's, where nobody has buried it. */
async function generationOf(store: EventStore, id: ActivationId): Promise<number> {
  const open = await store.sentinels(id.slice(0, -1), Number.MAX_SAFE_INTEGER, 1_000)
  return open.find((each) => each.id === id)?.generation ?? (await store.tip(runOf(id)))?.generation ?? 0
}

/** A run of its own, its root claimed. */
export async function begin(store: EventStore, limits?: AccountLimits, first = started()): Promise<Attempt> {
  const run = newId('run') as RunId
  await store.create({ run, agent: 'a', version: '1', caller: { user: 'u' }, limits, first, at: 1_000 })
  return claim(store, rootActivation(run))
}

export const approval = (address: string, until: number | null = null): Commit['opened'][number] => ({
  id: newId('apr'),
  address,
  key: `ask:${address}`,
  kind: 'approval',
  until,
  at: 1_000,
  body: JSON.stringify({ type: 'approval.requested', address }),
})

export const answer = (to: ActivationId, key: string, body = 'yes', now = 1_000): Parameters<EventStore['post']>[0] => ({
  target: 'question',
  to,
  key,
  kinds: ['approval', 'interrupt'],
  body: JSON.stringify({ type: 'answer', address: key, body }),
  now,
})

export async function errorOf(work: () => Promise<unknown> | undefined): Promise<ReeveError> {
  try {
    await work()
  } catch (thrown) {
    return thrown as ReeveError
  }
  throw new Error('it did not fail')
}

/** Waits until something holds: for what comes from another connection. */
export async function eventually(holds: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(holds, { timeout: 5_000, interval: 10 })
}
