/**
 * The tables in a schema of a PostgreSQL database: made by the process that comes first, recognised by all others.
 *
 * Owns: the tables and their version, how they come to be there (with the first process that writes), and what is said
 * when they are not this store's. Does not own: what is written when (commit.ts). `entry` is the truth of runs,
 * `value_log` that of streams (K1). Everything else is an index over them or what processes must agree on, kept in the
 * same transactions. The rows of a run are found by `run`. Positions of its feed are its own, without gaps; `floor` (in
 * meta) is above every position of a run that was removed. `num` numbers the entries of all
 * runs, with gaps.
 */
import type { ClientBase } from 'pg'
import { newId, ReeveError } from '@reeve/core'
import { type SchemaVersions, stateColumn, upgradesFrom } from '@reeve/engine/storage'

type Upgrade = (client: ClientBase, s: string) => Promise<unknown>

const id = 'TEXT COLLATE "C"'
/** Commits and readers look at the last number; a user to whom only the tables were granted may, too. */
const numbersShown = (s: string): string => `GRANT SELECT ON SEQUENCE ${s}.entry_num_seq TO PUBLIC`
/** Room on the page for the next version of a row. */
const busy = (percent: number): string => ` WITH (fillfactor = ${percent})`

/** The condition that a run was started from outside: it is no child run. */
export const isListedRun = (column: string): string => `strpos(${column}, '>') = 0`
const isListed = isListedRun('id')
const described = [
  'asks INTEGER NOT NULL DEFAULT 0',
  `tenant ${id}`,
  'usd DOUBLE PRECISION',
  'usage TEXT',
  'why TEXT',
  `state ${id} GENERATED ALWAYS AS (${stateColumn}) STORED`,
] as const
/** What runs and questions are searched by. Of child runs no list is made but that of their leader's run. */
const searching = (s: string): string => `
CREATE INDEX run_state ON ${s}.run(state, created, id) WHERE ${isListed};
CREATE INDEX run_listed ON ${s}.run(created, id) WHERE ${isListed};
CREATE INDEX run_agent ON ${s}.run(agent, created, id) WHERE ${isListed};
CREATE INDEX run_usd ON ${s}.run(usd) WHERE usd IS NOT NULL;
CREATE INDEX run_apart ON ${s}.run(state, id) WHERE strpos(id, '>') > 0 AND ended IS NULL;
CREATE TABLE ${s}.tag(name ${id} NOT NULL, value ${id} NOT NULL, created BIGINT NOT NULL, run ${id} NOT NULL, PRIMARY KEY(name, value, created, run));
CREATE INDEX inbox_pause ON ${s}.inbox(run) WHERE NOT taken AND starts_with(key, '!pause');
CREATE INDEX question_asked ON ${s}.question(at, num) WHERE kind <> 'timer';
CREATE INDEX question_kind ON ${s}.question(kind, at, num) WHERE kind <> 'timer';
CREATE INDEX question_tenant ON ${s}.question(tenant, at, num) WHERE kind <> 'timer' AND tenant IS NOT NULL;`

/** Parts of logs that a later entry stands for, none inside another one: from `start` up to `upto`, where it is. */
const summed = (s: string): string =>
  `CREATE TABLE ${s}.summed(act ${id} NOT NULL, start INTEGER NOT NULL, upto INTEGER NOT NULL, run ${id} NOT NULL, PRIMARY KEY(act, start));
CREATE INDEX summed_run ON ${s}.summed(run);`

/** Runs that the index lacks as they are now. `indexed`: 1, as it was when it was open; 2, as it ended. */
export const isUnindexed = (r: string): string =>
  `${r}.indexed < 2 AND (${r}.indexed = 0 OR ${r}.ended IS NOT NULL) AND ${isListedRun(`${r}.id`)}`
/** The index of runs (run-index.ts): what is shown and counted of each, and the words by which it is found. */
const indexing = (s: string): string => `
CREATE INDEX run_unindexed ON ${s}.run(created, tenant) WHERE ${isUnindexed('run')};
CREATE TABLE ${s}.indexed(
  run ${id} PRIMARY KEY, input TEXT, output TEXT, code ${id}, cause ${id}, failure TEXT, wait BIGINT, shares TEXT, words TSVECTOR NOT NULL);
CREATE INDEX indexed_code ON ${s}.indexed(code) WHERE code IS NOT NULL;
CREATE INDEX indexed_cause ON ${s}.indexed(cause) WHERE cause IS NOT NULL;
CREATE INDEX indexed_words ON ${s}.indexed USING GIN(words) WITH (fastupdate = off);
CREATE TABLE ${s}.counter(name ${id} NOT NULL, labels ${id} NOT NULL, value DOUBLE PRECISION NOT NULL, PRIMARY KEY(name, labels))${busy(50)};`

