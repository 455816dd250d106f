/**
 * Recruiting: whether somebody is taken in (spec team 1.8, R-8).
 *
 * Owns: the options, the order of the questions. Does not own: the policy (policy.ts), what a recruit does (../work).
 */
import type { TeamPolicy } from './policy.ts'

/** How many may be taken in, by whom. */
export interface RecruitOptions {
  /** Decides on recruiting and retiring, before the team's own policy is asked. */
  readonly policy?: TeamPolicy
  /** Whom `maxTeamSize` counts: everybody who was ever admitted (default), or who is still there. */
  readonly counts?: 'ever' | 'active'
  /** How many recruits one member may ask for. Default 3. */
  readonly perMember?: number
  /** How deep recruits may recruit. Default 2. */
  readonly depth?: number
  /** Whether a recruit that fails counts as a failed task. Default false. */
  readonly countFailures?: boolean
}
