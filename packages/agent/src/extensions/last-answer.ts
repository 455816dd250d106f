/**
 * Last answer: the last turn of an agent runs without tools, so that it ends with an answer and not at its limit.
 *
 * Owns: the message to the model, and that a turn which exceeds the turns of the tree becomes the last one. Does not
 * own: the tools (../loop/turn-loop.ts), the turn that the tree reserves (the engine).
 */
import type { JsonObject, Outcome } from '@reeve/core'
import type { ConversationState } from '../conversation/conversation-state.ts'
import type { Extension } from './extension.ts'
import type { TurnBudget } from '../conversation/turn-budget.ts'

/** The message to the model in its last turn. */
export const lastTurn = 'This is your last turn, and there are no tools any more. Answer now, with what you have.'

/** The details of the limit that refused a call; undefined if the cause was another one. */
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
      state.asked--
      return true
    },
  }
}
