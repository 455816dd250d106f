/**
 * A turn: which of the activations that are ready are given an arrival next.
 *
 * Holds: K3: where a part of a run has a past to go through, the other parts hear nothing new until it has. Else what
 * comes in together, after a run was read again, would be heard in an order that depends on what was in memory (team
 * C18).
 */
import type { LoadedActivation } from './loaded-run.ts'

/** Takes those whose turn it is out of `ready`; the others stay. */
export function takeTurn(ready: Set<LoadedActivation>): readonly LoadedActivation[] {
  const all = [...ready]
  ready.clear()
  if (!all.some(hasPast)) return all
  const behind = new Set(all.flatMap(({ run, replaying }) => (replaying ? [run] : [])))
  for (const each of all) if (!each.replaying && behind.has(each.run)) ready.add(each)
  return all.filter((each) => !ready.has(each))
}

const hasPast = ({ replaying }: LoadedActivation): boolean => replaying
