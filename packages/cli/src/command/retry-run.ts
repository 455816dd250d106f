/**
 * `reeve retry-run`: goes on with runs that ended badly, one by its id or many by a filter.
 *
 * Owns: the question before many, the progress, the summary. Does not own: where a retry begins (runtime). Drives no
 * run: a worker does.
 */
import { shellWord, visible, visibleLine } from '@reeve/core'
import type { RetryResult, RetryScope, Runtime, RunFilter, RunStatus } from '@reeve/runtime'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { continueHint } from '../next-command.ts'
import { withRuns } from '../store.ts'
import { reeve } from '../invocation.ts'
import { filterOf, type RunFilterOptions } from './runs.ts'

/** One run, or those that match. */
export interface RetryRunOptions extends RunFilterOptions {
  readonly status?: readonly RunStatus[]
  readonly limit: number
  readonly yes?: boolean
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
  const { status } = options
  const filter = filterOf(options)
  const isFiltered = status !== undefined || Object.keys(filter).length > 0
  if (run !== undefined && isFiltered)
    throw usage('a run and a filter were given', 'Name one run, or choose several with --status, --agent, --since, …')
  if (run !== undefined) return retryOne(context, run, options)
  if (!isFiltered) throw usage('no run was named', `Name a run, or choose several: ${reeve} retry-run --status failed`)
  if (options.again === true || options.run !== undefined)
    throw usage('--again and --run are for one run', `Name the run: ${reeve} retry-run <run> --again`)
  return retryMany(context, { status: status ?? ['failed'], ...filter }, options)
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
    context.terminal.line(
      `Compare them with:\n  ${reeve} diff ${shellWord(run)} ${shellWord(retry.id)}${whereOf(context.options)}`,
    )
    return exits.done
  })
}

function retryMany(
  context: CommandContext,
  filter: RunFilter,
  { limit, yes = false, reason }: RetryRunOptions,
): Promise<Exit> {
  const { terminal, interrupted } = context
  return withRuns(context.options, context.cwd, async (runtime) => {
    const found = await runtime.runs({ ...filter, limit: limit + 1 })
    const count = Math.min(found.length, limit)
    if (count === 0) {
      terminal.line('No run matches.')
      return exits.done
    }
    const which = `${count} run${count === 1 ? '' : 's'}${found.length > limit ? ' (there are more)' : ''}`
    if (!yes && !(await isSure(context, which))) return exits.cancelled
    let done = 0
    const { results, partial } = await runtime.retryAll(filter, {
      limit,
      by: currentUser(),
      signal: interrupted,
      onResult: (result) => terminal.line(`[${++done}/${count}] ${resultText(result)}`),
      ...(reason === undefined ? {} : { reason }),
    })
    const number = (status: RetryResult['status']): number => results.filter((each) => each.status === status).length
    terminal.line(
      `${number('retried')} retried, ${number('before')} retried before, ${number('refused')} refused${partial ? '; partial: not every run that matches has a retry' : ''}`,
    )
    terminal.line(callsText(results))
    const first = results.find(({ status }) => status === 'retried')
    if (first?.status === 'retried') terminal.line(await workHint(context, runtime, first.retry))
    return interrupted.aborted ? exits.interrupted : number('refused') > 0 ? exits.failed : exits.done
  })
}

async function isSure({ terminal, interrupted }: CommandContext, which: string): Promise<boolean> {
  if (!terminal.canAsk) throw usage(`${which} would be retried`, 'Confirm with --yes. Nothing was retried.')
  try {
    const said = (await terminal.ask(`Retry ${which}? y = yes, Enter = no: `, interrupted)).trim().toLowerCase()
    return said === 'y' || said === 'yes'
  } catch {
    return false
  }
}

const workHint = async (context: CommandContext, runtime: Runtime, run: string): Promise<string> => {
  const { agent } = await runtime.handle(run).view()
  return `Workers with their agents (${visible(agent)}, …) drive them: ${reeve} work${whereOf(context.options)}`
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

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** How many model calls are certain. */
function callsText(results: readonly RetryResult[]): string {
  const retried = results.flatMap((each) => (each.status === 'retried' ? [each] : []))
  const certain = retried.filter(({ from }) => from.redoes === 'model-call').length
  const lost = retried.reduce((sum, { discarded }) => sum + discarded.modelCalls, 0)
  return `They make at least ${counted(certain, 'new model call')}; ${counted(lost, 'call')} of their origins are not kept`
}

function resultText(result: RetryResult): string {
  if (result.status === 'refused') return `${result.run}: refused: ${visibleLine(result.error.message)}`
  return `${result.run} → ${result.retry}${result.status === 'before' ? ' (retried before)' : `: ${scopeText(result)}`}`
}
