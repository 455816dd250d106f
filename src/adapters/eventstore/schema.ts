/**
 * The tables, the same in both databases.
 *
 * Owns: the schema and its version. Does not own: how a store is opened and recognised (postgres.ts, sqlite.ts).
 * `entry` is the truth (K1). Everything else is an index over it or what activations must agree on, kept in the same transactions.
 * A run's rows are found by `run`, so that taking one out, and asking how it stands, needs no other.
 */

/** Raised with every change of the tables. */
export const schemaVersion = 1

/** What the two databases write differently. */
export interface Dialect {
  /** A number that grows with every row. */
  readonly serial: string
  /** A text that is compared by its bytes. */
  readonly id: string
  /** After the columns of a table whose rows change all the time. */
  readonly busy: string
  /** What a table is that may be lost. */
  readonly passing: string
}

export const tables = ({ serial, id, busy, passing }: Dialect): string => `
CREATE TABLE run(
  num ${serial}, id ${id} NOT NULL UNIQUE, agent TEXT NOT NULL, version TEXT NOT NULL, caller TEXT NOT NULL, position BIGINT NOT NULL DEFAULT 0,
  generation INTEGER NOT NULL DEFAULT 0, created BIGINT NOT NULL, status TEXT, ended BIGINT, control TEXT, reached INTEGER NOT NULL DEFAULT 0)${busy};
CREATE TABLE floor(one INTEGER PRIMARY KEY, position BIGINT NOT NULL, generation INTEGER NOT NULL);
INSERT INTO floor VALUES(1, 0, 0);
CREATE INDEX run_created ON run(created, num);
CREATE INDEX run_open ON run(created, num) WHERE ended IS NULL;
CREATE INDEX run_ended ON run(ended) WHERE ended IS NOT NULL;
CREATE TABLE activation(
  num ${serial}, id ${id} NOT NULL UNIQUE, run ${id} NOT NULL, parent ${id}, agent TEXT NOT NULL, version TEXT NOT NULL, path TEXT NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0, invocation TEXT, generation INTEGER NOT NULL DEFAULT 0, notified INTEGER NOT NULL DEFAULT 0,
  working INTEGER NOT NULL DEFAULT 0, resting INTEGER NOT NULL DEFAULT 0, settled INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL,
  touched BIGINT NOT NULL, stuck TEXT, build TEXT)${busy};
CREATE INDEX activation_run ON activation(run);
CREATE INDEX activation_busy ON activation(run) WHERE working = 1 OR resting = 0;
CREATE INDEX activation_notified ON activation(run) WHERE notified = 1;
CREATE INDEX activation_unborn ON activation(parent) WHERE invocation IS NULL;
CREATE INDEX activation_open ON activation(id) WHERE settled = 0;
CREATE INDEX activation_stuck ON activation(run) WHERE stuck IS NOT NULL;
CREATE TABLE entry(
  run ${id} NOT NULL, position BIGINT NOT NULL, act ${id} NOT NULL, seq INTEGER NOT NULL, at BIGINT NOT NULL, body TEXT NOT NULL, blobs TEXT);
CREATE UNIQUE INDEX entry_position ON entry(run, position);
CREATE UNIQUE INDEX entry_seq ON entry(act, seq);
CREATE TABLE inbox(num ${serial}, run ${id} NOT NULL, act ${id} NOT NULL, key ${id} NOT NULL, body TEXT, taken INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX inbox_key ON inbox(act, key);
CREATE INDEX inbox_unread ON inbox(act, num) WHERE taken = 0;
CREATE INDEX inbox_run ON inbox(run);
CREATE TABLE question(
  num ${serial}, id ${id} NOT NULL UNIQUE, run ${id} NOT NULL, act ${id} NOT NULL, address TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
  until BIGINT, at BIGINT NOT NULL, body TEXT NOT NULL);
CREATE INDEX question_act ON question(act);
CREATE INDEX question_run ON question(run);
CREATE INDEX question_due ON question(until) WHERE until IS NOT NULL;
CREATE TABLE account(act ${id} PRIMARY KEY, run ${id} NOT NULL, state TEXT NOT NULL, since BIGINT)${busy};
CREATE INDEX account_run ON account(run);
CREATE TABLE stream(id ${id} PRIMARY KEY, seq INTEGER NOT NULL)${busy};
CREATE TABLE value(stream ${id} NOT NULL, key ${id} NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY(stream, key));
CREATE TABLE done(run ${id} NOT NULL, stream ${id} NOT NULL, once ${id} NOT NULL, body TEXT NOT NULL, PRIMARY KEY(run, stream, once));
CREATE TABLE blob(hash ${id} PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE blob_use(run ${id} NOT NULL, hash ${id} NOT NULL, PRIMARY KEY(run, hash));
CREATE INDEX blob_use_hash ON blob_use(hash);
CREATE ${passing} part(num ${serial}, run ${id} NOT NULL, origin TEXT NOT NULL, at BIGINT NOT NULL, body TEXT NOT NULL);
CREATE INDEX part_run ON part(run, num);
CREATE INDEX part_at ON part(at);
`
