/**
 * Result text: the result of a delegation for the leader's model, and the output for others.
 *
 * Owns: the result of the call, the part that a hook may replace, the tool results with it. Does not own: when hooks
 * are called (delegations.ts), the wording of outcomes (../../edge), references (references.ts). All of it is pure. The
 * worker's own journal keeps its real answer.
 */
import { asText, type HistoryEntry, type Json, type Outcome } from '@reeve/core'
import { isBlank, rememberedAnswer, type CallResult } from '@reeve/agent'
import { isEmpty, formatWorkerResult } from '@reeve/edge'
import type { Results } from './options.ts'
import type { DelegationEndReply } from './delegation-hooks.ts'
import { isReferable, shownResult, withReference } from './references.ts'

/** The end of a delegation, as its result text needs it. */
export interface ResultTextInput {
  readonly worker: string
  readonly label: string
  readonly outcome: Outcome
  readonly said: readonly HistoryEntry[]
  readonly results: Results | undefined
  /** How many characters of a result are shown with references, and the tool that reads on. */
  readonly references: { readonly above: number; readonly read: string } | undefined
}

/** The text of an end before hooks change it. Never empty. */
export const endText = ({ worker, outcome }: Pick<ResultTextInput, 'worker' | 'outcome'>): string =>
  asText(formatWorkerResult(worker, outcome).content)

/** The output for forwards, references and the conversation. Undefined: none. */
export function handedOnOutput(outcome: Outcome, reply: DelegationEndReply | undefined): Json | undefined {
  if (outcome.status !== 'completed') return undefined
  if (typeof reply?.result !== 'string') return isEmpty(outcome.output) ? undefined : outcome.output
  return isBlank(reply.result) ? undefined : reply.result
}

/** What is remembered of an end: the hook's text, if it gave one. Undefined: there is no answer to remember. */
export function rememberedText(outcome: Outcome, reply: DelegationEndReply | undefined): string | undefined {
  const answer = rememberedAnswer(outcome)
  const said = typeof reply?.result === 'string' ? reply.result : answer
  return answer === undefined || isBlank(answer) || isBlank(said) ? undefined : said
}

/** The result of the call. A hook's text is used unchanged. */
export function resultOfCall(telling: ResultTextInput, reply: DelegationEndReply | undefined): CallResult {
  const { worker, label, outcome, results, references } = telling
  const formatted = formatWorkerResult(worker, outcome)
  const output = references === undefined ? undefined : handedOnOutput(outcome, reply)
  const refers = references !== undefined && isReferable(output)
  if (typeof reply?.result === 'string') {
    const text = isBlank(reply.result) ? '[no result]' : reply.result
    return { ...formatted, content: refers ? withReference(text, label) : text }
  }
  const answer = refers ? shownResult(output, label, references.above, references.read) : formatted.content
  return { ...formatted, content: results === 'full' ? { answer, tools: toolResults(telling.said) } : answer }
}

/** The tool calls of a worker with their results. */
function toolResults(said: readonly HistoryEntry[]): Json {
  const inputs = new Map<string, Json>()
  return said.flatMap(({ message }): Json[] => {
    if (message.role === 'assistant') for (const { id, input } of message.calls ?? []) inputs.set(id, input)
    if (message.role !== 'tool') return []
    const { callId, name, content, isError = false } = message
    return [{ tool: name, callId, input: inputs.get(callId) ?? null, result: content, isError }]
  })
}
