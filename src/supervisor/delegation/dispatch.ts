/**
 * Dispatch: how a delegation is carried out: awaited or in the background, with a time limit, retries or a hedge.
 *
 * Owns: these options, their checks, their meaning for one worker. Does not own: carrying them out (attempts.ts,
 * ../../agent/loop/background.ts, ../worker/race.ts), what crosses to a worker (options.ts).
 */
import {
  described,
  hasNames,
  present,
  stranger,
  unknownNames,
  own,
  type NamesOf,
  type Outcome,
} from '../../core/index.ts'
import { retryProblems } from '../../agent/index.ts'
import type { RetryPolicy } from '../../engine/index.ts'

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
  /** The disposition of a call without a wish of the model. Default `deferred`. */
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
   * Whether it may work in the background, and the disposition of a call without a wish of the model. `true`: that of
   * the team. Default: what the team's `background` says; a worker with background tools of its own may.
   */
  readonly background?: boolean | Disposition
  /** Default: no second worker. */
  readonly hedge?: Hedge
  /**
   * `apart`: runs as a run of its own, which any process of the store may take up, so that one large run can use
   * several machines. Its budget is reserved when it begins: for each limit above it, its own limit (`limits` here, or
   * the agent's), or a tenth of what is left there. Default: in the process of its leader.
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

export const workerDispatchNames: NamesOf<WorkerDispatch> = {
  timeoutMs: true,
  retry: true,
  background: true,
  hedge: true,
  place: true,
}
export const teamDispatchNames: NamesOf<TeamDispatch> = {
  timeoutMs: true,
  retry: true,
  background: true,
  several: true,
}
const planNames: NamesOf<BackgroundPlan> = {
  workers: true,
  default: true,
  concurrency: true,
  react: true,
  whenDone: true,
}
const retryNames: NamesOf<DelegationRetry> = {
  attempts: true,
  backoffMs: true,
  maxBackoffMs: true,
  jitter: true,
  when: true,
}
const hedgeNames: NamesOf<Hedge> = { afterMs: true, with: true }

/** The dispatch options of the whole team, with the exceptions by worker. */
export type Dispatching = TeamDispatch & { readonly workers?: { readonly [name: string]: WorkerDispatch | undefined } }

/** The background plan, from either form of the option. */
export const planOf = ({ background }: TeamDispatch): BackgroundPlan | undefined =>
  Array.isArray(background) ? { workers: background as readonly string[] } : (background as BackgroundPlan | undefined)

/**
 * The disposition of a call to this worker without a wish of the model; undefined if it may not work in the background.
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
 * The problems of the dispatch options, one sentence each. `known`: all possible workers; `inherits`: those with
 * background tools of their own.
 */
export function dispatchProblems(
  given: Dispatching,
  known: ReadonlySet<string>,
  where: string,
  inherits: ReadonlySet<string>,
): string[] {
  const { several, workers } = given
  return [
    ...timeProblems(given, `${where}: delegation`),
    ...planProblems(given, known, `${where}: delegation.background`, inherits),
    ...(several === undefined || typeof several === 'boolean'
      ? []
      : [`${where}: delegation.several is ${described(several)}, expected true or false`]),
    ...Object.entries(hasNames(workers) ? workers : {}).flatMap(([name, own]) =>
      hasNames(own) ? workerProblems(own, known, `${where}: delegation.workers.${name}`) : [],
    ),
  ]
}

/** The problems of options that only a leading model can use; code has its own means. */
export function codeDispatchProblems(given: Dispatching | undefined, where: string): string[] {
  const { background, several, workers } = hasNames(given) ? given : ({} as Dispatching)
  const problem = (what: string, instead: string): string =>
    `${where}: ${what} is for a model that leads; code ${instead}`
  const own = Object.entries(hasNames(workers) ? workers : {}).flatMap(([name, each]) =>
    hasNames(each) && 'background' in each ? [name] : [],
  )
  const goesOn = 'goes on by itself: call team.delegate() and await it later'
  return [
    ...(background === undefined ? [] : [problem('delegation.background', goesOn)]),
    ...own.map((name) => problem(`delegation.workers.${name}.background`, goesOn)),
    ...(several === undefined || several === false ? [] : [problem('delegation.several', 'calls delegateToSeveral()')]),
  ]
}

