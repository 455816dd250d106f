/**
 * Turn budget: how many turns one activation may take, and which one is the last.
 *
 * Owns: the number, and whether the turns of the whole tree are used up. Does not own: counting model calls
 * (conversation-state.ts), the account of the tree (the engine).
 */

import { usualTurns } from '@reeve/engine'

/** The limit of turns of one activation of an agent by model whose limits say nothing of them. */
export const defaultTurns = usualTurns

export class TurnBudget {
  readonly max: number
  readonly #keepsLast: boolean
  /** The turns of the tree are used up, except the one reserved for the last answer. */
  treeIsUsedUp = false

  /** `keepsLast`: the last turn is for an answer only. */
  constructor(max: number, keepsLast: boolean) {
    this.max = max
    this.#keepsLast = keepsLast
  }

  /** Whether the current model call, the `asked`th, is the one reserved for the last answer. */
  isLast(call: number): boolean {
    return this.#keepsLast && (this.treeIsUsedUp || call === this.max)
  }
}
