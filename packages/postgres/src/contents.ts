/**
 * Contents in a PostgreSQL database: in the table of the journal's long strings, by run.
 *
 * Owns: writing and reading pieces. Does not own: what becomes of them when a run is removed (store.ts) or forked
 * (commit.ts).
 * Holds: the run is locked against its removal while a piece is written, and against nothing else.
 */
import type { RunId } from '@reeve/core'
import { unknownRun } from '@reeve/engine'
import type { StoreContents } from '@reeve/engine/storage'
import { askerOn, type Asker, type PoolSource } from './asker.ts'
import type { NamedStatement } from './connection.ts'

export class PostgresContents implements StoreContents {
  readonly #rows: Asker
  readonly #sql: ReturnType<typeof statements>

  constructor(pool: PoolSource, schema: string) {
    this.#rows = askerOn(pool)
    this.#sql = statements(`"${schema}"`)
  }

  /** A statement for each: what is long is sent as it is, and not as part of a list, which the driver would escape. */
  async keep(run: RunId, pieces: ReadonlyMap<string, string>): Promise<void> {
    for (const [key, body] of pieces) {
      const [found] = await this.#rows<{ runs: number }>(this.#sql.keep, [run, key, body])
      if (Number(found?.runs ?? 0) === 0) throw unknownRun(run)
    }
  }

  async piece(run: RunId, key: string): Promise<string | undefined> {
    return (await this.#rows<{ body: string }>(this.#sql.piece, [run, key]))[0]?.body
  }
}

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  return {
    keep: named(
      'keep_content',
      `WITH own AS MATERIALIZED (SELECT id FROM ${s}.run WHERE id = $1 FOR KEY SHARE),
      kept AS (INSERT INTO ${s}.blob(run, hash, body) SELECT id, $2, $3 FROM own ON CONFLICT DO NOTHING)
      SELECT count(*) AS runs FROM own`,
    ),
    piece: named('content', `SELECT body FROM ${s}.blob WHERE run = $1 AND hash = $2`),
  } as const
}
