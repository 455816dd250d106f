/**
 * The next command: which command drives a run located, after an answer or a control command that no worker may have
 * read yet.
 *
 * Owns: the choice of that command, and whether it needs a config. Does not own: sending answers and control commands
 * (command/).
 */
import { shellWord } from '@reeve/core'
import type { Runtime } from '@reeve/runtime'
import { whereOf, type CommandContext } from './context.ts'
import { isDemoAgent } from '@reeve/demo'
import { hasConfig, type RunLocation } from './store.ts'
import { reeve } from './invocation.ts'
import { otherDriver } from './run-driver.ts'

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
export const driveCommand = async (located: LocatedRun): Promise<string> =>
  driveWith(located, await drivingOptions(located))

const driveWith = (located: LocatedRun, driver: DrivingOptions): string =>
  'engine' in located.place ? `${reeve} work${driver.options}` : resumeWith(located, driver)

const resumeWith = ({ run }: LocatedRun, { options }: DrivingOptions): string =>
  `${reeve} resume ${shellWord(run)}${options}`

/** The command that resumes the run. */
export const resumeCommand = async (located: LocatedRun): Promise<string> =>
  resumeWith(located, await drivingOptions(located))

/** The command that keeps driving the run: `reeve work`; for a run of the demo, `driveCommand`. */
export async function workerCommand(located: LocatedRun): Promise<string> {
  return (await isOfDemo(located)) ? driveCommand(located) : `${reeve} work${(await drivingOptions(located)).options}`
}

/** The sentence that says how the run continues: a worker drives it, or which command does. */
export async function continueHint(located: LocatedRun): Promise<string> {
  const driver = await drivingOptions(located)
  const { runtime, run, context } = located
  const other = await otherDriver(runtime)
  if (other === 'alive')
    return `A worker is running and continues the run. Watch it with:\n  ${reeve} watch ${shellWord(run)}${whereOf(context.options)}`
  const beginning = other === 'none' ? 'No worker is running: ' : 'If no worker is running, '
  return `${beginning}${driver.program}continue the run with:\n  ${driveWith(located, driver)}`
}

/** The sentence that says what carries out what many runs were told. */
export async function workersHint({ options }: Pick<CommandContext, 'options'>, runtime: Runtime): Promise<string> {
  const other = await otherDriver(runtime)
  if (other === 'alive') return 'A worker is running and goes on with them.'
  const beginning = other === 'none' ? 'No worker is running. Workers' : 'Workers'
  return `${beginning} with their agents go on with them: ${reeve} work${whereOf(options)}`
}

/** The line for a run that no process drives. */
export async function undrivenLine(located: LocatedRun): Promise<string> {
  const driver = await drivingOptions(located)
  return `no process drives it: ${driver.program}${driveWith(located, driver)}`
}

const isOfDemo = async ({ runtime, run, agent }: LocatedRun): Promise<boolean> =>
  isDemoAgent(agent ?? (await runtime.handle(run).view()).agent)

/** What a command that drives a run is given, and what else can be done, as the beginning of a sentence. */
interface DrivingOptions {
  readonly options: string
  /** Empty where its agents are known here. Without a config, only the program that started it has them. */
  readonly program: string
}

/** Reading and deciding need no config; driving needs the one with the agents. */
async function drivingOptions(located: LocatedRun): Promise<DrivingOptions> {
  const { options, cwd } = located.context
  const where = whereOf(options)
  const hasAgents = options.config !== undefined || hasConfig(cwd) || (await isOfDemo(located))
  return hasAgents
    ? { options: where, program: '' }
    : { options: `${where} --config <file>`, program: 'run your program again, or ' }
}
