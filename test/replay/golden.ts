/**
 * Golden journals: runs as a released version wrote them, commit by commit, in a folder of that version. Never edited
 * once it is released (K12); `node test/replay/golden.ts` adds those that the version in package.json lacks. One line
 * per commit: the entries that it added, and everything else that the store held after it.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { manualClock, type Scenario } from '@reeve/testing'
import { delegationGoldens } from './delegation-goldens.ts'
import { flowGoldens } from './flow-scenarios.ts'
import { oversightGoldens } from './oversight-goldens.ts'
import { plannedGoldens } from './planned-goldens.ts'
import { scenarios } from './scenarios.ts'
import { sqliteOf } from '../../packages/engine/test/sqlite-of.ts'
import manifest from '../../package.json' with { type: 'json' }

type Cells = Record<string, SQLInputValue>
/** One line of a golden journal. */
export interface Commit {
  readonly log: readonly Cells[]
  /** Every table but the log, the list of processes and what a store says of itself. */
  readonly tables: Readonly<Record<string, readonly Cells[]>>
}

export interface Golden {
  readonly version: string
  readonly name: string
  readonly commits: readonly Commit[]
}

const folder = new URL('./golden/', import.meta.url).pathname

/** What is recorded for each release. Kept as long as any of its journals (K12). */
export const goldenScenarios: readonly Scenario[] = [
  ...scenarios,
  ...flowGoldens,
  ...delegationGoldens,
  ...plannedGoldens,
  ...oversightGoldens,
]

/** The folder of the version in package.json: `v0.2`. */
export const currentVersion = `v${manifest.version.split('.').slice(0, 2).join('.')}`

export function goldens(): readonly Golden[] {
  return readdirSync(folder).flatMap((version) =>
    readdirSync(`${folder}${version}`).map((file) => ({
      version,
      name: file.replace('.jsonl', ''),
      commits: readFileSync(`${folder}${version}/${file}`, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Commit),
    })),
  )
}

/** A store as it was after the n-th commit, its process dead. */
export async function plant(file: string, commits: readonly Commit[]): Promise<void> {
  await createEmbeddedEngine({ file }).close()
  const db = new DatabaseSync(file)
  const insert = (table: string, row: Cells): void => {
    const names = Object.keys(row)
    // a new store has an id of its own
    db.prepare(`INSERT OR REPLACE INTO ${table}(${names.join(', ')}) VALUES(${names.map(() => '?').join(', ')})`).run(
      ...Object.values(row),
    )
  }
  for (const entry of commits.flatMap(({ log }) => log)) insert('log', entry)
  for (const [table, kept] of Object.entries(commits.at(-1)!.tables))
    for (const row of kept) insert(table, table === 'run' ? { ...row, owner: null } : row)
  db.close()
}

/** Plays a scenario and notes what the store holds after every commit. */
async function record(scenario: Scenario): Promise<readonly Commit[]> {
  const commits: Commit[] = []
  const clock = manualClock()
  let last = 0
  const place = mkdtempSync(join(tmpdir(), 'reeve-golden-'))
  const engine = createEmbeddedEngine({
    file: join(place, 'reeve.db'),
    durability: 'relaxed',
    clock,
    strict: true,
    onWarning: () => {},
    crash: (point) => {
      if (point === 'commit.after') note()
      return false
    },
  })
  const { db } = sqliteOf(engine)
  const named = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('log', 'process', 'meta') AND name NOT LIKE 'sqlite_%'`
  const tables = db
    .prepare(named)
    .all()
    .map(({ name }) => String(name))
  // without what the store makes of them itself
  const columns = (table: string): string =>
    db
      .prepare(`PRAGMA table_xinfo(${table})`)
      .all()
      .flatMap(({ name, hidden }) => (hidden === 0 ? [String(name)] : []))
      .join(', ')
  const note = (): void => {
    const rows = (sql: string): Cells[] => db.prepare(sql).all()
    const log = rows(`SELECT * FROM log WHERE position > ${last} ORDER BY position`)
    last = (log.at(-1)?.['position'] as number | undefined) ?? last
    commits.push({
      log,
      tables: Object.fromEntries(tables.map((table) => [table, rows(`SELECT ${columns(table)} FROM ${table}`)])),
    })
  }
  engine.drive(scenario.registry)
  await engine.start(scenario.start)
  let ended = false
  const end = engine.outcome(scenario.start.run).finally(() => (ended = true))
  while (!ended) {
    await new Promise((resolve) => setImmediate(resolve))
    if (!ended) await scenario.outside?.(engine, clock)
  }
  await end
  await engine.close()
  rmSync(place, { recursive: true })
  return commits
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(`${folder}${currentVersion}`, { recursive: true })
  for (const scenario of goldenScenarios) {
    const path = `${folder}${currentVersion}/${scenario.name}.jsonl`
    if (existsSync(path)) continue
    const commits = await record(scenario)
    writeFileSync(path, commits.map((commit) => `${JSON.stringify(commit)}\n`).join(''))
    process.stdout.write(`${scenario.name}: ${commits.length} commits\n`)
  }
}
