/**
 * Retrying runs that ended badly: each as a fork that begins before what failed.
 *
 * Owns: which runs can be retried, the id of the new run. Does not own: where it begins (engine/fork/retry-point.ts),
 * what a fork is (fork.ts), many at once (../batch).
 * Holds: the same run retried twice is one new run, from whichever process.
 */
import {
  flag,
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
import { retryPoint, unknownRun, type DiscardedWork, type Engine, type RetryFrom, type RunStatus } from '@reeve/engine'
import { wholeFeed } from '../feed/whole-feed.ts'
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

/** Where a retry goes on, and what of its origin it does not keep. */
export interface RetryScope {
  readonly from: RetryFrom
  readonly discarded: DiscardedWork
}

const checks: Checks<RetryOptions> = {
  runId: unchecked, // by runId()
  again: flag,
  reason: string,
  by: string,
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
