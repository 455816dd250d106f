/**
 * Going on: the command that lets a run go on after a word to it that nobody may be there to read.
 *
 * Owns: which command that is, and whether it needs a config that this one did not. Does not own: giving the word
 * (command/).
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../runtime/index.ts'
import { whereOf, type CommandContext, quoted } from './context.ts'
import { isDemoAgent } from '../demo/index.ts'
import { configName, type Place } from './store.ts'

/** What there is to drive. */
export interface Further {
  readonly context: Pick<CommandContext, 'options' | 'cwd'>
  readonly runtime: Runtime
  readonly place: Place
  readonly run: string
}

/** The command that drives a run which has its word: here if it is in a store, else with a worker. */
export async function furtherCommand(further: Further): Promise<string> {
  return 'engine' in further.place ? `reeve work${await driverOptions(further)}` : resumeCommand(further)
}

/** The command that lets a paused run go on. */
export async function resumeCommand(further: Further): Promise<string> {
  return `reeve resume ${quoted(further.run)}${await driverOptions(further)}`
}

/** The command that drives a run from then on, if it is none of the demo's. */
export async function workerCommand(further: Further): Promise<string> {
  return (await isOfDemo(further)) ? furtherCommand(further) : `reeve work${await driverOptions(further)}`
}

/** What to do after a word to a run that nobody may be driving. */
export async function goesOnWith(further: Further): Promise<string> {
  const driver = 'engine' in further.place ? 'a worker is there' : 'something drives this store'
  return `Unless ${driver} already, let the run go on with:\n  ${await furtherCommand(further)}`
}

const isOfDemo = async ({ runtime, run }: Further): Promise<boolean> =>
  isDemoAgent((await runtime.handle(run).view()).agent)

/** Looking and deciding need no config; whoever drives needs the one that has the agents. */
async function driverOptions(further: Further): Promise<string> {
  const { options, cwd } = further.context
  const has = options.config !== undefined || existsSync(join(cwd, configName)) || (await isOfDemo(further))
  return `${whereOf(options)}${has ? '' : ' --config <file>'}`
}
