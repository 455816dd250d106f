/**
 * Last answer: the last turn of an agent is asked without tools, so that it ends with an answer and not at its limit.
 *
 * Owns: what the model is told then, and that a turn for which the tree has no more room becomes that last one. Does
 * not own: the tools (../loop/turn-loop.ts), the turn that the tree keeps for it (the engine).
 */
import type { JsonObject, Outcome } from '../../core/index.ts'
import type { ConversationState } from '../loop/conversation-state.ts'
import type { Extension } from './extension.ts'
import type { TurnBudget } from '../loop/turn-budget.ts'

/** What a model is told when it is asked for the last time. */
export const lastTurn = 'This is your last turn, and there are no tools any more. Answer now, with what you have.'

/** The limit, and whose it is, that did not let a call be made; undefined if it was something else. */
export function exceeded(outcome: Outcome): JsonObject | undefined {
  return outcome.status === 'failed' && outcome.failure.code === 'budget.exceeded'
    ? (outcome.failure.details ?? {})
    : undefined
}

export function lastAnswer(state: ConversationState, turns: TurnBudget): Extension {
  return {
    beforeModel() {
      if (turns.isLast(state.asked)) state.note(lastTurn)
      return undefined
    },
    onUnanswered(outcome) {
      const max = exceeded(outcome)
      if (turns.isLast(state.asked) || max?.['limit'] !== 'turns' || max['activation'] !== state.ctx.place.activation)
        return false
      turns.treeIsUsedUp = true
      state.turn--
      return true
    },
  }
}
