/**
 * Dispatch: how a delegation is carried out: awaited or in the background, with a time limit, retries or a hedge.
 *
 * Owns: these options, their checks, their meaning for one worker. Does not own: carrying them out (attempts.ts,
 * ../../agent/loop/background.ts, ../worker/race.ts), what crosses to a worker (options.ts).
 */
import type { RetryPolicy } from '@reeve/engine'
import { retryChecks } from '@reeve/agent'
import {
  choice,
  choiceOr,
  duration,
  either,
  flag,
  functionCheck,
  hasNames,
  interval,
  isBoolean,
  listOf,
  object,
  objectOr,
  own,
  required,
  unknownWorker,
  wholeNumber,
  type Check,
  type Checks,
  type Outcome,
} from '@reeve/core'

/**
 * When and how often a delegation is retried. Each attempt is its own worker; the waits between them are durable.
 * Default: one attempt.
 */
export interface DelegationRetry extends RetryPolicy {
  /**
   * Whether to retry after this end. Called only for workers that failed or timed out; pure and synchronous. Default:
   * retry, except after failures of the classes `validation`, `policy`, `budget` and `rejected`. A throw counts as no,
   * and is recorded as `hook.failed`.
   */
  readonly when?: (outcome: Extract<Outcome, { readonly status: 'failed' | 'timed-out' }>) => boolean
}

/** A second worker beside a slow one. The first good answer counts, and the other worker is stopped. */
export interface Hedge {
  /**
   * Milliseconds until the second worker starts; at once if the first ends badly before. A refused worker gets no
   * second one.
   */
  readonly afterMs: number
  /** The second worker. Default: the same worker again. */
  readonly with?: string
}

/** `deferred`: the leader continues at once. `awaited`: the leader waits. */
export type Disposition = 'deferred' | 'awaited'

/** The workers that may work in the background, and the rules for them. */
export interface BackgroundPlan<Workers extends string = string> {
  /** The workers that may. Default: those whose own options allow it. */
  readonly workers?: readonly Workers[] | 'all'
  /** The disposition of a call for which the model asks for none. Default `deferred`. */
  readonly default?: Disposition
  /**
   * How many of them may work at once; the others wait in order. The leader's own `concurrency` holds as well. Default:
   * all.
   */
  readonly concurrency?: number
  /**
   * When an idle leader is called again: as soon as one delegation has ended (`each`, the default), or when all have.
   */
  readonly react?: 'each' | 'all'
  /**
   * What happens to pending work when the leader has its answer. `wait` (default): the leader waits and is called
   * again. `stop`: the work is stopped and the answer stands. After a forward the leader waits but is not called again.
   * A leader that ends in another way stops the work. In every case the work has ended, and `onComplete` has run,
   * before the leader ends.
   */
  readonly whenDone?: 'wait' | 'stop'
}

/** How delegations are carried out, for the whole team or one worker. */
export interface Dispatch {
  /**
   * Milliseconds of working time for one attempt; human waits do not count. After that the worker is stopped, with
   * `timed-out`. Default: no limit.
   */
  readonly timeoutMs?: number
  /** Default: one attempt. */
  readonly retry?: DelegationRetry
}

/** How delegations to one worker are carried out. */
export interface WorkerDispatch extends Dispatch {
  /**
   * Whether it may work in the background, and the disposition of a call for which the model asks for none. `true`: that of
   * the team. Default: what the team's `background` says; a worker with background tools of its own may.
   */
  readonly background?: boolean | Disposition
  /** Default: no second worker. */
  readonly hedge?: Hedge
  /**
   * `apart`: runs as a run of its own, which any process of the store may take up, so that one large run can use
   * several machines. Its budget is reserved when it begins: for each limit above it, its own limit (`limits` here, or
   * the agent's), or a share of what is left there: a tenth, and of turns at least what it may take anywhere, as far as
   * half of what is left goes. Default: in the process of its leader.
   */
  readonly place?: 'apart'
}

