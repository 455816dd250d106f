/**
 * Routes: how a plan is carried out, as a pure function of the plan and the caller's hints (spec team R-1).
 *
 * Owns: the rule, its reasons. Does not own: what differs between the routes: `simple` is one worker with the question
 * as it is, whose answer stands; `team` offers models mail, help and topics; the scheduler is the same.
 */
import type { TeamRoute } from '@reeve/journal'
import type { Plan, Subtask } from './plan.ts'

/** Hints on the work besides its plan, and the thresholds. */
export interface RouteHints {
  /** Members may be recruited during the work. */
  readonly dynamic?: boolean
  /** Members talk to each other. */
  readonly communicating?: boolean
  /** Below this complexity one task without tools is simple. Default 0.3. */
  readonly simpleBelow?: number
  /** More tasks than this take the team route. Default 5. */
  readonly teamAbove?: number
  /** Whether any dependency takes the team route. Default true. */
  readonly dependenciesImplyTeam?: boolean
}

/** A route and its reasons, one sentence each. */
export interface RouteChoice {
  readonly route: TeamRoute
  readonly reasons: readonly string[]
}

/** Whether a task needs more than an answer: tools, other tasks, topics. */
export const needsTools = ({ tools, dependencies, produces, consumes, toolParameters }: Subtask): boolean =>
  [tools, dependencies, produces, consumes, Object.keys(toolParameters ?? {})].some(
    (list) => list !== undefined && list.length > 0,
  )

/** The route of a plan. Pure. `wanted`: what the caller insists on. */
export function routeOf(plan: Plan, hints: RouteHints = {}, wanted?: TeamRoute): RouteChoice {
  const { dynamic, communicating, simpleBelow = 0.3, teamAbove = 5, dependenciesImplyTeam = true } = hints
  const { subtasks, complexity = 0.5 } = plan
  if (wanted !== undefined) return { route: wanted, reasons: [`the caller asks for "${wanted}"`] }
  const asked = [
    ...(dynamic === true ? ['members may be recruited'] : []),
    ...(communicating === true ? ['members talk to each other'] : []),
  ]
  if (asked.length > 0) return { route: 'team', reasons: asked }
  if (subtasks.length === 0) return { route: 'simple', reasons: ['there is nothing to divide'] }
  if (complexity < simpleBelow && subtasks.length === 1 && !needsTools(subtasks[0]!))
    return {
      route: 'simple',
      reasons: [`one task without tools, and its complexity of ${complexity} is below ${simpleBelow}`],
    }
  const reasons = [
    ...(subtasks.length > teamAbove ? [`${subtasks.length} tasks are more than ${teamAbove}`] : []),
    ...(dependenciesImplyTeam &&
    subtasks.some(({ dependencies = [], consumes = [] }) => dependencies.length + consumes.length > 0)
      ? ['tasks depend on each other']
      : []),
  ]
  if (reasons.length > 0) return { route: 'team', reasons }
  return {
    route: 'dag',
    reasons: [`${subtasks.length} task${subtasks.length === 1 ? '' : 's'}, and nothing that needs a team`],
  }
}
