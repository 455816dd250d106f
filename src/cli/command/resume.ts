/**
 * `reeve resume`: drives a run that was left, killed, paused, or waited for somebody.
 *
 * Owns: which agents a run needs: the demo's own if it is a demo run, else those of the config. Does not own: going on, which is the same loop as
 * running.
 */
import { whereOf, type CommandContext } from '../context.ts'
import { demoAgents, isDemoAgent } from '../demo/team.ts'
import { settingsOf } from '../demo/settings.ts'
import { usage, type Exit } from '../exit.ts'
import { findStore, loadConfig, look } from '../store.ts'
import { watchRun } from '../watch.ts'
import { createRuntime, type Run, type RunView, type RuntimeOptions } from '../../runtime/index.ts'

/** Goes on with a run and watches it. */
export async function resume(
  context: CommandContext,
  id: string,
  { yes = false, json = false }: { readonly yes?: boolean; readonly json?: boolean },
): Promise<Exit> {
  const { options, cwd, terminal, interrupted } = context
  const store = await findStore(options, cwd)
  const view = await look({ store }, cwd, (runtime) => runtime.handle(id).view())
  const agents = await agentsFor(view, context)
  await using runtime = await createRuntime({ store, agents, onMissingVersion: isDemoAgent(view.agent) ? 'park' : 'move' })
  const run = runtime.handle(id)
  // A pause may still lie unread in the inbox of a run that nobody drove; this word comes after it.
  if (view.endedAt === undefined) {
    await run.resume('cli')
    await takenUp(run, view.position, interrupted)
  }
  return await watchRun(run, { terminal, json, yes, where: whereOf(options), from: view.position, interrupted })
}

/** Waits until the run has read the word, so that a pause from before it is not taken for the present. A run that cannot be driven never reads it. */
async function takenUp(run: Run, from: number, interrupted: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([interrupted, AbortSignal.timeout(patienceMs)])
  for await (const { event } of run.events({ from, signal })) if (event.type === 'run.resumed' || event.type === 'control.ignored') return
}

const patienceMs = 5_000

async function agentsFor(view: RunView, { options, cwd }: CommandContext): Promise<NonNullable<RuntimeOptions['agents']>> {
  if (isDemoAgent(view.agent)) {
    const settings = settingsOf(view)
    if (settings === undefined) throw usage(`the run "${view.run}" does not say which folder it surveys`)
    return demoAgents(settings)
  }
  const { agents } = await loadConfig(options.config ?? 'reeve.config.ts', cwd)
  if (!agents.some((each) => each.name === view.agent)) {
    throw usage(
      `the run "${view.run}" is of the agent "${view.agent}", which the config does not export`,
      'Name the config that has it with --config <file>.',
    )
  }
  return agents
}
