/**
 * `reeve backup` and `reeve compact`: a store's file as a whole. Own: the words. Do not own: how a store is copied and
 * rewritten (engine/embedded/upkeep.ts).
 */
import { resolve } from 'node:path'
import { backupStore, compactStore } from '../../runtime/index.ts'
import { shownStore, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { findPlace, isDatabase } from '../store.ts'

/** The file of a store; a database and an engine keep their runs elsewhere. */
async function fileOf({ options, cwd }: CommandContext): Promise<string> {
  const place = await findPlace(options, cwd)
  if ('store' in place && isDatabase(place.store))
    throw usage(
      `${shownStore(place.store)} is a PostgreSQL database: this command is for stores in a file`,
      'Back it up with its own tools, for example pg_dump; autovacuum gives its space back.',
    )
  if ('store' in place) return place.store
  throw usage(
    `${place.config} names an engine, not a store`,
    'Back up the store of that engine with the tools of its database.',
  )
}

/** Copies the store, also while workers drive its runs. */
export async function backup(context: CommandContext, to: string): Promise<Exit> {
  const file = await fileOf(context)
  await backupStore(file, resolve(context.cwd, to))
  context.terminal.line(`${file} is copied to ${to}.`)
  return exits.done
}

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`

/** Rewrites the store without its free space. */
export async function compact(context: CommandContext): Promise<Exit> {
  const file = await fileOf(context)
  const { before, after } = compactStore(file)
  context.terminal.line(`${file} had ${megabytes(before)} and has ${megabytes(after)}.`)
  return exits.done
}
