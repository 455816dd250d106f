/**
 * The specialist for SQL migrations: is the order whole, what would be destroyed, what can be undone?
 * Owns: reading statements and the judgement of a series. Does not own: names (`migration-files.ts`). No database is asked.
 */
import { migrationOf, type MigrationFile } from './migration-files.ts'
import { byText, lineAt, listed, nameOf, openFolder, type Coverage, type Listed, type SurveyOptions } from './walk.ts'

/** A statement of an up migration that destroys data or cannot run in a transaction. */
export interface StatementFinding {
  file: string
  /** 1-based line where the statement's telling words start. */
  line: number
  statement:
    | 'drop-table'
    | 'drop-column'
    | 'drop-schema'
    | 'drop-database'
    | 'truncate'
    | 'delete-all'
    | 'index-concurrently'
    | 'enum-add-value'
    | 'vacuum'
    | 'create-database'
  /** The table, column or index named, `''` when none could be read. */
  subject: string
}

/** A series of migrations in one folder. */
export interface MigrationSeries {
  folder: string
  /** Up migrations. */
  migrations: number
  numbering: 'sequential' | 'timestamp' | 'version' | 'none'
  /** Numbers missing between the first and the last of a sequential series, at most 50. */
  gaps: string[]
  /** Numbers that more than one up migration bears, with the files. */
  duplicates: { number: string; files: string[] }[]
  /** Files whose names have no number although others of the series have. */
  unnumbered: string[]
  /** Up migrations that can be undone: by a down file, a rollback section or an undo migration. */
  reversible: number
  /** Up migrations that cannot be undone although others of the series can. */
  missingDown: string[]
}

/** What the specialist for migrations found. */
export interface MigrationsFindings {
  area: 'migrations'
  coverage: Coverage
  series: MigrationSeries[]
  destructive: Listed<StatementFinding>
  /** Statements PostgreSQL refuses inside a transaction (or restricts), in files that do not say they run without one. A hint: the tool may know. */
  nonTransactional: Listed<StatementFinding>
}

interface Read extends MigrationFile {
  readonly up: string
  readonly hasDownSection: boolean
}

/** Examines every folder of SQL migrations. */
export async function surveyMigrations(root: string, options: SurveyOptions = {}): Promise<MigrationsFindings> {
  const folder = await openFolder(root, options)
  const files: Read[] = []
  for (const { path } of folder.files) {
    const migration = migrationOf(path)
    const text = migration === null ? null : await folder.text(path)
    if (migration !== null && text !== null) files.push({ ...migration, ...sectionsOf(text) })
  }
  const ups = files.filter(({ direction }) => direction === 'up')
  return {
    area: 'migrations',
    coverage: folder.coverage(),
    series: [...new Set(ups.map((file) => file.folder))].sort(byText).map((at) =>
      seriesOf(
        at,
        files.filter((file) => file.folder === at),
      ),
    ),
    destructive: listed(
      ups.flatMap((file) => statementsIn(file, destructive)),
      folder.limits,
    ),
    nonTransactional: listed(
      ups.flatMap((file) => (saysNoTransaction(file.up) ? [] : statementsIn(file, nonTransactional))),
      folder.limits,
    ),
  }
}

const downSection =
  /^[ \t]*--[ \t]*(?:\+goose[ \t]+down|migrate:down|\+micrate[ \t]+down|\+migrate[ \t]+down|@?down\b|rollback\b|=+[ \t]*down)/im
const upSection = /^[ \t]*--[ \t]*(?:\+goose[ \t]+up|migrate:up|\+micrate[ \t]+up|\+migrate[ \t]+up)/im

/** The part that runs forward, what comes after the down marker blanked so that line numbers stay true. */
function sectionsOf(text: string): { up: string; hasDownSection: boolean } {
  const down = downSection.exec(text)
  if (down === null) return { up: text, hasDownSection: false }
  const up = upSection.exec(text)
  const isAfter = up !== null && up.index > down.index
  const blank = (part: string): string => part.replaceAll(/[^\n]/g, ' ')
  const kept = isAfter ? blank(text.slice(0, up.index)) + text.slice(up.index) : text.slice(0, down.index) + blank(text.slice(down.index))
  return { up: kept, hasDownSection: /[^\s;]/.test(withoutComments(isAfter ? text.slice(down.index, up.index) : text.slice(down.index))) }
}

/** Comments and string literals blanked, line ends kept. */
function withoutComments(text: string): string {
  return text.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g, (found) => found.replaceAll(/[^\n]/g, ' '))
}

type Pattern = readonly [statement: StatementFinding['statement'], pattern: RegExp]

