/**
 * What the tests of the store on PostgreSQL have in common: a schema, stores on the system's clock, batches. Everything
 * is disposed of.
 */
import { PostgresStore, type PostgresOptions } from '@reeve/postgres'
import type { Batch } from '../../src/store.ts'
import { BatchDraft, StoreProcess } from '../../../contract/src/store/stage.ts'
import { freshPostgres, type FreshPostgres } from '../../../restate/test/harness.ts'
import { onServer } from './postgres-place.ts'

export class World implements AsyncDisposable {
  readonly place: FreshPostgres
  readonly #open: PostgresStore[] = []

  private constructor(place: FreshPostgres) {
    this.place = place
  }

  static async fresh(): Promise<World> {
    return new World(await freshPostgres())
  }

  get schema(): string {
    return this.place.schema
  }

  store(options: Partial<PostgresOptions> = {}): PostgresStore {
    const store = new PostgresStore({
      postgres: this.place.server,
      schema: this.schema,
      poolSize: 2,
      onWarning: () => {},
      ...options,
    })
    this.#open.push(store)
    return store
  }

  /** A process that has the store open and holds runs. */
  async process(options: Partial<PostgresOptions> = {}): Promise<StoreProcess & { readonly store: PostgresStore }> {
    const store = this.store(options)
    await store.lease.guard()
    return new StoreProcess(store) as StoreProcess & { readonly store: PostgresStore }
  }

  sql<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return onServer<Row>(this.place.server, text.replaceAll('$s', this.schema), values)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#open) {
      await store.stop()
      await store.close()
    }
    await this.place.dispose()
  }
}

export const batch = (owner: string, fill: (draft: BatchDraft) => unknown): Batch => {
  const draft = new BatchDraft(owner)
  fill(draft)
  return draft.batch
}
