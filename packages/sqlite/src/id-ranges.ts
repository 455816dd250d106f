/**
 * Ranges of ids: the activations of a run stand together in every index, since each id begins with its leader's. So do
 * those of its child runs.
 */
import { rootActivation, type ActivationId, type RunId } from '@reeve/core'

/** An activation and all below it, also in child runs: for `covers`. */
export const subtreeRange = (root: ActivationId): [string, string, string] => [root, `${root}>`, `${root}?`]
/** The condition for `range`. */
export const inSubtree = (column: string): string => `(${column} = ? OR (${column} >= ? AND ${column} < ?))`

/** The activations of one run: for `own`. */
export const runRange = (root: ActivationId): [string, string, string, string] => [...subtreeRange(root), root]
/** The condition for `ownRange`. */
export const inRun = (column: string): string =>
  `(${column} = ? OR (${column} >= ? AND ${column} < ? AND instr(substr(${column}, length(?) + 1), '>>') = 0))`

/** Ids that begin so: `id >= ? AND id < ?`. No id has the last character of Unicode. */
export const prefixRange = (prefix: string): [string, string] => [prefix, `${prefix}\u{10ffff}`]

/** The child runs of a run, at any depth: `id >= ? AND id < ?`. */
export const childRange = (run: RunId): [string, string] => [`${run}>`, `${run}?`]
/** Whether this activation belongs to this run. */
export const isOfRun = (id: string, run: RunId): boolean => {
  const root = rootActivation(run)
  return id === root || (id.startsWith(`${root}>`) && !id.includes('>>', root.length))
}

/** The condition that a run was started from outside: it is no child run. */
export const isListedRun = (column: string): string => `instr(${column}, '>') = 0`
