/**
 * `reeve resume`: goes on with a run that was left, killed, paused, or waited for somebody.
 *
 * Owns: who drives it, and with which agents: this process if the run is in a store, with the demo's own agents or
 * those of the config; with an engine its workers do, and this process says the word and watches. Does not own: going
 * on, which is the same loop as running.
 */
import { realpathSync } from 'node:fs'
import { ReeveError, visible } from '../../core/index.ts'
import { demoAgents, isDemoAgent, settingsOf } from '../../demo/index.ts'
import { quoted, whereOf, type CommandContext } from '../context.ts'
import { usage, type Exit } from '../exit.ts'
import {
  configName,
  findPlace,
  loadConfig,
  openRuntime,
  orConfigHere,
  storeBelow,
  type ConfigOptions,
  type Place,
} from '../store.ts'
import { watchRun } from '../watch.ts'
import type { Run, Runtime, RunView } from '../../runtime/index.ts'

/** The options of `reeve resume`. */
export interface ResumeOptions {
  readonly yes?: boolean
  readonly json?: boolean
}

/** Goes on with a run and watches it. */
export async function resume(called: CommandContext, id: string, given: ResumeOptions): Promise<Exit> {
  const context = { ...called, options: orConfigHere(called.options, called.cwd) }
  const place = await findPlace(context.options, context.cwd)
  return 'engine' in place ? tell(context, place, id, given) : drive(context, place, id, given)
}

async function drive(
  context: CommandContext,
  place: Place,
  id: string,
  { yes = false, json = false }: ResumeOptions,
): Promise<Exit> {
  const { options, terminal, interrupted } = context
  const view = await viewOf(place, id)
  const driven = await drivenFor(view, context).catch((thrown: unknown) => {
    throw view.takeover === undefined ? thrown : inHumanHands(view, options)
  })
  await using runtime = await openRuntime(place, {
    ...driven,
    ...(isDemoAgent(view.agent) ? { onMissingVersion: 'park' } : undefined),
  })
  const run = runtime.handle(id)
  if (
    view.takeover !== undefined &&
    !(await handedBack(run, view.position, AbortSignal.any([interrupted, AbortSignal.timeout(glanceMs)])))
  )
    throw inHumanHands(await run.view(), options)
  // A pause may still lie unread in the inbox of a run that nobody drove; this word comes after it.
  if (view.endedAt === undefined && view.takeover === undefined && (await goesOn(run))) {
    await takenUp(run, view.position, AbortSignal.any([interrupted, AbortSignal.timeout(patienceMs)]))
    await mustBeFree(run, options)
  }
  return await watchRun(run, { terminal, json, yes, where: whereOf(options), from: view.position, interrupted })
}

async function viewOf(place: Place, id: string): Promise<RunView> {
  await using runtime = await openRuntime(place, { drive: false })
  return await runtime.handle(id).view()
}

/**
 * Drives nothing: a terminal would be a worker that is about to go away. A paused run is shown when a worker has heard
 * the word, not as still paused.
 */
async function tell(
  context: CommandContext,
  place: Place,
  id: string,
  { yes = false, json = false }: ResumeOptions,
): Promise<Exit> {
  const { options, terminal, interrupted } = context
  const where = whereOf(options)
  await using runtime = await openRuntime(place, { drive: false })
  const run = runtime.handle(id)
  const { endedAt, position } = await run.view()
  if (endedAt === undefined && (await goesOn(run))) {
    const isTaken = await takenUp(run, position, AbortSignal.any([interrupted, AbortSignal.timeout(patienceMs)]))
    if (!isTaken && !interrupted.aborted && !(await isStuck(runtime, id))) {
      terminal.note(`No worker has taken the run up yet. It goes on as soon as one drives it: reeve work${where}`)
      if (['paused', 'pausing'].includes((await run.view()).status)) await takenUp(run, position, interrupted)
    }
    await mustBeFree(run, options)
  }
  return await watchRun(run, { terminal, json, yes, where, from: position, interrupted, elsewhere: true })
}

const isStuck = async (runtime: Runtime, id: string): Promise<boolean> =>
  (await runtime.runs({ status: ['stuck'] })).some(({ run }) => run === id)

/**
 * Says the word. False: it is not needed. A cancel that lay unread has ended the run by now, or it waits for somebody,
 * and whoever looks is shown that.
 */
async function goesOn(run: Run): Promise<boolean> {
  try {
    await run.control.resume('cli')
    return true
  } catch (thrown) {
    if (ReeveError.is(thrown, 'run.ended') || ReeveError.is(thrown, 'run.not-paused')) return false
    throw thrown
  }
}

/**
 * Waits until the run has read the word, so that a pause from before it is not taken for the present. False: it has
 * not, and the signal came.
 */
async function takenUp(run: Run, from: number, signal: AbortSignal): Promise<boolean> {
  for await (const { event } of run.events({ from, signal }))
    if (event.type === 'run.resumed' || event.type === 'control.ignored') return true
  return !signal.aborted
}

/** A takeover may have lain unread, too: then whoever has the run decides when it goes on. */
async function mustBeFree(run: Run, options: CommandContext['options']): Promise<void> {
  const view = await run.view()
  if (view.endedAt === undefined && view.takeover !== undefined) throw inHumanHands(view, options)
}

/** A hand back, or an end by hand, may lie unread where nobody drives the run. False: it does not. */
async function handedBack(run: Run, from: number, signal: AbortSignal): Promise<boolean> {
  for await (const { event } of run.events({ from, signal })) if (event.type === 'run.handed-back') return true
  return !signal.aborted
}

function inHumanHands({ run, takeover }: RunView, options: CommandContext['options']): ReeveError {
  const { by, reason, since } = takeover ?? {}
  const when = since === undefined ? '' : ` since ${new Date(since).toISOString()}`
  return new ReeveError(
    'run.taken-over',
    `${by === undefined ? 'a human' : visible(by)} has the run "${run}"${when}${reason === undefined ? '' : `: ${visible(reason)}`}`,
    { hint: `It goes on when it is handed back:\n  reeve handback ${run}${whereOf(options)}` },
  )
}

/** How long it may take to read what lies unread. */
const glanceMs = 1_500

/** How long whoever drives the run may take to read a word. */
const patienceMs = 5_000

/** Whether two paths lead to the same folder. One that is gone is none. */
function isSamePlace(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

async function drivenFor(view: RunView, { options, cwd }: CommandContext): Promise<ConfigOptions> {
  if (isDemoAgent(view.agent)) {
    const settings = settingsOf(view)
    if (settings === undefined) throw usage(`the run "${view.run}" does not say which folder it surveys`)
    // a store that came with a folder may hold a run that its author has approved, and that writes where its author
    // wants
    if (options.store === undefined && options.config === undefined && !isSamePlace(settings.folder, cwd))
      throw usage(
        `the run "${view.run}" surveys another folder than the one its store is in: ${visible(settings.folder)}`,
        `It would write its report there. If the store is yours, name it: --store ${quoted(storeBelow('.'))}`,
      )
    return { agents: demoAgents(settings) }
  }
  const config = await loadConfig(options.config ?? configName, cwd)
  if (!config.agents.some((each) => each.name === view.agent)) {
    throw usage(
      `the run "${view.run}" is of the agent "${view.agent}", which the config does not export`,
      'Name the config that has it with --config <file>.',
    )
  }
  return config.place.options ?? {}
}
