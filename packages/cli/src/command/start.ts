/**
 * `reeve start`: starts a run of an agent of a config, drives it and watches it; or leaves it to the workers.
 *
 * Owns: which agent and input are meant, who drives. Does not own: the run loop, what is shown (../watch.ts).
 */
import { shellWord, visible } from '@reeve/core'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'
import { orderlyEnd } from '../orderly-end.ts'
import { configHere, loadConfig, namedStore, openRuntime, orConfigHere, shortOptions } from '../store.ts'
import { watchRun } from '../watch.ts'
import { readValue } from './answer.ts'
import { metadataOf } from './runs.ts'

/** The options of `reeve start`. */
export interface StartCommandOptions {
  readonly text?: boolean
  /** Workers drive it: it is neither driven nor watched here. */
  readonly detach?: boolean
  readonly run?: string
  readonly user?: string
  readonly session?: string
  readonly tenant?: string
  readonly meta?: readonly string[]
  readonly yes?: boolean
  readonly json?: boolean
}

/** Valid JSON is the input as JSON, anything else as text; with `text`, always as text. */
export async function start(
  called: CommandContext,
  name: string,
  given: string,
  { text = false, detach = false, run: runId, meta, yes = false, json = false, ...caller }: StartCommandOptions,
): Promise<Exit> {
  const { terminal, cwd, interrupted } = called
  const options = orConfigHere(called.options, cwd)
  const config = await loadConfig(options.config ?? configHere(cwd), cwd)
  const agent = config.agents.find((each) => each.name === name)
  if (agent === undefined)
    throw usage(
      `the config exports no agent ${JSON.stringify(visible(name))}`,
      `It exports: ${config.agents.map((each) => each.name).join(', ')}`,
    )
  const place = options.store === undefined ? config.place : namedStore(options.store, cwd, config.place.options)
  const drives = !detach && 'store' in place
  await using runtime = await openRuntime(place, drives ? {} : { drive: false })
  await using _end = orderlyEnd(runtime, called)
  const { user, session, tenant } = caller
  const { id } = await runtime.start(agent, text ? given : readValue(given), {
    ...(runId === undefined ? {} : { runId }),
    ...(user === undefined ? {} : { user }),
    ...(session === undefined ? {} : { session }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(meta === undefined ? {} : { metadata: metadataOf(meta) }),
  })
  // a store that was just created is found by now
  const where = whereOf(await shortOptions(called.options, place, cwd))
  if (!detach)
    return await watchRun(runtime.handle(id), { terminal, json, yes, where, from: 0, interrupted, elsewhere: !drives })
  if (json) terminal.line(JSON.stringify({ run: id }))
  else {
    terminal.line(`Started ${id}. A worker drives it: ${reeve} work${where}`)
    terminal.line(`See it with: ${reeve} show ${shellWord(id)}${where}`)
  }
  return exits.done
}
