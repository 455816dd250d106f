/**
 * `reeve resume`: resumes a run that was interrupted, paused or is waiting.
 *
 * Owns: who drives it, and with which agents. A run in a store is driven by this process, with the agents of the demo
 * or of the config; with an engine, its workers drive it and this process watches. Does not own: the run loop.
 */
import { realpathSync } from 'node:fs'
import { present, ReeveError, visible, shellWord } from '@reeve/core'
import { demoAgents, isDemoAgent, settingsOf } from '@reeve/demo'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { usage, type Exit } from '../exit.ts'
import {
  agentsFolder,
  configHere,
  configName,
  findRuns,
  hasConfig,
  loadConfig,
  openRuntime,
  orConfigHere,
  shortOptions,
  storeBelow,
  type ConfigOptions,
  type RunLocation,
} from '../store.ts'
import { orderlyEnd } from '../orderly-end.ts'
import { mayBeDriven, needsDriver } from '../run-driver.ts'
import { watchRun } from '../watch.ts'
import type { Run, RunSummary, Runtime, RunView } from '@reeve/runtime'
import { reeve } from '../invocation.ts'
import { commandMany, isChosen, type BatchFilterOptions } from './batch.ts'

/** The options of `reeve resume`. */
export interface ResumeCommandOptions {
  readonly yes?: boolean
  readonly json?: boolean
}

/** Resumes one run and watches it, or all paused ones that match. */
export function resumeMany(
  context: CommandContext,
  run: string | undefined,
  options: ResumeCommandOptions & BatchFilterOptions & { readonly reason?: string },
): Promise<Exit> {
  const { reason } = options
  return isChosen(run, options, 'resume')
    ? commandMany(context, 'resume', options, present({ reason }))
    : resume(context, run!, options)
}

/** Resumes a run and watches it. */
export async function resume(called: CommandContext, id: string, given: ResumeCommandOptions): Promise<Exit> {
  const place = await findRuns(orConfigHere(called.options, called.cwd), called.cwd)
  const context = { ...called, options: await shortOptions(called.options, place, called.cwd) }
  return 'engine' in place ? resumeRemotely(context, place, id, given) : drive(context, place, id, given)
}

async function drive(
  context: CommandContext,
  place: RunLocation,
  id: string,
  { yes = false, json = false }: ResumeCommandOptions,
): Promise<Exit> {
  const { options, terminal, interrupted } = context
  const { view, isHeld } = await stateOf(place, id)
  const driven = await drivenFor(view, context).catch((thrown: unknown) => {
    throw view.takeover === undefined ? thrown : inHumanHands(view, options)
  })
  await using runtime = await openRuntime(place, {
    ...driven,
    ...(isDemoAgent(view.agent) ? { onMissingVersion: 'park' } : undefined),
  })
  await using _end = orderlyEnd(runtime, context)
  const run = runtime.handle(id)
  if (
    view.takeover !== undefined &&
    !(await handedBack(run, view.position, AbortSignal.any([interrupted, AbortSignal.timeout(glanceMs)])))
  )
    throw inHumanHands(await run.view(), options)
  const { position: from } = view
  if (isHeld && view.takeover === undefined && (await postResume(run))) {
    await takenUp(run, from, AbortSignal.any([interrupted, AbortSignal.timeout(patienceMs)]))
    await mustBeFree(run, options)
  }
  const resumePause = pauseOfBefore(run, interrupted)
  return await watchRun(run, { terminal, json, yes, where: whereOf(options), from, interrupted, resumePause })
}

/**
 * Resumes a run that turns out to be paused as soon as it is driven: its inbox held a pause from before this resume. A
 * pause that comes later holds.
 */
function pauseOfBefore(run: Run, interrupted: AbortSignal): () => Promise<boolean> {
  const soon = AbortSignal.timeout(patienceMs)
  let wasResumed = false
  return async () => {
    if (wasResumed || soon.aborted || interrupted.aborted) return false
    wasResumed = true
    const { position } = await run.view()
    if (!(await postResume(run))) return false
    return takenUp(run, position, AbortSignal.any([interrupted, AbortSignal.timeout(patienceMs)]))
  }
}

/** Whether it needs the command `resume`: it is paused, or was set aside. Any other run only needs to be driven. */
const needsResume = ({ status, failure }: RunSummary): boolean =>
  status === 'paused' || status === 'pausing' || (status === 'stuck' && failure !== undefined)

/** How the run is before this process drives it. */
async function stateOf(place: RunLocation, id: string): Promise<{ readonly view: RunView; readonly isHeld: boolean }> {
  await using runtime = await openRuntime(place, { drive: false })
  const run = runtime.handle(id)
  return { view: await run.view(), isHeld: needsResume(await run.summary()) }
}

/**
 * Asks the engine's workers to resume. This process drives no run, because a terminal would be a short-lived worker.
 * The display starts once a worker has read the resume, so that the run is not shown as still paused.
 */
