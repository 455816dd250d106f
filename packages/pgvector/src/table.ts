/**
 * The table of a memory: one row for each turn, with its vector.
 *
 * Owns: the table and its indexes, how they come to be there, every statement. Does not own: what is stored
 * (memory.ts), connections (pool.ts).
 * Holds: a statement that reads or writes turns names a room: a user within a tenant. Vectors are compared exactly, row
 * by row of that room: an approximate index is searched before the filter and would lose turns of small rooms.
 */
import { isObject, ReeveError } from '@reeve/core'
import type { Caller } from '@reeve/journal'
import { stateOf, type SqlConnection } from './pool.ts'

/** Where the table is. */
export interface TablePlace {
  readonly schema: string
  readonly table: string
  readonly dimensions: number
}

/** A turn as it is stored. `user` and `tenant`: null for none. */
export interface StoredTurn {
  readonly run: string
  readonly tenant: string | null
  readonly user: string | null
  readonly session: string | null
  readonly agent: string
  readonly prompt: string
  readonly answer: string
}

/** A turn as it is read. `day`: when it was saved, as YYYY-MM-DD in UTC. */
export interface ReadTurn extends StoredTurn {
  readonly day: string
  /** 1 for the same direction, 0 for nothing in common, -1 for the opposite. Null: it was not compared. */
  readonly score: number | null
}

/** The turns that one query may see. */
export type Room =
  | { readonly kind: 'user'; readonly tenant: string | null; readonly user: string | null }
  | { readonly kind: 'tenant'; readonly tenant: string }

/** The room of a caller. A run without a tenant never sees the turns of other users. */
export const roomOf = ({ user, tenant }: Pick<Caller, 'user' | 'tenant'>, by: Room['kind']): Room =>
  by === 'tenant' && tenant !== undefined
    ? { kind: 'tenant', tenant }
    : { kind: 'user', tenant: tenant ?? null, user: user ?? null }

/** The room of a user as one text, in which no user's name can pass for another room. Persistent. */
const roomKey = (tenant: string | null, user: string | null): string => JSON.stringify([tenant, user])

const id = 'TEXT COLLATE "C"'
/** "Reev": the class of the advisory lock under which a table is made. */
const lockClass = 0x52656576

/** The statements of one table. */
export class MemoryTable {
  readonly #connection: SqlConnection
  readonly #table: string
  /** The type and the operator of pgvector, by the schema of the extension: it need not be on the search path. */
  readonly #vector: string
  readonly #distance: string

  private constructor(connection: SqlConnection, table: string, extension: string) {
    this.#connection = connection
    this.#table = table
    this.#vector = `${extension}.vector`
    this.#distance = `OPERATOR(${extension}.<=>)`
  }

  /**
   * The table, made if it is not there. Rejects with `config.invalid` if the server lacks pgvector, this user may not
   * make what is missing, or the vectors there have other dimensions; with `store.foreign` for a table of another program.
   */
  static async open(connection: SqlConnection, { schema, table, dimensions }: TablePlace): Promise<MemoryTable> {
    const extension = quoted((await extensionSchema(connection)) ?? (await createExtension(connection)))
    const name = `${quoted(schema)}.${quoted(table)}`
    if ((await foundDimensions(connection, name)) === undefined)
      await createTable(connection, schema, table, extension, dimensions)
    const found = await foundDimensions(connection, name)
    if (found !== dimensions)
      throw new ReeveError(
        'config.invalid',
        `pgvectorMemory: the table ${name} of ${connection.name} holds vectors of ${found} dimensions, dimensions is ${dimensions}`,
        { hint: 'Name another table: vectors of two embedding models cannot be compared.' },
      )
    return new MemoryTable(connection, name, extension)
  }

  /** Stores the turn of a run. The same turn again changes nothing; another turn of the run takes its place. */
  async put(turn: StoredTurn, vector: readonly number[] | undefined): Promise<void> {
    const { tenant, user, run, session, agent, prompt, answer } = turn
    await this.#connection.query(
      `INSERT INTO ${this.#table} AS old (room, run, tenant, user_name, session, agent, prompt, answer, embedding)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::${this.#vector})
ON CONFLICT (room, run) DO UPDATE SET session = EXCLUDED.session, agent = EXCLUDED.agent, prompt = EXCLUDED.prompt,
  answer = EXCLUDED.answer, embedding = EXCLUDED.embedding, created = now()
WHERE (old.prompt, old.answer) IS DISTINCT FROM (EXCLUDED.prompt, EXCLUDED.answer)
  OR (old.embedding IS NULL AND EXCLUDED.embedding IS NOT NULL)`,
      [roomKey(tenant, user), run, tenant, user, session, agent, prompt, answer, vector && JSON.stringify(vector)],
    )
  }

  /** The newest turns of a caller's session that are its user's, oldest first. */
  async newest({ user, tenant }: Caller, session: string, most: number): Promise<readonly ReadTurn[]> {
    const rows = await this.#connection.query(
      `SELECT ${columns}, NULL AS score FROM ${this.#table} WHERE room = $1 AND session = $2 ORDER BY num DESC LIMIT $3`,
      [roomKey(tenant ?? null, user ?? null), session, most],
    )
    return rows.map(readTurn).toReversed()
  }

  /** The turns of a room that are most like a vector, the most alike first; without those of these runs. */
  async nearest(
    room: Room,
    vector: readonly number[],
    {
      most,
      minScore,
      without,
    }: { readonly most: number; readonly minScore: number; readonly without: readonly string[] },
  ): Promise<readonly ReadTurn[]> {
    const [where, key] =
      room.kind === 'tenant' ? ['tenant = $1', room.tenant] : ['room = $1', roomKey(room.tenant, room.user)]
    const rows = await this.#connection.query(
      `SELECT ${columns}, 1 - distance AS score FROM (
  SELECT *, embedding ${this.#distance} $2::text::${this.#vector} AS distance FROM ${this.#table}
  WHERE ${where} AND embedding IS NOT NULL AND run NOT IN (SELECT json_array_elements_text($3::text::json))
) AS compared WHERE 1 - distance >= $4::float8 ORDER BY distance, num DESC LIMIT $5`,
      [key, JSON.stringify(vector), JSON.stringify(without), minScore, most],
    )
    return rows.map(readTurn)
  }

  /** Deletes turns of a tenant (null: of none): of all users, or of one (null: of none); of all sessions, or of one. */
  async remove(tenant: string | null, user: string | null | undefined, session: string | undefined): Promise<number> {
    const rows = await this.#connection.query(
      `DELETE FROM ${this.#table} WHERE tenant IS NOT DISTINCT FROM $1::text
  AND ($2::text IS NULL OR room = $2::text) AND ($3::text IS NULL OR session = $3::text) RETURNING 1`,
      [tenant, user === undefined ? null : roomKey(tenant, user), session ?? null],
    )
    return rows.length
  }
}