const name = String.raw`((?:["\x60[]?[\w$]+["\x60\]]?\.)*["\x60[]?[\w$]+["\x60\]]?)`
const destructive: readonly Pattern[] = [
  ['drop-table', new RegExp(String.raw`\bdrop\s+table\s+(?:if\s+exists\s+)?${name}`, 'gi')],
  ['drop-column', new RegExp(String.raw`\bdrop\s+column\s+(?:if\s+exists\s+)?${name}`, 'gi')],
  ['drop-schema', new RegExp(String.raw`\bdrop\s+schema\s+(?:if\s+exists\s+)?${name}`, 'gi')],
  ['drop-database', new RegExp(String.raw`\bdrop\s+database\s+(?:if\s+exists\s+)?${name}`, 'gi')],
  ['truncate', new RegExp(String.raw`(?<=^|;|\n)\s*truncate\s+(?:table\s+)?(?:only\s+)?${name}`, 'gi')],
  ['delete-all', new RegExp(String.raw`(?<=^|;|\n)\s*delete\s+from\s+(?:only\s+)?${name}\s*(?=;|$)`, 'gi')],
]
const nonTransactional: readonly Pattern[] = [
  [
    'index-concurrently',
    new RegExp(
      String.raw`\b(?:create\s+(?:unique\s+)?|drop\s+|re)index\s+(?:(?:index|table|schema)\s+)?concurrently\s+(?:if\s+(?:not\s+)?exists\s+)?${name}`,
      'gi',
    ),
  ],
  ['enum-add-value', new RegExp(String.raw`\balter\s+type\s+${name}\s+add\s+value\b`, 'gi')],
  ['vacuum', new RegExp(String.raw`(?<=^|;|\n)\s*vacuum\b(?:\s+(?:full|analyze))*(?:\s+${name})?`, 'gi')],
  ['create-database', new RegExp(String.raw`\bcreate\s+database\s+(?:if\s+not\s+exists\s+)?${name}`, 'gi')],
]

function statementsIn(file: Read, patterns: readonly Pattern[]): StatementFinding[] {
  const sql = withoutComments(file.up)
  const found = patterns.flatMap(([statement, pattern]) =>
    [...sql.matchAll(pattern)].map((match) => {
      const start = match.index + (/^\s*/.exec(match[0])?.[0].length ?? 0)
      return { file: file.path, line: lineAt(sql, start), statement, subject: (match[1] ?? '').replaceAll(/["`[\]]/g, '') }
    }),
  )
  return found.sort((a, b) => a.line - b.line)
}

function saysNoTransaction(text: string): boolean {
  return /^[ \t]*--.*(?:no[ _-]transaction|transaction[ \t]*[:=][ \t]*false|notransaction|disable[-_ ]?(?:ddl[-_ ]?)?transaction|executeInTransaction=false)/im.test(
    text,
  )
}

function seriesOf(folder: string, files: readonly Read[]): MigrationSeries {
  const ups = files.filter(({ direction }) => direction === 'up')
  const downs = new Set(files.filter(({ direction }) => direction === 'down').map(({ key }) => key))
  const numbered = ups.filter(({ number }) => number !== null)
  const once = ups.filter(({ path }) => !isRepeatable(path))
  const undoable = once.filter((file) => downs.has(file.key) || file.hasDownSection)
  const groups = new Map<string, string[]>()
  for (const { number, path } of numbered) groups.set(plainNumber(number ?? ''), [...(groups.get(plainNumber(number ?? '')) ?? []), path])
  const numbering = numberingOf(numbered.map(({ number }) => number ?? ''))
  return {
    folder,
    migrations: ups.length,
    numbering,
    gaps: numbering === 'sequential' ? gapsIn([...groups.keys()].map(Number)) : [],
    duplicates: [...groups].filter(([, paths]) => paths.length > 1).map(([number, paths]) => ({ number, files: paths })),
    unnumbered: numbered.length === 0 ? [] : once.filter(({ number }) => number === null).map(({ path }) => path),
    reversible: undoable.length,
    missingDown: undoable.length === 0 ? [] : once.filter((file) => !undoable.includes(file)).map(({ path }) => path),
  }
}

/** Flyway's `R__` migrations run again whenever they change: they have no place in the order and nothing to undo. */
function isRepeatable(path: string): boolean {
  return nameOf(path).startsWith('R__')
}

function plainNumber(number: string): string {
  return number
    .split(/[._]/)
    .map((part) => part.replace(/^0+(?=\d)/, ''))
    .join('.')
}

function numberingOf(numbers: readonly string[]): MigrationSeries['numbering'] {
  if (numbers.length === 0) return 'none'
  if (numbers.some((number) => /[._]/.test(number))) return 'version'
  return numbers.some((number) => number.length >= 8) ? 'timestamp' : 'sequential'
}

/** The numbers left out. Series that count in steps of five, ten or a hundred keep their step. */
function gapsIn(numbers: number[]): string[] {
  numbers.sort((a, b) => a - b)
  const shared = numbers.reduce((a, b) => divisor(a, b), 0)
  const step = numbers.length > 2 && shared > 0 && shared % 5 === 0 ? shared : 1
  const gaps: string[] = []
  for (let at = 1; at < numbers.length; at++) {
    for (let missing = (numbers[at - 1] ?? 0) + step; missing < (numbers[at] ?? 0) && gaps.length < 50; missing += step)
      gaps.push(String(missing))
  }
  return gaps
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}
