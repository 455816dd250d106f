/**
 * Tool names: what a team offers to its members' models beside their own tools, so those must be called something else.
 * Pure.
 */
import { isTeamTool, type Agent } from '@reeve/agent'

/** Members whose own tools have the name of one that a team offers, one sentence each. */
export function toolNameProblems(team: string, members: readonly Agent[]): readonly string[] {
  const all = new Set(members)
  for (const each of all) for (const below of each.members?.() ?? []) all.add(below)
  return [...all].flatMap((each: Agent & { readonly toolNames?: readonly string[] }) =>
    (each.toolNames ?? [])
      .filter(isTeamTool)
      .map(
        (name) =>
          `team "${team}": the tool "${name}" of agent "${each.name}" has the name of one that a team offers to its members`,
      ),
  )
}
