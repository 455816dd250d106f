/**
 * The store file: its tables, how it is opened, and what is said when it cannot be.
 *
 * Owns: the schema and its version, pragmas, the meaning of SQLite's errors. Does not own: what is written when
 * (batch.ts). `log` and `archive` are the truth (K1). `run`, `question`, `account` and `value` are indexes over them, kept in the same
 * transactions. AUTOINCREMENT where readers remember numbers: a removed one is never given out again. The log, which is
 * written most, keeps that promise by a placeholder instead (remove.ts).
 */
import { accessSync, closeSync, constants, existsSync, fchmodSync, openSync, readSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { messageOf, newId, ReeveError, type ErrorCode } from '@reeve/core'
import { type SchemaVersions, stateColumn, upgradesFrom } from '@reeve/engine/storage'
import { isListedRun } from './id-ranges.ts'
import { closeWithoutCheckpoint } from './write-ahead-log.ts'

/** Marks a file as Reeve's ("Reev"), so that a foreign file is never written to. */
const applicationId = 0x52656576
type Upgrade = (db: DatabaseSync) => void
const isListed = isListedRun('id')

/** Runs that the index lacks as they are now. `indexed`: 1, as it was when it was open; 2, as it ended. */
export const isUnindexed = `indexed < 2 AND (indexed = 0 OR ended IS NOT NULL) AND ${isListed}`
/**
 * The index of runs (run-index.ts): what is shown and counted of each, and the words by which it is found. With
 * `secure-delete` words that are deleted are gone from it at once, and not when parts of it are merged.
 */
const indexing = `
CREATE INDEX run_unindexed ON run(created, tenant) WHERE ${isUnindexed};
CREATE TABLE indexed(num INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, input TEXT, output TEXT, code TEXT, cause TEXT, failure TEXT, wait INTEGER, shares TEXT);
CREATE INDEX indexed_code ON indexed(code) WHERE code IS NOT NULL;
CREATE INDEX indexed_cause ON indexed(cause) WHERE cause IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(text, tokenize='ascii');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
CREATE TABLE counter(name TEXT NOT NULL, labels TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY(name, labels)) WITHOUT ROWID;
`

/** 0.2.0 has version 7, and nothing older was released. */
const schema: SchemaVersions<Upgrade> = {
  version: 8,
  upgrades: { 8: (db) => db.exec(`ALTER TABLE run ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;${indexing}`) },
}

const state = `state TEXT GENERATED ALWAYS AS (${stateColumn}) VIRTUAL`
/** What runs and questions are searched by. Of child runs no list is made but that of their leader's run. */
const searching = `
CREATE INDEX run_state ON run(state, created, id, agent, tenant) WHERE ${isListed};
CREATE INDEX run_listed ON run(created, id, agent, tenant) WHERE ${isListed};
CREATE INDEX run_agent ON run(agent, created) WHERE ${isListed};
CREATE INDEX run_usd ON run(usd) WHERE usd IS NOT NULL;
CREATE INDEX run_apart ON run(state) WHERE instr(id, '>') > 0 AND ended IS NULL;
CREATE TABLE tag(name TEXT NOT NULL, value TEXT NOT NULL, created INTEGER NOT NULL, run TEXT NOT NULL, PRIMARY KEY(name, value, created, run)) WITHOUT ROWID;
CREATE INDEX inbox_pause ON inbox(act) WHERE taken = 0 AND key GLOB '!pause*';
CREATE INDEX question_asked ON question(at) WHERE kind <> 'timer';
CREATE INDEX question_kind ON question(kind, at) WHERE kind <> 'timer';
CREATE INDEX question_tenant ON question(tenant, at) WHERE kind <> 'timer' AND tenant IS NOT NULL;
`

/** Parts of logs that a later entry stands for, none inside another one: from `start` up to `upto`, where it is. */
const summed =
  'CREATE TABLE summed(act INTEGER NOT NULL, start INTEGER NOT NULL, upto INTEGER NOT NULL, PRIMARY KEY(act, start)) WITHOUT ROWID;'

/** The unread rows of a run are found without those that it has read: of these it may have a million. */
const unread = 'CREATE INDEX inbox_unread ON inbox(act, position) WHERE taken = 0;'

/**
 * Journals of ended runs, compressed (archive.ts): a chunk of one run and its child runs, from the position `first` to
 * `last`.
 */
const archive = `
CREATE TABLE archive(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, run TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX archive_run ON archive(run, last);
`
/** What processes say of themselves, as JSON. */
const reports = 'CREATE TABLE report(process TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;'
/** Ended runs that are not archived as a whole yet. */
const whole = `CREATE INDEX run_whole ON run(ended) WHERE ended IS NOT NULL AND archived = 0 AND ${isListed};`

const tables = `
CREATE TABLE run(
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, version TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'running',
  control TEXT, stuck TEXT, parked INTEGER NOT NULL DEFAULT 0, owner TEXT, epoch INTEGER NOT NULL DEFAULT 1,
  caller TEXT, created INTEGER NOT NULL, ended INTEGER, end_position INTEGER, losses INTEGER NOT NULL DEFAULT 0,
  asks INTEGER NOT NULL DEFAULT 0, tenant TEXT, usd REAL, usage TEXT, why TEXT, archived INTEGER NOT NULL DEFAULT 0,
  indexed INTEGER NOT NULL DEFAULT 0, ${state}) WITHOUT ROWID;
CREATE INDEX run_lost ON run(losses) WHERE losses > 1;
CREATE INDEX run_open ON run(owner, agent, version, created) WHERE ended IS NULL AND parked = 0;
CREATE INDEX run_stuck ON run(stuck) WHERE stuck IS NOT NULL;
CREATE INDEX run_ended ON run(ended) WHERE ended IS NOT NULL;
CREATE INDEX run_news ON run(end_position) WHERE end_position IS NOT NULL;
${whole}
CREATE TABLE activation(num INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE);
CREATE TABLE log(position INTEGER PRIMARY KEY, act INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL, blobs INTEGER);
CREATE UNIQUE INDEX log_seq ON log(act, seq);
${summed}
${archive}CREATE TABLE inbox(position INTEGER PRIMARY KEY AUTOINCREMENT, act TEXT NOT NULL, key TEXT NOT NULL, body TEXT, taken INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX inbox_key ON inbox(act, key);
${unread}
CREATE TABLE question(id TEXT PRIMARY KEY, act TEXT NOT NULL, address TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, until INTEGER, at INTEGER NOT NULL, body TEXT NOT NULL, tenant TEXT);
CREATE INDEX question_act ON question(act, address);
CREATE INDEX question_due ON question(until) WHERE until IS NOT NULL;
CREATE TABLE account(act TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE value(stream TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY(stream, key)) WITHOUT ROWID;
CREATE TABLE done(run TEXT NOT NULL, stream TEXT NOT NULL, once TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(run, stream, once)) WITHOUT ROWID;
CREATE TABLE blob(hash TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE blob_use(run TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY(run, hash)) WITHOUT ROWID;
CREATE INDEX blob_use_hash ON blob_use(hash);
CREATE TABLE process(id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
${reports}
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
${searching}${indexing}`

/** What of a write-ahead log that a large commit has made long is kept after a checkpoint, in bytes. */
const walKeptBytes = 64 * 1024 * 1024

/** How a store is opened. */
export interface OpenOptions {
  /** A path, or `:memory:`. */
  readonly file: string
  /** How long to wait for another process's lock, in milliseconds. */
  readonly busyMs: number
  /**
   * A new store is to give space back to the file system; that makes its commits a little larger. Default false: what
   * is free is used again.
   */
  readonly shrinks?: boolean
}

/** Opens or creates a store. Throws `store.*` errors; a file that is not ours is left as it is. */
export function openStore(options: OpenOptions): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    mustBeWritable(options.file)
    makePrivate(options.file)
    db = new DatabaseSync(options.file)
    // No checkpoint by SQLite: write-ahead-log.ts makes them. On macOS a sync is to reach the disk behind its cache, as
    // those of Node do.
    db.exec(`PRAGMA busy_timeout=${options.busyMs}; PRAGMA wal_autocheckpoint=0; PRAGMA fullfsync=1`)
    prepareSchema(db, options)
    // NORMAL: a commit survives a killed process, and checkpoints are in order on disk; the rest is write-ahead-log.ts.
    db.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=${walKeptBytes}`)
    return db
  } catch (thrown) {
    if (db !== undefined) closeWithoutCheckpoint(db)
    throw storeError(thrown, options.file)
  }
}

/**
 * SQLite opens a read-only file without a word and fails at the first write: too late for a caller that has started a
 * run by then.
 */
function mustBeWritable(file: string): void {
  if (!existsSync(file)) return
  try {
    accessSync(file, constants.W_OK)
  } catch (thrown) {
    const { code, hint } = meanings[8]!
    throw new ReeveError(code, `${file} is not writable`, { hint, cause: thrown })
  }
}

/** The path of what SQLite creates for a path or a `file:` address; undefined where it creates no file. */
function createdBy(file: string): string | undefined {
  if (file === '' || file === ':memory:') return undefined
  const address = /^file:(?:\/\/(?:localhost)?(?=\/))?(?<path>[^?#]*)(?:\?(?<query>[^#]*))?/.exec(file)?.groups
  if (address === undefined) return file
  const query = new URLSearchParams(address['query'])
  const isCreated = (query.get('mode') ?? 'rwc') === 'rwc' && query.get('vfs') !== 'memdb'
  const path = decodeURIComponent(address['path'] ?? '')
  return isCreated && path !== '' && path !== ':memory:' ? path : undefined
}

/**
 * A new store is its owner's alone, whatever the umask: it holds prompts and arguments. SQLite gives what stands beside it
 * the mode of the store. One that is there keeps its mode.
 */
export function makePrivate(file: string): void {
  try {
    const path = createdBy(file)
    if (path === undefined || existsSync(path)) return
    const made = openSync(path, 'wx', 0o600)
    fchmodSync(made, 0o600)
    closeSync(made)
  } catch {
    // another process was faster, or SQLite says what is wrong
  }
}

const look = `SELECT (SELECT application_id FROM pragma_application_id) AS id, (SELECT user_version FROM pragma_user_version) AS version,
  (SELECT count(*) FROM sqlite_schema) AS tableCount`

/** Whether a connection is to a store of Reeve, of whatever version. */
export const isStore = (db: DatabaseSync): boolean => (db.prepare(look).get() as { id: number }).id === applicationId

/** Where the header of an SQLite file says of which program it is, and how it begins. */
const header = { magic: 'SQLite format 3\0', applicationIdAt: 68, length: 100 }

/**
 * Whether a file is a store of Reeve, of whatever version. Never throws; changes nothing, and opens no other program's
 * database that says whose it is.
 */
export function isStoreFile(file: string): boolean {
  try {
    const begin = Buffer.alloc(header.length)
    const descriptor = openSync(file, 'r')
    try {
      readSync(descriptor, begin, 0, header.length, 0)
    } finally {
      closeSync(descriptor)
    }
    if (begin.toString('latin1', 0, header.magic.length) !== header.magic) return false
    const id = begin.readUInt32BE(header.applicationIdAt)
    if (id === applicationId) return true
    // a store whose first process is still at work says it in its write-ahead log alone
    if (id !== 0 || !existsSync(`${file}-wal`)) return false
    using db = new DatabaseSync(file, { readOnly: true })
    return isStore(db)
  } catch {
    return false
  }
}

function prepareSchema(db: DatabaseSync, { file, shrinks = false }: OpenOptions): void {
  const check = (): 'ready' | 'empty' | readonly Upgrade[] => {
    // One statement: between two, another process may create the store.
    const { id, version, tableCount } = db.prepare(look).get() as { id: number; version: number; tableCount: number }
    if (id === applicationId && version > 0) {
      const upgrades = upgradesFrom(version, schema, file)
      return upgrades.length === 0 ? 'ready' : upgrades
    }
    if (id === 0 && tableCount === 0) return 'empty'
    throw new ReeveError('store.foreign', `${file} is an SQLite database of another program`, {
      hint: 'Name another file as the store. Nothing was changed.',
    })
  }
  if (check() === 'ready') return
  // Before the first table: later it takes a VACUUM (maintenance.ts).
  if (shrinks) db.exec('PRAGMA auto_vacuum=INCREMENTAL')
  db.exec('PRAGMA journal_mode=WAL')
  db.exec('BEGIN IMMEDIATE')
  try {
    const found = check()
    if (found === 'empty') db.exec(`${tables}; PRAGMA application_id=${applicationId}`)
    else if (found !== 'ready') for (const upgrade of found) upgrade(db)
    db.exec(`INSERT OR IGNORE INTO meta VALUES('id', '${newId('sto')}'); PRAGMA user_version=${schema.version}`)
    db.exec('COMMIT')
  } catch (thrown) {
    db.exec('ROLLBACK')
    throw thrown
  }
}

const meanings: Record<number, { code: ErrorCode; retryable: boolean; hint: string }> = {
  5: {
    code: 'store.busy',
    retryable: true,
    hint: 'Another process holds the store. Try again; if the error stays, find the process that keeps a transaction open.',
  },
  6: { code: 'store.busy', retryable: true, hint: 'Another connection holds a table. Try again.' },
  8: { code: 'store.read-only', retryable: false, hint: 'Make the file and its folder writable for this user.' },
  10: {
    code: 'store.unavailable',
    retryable: true,
    hint: 'The disk reported an error. Check the device and the file system.',
  },
  11: {
    code: 'store.corrupt',
    retryable: false,
    hint: 'The file is damaged. Restore it from a backup; `sqlite3 file ".recover"` may save parts.',
  },
  13: {
    code: 'store.full',
    retryable: true,
    hint: 'Free space on the disk. Runs go on by themselves as soon as they can be recorded.',
  },
  14: { code: 'store.unavailable', retryable: false, hint: 'Check that the folder exists and may be written to.' },
  26: {
    code: 'store.foreign',
    retryable: false,
    hint: 'The file is not an SQLite database. Name another file as the store. Nothing was changed.',
  },
}

/** Turns what SQLite throws into a `store.*` error that says what to do. */
export function storeError(thrown: unknown, file: string): ReeveError {
  if (ReeveError.is(thrown)) return thrown
  if (thrown instanceof SyntaxError)
    return new ReeveError('store.corrupt', `${file}: a row is not JSON: ${thrown.message}`, {
      hint: meanings[11]!.hint,
      cause: thrown,
    })
  const code = (thrown as { errcode?: number } | undefined)?.errcode
  const meaning = code === undefined ? undefined : meanings[code & 0xff]
  if (meaning === undefined)
    return new ReeveError('store.unavailable', `${file}: ${messageOf(thrown)}`, { retryable: true, cause: thrown })
  return new ReeveError(meaning.code, `${file}: ${messageOf(thrown)}`, {
    retryable: meaning.retryable,
    hint: meaning.hint,
    cause: thrown,
  })
}

/** SQLite's codes for content that it never takes: too big, against a constraint, of a wrong type, out of range. */
const refusals: ReadonlySet<number> = new Set([18, 19, 20, 25])
/** The same, said by JavaScript before SQLite is asked. */
const refusedNames: ReadonlySet<string> = new Set(['RangeError', 'DataCloneError'])

/** True where the store is well and what was to be written is not: to write it again would fail again. */
export function isRefusal(thrown: unknown): boolean {
  const { errcode, name } = (thrown ?? {}) as { errcode?: number; name?: string }
  return errcode === undefined ? name !== undefined && refusedNames.has(name) : refusals.has(errcode & 0xff)
}