const columns = `run, tenant, user_name, session, agent, prompt, answer, to_char(created AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day`

/** Rows are what the database says they are: a table that others write to may hold anything. */
function readTurn(row: unknown): ReadTurn {
  const given = isObject(row) ? row : {}
  const text = (name: string): string => (typeof given[name] === 'string' ? given[name] : '')
  const or = (name: string): string | null => (typeof given[name] === 'string' ? given[name] : null)
  const score = Number(given['score'] ?? Number.NaN)
  return {
    run: text('run'),
    tenant: or('tenant'),
    user: or('user_name'),
    session: or('session'),
    agent: text('agent'),
    prompt: text('prompt'),
    answer: text('answer'),
    day: text('day'),
    score: Number.isNaN(score) ? null : score,
  }
}

/** Names are checked before (memory.ts); that of the extension's schema is the server's. */
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

async function extensionSchema(connection: SqlConnection): Promise<string | undefined> {
  const [row] = await connection.query<{ readonly schema: string }>(
    `SELECT n.nspname AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`,
    [],
  )
  return row?.schema
}

/** Creates the extension. Several processes may do so at once. */
async function createExtension(connection: SqlConnection): Promise<string> {
  const rows = await connection.query(`SELECT 1 FROM pg_available_extensions WHERE name = 'vector'`, [])
  if (rows.length === 0)
    throw new ReeveError('config.invalid', `pgvectorMemory: ${connection.name} has no extension "vector"`, {
      hint: 'Install pgvector on the server (https://github.com/pgvector/pgvector#installation), or name a server that has it.',
    })
  const hint = 'Let a superuser run CREATE EXTENSION vector in this database once.'
  await made(connection, 'CREATE EXTENSION IF NOT EXISTS vector', 'the extension "vector"', hint)
  return (await extensionSchema(connection))!
}

async function createTable(
  connection: SqlConnection,
  schema: string,
  table: string,
  extension: string,
  dimensions: number,
): Promise<void> {
  const [s, t] = [quoted(schema), quoted(table)]
  const sql = `IF to_regnamespace('${s}') IS NULL THEN CREATE SCHEMA ${s}; END IF;
CREATE TABLE IF NOT EXISTS ${s}.${t} (
  room ${id} NOT NULL, run ${id} NOT NULL, num BIGINT GENERATED ALWAYS AS IDENTITY, tenant ${id}, user_name ${id}, session ${id},
  agent ${id} NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL, created TIMESTAMPTZ NOT NULL DEFAULT now(),
  embedding ${extension}.vector(${dimensions}), PRIMARY KEY (room, run));
CREATE INDEX IF NOT EXISTS ${quoted(`${table}_session`)} ON ${s}.${t} (room, session, num);
CREATE INDEX IF NOT EXISTS ${quoted(`${table}_tenant`)} ON ${s}.${t} (tenant) WHERE tenant IS NOT NULL`
  const hint = `Grant this user CREATE on the schema ${s}, or let another one start once; then grant SELECT, INSERT, UPDATE and DELETE on the table.`
  await made(connection, sql, `the table ${s}.${t}`, hint)
}

/** Runs what creates things, one process at a time. A missing right is `config.invalid`, with what to do. */
async function made(connection: SqlConnection, sql: string, what: string, hint: string): Promise<void> {
  try {
    await connection.query(
      `DO $$ BEGIN PERFORM pg_advisory_xact_lock(${lockClass}, hashtext(current_database())); ${sql}; END $$`,
      [],
    )
  } catch (thrown) {
    const cause = (thrown as { readonly cause?: unknown }).cause
    if (stateOf(cause) !== '42501') throw thrown
    throw new ReeveError('config.invalid', `pgvectorMemory: this user may not create ${what} in ${connection.name}`, {
      hint,
      cause,
    })
  }
}

/** The dimensions of the vectors in the table; undefined if there is no table. Rejects for a table of another program. */
async function foundDimensions(connection: SqlConnection, name: string): Promise<number | undefined> {
  const rows = await connection.query<{ readonly name: string; readonly typmod: number }>(
    `SELECT attname AS name, atttypmod AS typmod FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    [name],
  )
  if (rows.length === 0) return undefined
  const known = new Map(rows.map((row) => [row.name, row.typmod]))
  if (['room', 'run', 'user_name', 'embedding'].every((each) => known.has(each))) return known.get('embedding')
  throw new ReeveError('store.foreign', `pgvectorMemory: ${name} of ${connection.name} is a table of another program`, {
    hint: 'Name another table. Nothing was changed.',
  })
}
