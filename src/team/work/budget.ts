/**
 * The budget of a team: what tasks are expected to use is set aside before they begin (spec team R-20).
 *
 * Owns: the options, reserving and settling, the marks at 50, 80 and 100 percent. Does not own: the hard limit of the tree, which the engine's account keeps whatever was estimated.
 */
import type { Estimate } from '../plan/plan.ts'

/** What a team may use. */
export interface BudgetOptions {
  readonly tokens?: number
  readonly usd?: number
  /** `hard` (default): a task that does not fit is refused, and nothing is used beyond the limit. `soft`: it begins, with a warning. */
  readonly mode?: 'hard' | 'soft'
  /** What becomes of the rest when it is used up. `synthesise` (default): what is under way ends, and there is an answer of what there is. `abort`. `ask`: a human says how much more. */
  readonly onExhausted?: 'synthesise' | 'abort' | 'ask'
  /** What a task is expected to use that says nothing. Default: nothing is set aside. */
  readonly perTask?: Estimate
}
