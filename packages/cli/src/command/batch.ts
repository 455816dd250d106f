/**
 * Batches: `retry-run`, `cancel`, `pause` and `resume` of all runs that match, and `reeve batch`, which shows one and goes
 * on with it.
 *
 * Owns: the question before many runs, the progress, the summary, which process works on it. Does not own: what a batch
 * does (runtime). With a store this process works on it, beside workers that do; with an engine, its workers do.
 */
import { durationText, present, shellWord, visible, visibleLine } from '@reeve/core'
import type { BatchHandle, BatchFilter, BatchOptions, BatchResult, BatchVerb, BatchView, Runtime } from '@reeve/runtime'
import { mostInBatch, statusesOf, type RunStatus } from '@reeve/runtime'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { workersHint } from '../next-command.ts'
import { orderlyEnd } from '../orderly-end.ts'
import { mayBeDriven } from '../run-driver.ts'
import { findRuns, openRuntime, withRuns, type RunLocation } from '../store.ts'
import { reeve } from '../invocation.ts'
import { timeText } from '../request-text.ts'
import { filterOf, type RunFilterOptions } from './runs.ts'

/** Which runs, and how, as it is typed. */
export interface BatchFilterOptions extends RunFilterOptions {
  readonly status?: readonly RunStatus[]
  readonly limit?: number
  readonly yes?: boolean
}

/** What the verbs are called in sentences. */
const verbTexts: Readonly<Record<BatchVerb, { readonly ask: string; readonly done: string; readonly before: string }>> =
  {
    retry: { ask: 'Retry', done: 'retried', before: 'retried before' },
    cancel: { ask: 'Cancel', done: 'cancelled', before: 'cancelled before' },
    pause: { ask: 'Pause', done: 'paused', before: 'paused before' },
    resume: { ask: 'Resume', done: 'resumed', before: 'at work already' },
  }

/** Whether options choose runs. */
const isFiltered = (options: BatchFilterOptions): boolean =>
  options.status !== undefined || Object.keys(filterOf(options)).length > 0

/** Whether a filter chooses runs, and not an id. Throws `cli.usage` for both, and for neither. */
export function isChosen(run: string | undefined, options: BatchFilterOptions, verb: BatchVerb): boolean {
  const command = verb === 'retry' ? 'retry-run' : verb
  const isMany = isFiltered(options)
  if (run !== undefined && isMany)
    throw usage('a run and a filter were given', 'Name one run, or choose several with --status, --agent, --since, …')
  if (run === undefined && !isMany) {
    const [usual] = statusesOf(verb, undefined)
    throw usage(
      'no run was named',
      `Name a run, or choose several: ${reeve} ${command} --status ${usual ?? '<status>'}`,
    )
  }
  return isMany
}

/** The filter that was typed. Throws `cli.usage` where it chooses nothing. */
function batchFilterOf(verb: BatchVerb, options: BatchFilterOptions): BatchFilter {
  const { limit: _limit, after: _after, childrenOf: _childrenOf, ...filter } = filterOf(options)
  return { ...filter, status: statusesOf(verb, options.status) }
}

/** What is printed of the results of a verb. */
export interface BatchLines {
  readonly result: (result: BatchResult) => string
  /** After the last one. */
  readonly summary: () => readonly string[]
}

const plainLines = (verb: BatchVerb): BatchLines => ({
  result: (result) =>
    result.status === 'refused' ? refusedText(result) : `${result.run}: ${verbTexts[verb][result.status]}`,
  summary: () => [],
})

/** One that was refused, with the reason. */
export const refusedText = ({ run, error }: Extract<BatchResult, { readonly status: 'refused' }>): string =>
  `${run}: refused: ${visibleLine(error.message)}`

/** Gives a command to all runs that match, and shows how far it is. */
export async function commandMany(
  context: CommandContext,
  verb: BatchVerb,
  given: BatchFilterOptions,
  how: Pick<BatchOptions, 'reason' | 'undo'>,
  lines: BatchLines = plainLines(verb),
): Promise<Exit> {
  const { terminal } = context
  const filter = batchFilterOf(verb, given)
  const place = await findRuns(context.options, context.cwd)
  const { limit = mostInBatch, yes = false } = given
  return workingOn(context, place, async (runtime) => {
    const found = await runtime.runs({ ...filter, limit: limit + 1 })
    const count = Math.min(found.length, limit)
    if (count === 0) {
      terminal.line('No run matches.')
      return exits.done
    }
    const which = `${counted(count, 'run')}${found.length > limit ? ' (there are more)' : ''}`
    if (!yes && !(await isSure(context, verb, which))) return exits.cancelled
    const batch = await runtime.batch(verb, filter, { ...present(how), limit, by: currentUser() })
    return followBatch(context, runtime, batch, lines)
  })
}

