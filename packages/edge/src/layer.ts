/**
 * Layer: what stands around the work of an activation.
 *
 * Owns: the type, and how a list of layers becomes one function. Does not own: which layers there are, and in which
 * order (../runtime/layers.ts).
 * Holds: a layer that has nothing to do for an edge returns the promise of the next one, so it costs one call and no
 * wait.
 */
import type { Outcome } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Edge } from './edge.ts'

/**
 * The work of one activation: from its edge to its outcome. Rejects only with `Cancelled` or for a defect in the code.
 */
export type ActivationWork = (ctx: Context, edge: Edge) => Promise<Outcome>

/** Work with something around it: before it begins, after it has ended, or instead of it. */
export type Layer = (next: ActivationWork) => ActivationWork

/** The work inside these layers; the first is outermost. */
export const layered = (layers: readonly Layer[], work: ActivationWork): ActivationWork =>
  layers.reduceRight((next, layer) => layer(next), work)
