/**
 * `reeve retry-run`: goes on with runs that ended badly, one by its id or many by a filter.
 *
 * Owns: what is told of a retry. Does not own: where a retry begins (runtime), many at once (batch.ts). Drives no run: a
 * worker does.
 */
import { shellWord, visible } from '@reeve/core'
import type { RetryScope, Run, Runtime } from '@reeve/runtime'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { continueHint } from '../next-command.ts'
import { withRuns } from '../store.ts'
import { reeve } from '../invocation.ts'
import { commandMany, counted, isChosen, refusedText, type BatchFilterOptions, type BatchLines } from './batch.ts'

/** One run, or those that match. */
export interface RetryRunOptions extends BatchFilterOptions {
  readonly again?: boolean
  readonly run?: string
  readonly reason?: string
}

/** Retries runs. */
export async function retryRun(
  context: CommandContext,
  run: string | undefined,
  options: RetryRunOptions,
): Promise<Exit> {
  if (!isChosen(run, options, 'retry')) return retryOne(context, run!, options)
  if (options.again === true || options.run !== undefined)
    throw usage('--again and --run are for one run', `Name the run: ${reeve} retry-run <run> --again`)
  const { reason } = options
  return commandMany(context, 'retry', options, reason === undefined ? {} : { reason }, retryLines())
}

/** A line for each retry, and how many new model calls are certain. */
function retryLines(): BatchLines {
  let certain = 0
  let lost = 0
  return {
    result(result) {
      if (result.status === 'refused') return refusedText(result)
      const { run, retry, status, from, discarded } = result
      if (status === 'before' || from === undefined || discarded === undefined)
        return `${run} → ${retry ?? '?'} (retried before)`
      if (from.redoes === 'model-call') certain++
      lost += discarded.modelCalls
      return `${run} → ${retry ?? '?'}: ${scopeText({ from, discarded })}`
    },
    summary: () => [
      `They make at least ${counted(certain, 'new model call')}; ${counted(lost, 'call')} of their origins are not kept`,
    ],
  }
}

function retryOne(context: CommandContext, run: string, options: RetryRunOptions): Promise<Exit> {
  const { again, run: runId, reason } = options
  return withRuns(context.options, context.cwd, async (runtime, place) => {
    const retry = await runtime.retry(run, {
      by: currentUser(),
      ...(again === undefined ? {} : { again }),
      ...(runId === undefined ? {} : { runId }),
      ...(reason === undefined ? {} : { reason }),
    })
    const { origin } = await retry.view()
    const further = await continueHint({ context, runtime, place, run: retry.id })
    context.terminal.line(`The run ${retry.id} retries ${run} from position ${origin?.at ?? '?'}. ${further}`)
    context.terminal.line(`It goes on before position ${retry.from.position}: ${scopeText(retry)}.`)
    context.terminal.line(await versionText(runtime, runtime.handle(run)))
    context.terminal.line(
      `Compare them with:\n  ${reeve} diff ${shellWord(run)} ${shellWord(retry.id)}${whereOf(context.options)}`,
    )
    return exits.done
  })
}

/** With which version the retry goes on, as far as it is known here. */
async function versionText(runtime: Runtime, origin: Run): Promise<string> {
  const { agent, version } = await origin.summary()
  const name = visible(agent)
  const here = runtime.agents().find((each) => each.name === agent)
  if (here === undefined)
    return `The origin ran version ${version} of ${name}. A worker whose code has changed since goes on with its newest version.`
  return here.version === version
    ? `It goes on with version ${version} of ${name}, as the origin: its code has not changed since.`
    : `It goes on with version ${here.version} of ${name}; the origin ran ${version}.`
}

const redone: { readonly [Work in RetryScope['from']['redoes']]: (agent: string) => string } = {
  'model-call': (agent) => `${agent} asks its model again`,
  effect: (agent) => `${agent} makes the effect that failed again`,
  worker: (agent) => `${agent} starts its worker again`,
  question: (agent) => `${agent} puts its question again`,
  code: (agent) => `the code of ${agent} is run again from its journal`,
}

/** Where it goes on, and what of the origin is not kept. */
function scopeText({ from, discarded: { modelCalls, effects } }: RetryScope): string {
  const lost = `${counted(modelCalls, 'model call')} and ${counted(effects, 'effect')}`
  return `${redone[from.redoes](visible(from.agent))}; of the origin, ${lost} after it are not kept`
}
