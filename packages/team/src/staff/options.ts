/**
 * Options of recruiting in a planned team, their defaults, and what of them is data.
 *
 * Owns: the types. Does not own: what any of them does (recruitment.ts), their check (../checks.ts).
 */
import type { Json } from '@reeve/core'
import type { TeamPolicy } from '../policy.ts'

/** Limits and policy for recruits. */
export interface RecruitOptions {
  /** Decides on recruiting and retiring, before the team's own policy is asked. */
  readonly policy?: TeamPolicy
  /** Whom `maxTeamSize` counts: all members ever admitted (default), or those still there. */
  readonly counts?: 'ever' | 'active'
  /** How many recruits one member may ask for. Default 3. */
  readonly perMember?: number
  /** How many levels deep recruits may recruit. Default 2. */
  readonly depth?: number
  /** Whether a recruit that fails counts as a failed task. Default false. */
  readonly countFailures?: boolean
}

/** How many recruits one member may ask for, and how deep they may recruit, where a team says nothing. */
export const perMemberDefault = 3
export const depthDefault = 2

/** The data part of these options, for the version. */
export const staffData = ({
  maxTeamSize,
  recruit,
}: {
  readonly maxTeamSize?: number
  readonly recruit?: RecruitOptions
}): Json => {
  const { counts, perMember, depth, countFailures } = recruit ?? {}
  return [maxTeamSize ?? null, counts ?? null, perMember ?? null, depth ?? null, countFailures ?? null]
}
