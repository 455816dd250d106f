/**
 * Stores of 0.1 for tests: those in fixtures/, put back into an SQLite file or a PostgreSQL schema.
 *
 * Owns: reading the fixtures, planting them, and copies of one run under other ids. Recorded once, by the version that
 * they are of; never changed (K12).
 */
import { readFileSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { Client } from 'pg'
import { freshPostgres } from '../../../test/servers/postgres.ts'

type Cell = string | number | null
export interface Line {
  readonly table: string
  readonly row: Readonly<Record<string, Cell>>
}
type Kind = 'sqlite' | 'postgres' | 'embedded'

const folder = new URL('./fixtures/', import.meta.url).pathname
const ddlOf = (kind: Kind): string => readFileSync(`${folder}${kind}.sql`, 'utf8')

export const linesOf = (kind: Kind): readonly Line[] =>
  readFileSync(`${folder}${kind}.jsonl`, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

/** When the last entry was written. */
export const recordedAt = (lines: readonly Line[]): number =>
  Math.max(...lines.flatMap(({ table, row }) => (table === 'entry' ? [Number(row['at'])] : [])))

/** The journal of a run as it stands in a fixture: text by position. */
export const journalOf = (lines: readonly Line[], run: string): readonly Line['row'][] =>
  lines
    .flatMap(({ table, row }) => (table === 'entry' && row['run'] === run ? [row] : []))
    .toSorted((a, b) => Number(a['position']) - Number(b['position']))

/** A run's rows again, under another id; rows that are numbered get numbers of their own. */
export function copied(lines: readonly Line[], run: string, id: string): readonly Line[] {
  const mine = lines.filter(
    ({ table, row }) => (table === 'run' ? row['id'] : row['run']) === run && table !== 'blob_use',
  )
  return mine.map(({ table, row: { num: _, ...row } }) => ({
    table,
    row: Object.fromEntries(
      Object.entries(row).map(([name, cell]) => [
        name,
        typeof cell !== 'string'
          ? cell
          : name === 'run' || (table === 'run' && name === 'id')
            ? id
            : cell.replaceAll(`act_${run}`, `act_${id}`).replaceAll('int_', `int_${id}_`),
      ]),
    ),
  }))
}

/** `kind`: whose tables they are. */
export function plantFile(
  file: string,
  lines: readonly Line[] = linesOf('sqlite'),
  kind: 'sqlite' | 'embedded' = 'sqlite',
): void {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA journal_mode=WAL; ${ddlOf(kind)} BEGIN; ${kind === 'sqlite' ? 'DELETE FROM floor;' : ''}`)
  for (const { table, row } of lines) {
    const names = Object.keys(row)
    db.prepare(`INSERT INTO ${table}(${names.join(', ')}) VALUES(${names.map(() => '?').join(', ')})`).run(
      ...(Object.values(row) as SQLInputValue[]),
    )
  }
  db.exec('COMMIT')
  db.close()
}

export interface Schema extends AsyncDisposable {
  /** As a migration takes it. */
  readonly address: string
  readonly schema: string
  /** Without the schema. */
  readonly server: string
}

/** A schema of one's own; with lines, one that holds them. */
export async function freshSchema(): Promise<Schema> {
  const { schema, server, dispose } = await freshPostgres()
  const address = `${server}?schema=${schema}`
  return { schema, server, address, [Symbol.asyncDispose]: dispose }
}

export async function plantSchema(
  { server, schema }: Schema,
  lines: readonly Line[] = linesOf('postgres'),
): Promise<void> {
  const client = new Client(server)
  await client.connect()
  await client.query(`SET search_path TO "${schema}"; BEGIN; ${ddlOf('postgres')} DELETE FROM floor;`)
  for (const { table, row } of lines) {
    const names = Object.keys(row)
    await client.query(
      `INSERT INTO ${table}(${names.join(', ')}) VALUES(${names.map((_, i) => `$${i + 1}`).join(', ')})`,
      Object.values(row),
    )
  }
  await client.query('COMMIT')
  await client.end()
}

/** Everything that stands in a schema, as text. */
export async function contentOf({ server, schema }: Schema): Promise<string> {
  const client = new Client(server)
  await client.connect()
  const { rows: tables } = await client.query<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 ORDER BY 1',
    [schema],
  )
  const all: string[] = []
  for (const { name } of tables)
    all.push(
      name,
      ...(
        await client.query<{ text: string }>(`SELECT t::text AS text FROM "${schema}"."${name}" t ORDER BY 1`)
      ).rows.map(({ text }) => text),
    )
  await client.end()
  return all.join('\n')
}
