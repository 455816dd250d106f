/**
 * The next command: which command drives a run located, after an answer or a control command that no worker may have
 * read yet.
 *
 * Owns: the choice of that command, and whether it needs a config. Does not own: sending answers and control commands
 * (command/).
 */
import { shellWord } from '../core/index.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../runtime/index.ts'
import { whereOf, type CommandContext } from './context.ts'
import { isDemoAgent } from '../demo/index.ts'
import { configName, type RunLocation } from './store.ts'
import { reeve } from './invocation.ts'

/** A run, and where it was found. */
export interface LocatedRun {
  readonly context: Pick<CommandContext, 'options' | 'cwd'>
  readonly runtime: Runtime
  readonly place: RunLocation
  readonly run: string
  /** Its root agent, if known. */
  readonly agent?: string
}

/** The command that drives the run: `reeve resume` for a store, `reeve work` for an engine. */
export async function driveCommand(located: LocatedRun): Promise<string> {
  return 'engine' in located.place ? `${reeve} work${await driverOptions(located)}` : resumeCommand(located)
}

/** The command that resumes the run. */
export async function resumeCommand(located: LocatedRun): Promise<string> {
  return `${reeve} resume ${shellWord(located.run)}${await driverOptions(located)}`
}

/** The command that keeps driving the run: `reeve work`; for a run of the demo, `driveCommand`. */
export async function workerCommand(located: LocatedRun): Promise<string> {
  return (await isOfDemo(located)) ? driveCommand(located) : `${reeve} work${await driverOptions(located)}`
}

/** The sentence that says how the run continues if no worker drives it. */
export async function continueHint(located: LocatedRun): Promise<string> {
  const program = (await hasConfig(located)) ? '' : 'run your program again, or '
  return `If no worker is running, ${program}continue the run with:\n  ${await driveCommand(located)}`
}

/** The line for a run that no process drives. */
export async function undrivenLine(located: LocatedRun): Promise<string> {
  const program = (await hasConfig(located)) ? '' : 'run your program again, or '
  return `no process drives it: ${program}${await driveCommand(located)}`
}

const isOfDemo = async ({ runtime, run, agent }: LocatedRun): Promise<boolean> =>
  isDemoAgent(agent ?? (await runtime.handle(run).view()).agent)

/** Whether its agents are known here. Without a config, only the program that started it has them. */
async function hasConfig(located: LocatedRun): Promise<boolean> {
  const { options, cwd } = located.context
  return options.config !== undefined || existsSync(join(cwd, configName)) || (await isOfDemo(located))
}

/** The options to drive the run with. Reading and deciding need no config; driving needs the one with the agents. */
async function driverOptions(located: LocatedRun): Promise<string> {
  return `${whereOf(located.context.options)}${(await hasConfig(located)) ? '' : ' --config <file>'}`
}
