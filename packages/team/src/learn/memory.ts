/**
 * Memory: the ends of a session's runs, for advice in the next one (spec team 1.12, R-12).
 *
 * Owns: what is remembered and how much of it, asking a memory, reading what it says; the default memory. Does not own:
 * when it is asked and told (learning.ts).
 * Holds: K3, K10: what a memory says is recorded. K6: an end is counted once, by its run. A memory that fails is a fact
 * (`memory.unavailable`) and never the failure of the work.
 */
import {
  described,
  failureFrom,
  isObject,
  jsonProblem,
  ReeveError,
  type Failure,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { step } from '@reeve/agent'
import { isLeaving, type Context, type StepIO, type StepOptions } from '@reeve/engine'
import type { MemoryUnavailable, TeamStrategy } from '@reeve/journal'
import type { Subtask } from '../plan/plan.ts'
import { strategies, type Recollection, type RememberedPlan, type StrategyRecord } from './advisor.ts'

/** The end of a run, for the memory. */
export interface TeamEnd {
  /**
   * The run; of a team below another agent, its activation. The same end may be told again, after a crash or a cancel
   * in between: count it once by this.
   */
  readonly run: string
  /** As a text, shortened to 2,000 characters. */
  readonly question: string
  readonly strategy: TeamStrategy
  /** Empty where there was no plan. */
  readonly subtasks: readonly Subtask[]
  /** `aborted`: given up after too many failures. `cancelled`: also after a timeout. */
  readonly status: 'success' | 'partial' | 'aborted' | 'failed' | 'cancelled'
  /** From its beginning, waits for humans included. */
  readonly ms: number
  /** Of its tasks, as far as it is known. */
  readonly tokens: number
}

/** The owner of a memory. */
export interface MemoryScope {
  readonly session: string
  /** Keep the memories of tenants apart. */
  readonly tenant?: string
  readonly team: string
}

/**
 * A store for a team's memory. Both methods are recorded steps, tried once, with 30 seconds each. Without a session
 * neither is called.
 */
export interface TeamMemory {
  recall(question: string, scope: MemoryScope, io: StepIO): Recollection | Promise<Recollection>
  record(end: TeamEnd, scope: MemoryScope, io: StepIO): unknown
}

/** Nothing is known. */
export const nothingKnown: Recollection = { plans: [], strategies: {} }

/** How much is kept: plans, ends that are known to have been counted, bytes of the tasks of one plan. */
const plansKept = 100
const endsKept = 200
const subtasksKept = 65_536

const once: StepOptions = { retry: { attempts: 1 }, timeoutMs: 30_000, holds: 'text' }

/** What is remembered for this question; undefined, and a fact, if the memory fails. */
export function recalled(
  ctx: Context,
  memory: TeamMemory | true,
  question: string,
  scope: MemoryScope,
): Promise<Recollection | undefined> {
  return kindly(ctx, 'recall', async () => {
    const given =
      memory === true ? keptIn(await ofTeam(ctx, scope).get(keyOf(scope))) : await recall(ctx, memory, question, scope)
    const problem = recollectionProblem(given)
    if (problem !== undefined) throw new ReeveError('input.invalid', problem)
    const { plans = [], strategies: used = {} } = given as Partial<Recollection>
    return { plans: plans.map((plan) => ({ ...plan, subtasks: plan.subtasks ?? [] })), strategies: used }
  })
}

const recall = (ctx: Context, memory: TeamMemory, question: string, scope: MemoryScope): Promise<Json> =>
  step(ctx, 'memory.recall', async (io) => recordable((await memory.recall(question, { ...scope }, io)) ?? {}), {
    ...once,
    effect: 'read',
  })

/** Remembers an end. */
export async function recorded(
  ctx: Context,
  memory: TeamMemory | true,
  end: TeamEnd,
  scope: MemoryScope,
): Promise<void> {
  await kindly(ctx, 'record', async () => {
    if (memory === true) return ofTeam(ctx, scope).update(keyOf(scope), (before) => withEnd(before, end))
    const tell = async (io: StepIO): Promise<null> => {
      await memory.record(end, { ...scope }, io)
      return null
    }
    return step(ctx, 'memory.record', tell, { ...once, effect: 'idempotent', aliases: [] })
  })
}

/** What fails here is told to the journal only. */
async function kindly<T>(
  ctx: Context,
  wanted: MemoryUnavailable['wanted'],
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    const what: Failure = failureFrom(thrown, 'hook.failed')
    ctx.emit({ type: 'memory.unavailable', wanted, failure: { ...what, retryable: false } })
    return undefined
  }
}

