/**
 * The store's schema in a PostgreSQL database: made by whoever comes first, recognised by everybody else.
 *
 * Owns: how the tables come to be there, and what is said when they are not ours. Does not own: the tables (schema.ts).
 */
import type { PoolClient } from 'pg'
import { ReeveError } from '../../core/index.ts'
import { schemaVersion, tables } from './schema.ts'

const dialect = {
  serial: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  id: 'TEXT COLLATE "C"',
  // Room on the page for the next version of a row, so that its indexes need not be touched.
  busy: ' WITH (fillfactor = 60)',
  passing: 'UNLOGGED TABLE',
}
/** "Reem": who makes a schema. */
const lockClass = 0x5265656d

/**
 * Makes the tables where there are none. Several processes may do so at once: the lock is held around the transaction, not inside it, since one that
 * begins after it was waited for is certain to see what the other process has made.
 */
export async function prepareSchema(client: PoolClient, schema: string, where: string): Promise<void> {
  if (await isReady(client, schema, where)) return
  const lock = [lockClass, schema]
  await client.query('SELECT pg_advisory_lock($1, hashtext($2))', lock)
  if (!(await isReady(client, schema, where))) {
    const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
    // Asked first: where it exists, this user may not be allowed to create one.
    const create = rowCount === 0 ? `CREATE SCHEMA "${schema}"; ` : ''
    const meta = `CREATE TABLE meta(program TEXT PRIMARY KEY, version INTEGER NOT NULL); INSERT INTO meta VALUES('reeve', ${schemaVersion})`
    await client.query(`BEGIN; ${create}${tables(dialect)}; ${meta}; COMMIT`)
  }
  await client.query('SELECT pg_advisory_unlock($1, hashtext($2))', lock)
}

async function isReady(client: PoolClient, schema: string, where: string): Promise<boolean> {
  const meta = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [`"${schema}".meta`])
  if (meta.rows[0]?.there !== true) return false
  const { rows } = await client.query<{ version: number }>(`SELECT version FROM "${schema}".meta WHERE program = 'reeve'`)
  const version = rows[0]?.version
  if (version === schemaVersion) return true
  if (version === undefined || version < schemaVersion)
    throw new ReeveError('store.foreign', `the schema "${schema}" of ${where} holds tables of another program`, {
      hint: 'Name another schema. Nothing was changed.',
    })
  throw new ReeveError(
    'store.newer',
    `the schema "${schema}" of ${where} was written by a newer Reeve (${version}, this one knows ${schemaVersion})`,
    {
      hint: 'Upgrade Reeve in this process. Nothing was changed.',
    },
  )
}
