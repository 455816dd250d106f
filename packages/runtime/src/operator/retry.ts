/**
 * Retrying runs that ended badly: each as a fork that begins before what failed.
 *
 * Owns: which runs can be retried, the id of the new run, many at once. Does not own: where it begins
 * (engine/fork/retry-point.ts), what a fork is (fork.ts).
 * Holds: the same run retried twice is one new run, from whichever process.
 */
import {
  flag,
  expects,
  newId,
  optionProblems,
  ReeveError,
  refuseProblems,
  runId,
  runKey,
  string,
  unchecked,
  type Checks,
  type RunId,
} from '@reeve/core'
import {
  retryPoint,
  unknownRun,
  type DiscardedWork,
  type Engine,
  type RetryFrom,
  type RunFilter,
  type RunStatus,
  type RunSummary,
} from '@reeve/engine'
import { wholeFeed } from '../feed/whole-feed.ts'
import { listRuns } from '../session-queue.ts'
import { forkAt } from './fork.ts'

/** How a run is retried. */
export interface RetryOptions {
  /** The id of the new run. Default: one that follows from the run's, so that a second retry is the same run. */
  readonly runId?: string
  /** Another retry, though the run has been retried before. Default false. */
  readonly again?: boolean
  /** Recorded with it. */
  readonly reason?: string
  readonly by?: string
}

/** How many runs are retried at once, newest first, and what is recorded with each. */
export interface RetryAllOptions extends Pick<RetryOptions, 'reason' | 'by'> {
  /** Default 100. */
  readonly limit?: number
  readonly signal?: AbortSignal
  /** Called before each run: what it throws refuses this one. */
  readonly check?: (run: RunSummary) => void | Promise<void>
  /** Called after each run. */
  readonly onResult?: (result: RetryResult) => void
}

/** Where a retry goes on, and what of its origin it does not keep. */
export interface RetryScope {
  readonly from: RetryFrom
  readonly discarded: DiscardedWork
}

/** What became of one run. `before`: it has been retried already, and this is that run. */
export type RetryResult =
  | ({ readonly run: RunId; readonly status: 'retried' | 'before'; readonly retry: RunId } & RetryScope)
  | { readonly run: RunId; readonly status: 'refused'; readonly error: ReeveError }

/** What became of all of them. */
export interface RetriedRuns {
  readonly results: readonly RetryResult[]
  /** Some were refused, or there are more than the limit. */
  readonly partial: boolean
}

const checks: Checks<RetryOptions> = {
  runId: unchecked, // by runId()
  again: flag,
  reason: string,
  by: string,
}
const allChecks: Checks<RetryAllOptions> = {
  reason: string,
  by: string,
  limit: expects((given) => Number.isSafeInteger(given) && (given as number) > 0, 'a whole number from 1'),
  signal: unchecked,
  check: unchecked,
  onResult: unchecked,
}

const retryable: readonly RunStatus[] = ['failed', 'limited', 'timed-out', 'cancelled']

const invalid = (message: string, hint: string): ReeveError =>
  new ReeveError('fork.invalid', message, { hint: `${hint} Nothing was retried.` })

/** Retries a run; resolves to the id of the new run when it is durable, and whether it was begun now. */
export async function retryRun(
  engine: Engine,
  run: RunId,
  options: RetryOptions,
): Promise<{ readonly run: RunId; readonly created: boolean } & RetryScope> {
  refuseProblems('input.invalid', optionProblems(checks, options, 'retry'), 'Nothing was retried.')
  const { again = false, reason, by } = options
  const to = options.runId === undefined && !again ? retryOf(run) : runId(options.runId ?? newId('run'))
  const feed = await wholeFeed(engine, run)
  const point = await retryPoint(feed)
  const summary = await engine.summary(run)
  if (summary === undefined) throw unknownRun(run)
  if (point === undefined)
    throw invalid(
      `run ${run} has not ended: it is ${summary.status}`,
      summary.status === 'stuck' ? 'Settle what it is stuck for, or resume it.' : 'Wait for its end, or fork it.',
    )
  if (!retryable.includes(summary.status))
    throw invalid(`run ${run} ended as ${summary.status}`, 'Only a run that did not succeed is retried; fork this one.')
  const { end, at, from, discarded } = point
  // what a row of refused answers had used is free again before the first of them; one that asks for too many calls used none
  const isRefused = discarded.modelCalls > 1 || (end.status === 'limited' && end.limit === 'calls')
  const isFreed = from.redoes === 'model-call' && isRefused
  if (end.status === 'limited' && end.limit !== 'minutes' && !isFreed)
    throw invalid(
      `run ${run} reached its limit of ${end.limit}: a retry has the same limits, and has used what was used`,
      'Start a new run with other limits.',
    )
  const request = {
    run,
    at,
    to,
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
  }
  const { created } = await forkAt(engine, request)
  return { run: to, created, from, discarded }
}

/** The id of the one retry of a run. */
const retryOf = (run: RunId): RunId => runKey(run, 'retry').id

/** Retries the runs that match, one after the other. One that is refused stops none of the others. */
export async function retryAll(engine: Engine, filter: RunFilter, options: RetryAllOptions): Promise<RetriedRuns> {
  refuseProblems('input.invalid', optionProblems(allChecks, options, 'retryAll'), 'Nothing was retried.')
  const { limit = 100, signal, check, onResult, ...recorded } = options
  const { status = ['failed'] } = filter
  const others = status.filter((each) => !retryable.includes(each))
  if (others.length > 0)
    throw new ReeveError('input.invalid', `status ${others.join(', ')}: such runs cannot be retried`, {
      hint: `Choose among ${retryable.join(', ')}. Nothing was retried.`,
    })
  const found = await listRuns(engine, { ...filter, status, limit: limit + 1 })
  const results: RetryResult[] = []
  for (const summary of found.slice(0, limit)) {
    if (signal?.aborted === true) break
    const result = await retryOne(engine, summary, recorded, check)
    results.push(result)
    onResult?.(result)
  }
  return { results, partial: results.length < found.length || results.some((each) => each.status === 'refused') }
}

async function retryOne(
  engine: Engine,
  summary: RunSummary,
  recorded: Pick<RetryOptions, 'reason' | 'by'>,
  check: RetryAllOptions['check'],
): Promise<RetryResult> {
  const { run } = summary
  try {
    await check?.(summary)
    const { run: retry, created, ...scope } = await retryRun(engine, run, recorded)
    return { run, status: created ? 'retried' : 'before', retry, ...scope }
  } catch (thrown) {
    // What is wrong with one run is told with it; what is wrong with the store holds for all.
    if (!ReeveError.is(thrown) || thrown.code.startsWith('store.') || thrown.code === 'engine.closed') throw thrown
    return { run, status: 'refused', error: thrown }
  }
}
