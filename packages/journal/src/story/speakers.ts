/**
 * Speakers: for whom an activation speaks.
 *
 * Owns: who holds the control of a run, and whose work an activation is a part of. Does not own: how activations are
 * found (views/run-index.ts). Pure.
 */
import { isToolAgent, type ActivationId } from '@reeve/core'
import type { IndexedActivation } from '../views/run-index.ts'

type Find = (id: ActivationId) => IndexedActivation | undefined

/**
 * Whether an activation holds the control of its run: the root, and agents that received control from it; not workers of
 * calls or of code, nor those below them. In a run whose leader is not known, its root holds control.
 */
export function holdsControl(find: Find, { parent, isHandedControl }: IndexedActivation): boolean {
  const above = parent === undefined ? undefined : find(parent)
  return above === undefined || (isHandedControl && holdsControl(find, above))
}

/** Of whose work an activation is a part: of the run itself, of one worker, or of what is shown to no one (a scorer, a notice). */
export type WorkOwner =
  { readonly type: 'run' } | { readonly type: 'worker'; readonly id: ActivationId } | { readonly type: 'none' }

/** Tools, and agents that control is handed to, work for whom the agent above them works for. */
export function ownerOf(find: Find, id: ActivationId): WorkOwner {
  const here = find(id)
  if (here === undefined) return { type: 'run' }
  if (here.isNotice || here.begunBy?.purpose !== undefined) return { type: 'none' }
  if (here.parent === undefined) return { type: 'run' }
  const above = ownerOf(find, here.parent)
  if (above.type === 'none' || here.isHandedControl || isToolAgent(here.agent)) return above
  return { type: 'worker', id: here.id }
}
