/**
 * The event store's database in an SQLite file, for several processes of one machine.
 *
 * Owns: the connection, transactions, how the file is recognised, and news. A work runs from BEGIN to COMMIT without a pause, so that one connection
 * is enough for reading and writing, and no other work of this process can come between; between processes BEGIN IMMEDIATE decides.
 * Does not own: what is asked (works), what errors mean (errors.ts).
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { ReeveError } from '../../core/index.ts'
import { closedStore, readOnlyFile, sqliteError } from './errors.ts'
import { schemaVersion, tables } from './schema.ts'
import type { Database, News, Request, Rows, Statement, TransactionOptions, Work } from './sql.ts'

/** Marks a file as an event store ("Rees"), so that a foreign file is never written to. */
const applicationId = 0x52656573
/** What others are to hear is a row here; the oldest ones go. */
const news = 'CREATE TABLE news(num INTEGER PRIMARY KEY AUTOINCREMENT, about TEXT NOT NULL, run TEXT NOT NULL)'
const newsKept = 1_000
const pollMs = 20
const dialect = { serial: 'INTEGER PRIMARY KEY AUTOINCREMENT', id: 'TEXT', busy: '', passing: 'TABLE' }

export class SqliteDatabase implements Database {
  readonly #file: string
  readonly #listeners = new Set<(news: News | 'all') => void>()
  readonly #statements = new Map<string, StatementSync>()
  #db: DatabaseSync | undefined
  #poll: NodeJS.Timeout | undefined
  /** What SQLite says as long as nobody else has written. */
  #version = 0
  #heard = 0

  constructor(file: string) {
    this.#file = file
  }

  open(): Promise<void> {
    return this.#guarded(() => {
      this.#db = openFile(this.#file)
      this.#version = this.#dataVersion()
      this.#heard = this.#newest()
    })
  }

  close(): Promise<void> {
    return this.#guarded(() => {
      clearInterval(this.#poll)
      this.#listeners.clear()
      this.#statements.clear()
      const db = this.#db
      this.#db = undefined
      db?.close()
    })
  }

  #guarded<T>(work: () => T): Promise<T> {
    try {
      return Promise.resolve(work())
    } catch (thrown) {
      return Promise.reject(sqliteError(thrown, this.#file))
    }
  }

  read<T>(work: () => Work<T>): Promise<T> {
    return this.#guarded(() => this.#carryOut(work(), () => undefined))
  }

  transaction<T>(work: () => Work<T>, { keep, durable }: TransactionOptions<T> = {}): Promise<T> {
    return this.#guarded(() => {
      const told: News[] = []
      if (durable === false) this.#run('PRAGMA synchronous=NORMAL')
      try {
        this.#run('BEGIN IMMEDIATE')
        const result = this.#carryOut(work(), (each) => told.push(each))
        if (keep?.(result) === false) this.#run('ROLLBACK')
        else this.#commit(told)
        return result
      } catch (thrown) {
        if (this.#db?.isTransaction === true) this.#run('ROLLBACK')
        throw thrown
      } finally {
        if (durable === false && this.#db !== undefined) this.#run('PRAGMA synchronous=FULL')
      }
    })
  }

  #commit(told: readonly News[]): void {
    for (const { about, run } of told) this.#query({ text: 'INSERT INTO news(about, run) VALUES($1, $2)', params: [about, run] })
    const newest = told.length === 0 ? 0 : this.#newest()
    if (newest % 128 === 0 && newest > newsKept) this.#query({ text: 'DELETE FROM news WHERE num <= $1', params: [newest - newsKept] })
    this.#run('COMMIT')
    // Those of this process need not wait for the next look. Told when this is over: what they do then is no part of it.
    if (told.length > 0 && this.#listeners.size > 0) queueMicrotask(() => told.forEach((each) => this.#tell(each)))
  }

  #carryOut<T>(work: Work<T>, tell: (news: News) => void): T {
    for (let step = work.next([]); ;) {
      if (step.done === true) return step.value
      step = work.next(this.#answer(step.value, tell))
    }
  }

  #answer(request: Request, tell: (news: News) => void): readonly Rows[] {
    switch (request.type) {
      case 'read':
        return request.statements.map((each) => this.#query(each))
      case 'write':
        return [this.#query(request.statement)]
      case 'tell':
        tell(request.news)
        return []
      case 'guard':
        return []
    }
  }

  #query({ text, params }: Statement): Rows {
    if (this.#db === undefined) throw closedStore()
    let prepared = this.#statements.get(text)
    if (prepared === undefined) {
      if (this.#statements.size > 500) this.#statements.clear()
      prepared = this.#db.prepare(text.replaceAll(' FOR UPDATE', '').replaceAll(/\$(\d)/g, '?$1'))
      this.#statements.set(text, prepared)
    }
    return prepared.all(...params)
  }

  #run(text: string): void {
    this.#query({ text, params: [] })
  }

  // ---- news

  hear(listener: (news: News | 'all') => void): () => void {
    if (this.#db === undefined) return () => undefined
    if (this.#listeners.size === 0) {
      this.#heard = this.#newest()
      this.#poll = setInterval(() => this.#look(), pollMs)
      this.#poll.unref()
    }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) clearInterval(this.#poll)
    }
  }

  #tell(each: News | 'all'): void {
    for (const listener of this.#listeners) listener(each)
  }

  /** Has another connection written? Asking costs next to nothing, so it can be asked often. */
  #look(): void {
    try {
      const version = this.#dataVersion()
      if (version === this.#version) return
      const since = this.#heard
      const rows = this.#query({
        text: 'SELECT num, about, run FROM news WHERE num > $1 ORDER BY num',
        params: [since],
      }) as unknown as NewsRow[]
      this.#version = version
      this.#heard = rows.at(-1)?.num ?? since
      if ((rows[0]?.num ?? since + 1) > since + 1) this.#tell('all')
      else for (const { about, run } of distinct(rows)) this.#tell({ about, run })
    } catch {
      // The next look will do; whoever reads meets the trouble itself.
    }
  }

  #dataVersion(): number {
    return (this.#query({ text: 'PRAGMA data_version', params: [] })[0] as { data_version: number }).data_version
  }

  #newest(): number {
    return (this.#query({ text: 'SELECT max(num) AS num FROM news', params: [] })[0] as { num: number | null }).num ?? 0
  }
}