/** How the delegations of a team are carried out. */
export interface TeamDispatch<Workers extends string = string> extends Dispatch {
  /** The workers that may work in the background: their names, or a plan. Default: none. */
  readonly background?: readonly Workers[] | BackgroundPlan<Workers>
  /**
   * Whether the leader's model may give one brief to several workers and keep the first answer, some, or that of the
   * majority, with the verb `delegate_to_several`. Default false.
   */
  readonly several?: boolean
}

const dispatchChecks: Checks<Dispatch> = {
  timeoutMs: duration,
  retry: object<DelegationRetry>({ ...retryChecks, when: functionCheck }),
}
const workerName =
  (known: ReadonlySet<string>): Check =>
  (given, where) =>
    known.has(given as string) ? [] : [`${where}: ${unknownWorker(given, known)}`]

/** The checks of how delegations to one worker are carried out. `known`: everybody who may work here. */
export const workerDispatchChecks = (known: ReadonlySet<string>): Checks<WorkerDispatch> => ({
  ...dispatchChecks,
  background: choiceOr(isBoolean, 'true or false', 'deferred', 'awaited'),
  hedge: object<Hedge>({ afterMs: required(interval), with: workerName(known) }),
  place: choice('apart'),
})

/** The checks of how all are. */
export const teamDispatchChecks = (known: ReadonlySet<string>): Checks<TeamDispatch> => ({
  ...dispatchChecks,
  background: objectOr(
    object<BackgroundPlan>({
      workers: either((given) => given === 'all', listOf(workerName(known), 'names, or "all"')),
      default: choice('deferred', 'awaited'),
      concurrency: wholeNumber(1),
      react: choice('each', 'all'),
      whenDone: choice('wait', 'stop'),
    }),
    listOf(workerName(known), 'names or { workers }'),
  ),
  several: flag,
})

/** The dispatch options of the whole team, with the exceptions by worker. */
export type Dispatching = TeamDispatch & { readonly workers?: { readonly [name: string]: WorkerDispatch | undefined } }

/** The background plan, from either form of the option. */
export const planOf = ({ background }: TeamDispatch): BackgroundPlan | undefined =>
  Array.isArray(background) ? { workers: background as readonly string[] } : (background as BackgroundPlan | undefined)

/**
 * The disposition of a call to this worker for which the model asks for none; undefined if it may not work in the background.
 * `inherits`: it has background tools, and nothing else is said about it.
 */
export function dispositionOf(given: Dispatching, worker: string, inherits = false): Disposition | undefined {
  const plan = planOf(given)
  const stated = own(given.workers, worker)?.background
  const usual = plan?.default ?? 'deferred'
  if (stated !== undefined) return stated === false ? undefined : stated === true ? usual : stated
  return inherits || plan?.workers === 'all' || plan?.workers?.includes(worker) === true ? usual : undefined
}

/**
 * Whether a plan lets no worker work in the background. `inherits`: those of the `known` whose own tools work so. For
 * options that are sound.
 */
export const isIdlePlan = (given: Dispatching, known: ReadonlySet<string>, inherits: ReadonlySet<string>): boolean =>
  given.background !== undefined &&
  known.size > 0 &&
  ![...known].some((name) => dispositionOf(given, name, inherits.has(name)) !== undefined)

/** The problems of options that only a leading model can use; code has its own means. */
export function codeDispatchProblems(given: Dispatching | undefined, where: string): string[] {
  const { background, several, workers } = hasNames(given) ? given : ({} as Dispatching)
  const problem = (what: string, instead: string): string =>
    `${where}: ${what} is for a model that leads; code ${instead}`
  const ofWorkers = Object.entries(hasNames(workers) ? workers : {}).flatMap(([name, each]) =>
    hasNames(each) && 'background' in each ? [`delegation.workers.${name}.background`] : [],
  )
  return [
    ...[...(background === undefined ? [] : ['delegation.background']), ...ofWorkers].map((option) =>
      problem(option, 'goes on by itself: call team.delegate() and await it later'),
    ),
    ...(several === undefined || several === false ? [] : [problem('delegation.several', 'calls delegateToSeveral()')]),
  ]
}
