/**
 * Dispatch: how a delegation is carried out: while its leader waits or in the background, within what time, how often,
 * with somebody else beside it.
 *
 * Owns: these options, their checks, what they mean for one worker. Does not own: carrying them out (attempts.ts,
 * agent/loop/background.ts, ../worker/race.ts), what crosses to a worker (options.ts).
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
 * When and how often a delegation is tried again. Each attempt is a worker of its own; the pauses are durable. Default:
 * one attempt.
 */
export interface DelegationRetry extends RetryPolicy {
  /**
   * Whether this end is worth another attempt. Asked only about workers that failed or ran out of time; pure and
   * synchronous. Default: all of them, but for failures that would only come again: of the classes `validation`,
   * `policy`, `budget` and `rejected`. If it throws, that counts as no, and is recorded as `hook.failed`.
   */
  readonly when?: (outcome: Extract<Outcome, { readonly status: 'failed' | 'timed-out' }>) => boolean
}

/** Another worker beside one that is slow: the first good answer counts, the other is stopped. */
export interface Hedge {
  /**
   * Milliseconds after which the second one begins; at once if the first one ends badly before that. Nobody begins
   * beside one that is refused.
   */
  readonly afterMs: number
  /** Who that is. Default: the same worker once more. */
  readonly with?: string
}

/** `deferred`: its leader goes on at once. `awaited`: its leader waits. */
export type Disposition = 'deferred' | 'awaited'

/** Who may work in the background, and what follows from it. */
export interface BackgroundPlan<Workers extends string = string> {
  /** Who may. Default: those whose own options say so. */
  readonly workers?: readonly Workers[] | 'all'
  /** What becomes of a call that says nothing about it. Default `deferred`. */
  readonly default?: Disposition
  /**
   * How many of them may work at once; the others are pending, first come first served. The leader's own `concurrency`
   * holds besides. Default: all.
   */
  readonly concurrency?: number
  /**
   * When a leader that has nothing else to do is asked again: as soon as one has ended (`each`, the default), or when
   * all have.
   */
  readonly react?: 'each' | 'all'
  /**
   * What becomes of those still at work when the leader has its answer: it waits for them and is asked again (`wait`,
   * the default), or they are stopped and the answer stands. One that has forwarded waits and is not asked again. A
   * leader that ends in any other way stops them; either way they have ended, and `onComplete` has heard of it, before
   * it has.
   */
  readonly whenDone?: 'wait' | 'stop'
}

/** How delegations are carried out, for the whole team or for one worker. */
export interface Dispatch {
  /**
   * Milliseconds of working time for one attempt: the clock stands while a human is waited for. Then the worker is
   * stopped, and has `timed-out`. Default: no limit.
   */
  readonly timeoutMs?: number
  /** Default: one attempt. */
  readonly retry?: DelegationRetry
}

/** How delegations to one worker are carried out. */
export interface WorkerDispatch extends Dispatch {
  /**
   * Whether it may work in the background, and what becomes of a call that says nothing about it. `true`: what holds
   * for the team. Default: what the team's `background` says; one that has tools of its own that work in the background
   * may.
   */
  readonly background?: boolean | Disposition
  /** Default: nobody beside it. */
  readonly hedge?: Hedge
  /**
   * `apart`: as a run of its own, which any process of the store may take up, so that one large run can use several
   * machines. What it may use is set aside when it begins: for each limit above it its own (`limits` here, or the
   * agent's), or a tenth of what is free there. Default: in the process that drives its leader.
   */
  readonly place?: 'apart'
}

/** How the delegations of a team are carried out. */
export interface TeamDispatch<Workers extends string = string> extends Dispatch {
  /** Who may work in the background: their names, or a plan. Default: nobody. */
  readonly background?: readonly Workers[] | BackgroundPlan<Workers>
  /**
   * Whether the leader's model may give one brief to several workers and keep the first answer, some, or that of the
   * majority: the verb `delegate_to_several`. Default false.
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

/** The whole team's options and the exceptions, as far as they are about carrying delegations out. */
export type Dispatching = TeamDispatch & { readonly workers?: { readonly [name: string]: WorkerDispatch | undefined } }

/** The plan behind either way of writing it. */
export const planOf = ({ background }: TeamDispatch): BackgroundPlan | undefined =>
  Array.isArray(background) ? { workers: background as readonly string[] } : (background as BackgroundPlan | undefined)

/**
 * What becomes of a call to this worker that says nothing about it; undefined if it may not work in the background at
 * all. `inherits`: it has tools that work so, and it does where nothing else is said of it.
 */
export function dispositionOf(given: Dispatching, worker: string, inherits = false): Disposition | undefined {
  const plan = planOf(given)
  const stated = own(given.workers, worker)?.background
  const usual = plan?.default ?? 'deferred'
  if (stated !== undefined) return stated === false ? undefined : stated === true ? usual : stated
  return inherits || plan?.workers === 'all' || plan?.workers?.includes(worker) === true ? usual : undefined
}

/**
 * What is wrong with how a team's delegations are to be carried out, one sentence each. `known`: everybody who may work
 * here; `inherits`: those of them whose own tools work in the background.
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

/** What is for a model that leads, and means nothing where code does: code goes on, or begins several, as it likes. */
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