/** 0.2.0 has version 5, and nothing older was released. */
const tableVersions: SchemaVersions<Upgrade> = {
  version: 6,
  upgrades: {
    6: (client, s) =>
      client.query(`ALTER TABLE ${s}.run ADD COLUMN indexed SMALLINT NOT NULL DEFAULT 0;${indexing(s)}`),
  },
}

/** What processes say of themselves, as JSON. */
const reports = (s: string): string =>
  `CREATE TABLE ${s}.report(process ${id} PRIMARY KEY, body TEXT NOT NULL)${busy(20)};`

const tables = (s: string): string => `
CREATE TABLE ${s}.run(
  num BIGINT GENERATED ALWAYS AS IDENTITY, id ${id} PRIMARY KEY, agent ${id} NOT NULL, version ${id} NOT NULL, status TEXT NOT NULL DEFAULT 'running', control TEXT, stuck TEXT,
  parked INTEGER NOT NULL DEFAULT 0, owner ${id}, epoch INTEGER NOT NULL DEFAULT 1, caller TEXT, created BIGINT NOT NULL, ended BIGINT,
  losses INTEGER NOT NULL DEFAULT 0, indexed SMALLINT NOT NULL DEFAULT 0, ${described.join(', ')})${busy(70)};
CREATE INDEX run_open ON ${s}.run(owner, agent, version, created) WHERE ended IS NULL AND parked = 0;
CREATE INDEX run_lost ON ${s}.run(losses) WHERE losses > 1 AND ended IS NULL;
CREATE INDEX run_stuck ON ${s}.run(id) WHERE stuck IS NOT NULL AND ended IS NULL;
CREATE INDEX run_ended ON ${s}.run(ended) WHERE ended IS NOT NULL;
CREATE TABLE ${s}.entry(
  run ${id} NOT NULL, position BIGINT NOT NULL, act ${id} NOT NULL, seq INTEGER NOT NULL, at BIGINT NOT NULL, flags SMALLINT NOT NULL, body TEXT NOT NULL,
  num BIGINT GENERATED ALWAYS AS IDENTITY, PRIMARY KEY(run, position));
CREATE UNIQUE INDEX entry_num ON ${s}.entry(num);
${numbersShown(s)};
CREATE UNIQUE INDEX entry_ends ON ${s}.entry(act, seq) WHERE seq = 0 OR flags > 1;
${summed(s)}
CREATE TABLE ${s}.blob(run ${id} NOT NULL, hash ${id} NOT NULL, body TEXT NOT NULL, PRIMARY KEY(run, hash));
CREATE TABLE ${s}.inbox(
  position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run ${id} NOT NULL, act ${id} NOT NULL, key ${id} NOT NULL, body TEXT,
  taken BOOLEAN NOT NULL DEFAULT false)${busy(80)};
CREATE UNIQUE INDEX inbox_key ON ${s}.inbox(act, key);
CREATE INDEX inbox_unread ON ${s}.inbox(run, position) WHERE NOT taken;
CREATE INDEX inbox_cancel ON ${s}.inbox(run) WHERE key = '!cancel';
CREATE TABLE ${s}.question(
  num BIGINT GENERATED ALWAYS AS IDENTITY, id ${id} PRIMARY KEY, run ${id} NOT NULL, act ${id} NOT NULL, address ${id} NOT NULL, key ${id} NOT NULL,
  kind TEXT NOT NULL, until BIGINT, at BIGINT NOT NULL, body TEXT NOT NULL, tenant ${id});
CREATE INDEX question_run ON ${s}.question(run);
CREATE INDEX question_act ON ${s}.question(act, address);
CREATE INDEX question_due ON ${s}.question(until) WHERE until IS NOT NULL;
CREATE TABLE ${s}.account(act ${id} PRIMARY KEY, run ${id} NOT NULL, body TEXT NOT NULL)${busy(70)};
CREATE INDEX account_run ON ${s}.account(run);
CREATE TABLE ${s}.value(stream ${id} NOT NULL, key ${id} NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY(stream, key))${busy(70)};
CREATE TABLE ${s}.value_log(stream ${id} NOT NULL, seq INTEGER NOT NULL, at BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(stream, seq));
CREATE TABLE ${s}.done(run ${id} NOT NULL, stream ${id} NOT NULL, once ${id} NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(run, stream, once));
CREATE TABLE ${s}.process(id ${id} PRIMARY KEY, until BIGINT NOT NULL, session TEXT, lock BIGINT NOT NULL)${busy(20)};
CREATE TABLE ${s}.receipt(process ${id} PRIMARY KEY, n BIGINT NOT NULL, answers JSONB, made TIMESTAMPTZ NOT NULL DEFAULT now())${busy(20)};
${reports(s)}
CREATE TABLE ${s}.meta(key ${id} PRIMARY KEY, value TEXT NOT NULL);${searching(s)}${indexing(s)}`

