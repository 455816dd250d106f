/**
 * Learning: what a run of a planned team is told of the runs before it, and what it leaves for those after it (spec
 * team 1.12, R-12).
 *
 * Owns: when the memory is asked and told, whether there is advice, who gives it, its check. Does not own: the options
 * (options.ts), the advice (advisor.ts), what is remembered (memory.ts), what the planner makes of it
 * (../plan).
 * Holds: K3: the numbers an advisor draws are the activation's, so the same run draws the same. K8: an end by cancel is
 * remembered, too. No session: nothing is asked and nothing is told.
 */
import {
  choice,
  copy,
  described,
  expects,
  firstProblem,
  fraction,
  isObject,
  listOf,
  parentOf,
  present,
  required,
  seededRandom,
  string,
  totalUsage,
  type Checks,
  type Json,
  type Outcome,
  type PlanResults,
} from '@reeve/core'
import { callHook } from '@reeve/agent'
import { isLeaving, type Context } from '@reeve/engine'
import type { TeamStrategy } from '@reeve/journal'
import type { Subtask } from '../plan/plan.ts'
import { advise, overrides, strategies, type AdvisorOptions, type Recollection } from './advisor.ts'
import type { Advice } from '../plan/plan.ts'
import type { LearningOptions } from './options.ts'
import { nothingKnown, recalled, recorded, type MemoryScope, type TeamEnd } from './memory.ts'
import { textSimilarity } from './similarity.ts'

/** How far a run has come. */
export interface Progress {
  readonly strategy: TeamStrategy
  readonly subtasks: readonly Subtask[]
  readonly results: PlanResults
}

/** So many characters of a question are remembered and compared. */
const questionKept = 2_000

export class Learning {
  readonly #ctx: Context
  readonly #options: LearningOptions
  readonly #question: string
  readonly #progress: () => Progress
  readonly #began: number
  readonly #scope: MemoryScope | undefined
  #told = false

  /** `progress`: how far the run has come, whenever it ends. */
  constructor(ctx: Context, options: LearningOptions, question: string, progress: () => Progress) {
    this.#ctx = ctx.scope('learning')
    this.#options = options
    this.#question = question.slice(0, questionKept)
    this.#progress = progress
    this.#began = ctx.now().getTime()
    const { session, tenant } = ctx.place.caller
    this.#scope =
      options.memory === undefined || session === undefined
        ? undefined
        : { session, ...present({ tenant }), team: options.name }
    if (this.#scope !== undefined)
      ctx.onCancel('learning', (undoing) => this.#record(undoing, 'cancelled'), { always: true })
  }

  /** Has the work done with what the past says, and remembers how it ended. */
  async around(work: (advice: Advice | undefined) => Promise<Outcome>): Promise<Outcome> {
    const advice = await this.#advice()
    try {
      const outcome = await work(advice)
      await this.#record(this.#ctx, statusOf(outcome))
      return outcome
    } catch (thrown) {
      if (!isLeaving(thrown)) await this.#record(this.#ctx, 'failed')
      throw thrown
    }
  }

  /** What the past says, noted; undefined if it says nothing, or advice is off. */
  async #advice(): Promise<Advice | undefined> {
    const { memory, advisor } = this.#options
    if (memory === undefined || this.#scope === undefined)
      return typeof advisor === 'function' ? this.#noted(nothingKnown) : undefined
    const past = await recalled(this.#ctx, memory, this.#question, this.#scope)
    return past === undefined ? undefined : this.#noted(past)
  }

  async #noted(past: Recollection): Promise<Advice | undefined> {
    const advice = await this.#asked(past)
    if (advice === undefined) return undefined
    const { strategy, confidence, source, warnings } = advice
    this.#ctx.emit({
      type: 'strategy.advised',
      strategy,
      confidence,
      overrides: overrides(advice),
      ...present({ source }),
      warnings,
    })
    return advice
  }

  async #record(ctx: Context, status: TeamEnd['status']): Promise<void> {
    const { memory } = this.#options
    if (memory === undefined || this.#scope === undefined || this.#told) return
    const { strategy, subtasks, results } = this.#progress()
    const { run, activation } = ctx.place
    const used = results.tasks.map(({ usage }) => totalUsage(usage))
    const end: TeamEnd = {
      run: parentOf(activation) === undefined ? run : activation,
      question: this.#question,
      strategy,
      // files are those of one request, and no later one has them
      subtasks: subtasks.map(({ files: _files, ...task }) => task),
      status,
      ms: Math.max(0, ctx.now().getTime() - this.#began),
      tokens: used.reduce((sum, { input, output }) => sum + input + output, 0),
    }
    await recorded(ctx, memory, copy(end as unknown as Json) as unknown as TeamEnd, this.#scope)
    this.#told = true
  }

  async #asked(past: Recollection): Promise<Advice | undefined> {
    const { advisor = {} } = this.#options
    const ctx = this.#ctx
    if (typeof advisor === 'function') {
      const seed = String(ctx.random())
      let drawn = 0
      const own = copy(past as unknown as Json) as unknown as Recollection
      const ask = (): unknown => advisor(own, this.#question, () => seededRandom(seed, drawn++))
      return (await callHook<Advice>(ctx, 'advisor', ask, adviceProblem)).reply
    }
    const alike = await this.#alike(past, advisor)
    return alike === undefined ? undefined : advise(past, this.#question, () => ctx.random(), { ...advisor, alike })
  }

  /** How much each of the remembered questions is like this one; undefined if the embedding fails. */
  async #alike({ plans }: Recollection, { similarity }: AdvisorOptions): Promise<readonly number[] | undefined> {
    const question = this.#question
    if (similarity === undefined) return plans.map((past) => textSimilarity(question, past.question))
    if (plans.length === 0) return []
    const ask = (): Promise<number[]> => Promise.all(plans.map(async (past) => similarity(question, past.question)))
    return (await callHook<readonly number[]>(this.#ctx, 'similarity', ask, likenessProblem)).reply
  }
}

/** How a run has ended, for the memory. */
function statusOf(outcome: Outcome): TeamEnd['status'] {
  if (outcome.status === 'completed') return outcome.results?.partial === true ? 'partial' : 'success'
  if (outcome.status !== 'failed') return outcome.status === 'cancelled' ? 'cancelled' : 'failed'
  return outcome.failure.code === 'team.too-many-failures' || outcome.failure.code === 'budget.exceeded'
    ? 'aborted'
    : 'failed'
}

const isShare = (given: unknown): boolean => typeof given === 'number' && given >= 0 && given <= 1

const likenessProblem = (given: Json): string | undefined =>
  Array.isArray(given) && given.every(isShare) ? undefined : 'it returned something that is no number from 0 to 1'

const adviceChecks: Checks<Advice> = {
  strategy: required(choice(...strategies)),
  confidence: required(fraction),
  subtasks: listOf(expects(isObject, 'a task'), 'tasks'),
  source: string,
  warnings: required(listOf(string, 'texts')),
}

/** The problems of the advice of a custom advisor. */
const adviceProblem = (given: Json): string | undefined =>
  isObject(given)
    ? firstProblem(adviceChecks, given, 'its advice')
    : `its advice is ${described(given)}, expected an object`
