/**
 * Context policy: how much of the leader's conversation crosses to a worker besides the brief (spec delegation 13,
 * collaboration 64, 65).
 *
 * Owns: the policies and what each lets through. Does not own: the leader's messages (it gives a view of them), how a
 * worker shows them to its model. The leader's system text, its tool calls and their results are not in the view, so no
 * policy can let them through.
 */
import { described, failure, FailureError, filesProblem, isObject, present } from '@reeve/core'
import type { EdgeMessage } from './brief.ts'

/** What a policy decides on. */
export interface Conversation {
  /** The worker that will be given work. */
  readonly worker: string
  /** What the leader is about to tell it. */
  readonly brief: string
  /**
   * Everything said before, oldest first: the session, the leader's own brief, what the leader wrote, what workers
   * answered.
   */
  readonly messages: readonly EdgeMessage[]
}

/**
 * `brief` (default): nothing. `answers`: what users said and what workers answered. `conversation`: that and what the
 * leader wrote. A function: whatever it returns; it is pure and gets a view of its own. If it throws, the delegation is
 * refused: nothing crosses by accident.
 */
export type ContextPolicy =
  'brief' | 'answers' | 'conversation' | ((conversation: Conversation) => readonly EdgeMessage[])

/** Applies a policy. `view` is called only if the policy needs it. Throws what the policy function throws. */
export function crossing(
  policy: ContextPolicy | undefined,
  leader: string,
  view: () => Conversation,
): readonly EdgeMessage[] | undefined {
  if (policy === undefined || policy === 'brief') return undefined
  const conversation = view()
  if (policy === 'conversation') return conversation.messages
  if (policy === 'answers')
    return conversation.messages.filter((message) => message.role === 'user' || message.agent !== leader)
  const made: unknown = policy(conversation)
  const problem = edgeMessagesProblem(made)
  if (problem !== undefined)
    throw new FailureError(failure('input.invalid', `the context function: ${problem}`, 'validation'))
  return crossingMessages(made as readonly EdgeMessage[])
}

/** Messages that may cross, with nothing but what crosses. */
export const crossingMessages = (messages: readonly EdgeMessage[]): readonly EdgeMessage[] =>
  messages.map(({ role, text, agent, files }) => ({ role, text, ...present({ agent, files }) }))

/**
 * Why these messages may not cross an edge: system texts, results of tools and other content never do. Undefined if
 * they may.
 */
export function edgeMessagesProblem(given: unknown): string | undefined {
  if (given instanceof Promise) given.catch(() => {}) // it is not awaited
  if (!Array.isArray(given)) return `it returned ${described(given)}; expected a list of messages`
  const bad = Array.from(given as readonly unknown[]).findIndex((message) => !isEdgeMessage(message))
  return bad === -1 ? undefined : `message ${bad} is not { role: "user" | "assistant", text, agent?, files? }`
}

function isEdgeMessage(message: unknown): boolean {
  if (!isObject(message)) return false
  const { role, text, agent, files } = message
  return (
    (files === undefined || filesProblem(files) === undefined) &&
    (role === 'user' || role === 'assistant') &&
    typeof text === 'string' &&
    (agent === undefined || agent === null || typeof agent === 'string')
  )
}
