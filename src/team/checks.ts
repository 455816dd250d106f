/**
 * The check of a team's options: everything that is wrong with them, one sentence each. Pure.
 */
import { unknownNames } from '../core/index.ts'
import { factProblems } from '../agent/index.ts'
import { teamNames, type AnyTeamOptions } from './options.ts'

/** What is wrong with the options of a team, but for its roles; empty if nothing. */
export function teamProblems(options: AnyTeamOptions): readonly string[] {
  const where = `team "${options.name}"`
  return [...unknownNames(options, teamNames, where), ...factProblems(options)]
}
