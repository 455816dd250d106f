/**
 * `reeve migrate`: migrates an event store of the Restate engine of 0.1 into a store of the current format.
 *
 * Owns: the output. Does not own: the migration (stores/migration).
 */
import { migrateStore, type Migrated } from '@reeve/runtime/upkeep'
import { shownStore, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { storeAt } from '../store.ts'

export interface MigrateOptions {
  readonly check?: boolean
  readonly json?: boolean
}

/** The number of refused runs that are printed; `--json` has all of them. */
const namedRuns = 20

/** Migrates a store. Idempotent: an interrupted migration continues when called again. */
export async function migrate(
  { terminal, cwd }: CommandContext,
  from: string,
  to: string,
  { check = false, json = false }: MigrateOptions,
): Promise<Exit> {
  const onProgress = (done: number, of: number): void => {
    if (!json && !check && of > 1_000 && done % 1_000 === 0) terminal.line(`${done} of ${of} runs`)
  }
  const migrated = await migrateStore({ from: storeAt(from, cwd), to: storeAt(to, cwd), check, onProgress })
  if (json) terminal.line(JSON.stringify(migrated))
  else for (const line of linesOf(migrated, check, shownStore(to))) terminal.line(line)
  return migrated.refused.length === 0 ? exits.done : exits.failed
}

function linesOf({ runs, written, there, streams, refused }: Migrated, check: boolean, to: string): string[] {
  const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
  const lines = [
    `${counted(runs, 'run')} in the source. ${check ? 'To be written' : 'Written'} to ${to}: ${counted(written, 'run')} and ${counted(streams, 'stream')} of values.`,
  ]
  if (there > 0) lines.push(`${counted(there, 'run')} ${there === 1 ? 'was' : 'were'} migrated before.`)
  if (refused.length > 0) lines.push(`${refused.length} cannot be migrated:`)
  for (const { what, why } of refused.slice(0, namedRuns)) lines.push(`  ${what}: ${why}`)
  if (refused.length > namedRuns) lines.push(`  … and ${refused.length - namedRuns} more (--json names all of them)`)
  if (check) lines.push('Nothing was written.')
  return lines
}