/** "Reep": the class of the advisory lock under which a schema is made. */
const lockClass = 0x52656570

/** What a store says of itself. */
export interface StoreMeta {
  readonly id: string
  readonly floor: number
  readonly ownClock: boolean
}

/** Throws `config.invalid` for a name that is not one, or would have to be quoted with care. */
export function checkSchemaName(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema) && !schema.startsWith('pg_')) return
  throw new ReeveError('config.invalid', `"${schema}" is not a schema name`, {
    hint: 'Use 1 to 63 lower-case letters, digits and "_", beginning with a letter or "_" and not with "pg_".',
  })
}

/**
 * Creates the tables if they do not exist. Several processes may do so at once: the lock is held around the
 * transaction, not inside it, since one that begins after it was waited for is certain to see what the other process
 * has made. A user who may not create anything is enough where they are there.
 */
export async function prepareSchema(client: ClientBase, schema: string, name: string): Promise<StoreMeta> {
  const { where, s } = placeOf(schema, name)
  if ((await missingUpgrades(client, s, where))?.length !== 0) {
    const lock = [lockClass, schema]
    await client.query('SELECT pg_advisory_lock($1, hashtext($2))', lock)
    try {
      await build(client, schema, s, where)
    } finally {
      await client.query('SELECT pg_advisory_unlock($1, hashtext($2))', lock).catch(() => undefined)
    }
  }
  const { rows } = await client.query<{ key: string; value: string }>(`SELECT key, value FROM ${s}.meta`)
  const meta = new Map(rows.map(({ key, value }) => [key, value]))
  return { id: meta.get('id') ?? '', floor: Number(meta.get('floor') ?? 0), ownClock: meta.has('own-clock') }
}

/** The store in this schema; undefined if it has none. Creates nothing. */
export async function findSchema(client: ClientBase, schema: string, name: string): Promise<StoreMeta | undefined> {
  const { where, s } = placeOf(schema, name)
  return (await missingUpgrades(client, s, where)) === undefined ? undefined : prepareSchema(client, schema, name)
}

const placeOf = (schema: string, name: string): { readonly where: string; readonly s: string } => ({
  where: `the schema "${schema}" of ${name}`,
  s: `"${schema}"`,
})

async function build(client: ClientBase, schema: string, s: string, where: string): Promise<void> {
  const upgrades = await missingUpgrades(client, s, where)
  if (upgrades?.length === 0) return
  await client.query('BEGIN')
  try {
    if (upgrades === undefined) {
      const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
      // Asked first: where it exists, this user may not be allowed to create one.
      if (rowCount === 0) await client.query(`CREATE SCHEMA ${s}`)
      await client.query(tables(s))
      await client.query(
        `INSERT INTO ${s}.meta VALUES('program', 'reeve'), ('version', $1), ('id', $2), ('floor', '0')`,
        [String(tableVersions.version), newId('sto')],
      )
    } else {
      for (const upgrade of upgrades) await upgrade(client, s)
      await client.query(`UPDATE ${s}.meta SET value = $1 WHERE key = 'version'`, [String(tableVersions.version)])
    }
    await client.query('COMMIT')
  } catch (thrown) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw thrown
  }
}

/**
 * What the tables of the store in this schema lack; undefined if the schema holds no store and no conflicting table.
 * Throws `store.foreign`, `store.newer` and `store.older`.
 */
async function missingUpgrades(client: ClientBase, s: string, where: string): Promise<readonly Upgrade[] | undefined> {
  const { rows: columns } = await client.query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped',
    [`${s}.meta`],
  )
  const names = new Set(columns.map(({ name }) => name))
  if (names.size === 0) return undefined
  const meta =
    names.has('key') && names.has('value')
      ? new Map(
          (await client.query<{ key: string; value: string }>(`SELECT key, value::text FROM ${s}.meta`)).rows.map(
            (row) => [row.key, row.value],
          ),
        )
      : new Map<string, string>()
  if (meta.get('program') !== 'reeve') throw foreign(where)
  return upgradesFrom(Number(meta.get('version')), tableVersions, where)
}

const foreign = (where: string): ReeveError =>
  new ReeveError('store.foreign', `${where} holds tables of another program`, {
    hint: 'Name another schema. Nothing was changed.',
  })