type NewsRow = News & { readonly num: number }

function distinct(rows: readonly News[]): readonly News[] {
  const seen = new Map<string, News>()
  for (const { about, run } of rows) seen.set(`${about} ${run}`, { about, run })
  return [...seen.values()]
}

/** Opens or creates a store. A file that is not ours is left as it is. */
function openFile(file: string): DatabaseSync {
  mustBeWritable(file)
  const db = new DatabaseSync(file)
  try {
    db.exec('PRAGMA busy_timeout=5000')
    prepareFile(db, file)
    db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000')
    return db
  } catch (thrown) {
    db.close()
    throw thrown
  }
}

/** SQLite opens a read-only file without a word and fails at the first write: too late for whoever has started a run by then. */
function mustBeWritable(file: string): void {
  if (file === ':memory:' || !existsSync(file)) return
  try {
    accessSync(file, constants.W_OK)
  } catch (thrown) {
    throw readOnlyFile(file, thrown)
  }
}

const look = `SELECT (SELECT application_id FROM pragma_application_id) AS id, (SELECT user_version FROM pragma_user_version) AS version,
  (SELECT count(*) FROM sqlite_schema) AS tableCount`

function prepareFile(db: DatabaseSync, file: string): void {
  const check = (): 'ready' | 'empty' => {
    // One statement: between two looks somebody else may make a store of it.
    const { id, version, tableCount } = db.prepare(look).get() as { id: number; version: number; tableCount: number }
    if (id === applicationId && version === schemaVersion) return 'ready'
    if (id === applicationId && version > schemaVersion)
      throw new ReeveError('store.newer', `${file} was written by a newer Reeve (schema ${version}, this one knows ${schemaVersion})`, {
        hint: 'Upgrade Reeve in this process. Nothing was changed.',
      })
    if (id === 0 && tableCount === 0) return 'empty'
    throw new ReeveError('store.foreign', `${file} is not an event store but an SQLite database of another kind`, {
      hint: 'Name another file. Nothing was changed.',
    })
  }
  if (check() === 'ready') return
  db.exec('PRAGMA journal_mode=WAL')
  db.exec('BEGIN IMMEDIATE')
  try {
    const all = `${tables(dialect)}; ${news}; PRAGMA application_id=${applicationId}; PRAGMA user_version=${schemaVersion}`
    if (check() === 'empty') db.exec(all)
    db.exec('COMMIT')
  } catch (thrown) {
    db.exec('ROLLBACK')
    throw thrown
  }
}
