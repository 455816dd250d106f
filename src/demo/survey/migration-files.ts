/**
 * Which files are SQL migrations, in which folder, in which order and direction, judged by their names.
 * Owns: the naming schemes (number_name, V1__name, folders holding `migration.sql` or `up.sql`). Does not own: what a migration does.
 */
import { folderOf, nameOf } from './walk.ts'

/** A migration file by its name. */
export interface MigrationFile {
  readonly path: string
  /** The folder that holds the whole series. */
  readonly folder: string
  /** The ordering number as written (`007`, `20240131120000`, `1.2`), or `null` when the name has none. */
  readonly number: string | null
  readonly direction: 'up' | 'down'
  /** The name that an up and a down file of the same migration share. */
  readonly key: string
}

const seriesFolder = /^(migrations?|migrate|sql-migrations|db-migrations|flyway|schema-migrations)$/i

/** The migration a path is, or `null`. */
export function migrationOf(path: string): MigrationFile | null {
  if (!/\.sql$/i.test(path)) return null
  const parts = path.split('/')
  const depth = parts.slice(0, -1).findLastIndex((part) => seriesFolder.test(part))
  if (depth === -1) return null
  const name = nameOf(path)
  const below = parts.slice(depth + 1)
  const single = /^(migration|up|down)\.sql$/i.exec(name)?.[1]?.toLowerCase()
  if (single !== undefined && below.length >= 2) {
    const step = below.at(-2) ?? ''
    const folder = folderOf(folderOf(path))
    return { path, folder, number: numberOf(step), direction: single === 'down' ? 'down' : 'up', key: `${folder}/${step}` }
  }
  const undo = /^U(?=\d)/.test(name)
  const down = undo || /[._-](down|rollback|undo)\.sql$/i.test(name)
  const stem = name.replace(/([._-](up|down|rollback|undo))?\.sql$/i, '').replace(/^U(?=\d)/, 'V')
  const number = numberOf(stem)
  const isRepeatable = name.startsWith('R__')
  return number === null && !isRepeatable && below.length > 1
    ? null
    : { path, folder: folderOf(path), number, direction: down ? 'down' : 'up', key: `${folderOf(path)}/${stem}` }
}

function numberOf(name: string): string | null {
  const date = /^(\d{4})-(\d{2})-(\d{2})[-_]?(\d*)/.exec(name)
  if (date !== null) return date.slice(1).join('')
  return /^V?(\d+(?:[._]\d+)*)(?=__)/.exec(name)?.[1] ?? /^(\d+)(?=[_.-]|$)/.exec(name)?.[1] ?? /^V(\d+)/.exec(name)?.[1] ?? null
}

/** The folders that hold a series of migrations, sorted. */
export function migrationFoldersOf(paths: readonly string[]): string[] {
  return [...new Set(paths.map(migrationOf).flatMap((found) => (found === null ? [] : [found.folder])))].sort()
}
