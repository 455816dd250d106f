/**
 * The lead: code that looks at the team after each task that has ended, and may give orders.
 *
 * Owns: what it is shown, what it may order. Does not own: carrying it out. K6: each look is a recorded step, so orders are given once.
 */
import type { TaskResult } from '../../core/index.ts'
import type { MailToSend, RecruitWish, RetireWish, TeamEntry } from '../../agent/index.ts'
import type { Subtask } from '../plan/plan.ts'

/** What a lead sees. Copies. */
export interface LeadMoment {
  /** The task that has just ended. */
  readonly ended: TaskResult
  readonly tasks: readonly TaskResult[]
  readonly team: readonly TeamEntry[]
}

/** What a lead may order. */
export type LeadOrder =
  | { readonly recruit: RecruitWish }
  | { readonly retire: RetireWish }
  | { readonly post: MailToSend }
  /** Tasks that are added to the plan. */
  | { readonly add: readonly Subtask[] }

/** Looks and gives orders. */
export type Lead = (moment: LeadMoment) => readonly LeadOrder[] | void | Promise<readonly LeadOrder[] | void>
