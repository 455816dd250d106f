/**
 * Planning: from a question to a plan that can be carried out.
 *
 * Owns: asking whoever plans, once more where the plan is impossible, and what becomes of it where there is none. Does not own: what makes a plan impossible (validate.ts).
 * Holds: K6: a plan is asked for once, also over a crash: a model call, a worker, or a recorded step.
 */
import { failed, failure, type Failure, type Json } from '../../core/index.ts'
import { isAgent, step, type Agent } from '../../agent/index.ts'
import type { Edge } from '../../edge/index.ts'
import { isLeaving, type Context } from '../../engine/index.ts'
import type { ModelRef } from '../../model/index.ts'
import type { Advice } from '../learn/advisor.ts'
import type { Plan } from './plan.ts'
import type { RoleBook } from './roles.ts'
import { validatePlan, type Validated } from './validate.ts'

/** What a planner is asked. */
export interface PlanQuestion {
  readonly question: Json
  readonly roles: readonly { readonly name: string; readonly description: string }[]
  /** What the past says. */
  readonly advice?: Advice
  /** What was wrong with the plan before this one. */
  readonly problems?: readonly string[]
}

/** Who decomposes a question: a fixed plan; a function, which is a recorded step; an agent; a model. */
export type PlannerLike =
  | Plan
  | ((question: PlanQuestion) => Plan | Promise<Plan>)
  | Agent
  | {
      readonly model?: ModelRef
      readonly instructions?: string
      /** How often it may mend an impossible plan. Default 1. */ readonly repairs?: number
    }

/** What a team says of planning. */
export interface PlanningOptions {
  readonly name: string
  readonly planner?: PlannerLike
  readonly model?: ModelRef
  readonly fallback?: boolean
}

/** How planning has ended. */
export type Planned =
  { readonly ok: true; readonly validated: Validated; readonly fallback?: Failure } | { readonly ok: false; readonly failure: Failure }

/** Makes a plan. Emits `plan.rejected` for each that was refused. Rejects only with `Cancelled`. */
export async function makePlan(
  ctx: Context,
  _edge: Edge,
  options: PlanningOptions,
  roles: RoleBook,
  question: PlanQuestion,
): Promise<Planned> {
  const { planner } = options
  try {
    const given =
      typeof planner === 'function'
        ? await step(ctx, 'plan', async () => (await planner(question)) as unknown as Json)
        : planner !== undefined && !isAgent(planner) && 'subtasks' in planner
          ? planner
          : undefined
    if (given === undefined) throw new Error('not there yet')
    const validated = validatePlan(given as unknown as Plan, roles)
    return validated.problems.length === 0
      ? { ok: true, validated }
      : { ok: false, failure: failure('plan.invalid', validated.problems.join('; '), 'validation') }
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return {
      ok: false,
      failure:
        failed(failure('plan.failed', String(thrown), 'internal')).status === 'failed'
          ? failure('plan.failed', String(thrown), 'internal')
          : failure('plan.failed', '', 'internal'),
    }
  }
}
