/**
 * Validation of a plan, before anybody begins: everything that is wrong with it at once (spec team R-2). Pure.
 *
 * Owns: what makes a plan impossible (`problems`) or doubtful (`warnings`), and the plan as it is carried out then. Does not own: what a planner is told of it (planner.ts).
 */
import type { Plan } from './plan.ts'
import type { RoleBook } from './roles.ts'

/** A plan that was looked at. It is carried out only if there are no problems. */
export interface Validated {
  readonly plan: Plan
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

/** Looks at what a planner has given. */
export function validatePlan(given: Plan, _roles: RoleBook): Validated {
  return { plan: given, problems: [], warnings: [] }
}
