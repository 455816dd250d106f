/**
 * `delegateToSeveral`: a race of workers on one brief, for leaders that are code.
 *
 * Owns: its options, their checks, its result. Does not own: how a race is decided (../worker/race.ts), one worker
 * (../worker/worker-task.ts), the verb of a model (../delegate-tools.ts).
 */
import { failureCounterOf } from '@reeve/oversight'
import type { Context } from '@reeve/engine'
import {
  failed,
  functionCheck,
  interval,
  optionProblems,
  present,
  refuseProblems,
  required,
  valid,
  type ActivationId,
  type Checks,
  type Json,
  type Outcome,
  type Usage,
} from '@reeve/core'
import { grantChecks, questionGrant, type Agent, type DelegateOptions, type InputOf, type OutputOf } from '@reeve/agent'
import { briefOf, readEdge } from '@reeve/edge'
import { isAnswer, keepProblem, race, voteOf, type HedgeStart, type Keep, type Racer } from '../worker/race.ts'
import { Watch } from '../worker/watch.ts'
import { startTask } from '../worker/worker-task.ts'

/** How `delegateToSeveral` decides, and what each worker gets besides the brief. */
export interface SeveralOptions<O = Json> extends DelegateOptions {
  readonly keep: Keep
  /**
   * Whether an end counts as good. Pure; a throw goes to the caller. Default: completed with an answer that is not
   * empty.
   */
  readonly good?: (outcome: Outcome<O>) => boolean
  /**
   * What an answer votes for: equal texts are equal votes. Pure. Default: the text without surrounding white space, or
   * JSON with sorted names.
   */
  readonly same?: (output: O) => string
  /**
   * The next worker starts this many milliseconds after the one before, or at once when one ends badly. Default: all
   * start at once.
   */
  readonly hedgeAfterMs?: number
  /** Milliseconds of working time for each worker. After that it is stopped, with `timed-out`. Default: no limit. */
  readonly timeoutMs?: number
}

/** One of the workers and its end. */
export interface SeveralEnd<O = Json> {
  readonly worker: string
  /** Undefined if it could not start; its outcome says why. */
  readonly activation: ActivationId | undefined
  readonly outcome: Outcome<O>
  /** Its usage and that of all workers below it, also if it was stopped. */
  readonly usage: Usage
}

/**
 * The result of several workers. `output`: the kept answer; with `keep: <number>` all kept answers, in the order of the
 * workers.
 */
export type SeveralResult<O = Json> = {
  readonly kept: readonly SeveralEnd<O>[]
  /** All that began, in the order of the list. */
  readonly all: readonly SeveralEnd<O>[]
} & (
  | { readonly status: 'decided'; readonly output: O | readonly O[] }
  | { readonly status: 'undecided'; readonly output?: never }
)

const checks = (workers: readonly unknown[]): Checks<SeveralOptions> => ({
  ...grantChecks,
  keep: required(
    valid((given) => (workers.length === 0 ? 'there are no workers' : keepProblem(given, workers.length))),
  ),
  good: functionCheck,
  same: functionCheck,
  hedgeAfterMs: interval,
  timeoutMs: interval,
})

/**
 * Gives several workers the same brief, or each its own (`[worker, brief]`), and keeps answers as `options.keep` says;
 * the others are stopped. Resolves when all have ended. Failed workers throw nothing: without enough answers the result
 * is `undecided`. A worker may be listed twice. Rejects with `input.invalid` for invalid options, and with `Cancelled`.
 * It starts its own workers: in the `run` of a supervisor, the supervisor's hooks and filters are not used, and
 * `run.delegations()` does not list them. The journal records what was kept (`delegation.decided`), and `run.view()`
 * shows all workers.
 */
export async function delegateToSeveral<A extends Agent>(
  ctx: Context,
  workers: readonly (A | readonly [A, InputOf<A>])[],
  brief: InputOf<A>,
  options: SeveralOptions<OutputOf<A>>,
): Promise<SeveralResult<OutputOf<A>>> {
  refuseProblems('input.invalid', optionProblems<object>(checks(workers), options, 'delegateToSeveral'))
  const { keep, good, same, hedgeAfterMs, timeoutMs, ...grant } = options
  const scope = ctx.scope('several')
  const open = new Map<string, (reason: string) => void>()
  const watch = new Watch((id) => open.get(id))
  const racers = workers.map((each) => {
    const [worker, own] = isPair(each) ? each : [each, brief]
    return racerOf({ watch, open, worker, brief: own ?? '', grant, timeoutMs })
  })
  const { decided, kept, all } = await race(scope, watch, racers, {
    keep,
    good: ({ outcome }) =>
      good === undefined ? isAnswer(outcome) : outcome.status === 'completed' && good(outcome as Outcome<OutputOf<A>>),
    vote: ({ outcome }) =>
      outcome.status !== 'completed'
        ? ''
        : same === undefined
          ? voteOf(outcome.output)
          : same(outcome.output as OutputOf<A>),
    idOf: ({ activation }) => activation,
    ...present({ hedgeAfterMs }),
  })
  const outputs = kept.flatMap(({ outcome }) => (outcome.status === 'completed' ? [outcome.output] : []))
  const result = decided
    ? { status: 'decided', output: typeof keep === 'number' ? outputs : outputs[0], kept, all }
    : { status: 'undecided', kept, all }
  return result as SeveralResult<OutputOf<A>>
}

const isPair = <A extends Agent, I>(each: A | readonly [A, I]): each is readonly [A, I] => Array.isArray(each)

/** A worker in the race. */
interface RacingWorker {
  readonly watch: Watch
  /** How to stop pending workers. */
  readonly open: Map<string, (reason: string) => void>
  readonly worker: Agent
  readonly brief: Json
  readonly grant: DelegateOptions
  readonly timeoutMs: number | undefined
}

function racerOf({ watch, open, worker, brief, grant: given, timeoutMs }: RacingWorker): Racer<SeveralEnd> {
  const { name } = worker
  let activation: ActivationId | undefined
  const begin = async (ctx: Context, { after, onWait }: HedgeStart): Promise<SeveralEnd> => {
    const { grant, answer } = questionGrant(ctx, given)
    const edge = readEdge(ctx.input)
    const reportsWaits = onWait !== undefined
    const started = startTask({
      ctx,
      watch,
      edge,
      worker,
      brief: briefOf(brief),
      grant,
      after,
      timeoutMs,
      reportsWaits,
      onWait,
      answer,
    })
    if (!('ended' in started)) {
      ctx.emit({ type: 'delegation.refused', worker: name, failure: started })
      return { worker: name, activation: undefined, outcome: failed(started), usage: [] }
    }
    const id = (activation = started.id)
    open.set(id, (reason) => ctx.stop(id, reason))
    const { outcome, usage } = await started.ended()
    open.delete(id)
    failureCounterOf(ctx).note(outcome)
    return { worker: name, activation: id, outcome, usage }
  }
  return {
    begin,
    stop: (reason) => (activation === undefined ? undefined : open.get(activation))?.(reason),
    get activation() {
      return activation
    },
  }
}
