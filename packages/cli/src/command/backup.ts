/**
 * `reeve backup` and `reeve compact`: copy and rewrite a store file.
 *
 * Owns: the output. Does not own: copying and rewriting (engine).
 */
import { resolve } from 'node:path'
import { backupStore, compactStore } from '@reeve/runtime/upkeep'
import { shownStore, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { findRuns, isPostgres } from '../store.ts'

/** The file of the store. Throws `cli.usage` for a database or an engine. */
async function fileOf({ options, cwd }: CommandContext): Promise<string> {
  const place = await findRuns(options, cwd)
  if ('store' in place && isPostgres(place.store))
    throw usage(
      `${shownStore(place.store)} is a PostgreSQL database; this command needs a store in a file`,
      'Back it up with its own tools, for example pg_dump; autovacuum reclaims its space.',
    )
  if ('store' in place) return place.store
  throw usage(
    `${place.config} exports an engine, not a store`,
    'Back up the store of that engine with the tools of its database.',
  )
}

/** Copies the store; workers may drive its runs meanwhile. */
export async function backup(context: CommandContext, to: string): Promise<Exit> {
  const file = await fileOf(context)
  await backupStore(file, resolve(context.cwd, to))
  context.terminal.line(`Copied ${file} to ${to}.`)
  return exits.done
}

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`

/** Rewrites the store without its free space. */
export async function compact(context: CommandContext): Promise<Exit> {
  const file = await fileOf(context)
  const { before, after } = compactStore(file)
  context.terminal.line(`Compacted ${file} from ${megabytes(before)} to ${megabytes(after)}.`)
  return exits.done
}
