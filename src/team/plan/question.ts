/**
 * The planning question, and the kinds of planners.
 *
 * Owns: these types. Does not own: how a planner is asked (source.ts), what becomes of the answer (planner.ts).
 */
import type { Json } from '../../core/index.ts'
import type { Agent } from '../../agent/index.ts'
import type { StepIO } from '../../engine/index.ts'
import type { ModelRef } from '../../model/index.ts'
import type { Advice } from '../learn/advisor.ts'
import type { Plan } from './plan.ts'
import type { ListedRole } from './roles.ts'

/** The input of a planner. */
export interface PlanQuestion {
  readonly question: Json
  readonly roles: readonly ListedRole[]
  /** Advice from earlier runs. */
  readonly advice?: Advice
  /** Problems of the previous plan, or a human's comment on it. */
  readonly problems?: readonly string[]
}

/**
 * Splits a question into tasks: a fixed plan; a function, which is a recorded step; an agent; a model. The author of an
 * impossible plan is asked once more, with all its problems; a fixed plan is not. An agent answers with a plan as a
 * value or as JSON text.
 */
export type PlannerLike =
  | Plan
  | ((question: PlanQuestion, io: StepIO) => Plan | Promise<Plan>)
  | Agent
  | {
      /** Default: the team's. */
      readonly model?: ModelRef
      /** Stand before the rules of planning. */
      readonly instructions?: string
      /** How often it may mend an impossible plan. Default 1. */
      readonly repairs?: number
    }
