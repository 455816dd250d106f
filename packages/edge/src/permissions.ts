/**
 * Permissions of an edge: which tools a worker may use and which of them need an approval. They only ever shrink on the
 * way down.
 *
 * Owns: the type, the pattern language, `narrow`, the questions asked of them. Does not own: the gate that asks
 * (agent/approval/tool-gate.ts).
 */
import { either, expects, listOf, object, present } from '@reeve/core'

/**
 * Permissions by tool name. A pattern is a name, or the beginning of one followed by `*` (`'*'` is every tool): nothing
 * more, so that two lists of patterns always have an intersection that can be written as patterns again.
 */
export interface Permissions {
  /** The tools that may be used; absent: all that the agent's definition has. */
  readonly tools?: readonly string[]
  /** The tools that may not be used, whatever `tools` says. */
  readonly deny?: readonly string[]
  /** The tools that need a human's approval for every call, in addition to those that say so themselves. */
  readonly approval?: 'all' | readonly string[]
}

const pattern = /^(?:[A-Za-z0-9_.:-]*\*|[A-Za-z0-9_.:-]+)$/

/** The check of a list of patterns. */
export const patternsCheck = listOf(
  expects((given) => typeof given === 'string' && pattern.test(given), 'a tool name, or its beginning followed by "*"'),
  'tool names',
)
/** The check of permissions. */
export const permissionsCheck = object<Permissions>({
  tools: patternsCheck,
  deny: patternsCheck,
  approval: either((given) => given === 'all', patternsCheck),
})

const fits = (entry: string, name: string): boolean =>
  entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : entry === name
const among = (list: readonly string[], name: string): boolean => list.some((entry) => fits(entry, name))

/** True if the tool may be used at all. */
export function allowsTool(permissions: Permissions | undefined, tool: string): boolean {
  if (permissions === undefined) return true
  if (permissions.deny !== undefined && among(permissions.deny, tool)) return false
  return permissions.tools === undefined || among(permissions.tools, tool)
}

/**
 * True if `deny` names the tool: the only part of the permissions that also holds for Reeve's own verbs (`delegate` and
 * its like).
 */
export const denies = (permissions: Permissions | undefined, tool: string): boolean =>
  permissions?.deny !== undefined && among(permissions.deny, tool)

/** True if every call of the tool needs an approval because the edge says so. */
export function needsApproval(permissions: Permissions | undefined, tool: string): boolean {
  const listed = permissions?.approval
  return listed !== undefined && (listed === 'all' || among(listed, tool))
}

/**
 * What a worker may do: what its leader may and what the leader grants. Pure; the result never permits what either
 * forbids and asks for every approval that either asks for.
 */
export function narrow(leader: Permissions | undefined, grant: Permissions | undefined): Permissions | undefined {
  if (leader === undefined) return grant
  if (grant === undefined) return leader
  const tools =
    leader.tools === undefined
      ? grant.tools
      : grant.tools === undefined
        ? leader.tools
        : intersection(leader.tools, grant.tools)
  const deny = union(leader.deny, grant.deny)
  const approval =
    leader.approval === 'all' || grant.approval === 'all' ? 'all' : union(leader.approval, grant.approval)
  return {
    ...present({ tools, deny, approval }),
  }
}

/** Of two patterns that overlap one always contains the other; the contained one is their intersection. */
function intersection(one: readonly string[], other: readonly string[]): readonly string[] {
  const both = new Set<string>()
  for (const a of one) {
    for (const b of other) {
      if (contains(a, b)) both.add(b)
      else if (contains(b, a)) both.add(a)
    }
  }
  return [...both]
}

const contains = (outer: string, inner: string): boolean =>
  outer.endsWith('*') ? inner.startsWith(outer.slice(0, -1)) : outer === inner

const union = (
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined =>
  one === undefined ? other : other === undefined ? one : [...new Set([...one, ...other])]
