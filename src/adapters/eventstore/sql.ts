/**
 * The seam between what the event store does and where it does it. A piece of work is a generator that yields what it asks of its database: the same
 * work is carried out on SQLite without a pause, and on PostgreSQL in as few round trips as its own questions make necessary.
 *
 * Owns: what a work may ask, and the words to ask with. Does not own: connections, transactions, errors (postgres.ts, sqlite.ts).
 */
import type { RunId } from '../../core/index.ts'

export type Param = string | number | null

/** One statement, written once for both: `$1` stands for a parameter; ` FOR UPDATE` locks rows where several may write at once. */
export interface Statement {
  readonly text: string
  readonly params: readonly Param[]
}

/** What is told to all processes when a transaction commits. `end`: the run has ended. `parts`: live parts have come; readers of events need not look. */
export interface News {
  readonly about: 'events' | 'end' | 'parts'
  readonly run: RunId
}

/**
 * `read` is answered, one list of rows for each statement. The others are not: a `write` that fails fails the transaction. `guard` makes those who
 * take payloads out (`exclusive`) wait for those who put some in (`shared`), and the other way round.
 */
export type Request =
  | { readonly type: 'read'; readonly statements: readonly Statement[] }
  | { readonly type: 'write'; readonly statement: Statement }
  | { readonly type: 'guard'; readonly mode: 'shared' | 'exclusive' }
  | { readonly type: 'tell'; readonly news: News }

export type Rows = readonly Readonly<Record<string, unknown>>[]
export type Work<T> = Generator<Request, T, readonly Rows[]>

export interface TransactionOptions<T> {
  /** Whether what was written is kept, by what the work returns. Default: always. */
  readonly keep?: (result: T) => boolean
  /** False: it may be lost when power fails. */
  readonly durable?: boolean
}

/** A database that carries out works. Everything rejects with `store.*`. */
export interface Database {
  open(): Promise<void>
  close(): Promise<void>
  /** Writes everything or nothing. A work may be begun again from the start when another one stood in its way. */
  transaction<T>(work: () => Work<T>, options?: TransactionOptions<T>): Promise<T>
  /** Without a transaction: each statement sees what is there then. */
  read<T>(work: () => Work<T>): Promise<T>
  /** Hears news of all processes; `all` after a gap. */
  hear(listener: (news: News | 'all') => void): () => void
}

export const statement = (text: string, ...params: readonly Param[]): Statement => ({ text, params })

/** Several questions at once, answered in order. */
export function* ask(...statements: readonly Statement[]): Work<readonly Rows[]> {
  return yield { type: 'read', statements }
}

export function* rowsOf<R>(text: string, ...params: readonly Param[]): Work<readonly R[]> {
  const [rows] = yield { type: 'read', statements: [{ text, params }] }
  return rows as unknown as readonly R[]
}

export function* rowOf<R>(text: string, ...params: readonly Param[]): Work<R | undefined> {
  return (yield* rowsOf<R>(text, ...params))[0]
}

export function* write(text: string, ...params: readonly Param[]): Work<void> {
  yield { type: 'write', statement: { text, params } }
}

export function* tell(run: RunId, about: News['about'] = 'events'): Work<void> {
  yield { type: 'tell', news: { about, run } }
}

export function* guard(mode: 'shared' | 'exclusive'): Work<void> {
  yield { type: 'guard', mode }
}

/** `$3, $4, …`: as many as there are values, beginning after `after`. */
export const marks = (count: number, after = 0): string => Array.from({ length: count }, (_, i) => `$${after + i + 1}`).join(', ')

/** Rows for one statement; more would only make its text longer. */
const atOnce = 200

export const chunks = <T>(items: readonly T[], size = atOnce): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))

/** `head` names table and columns, `tail` what happens on a conflict. */
function insertStatement(head: string, rows: readonly (readonly Param[])[], tail: string): Statement {
  let after = 0
  const lists = rows.map((row) => {
    const list = `(${marks(row.length, after)})`
    after += row.length
    return list
  })
  return { text: `INSERT INTO ${head} VALUES ${lists.join(', ')} ${tail}`.trimEnd(), params: rows.flat() }
}

export function* insert(head: string, rows: readonly (readonly Param[])[], tail = '', size = atOnce): Work<void> {
  for (const chunk of chunks(rows, size)) yield { type: 'write', statement: insertStatement(head, chunk, tail) }
}

/** The rows that were not there yet. `tail` says which columns of them are returned. */
export function* inserted<R>(head: string, rows: readonly (readonly Param[])[], tail: string): Work<readonly R[]> {
  if (rows.length === 0) return []
  const answers = yield { type: 'read', statements: chunks(rows).map((chunk) => insertStatement(head, chunk, tail)) }
  return answers.flat() as unknown as readonly R[]
}
