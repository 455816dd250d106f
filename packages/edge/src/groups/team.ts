/**
 * Team: the workers that an agent leads, and its own place in a planned team.
 *
 * Owns: the group of the edge and how it crosses. Does not own: rosters (../../supervisor), assignments
 * (../assignment.ts).
 */
import type { Draft } from '@reeve/core'
import type { Assignment } from '../assignment.ts'
import type { Receiver } from '../grant.ts'

/** The team below the worker, and the one that it belongs to. */
export interface EdgeTeam {
  /**
   * The names of the workers that a leader had when it was given this work: a later change of its roster changes no run
   * that has begun.
   */
  readonly roster?: readonly string[]
  /** Its place in a planned team. For the member and those who work in its order. */
  readonly assignment?: Assignment
}

/** The team of a receiver as it is now, with the assignment that holds for it. */
export function teamOf(receiver: Receiver | undefined, assignment?: Assignment): EdgeTeam {
  const team: Draft<EdgeTeam> = {}
  const roster = receiver?.team?.()
  if (roster !== undefined) team.roster = roster
  if (assignment !== undefined) team.assignment = assignment
  return team
}