async function resumeRemotely(
  context: CommandContext,
  place: RunLocation,
  id: string,
  { yes = false, json = false }: ResumeCommandOptions,
): Promise<Exit> {
  const { options, terminal, interrupted } = context
  const where = whereOf(options)
  await using runtime = await openRuntime(place, { drive: false })
  const run = runtime.handle(id)
  const { position } = await run.view()
  const summary = await run.summary()
  if (needsResume(summary) && (await postResume(run))) {
    const isTaken = await takenUp(run, position, AbortSignal.any([interrupted, AbortSignal.timeout(patienceMs)]))
    if (!isTaken && !interrupted.aborted && !(await isStuck(runtime, id))) {
      terminal.note(`No worker drives the run yet. Start one with: ${reeve} work${where}`)
      if (['paused', 'pausing'].includes((await run.view()).status)) await takenUp(run, position, interrupted)
    }
  } else if (needsDriver(summary, Date.now()) && !(await mayBeDriven(runtime)))
    terminal.note(`No worker drives the run yet. Start one with: ${reeve} work${where}`)
  await mustBeFree(run, options)
  return await watchRun(run, { terminal, json, yes, where, from: position, interrupted, elsewhere: true })
}

const isStuck = async (runtime: Runtime, id: string): Promise<boolean> =>
  (await runtime.runs({ status: ['stuck'] })).some(({ run }) => run === id)

/** Posts a resume. False: not needed any more, because the run has ended or is not paused. */
async function postResume(run: Run): Promise<boolean> {
  try {
    await run.control.resume(currentUser())
    return true
  } catch (thrown) {
    if (ReeveError.is(thrown, 'run.ended') || ReeveError.is(thrown, 'run.not-paused')) return false
    throw thrown
  }
}

/**
 * Waits until the run has read the resume, so that an older pause is not mistaken for the current state. False: the
 * signal aborted first.
 */
async function takenUp(run: Run, from: number, signal: AbortSignal): Promise<boolean> {
  for await (const { event } of run.events({ from, signal }))
    if (event.type === 'run.resumed' || event.type === 'control.ignored') return true
  return !signal.aborted
}

/** Refuses a run that was taken over by a command that had not been read before. */
async function mustBeFree(run: Run, options: CommandContext['options']): Promise<void> {
  const view = await run.view()
  if (view.endedAt === undefined && view.takeover !== undefined) throw inHumanHands(view, options)
}

/** Waits for an unread hand back or finish to take effect. False: none did before the signal. */
async function handedBack(run: Run, from: number, signal: AbortSignal): Promise<boolean> {
  for await (const { event } of run.events({ from, signal })) if (event.type === 'run.handed-back') return true
  return !signal.aborted
}

function inHumanHands({ run, takeover }: RunView, options: CommandContext['options']): ReeveError {
  const { by, reason, since } = takeover ?? {}
  const when = since === undefined ? '' : ` since ${new Date(since).toISOString()}`
  return new ReeveError(
    'run.taken-over',
    `the run "${run}" is taken over by ${by === undefined ? 'a human' : visible(by)}${when}${reason === undefined ? '' : `: ${visible(reason)}`}`,
    { hint: `Hand it back to continue:\n  ${reeve} handback ${run}${whereOf(options)}` },
  )
}

/** How long reading unread commands may take. */
const glanceMs = 1_500

/** How long a worker may take to read a command. */
const patienceMs = 5_000

/** Whether two paths are the same folder. False if one does not exist. */
function isSameFolder(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

async function drivenFor(view: RunView, { options, cwd }: CommandContext): Promise<ConfigOptions> {
  if (isDemoAgent(view.agent)) {
    const settings = settingsOf(view)
    if (settings === undefined) throw usage(`the input of run "${view.run}" names no folder to survey`)
    // a store that was copied with a folder may contain an approved run that writes wherever its author chose
    if (options.store === undefined && options.config === undefined && !isSameFolder(settings.folder, cwd))
      throw usage(
        `the run "${view.run}" surveys ${visible(settings.folder)}, which is not the folder of its store`,
        `It would write its report there. If you trust the store, name it: --store ${shellWord(storeBelow('.'))}`,
      )
    return { agents: demoAgents(settings) }
  }
  if (options.config === undefined && !hasConfig(cwd))
    throw usage(
      `no ${configName} and no ${agentsFolder}/ in this folder, so the agents of the run "${view.run}" are not known here`,
      'Run your program again: it drives the run. Or name a config that exports `agents`: --config <file>',
    )
  const config = await loadConfig(options.config ?? configHere(cwd), cwd)
  if (!config.agents.some((each) => each.name === view.agent)) {
    throw usage(
      `the run "${view.run}" needs the agent "${view.agent}", which the config does not export`,
      'Name the config that exports it with --config <file>.',
    )
  }
  return config.place.options ?? {}
}
