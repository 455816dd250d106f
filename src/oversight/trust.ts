/**
 * Trust: how much an agent has earned to do unasked (spec team R-18).
 *
 * Owns: the levels, their rules, the mode that follows from one. Pure. Does not own: where trust is kept, what changes it.
 */
import { defaultMode, type Oversight, type OversightMode } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'

/** The mode that holds now: what the edge says, and, where trust is kept, what its level says, the stricter. */
export async function currentMode(_ctx: Context, oversight: Oversight): Promise<OversightMode> {
  return oversight.mode ?? defaultMode
}
