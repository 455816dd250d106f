/**
 * The failure budget: how many tasks of a plan may fail before it is given up (spec team R-10). Integers only: 0.29 of
 * a hundred is 28.999… for a computer. Pure.
 *
 * Owns: the rule. Does not own: what a failure is (outcome-mapping.ts, readiness.ts), what becomes of the work then
 * (scheduler.ts). What counts: tasks that failed, timed out, were denied, were refused by the budget, said of
 * themselves that they did not succeed. What does not: tasks that were skipped or called off, work that went to another
 * member, and, unless `recruit.countFailures`, recruits. The number of tasks is that of the plan as it was admitted:
 * tasks that are added later count when they fail, and make no more failures tolerable; where a human removes tasks,
 * the number is that of those that are left.
 */
import { failure, type Failure } from '@reeve/core'
import type { PlanAborted } from '@reeve/journal'

/** Percent of the tasks that may fail, by what is at stake. */
export const tolerances = { research: 50, data_analysis: 20, critical: 0 } as const

/** How much may fail: percent, or a preset. */
export type Tolerance = number | keyof typeof tolerances

/** When a plan is given up. */
export interface FailureBudget {
  /** At so many failed tasks. */
  readonly maxFailures: number
  /** Never for their number, however many are added, or recruited. */
  readonly never: boolean
  /** Of the plan, that may fail; absent where a number decides. */
  readonly percent?: number
}

/** At so many failed tasks of `planned` it is given up. `percent`: a whole number, 0 to 100. */
export const maxFailuresOf = (planned: number, percent: number): number => Math.floor((planned * percent) / 100) + 1

/** When a plan of so many tasks is given up. `maxFailures` decides, whatever is tolerated. */
export function failureBudgetOf(planned: number, tolerance: Tolerance, maxFailures?: number): FailureBudget {
  if (maxFailures !== undefined) return { maxFailures, never: false }
  const percent = typeof tolerance === 'number' ? tolerance : tolerances[tolerance]
  return { maxFailures: maxFailuresOf(planned, percent), never: percent === 100, percent }
}

/**
 * The same for a plan of which only so many tasks are left: no more failures are tolerable than of a plan that was so
 * small from the beginning.
 */
export function withFewer(budget: FailureBudget, planned: number): FailureBudget {
  const { maxFailures, percent } = budget
  return percent === undefined
    ? budget
    : { ...budget, maxFailures: Math.min(maxFailures, maxFailuresOf(planned, percent)) }
}

/** Whether so many failed tasks are too many. */
export const isTooMuch = ({ maxFailures, never }: FailureBudget, failedTasks: number): boolean =>
  !never && failedTasks >= maxFailures

/** How a team fails whose plan was given up. `critical`: the task whose failure sufficed. */
export function givenUp(
  { reason, failed, maxFailures, failures }: Pick<PlanAborted, 'reason' | 'failed' | 'maxFailures' | 'failures'>,
  planned: number,
  critical: string | undefined,
): Failure {
  if (reason === 'budget') return failure('budget.exceeded', 'the budget is used up', 'budget')
  const why = reason === 'critical' && critical !== undefined ? `: "${critical}" was critical` : ''
  const bound =
    reason === 'critical'
      ? ''
      : ` At ${maxFailures} failed task${maxFailures === 1 ? '' : 's'} a plan is given up (tolerance, maxFailures).`
  return failure('team.too-many-failures', `Too many subtask failures (${failed}/${planned})${why}`, 'policy', {
    hint: `${failedTasks(failures)}${bound} outcome.results has what there was.`,
  })
}

/** Which tasks have failed, and why: the first of them. */
function failedTasks(failures: PlanAborted['failures']): string {
  const told = failures
    .slice(0, mostTold)
    .map(({ task, failure: { message, code } }) => `"${task}" (${beginning(message === '' ? code : message)})`)
  const more = failures.length > mostTold ? ` and ${failures.length - mostTold} more` : ''
  return `Failed: ${told.join(', ')}${more}.`
}

const mostTold = 3

/** The beginning of a message, as one line. */
function beginning(text: string): string {
  const line = [...text.trim().replaceAll(/\s+/gu, ' ')]
  return line.length <= 120 ? line.join('') : `${line.slice(0, 119).join('')}…`
}
