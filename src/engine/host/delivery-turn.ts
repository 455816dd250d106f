/**
 * A turn: which of the activations that are ready are given an arrival next.
 *
 * Holds: K3: where a part of a run has a past to go through, the other parts hear nothing new until it has. Else what
 * comes in together, after a run was read again, would be heard in an order that depends on what was in memory (team
 * C18).
 */
import { runOf } from '../../core/index.ts'
import type { Activation } from '../replay/activation.ts'

/** Takes those whose turn it is out of `ready`; the others stay. */
export function takeTurn(ready: Set<Activation>): readonly Activation[] {
  const all = [...ready]
  ready.clear()
  if (!all.some(({ replaying }) => replaying)) return all
  const behind = new Set(all.flatMap(({ id, replaying }) => (replaying ? [runOf(id)] : [])))
  for (const each of all) if (!each.replaying && behind.has(runOf(each.id))) ready.add(each)
  return all.filter((each) => !ready.has(each))
}