/** What a memory says, as it can be recorded. */
function recordable(given: unknown): Json {
  const problem = jsonProblem(given, 'what it recalls')
  if (problem !== undefined) throw new TypeError(problem)
  return given as Json
}

/** What is wrong with a recollection; undefined if nothing. What is left out is nothing. */
function recollectionProblem(given: Json): string | undefined {
  if (!isObject(given)) return `what it recalls is ${described(given)}, expected { plans, strategies }`
  const { plans = [], strategies: used = {} } = given
  if (!Array.isArray(plans)) return `plans is ${described(plans)}, expected a list`
  const bad = plans.findIndex((plan: Json) => !isPlan(plan))
  if (bad !== -1)
    return `plan ${bad} is not { question, strategy: ${strategies.join(' | ')}, subtasks, runs, successes }`
  if (!isObject(used)) return `strategies is ${described(used)}, expected an object`
  const wrong = Object.keys(used).find((name) => !isRecord(used[name]))
  return wrong === undefined ? undefined : `strategies.${wrong} is not { runs, successes, ms, tokens }`
}

const isAmount = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
const isCount = ({ runs, successes }: JsonObject): boolean => isAmount(runs) && isAmount(successes) && successes <= runs
const isRecord = (given: Json | undefined): boolean =>
  isObject(given) && isCount(given) && isAmount(given['ms']) && isAmount(given['tokens'])
const isPlan = (given: Json): boolean =>
  isObject(given) &&
  typeof given['question'] === 'string' &&
  strategies.some((strategy) => strategy === given['strategy']) &&
  (given['subtasks'] === undefined || Array.isArray(given['subtasks'])) &&
  isCount(given)

/** It outlives the run; what one session has taught is no other's business. */
const ofTeam = (ctx: Context, { team }: MemoryScope): ReturnType<Context['stream']> => ctx.stream(`mem_team.${team}`)
const keyOf = ({ session, tenant }: MemoryScope): string =>
  tenant === undefined ? `plans/${session}` : `plans@${tenant}/${session}`

/** As it stands in the store. Persistent. */
interface KeptRecollection extends Recollection {
  /** Oldest first: whatever was asked again is new again. */
  readonly plans: readonly RememberedPlan[]
  /** The newest ends that were counted, by run. */
  readonly ends: readonly string[]
}

/** What is kept, the newest plan first. */
const keptIn = (value: Json): Json => {
  if (!isObject(value)) return {}
  const { plans, strategies: used } = value
  return { plans: Array.isArray(plans) ? plans.toReversed() : [], strategies: used ?? {} }
}

/**
 * The memory after an end. Pure. Of a question that was asked before, the counts go on; its plan is that of the last
 * run that succeeded.
 */
export function withEnd(before: Json, end: TeamEnd): Json {
  const kept: KeptRecollection = isObject(before)
    ? (before as unknown as KeptRecollection)
    : { ...nothingKnown, ends: [] }
  if (kept.ends.includes(end.run)) return before
  const { question, strategy, status, ms, tokens } = end
  const success = status === 'success' || status === 'partial' ? 1 : 0
  const isSame = (plan: RememberedPlan): boolean => sameQuestion(plan.question) === sameQuestion(question)
  const past = kept.plans.find(isSame)
  const plan: RememberedPlan = {
    ...(past !== undefined && success === 0 ? past : { question, strategy, subtasks: keepable(end.subtasks) }),
    runs: (past?.runs ?? 0) + 1,
    successes: (past?.successes ?? 0) + success,
  }
  const used: StrategyRecord = (Object.hasOwn(kept.strategies, strategy) ? kept.strategies[strategy] : undefined) ?? { runs: 0, successes: 0, ms: 0, tokens: 0 } // prettier-ignore
  const after: KeptRecollection = {
    plans: [...kept.plans.filter((each) => !isSame(each)), plan].slice(-plansKept),
    strategies: {
      ...kept.strategies,
      [strategy]: {
        runs: used.runs + 1,
        successes: used.successes + success,
        ms: used.ms + ms,
        tokens: used.tokens + tokens,
      },
    },
    ends: [...kept.ends, end.run].slice(-endsKept),
  }
  return after as unknown as Json
}

const sameQuestion = (question: string): string => question.trim().toLowerCase()
const keepable = (subtasks: readonly Subtask[]): readonly Subtask[] =>
  JSON.stringify(subtasks).length <= subtasksKept ? subtasks : []