/** Shows a batch and goes on with it; or lists the newest ones. */
export async function batchCommand(
  context: CommandContext,
  id: string | undefined,
  { stop = false, json = false, limit }: { readonly stop?: boolean; readonly json?: boolean; readonly limit: number },
): Promise<Exit> {
  if (id === undefined) {
    if (stop) throw usage('no batch was named', `Name one: ${reeve} batch <batch> --stop`)
    return listBatches(context, json, limit)
  }
  const { terminal } = context
  const place = await findRuns(context.options, context.cwd)
  if (json || stop)
    return withRuns(context.options, context.cwd, async (runtime) => {
      const batch = runtime.batches.of(id)
      if (stop) await batch.cancel(undefined, currentUser())
      const view = await batch.view()
      if (json) terminal.line(JSON.stringify(view))
      else
        terminal.line(`Asked the batch ${view.id} to stop. Runs that it has not got to stay as they are: ${view.left}.`)
      return exits.done
    })
  return workingOn(context, place, (runtime) => followBatch(context, runtime, runtime.batches.of(id)))
}

function listBatches(context: CommandContext, json: boolean, limit: number): Promise<Exit> {
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime) => {
    const found = await runtime.batches.list({ limit })
    if (json) for (const view of found) terminal.line(JSON.stringify(view))
    else if (found.length === 0) terminal.line('No batches in this store.')
    else
      for (const view of found) {
        const { id, verb, status, startedAt, endedAt, total } = view
        const took = endedAt === undefined ? '' : `, took ${durationText(endedAt - startedAt)}`
        terminal.line(`${id}  ${verb} ${total ?? '…'}  ${status}  ${timeText(startedAt)}${took}: ${progressText(view)}`)
      }
    return exits.done
  })
}

/**
 * Opens the runs so that a batch goes on: with a store, this process works on batches, and on nothing else; with an
 * engine, its workers do.
 */
async function workingOn(
  context: CommandContext,
  place: RunLocation,
  work: (runtime: Runtime) => Promise<Exit>,
): Promise<Exit> {
  const isHere = 'store' in place
  await using runtime = await openRuntime(place, { drive: isHere ? 'batches' : false })
  await using _end = orderlyEnd(runtime, context)
  if (!isHere && !(await mayBeDriven(runtime)))
    context.terminal.note(`No worker is running. Start one with: ${reeve} work${whereOf(context.options)}`)
  return await work(runtime)
}

/** Prints what becomes of each run until the batch has ended, then the summary. */
async function followBatch(
  context: CommandContext,
  runtime: Runtime,
  batch: BatchHandle,
  given?: BatchLines,
): Promise<Exit> {
  const { terminal, interrupted } = context
  const { verb, ...begun } = await batch.view()
  const lines = given ?? plainLines(verb)
  let { total } = begun
  let done = 0
  for await (const result of batch.results({ signal: interrupted })) {
    total ??= (await batch.view()).total
    done++
    const text = lines.result(result)
    if (isShown(result, done, total)) terminal.line(`[${done}/${total ?? '…'}] ${text}`)
  }
  const view = await batch.view()
  if (interrupted.aborted && view.endedAt === undefined) {
    terminal.line(`${progressText(view)}; ${view.left} left.`)
    terminal.line(
      `The batch goes on where a worker runs. Go on with it here:\n  ${reeve} batch ${shellWord(batch.id)}${whereOf(context.options)}`,
    )
    return exits.interrupted
  }
  printEnd(context, view)
  for (const line of lines.summary()) terminal.line(line)
  if (view.done > 0) terminal.line(await workersHint(context, runtime))
  return view.status === 'cancelled'
    ? exits.cancelled
    : view.refused > 0 || view.status !== 'completed'
      ? exits.failed
      : exits.done
}

/** All of a short list; of a long one what was refused, and now and then how far it is. */
const isShown = (result: BatchResult, done: number, total: number | undefined): boolean =>
  (total ?? 0) <= 100 || result.status === 'refused' || done % 100 === 0 || done === total

function printEnd({ terminal, options }: CommandContext, view: BatchView): void {
  const { status, left, more, causes, id } = view
  const rest = [
    ...(status === 'completed' ? [] : [`the batch ended as ${status}, ${left} left`]),
    ...(more === true ? ['partial: more runs match than the limit'] : []),
  ]
  terminal.line([progressText(view), ...rest].join('; '))
  for (const { code, count, message } of causes) terminal.line(`  ${count} × ${visible(code)}: ${visibleLine(message)}`)
  if (causes.length > 0)
    terminal.line(`  ${reeve} batch ${shellWord(id)} --json${whereOf(options)} names the first runs of each`)
}

const progressText = ({ verb, done, before, refused }: BatchView): string =>
  `${done} ${verbTexts[verb].done}, ${before} ${verbTexts[verb].before}, ${refused} refused`

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

async function isSure({ terminal, interrupted }: CommandContext, verb: BatchVerb, which: string): Promise<boolean> {
  const { ask, done } = verbTexts[verb]
  if (!terminal.canAsk) throw usage(`${which} would be ${done}`, `Confirm with --yes. Nothing was ${done}.`)
  try {
    const said = (await terminal.ask(`${ask} ${which}? y = yes, Enter = no: `, interrupted)).trim().toLowerCase()
    return said === 'y' || said === 'yes'
  } catch {
    return false
  }
}