function workerProblems(given: WorkerDispatch, known: ReadonlySet<string>, where: string): string[] {
  const { background, hedge, place } = given
  return [
    ...timeProblems(given, where),
    ...(background === undefined || [true, false, 'deferred', 'awaited'].includes(background)
      ? []
      : [`${where}: background is ${described(background)}, expected true, false, "deferred" or "awaited"`]),
    ...(hedge === undefined ? [] : hedgeProblems(hedge, known, where)),
    ...(place === undefined || place === 'apart' ? [] : [`${where}: place is ${described(place)}, expected "apart"`]),
  ]
}

function hedgeProblems(hedge: Hedge, known: ReadonlySet<string>, where: string): string[] {
  const problems = unknownNames(hedge, hedgeNames, `${where}: hedge`)
  if (!hasNames(hedge)) return problems
  if (!isMs(hedge.afterMs))
    problems.push(`${where}: hedge.afterMs is ${described(hedge.afterMs)}, expected milliseconds, not below 0`)
  if (hedge.with !== undefined && !known.has(hedge.with))
    problems.push(`${where}: hedge.with names ${stranger(hedge.with, known)}`)
  return problems
}

function timeProblems({ timeoutMs, retry }: Dispatch, where: string): string[] {
  const times =
    timeoutMs === undefined || (isMs(timeoutMs) && timeoutMs > 0)
      ? []
      : [`${where}: timeoutMs is ${described(timeoutMs)}, expected milliseconds above 0`]
  if (retry === undefined) return times
  const unknown = unknownNames(retry, retryNames, `${where}: retry`)
  if (!hasNames(retry)) return [...times, ...unknown]
  const { attempts, backoffMs, maxBackoffMs, jitter, when } = retry
  const policy: RetryPolicy = present({ attempts, backoffMs, maxBackoffMs, jitter })
  return [
    ...times,
    ...unknown,
    ...retryProblems(policy, where),
    ...(when === undefined || typeof when === 'function'
      ? []
      : [`${where}: retry.when is ${described(when)}, expected a function`]),
  ]
}

const isMs = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0

function planProblems(
  given: Dispatching,
  known: ReadonlySet<string>,
  where: string,
  inherits: ReadonlySet<string>,
): string[] {
  const plan = planOf(given)
  if (plan === undefined) return []
  if (!hasNames(plan)) return [`${where} is ${described(plan)}, expected a list of names or { workers }`]
  const problems = unknownNames(plan, planNames, where)
  const { workers, default: usual, concurrency, react, whenDone } = plan
  const listed = Array.isArray(workers) ? (workers as readonly unknown[]) : []
  if (workers !== undefined && workers !== 'all' && !Array.isArray(workers))
    problems.push(`${where}.workers is ${described(workers)}, expected names or "all"`)
  for (const name of listed) if (!known.has(name as string)) problems.push(`${where} names ${stranger(name, known)}`)
  if (usual !== undefined && usual !== 'deferred' && usual !== 'awaited')
    problems.push(`${where}.default is ${described(usual)}, expected "deferred" or "awaited"`)
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0))
    problems.push(`${where}.concurrency is ${described(concurrency)}, expected a whole number of at least 1`)
  if (react !== undefined && react !== 'each' && react !== 'all')
    problems.push(`${where}.react is ${described(react)}, expected "each" or "all"`)
  if (whenDone !== undefined && whenDone !== 'wait' && whenDone !== 'stop')
    problems.push(`${where}.whenDone is ${described(whenDone)}, expected "wait" or "stop"`)
  if (
    problems.length === 0 &&
    known.size > 0 &&
    ![...known].some((name) => dispositionOf(given, name, inherits.has(name)) !== undefined)
  )
    problems.push(`${where} lets no worker work in the background: name workers`)
  return problems
}
