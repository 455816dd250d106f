/**
 * Options of planning: who plans, and what a planner is asked.
 *
 * Owns: the types, their defaults, what of them is data. Does not own: how a planner is asked (source.ts), what becomes
 * of the answer (planner.ts), their check (../checks.ts).
 */
import type { Json } from '@reeve/core'
import { isAgent, type Agent } from '@reeve/agent'
import type { StepIO } from '@reeve/engine'
import { resolveModel, type ModelRef } from '@reeve/model'
import type { Advice } from './plan.ts'
import { recordable, type Plan } from './plan.ts'
import type { ListedRole } from './roles.ts'

/** The input of a planner. */
export interface PlanQuestion {
  readonly question: Json
  readonly roles: readonly ListedRole[]
  /** A line for each file of the request: its handle, name, type and size. Absent: there are none. */
  readonly files?: readonly string[]
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

/** How often a planner may mend an impossible plan, where nothing is said. */
export const defaultRepairs = 1

/**
 * What of it is data, for the version of the team. A fixed plan that cannot be written is refused when it is carried
 * out.
 */
export function plannerData({ planner, model }: { readonly planner?: PlannerLike; readonly model?: ModelRef }): Json {
  if (typeof planner === 'function') return 'function'
  if (isAgent(planner)) return { agent: planner.name }
  if (planner !== undefined && 'subtasks' in planner) return fixedData(planner)
  const { model: own = model, instructions = null, repairs = defaultRepairs } = planner ?? {}
  return { model: own === undefined ? null : resolveModel(own).id, instructions, repairs }
}

function fixedData(plan: Plan): Json {
  try {
    return recordable(plan)
  } catch {
    return 'plan'
  }
}
