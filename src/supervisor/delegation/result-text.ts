/**
 * Result text: what a leader's model is told of the end of a delegation, and what of it is handed on to others.
 *
 * Owns: the result of the call, the part of it that a hook may replace, the tool results that go with it. Does not own:
 * when hooks are asked (delegations.ts), how an outcome is put into words (../edge), references (references.ts). All of
 * it is pure. The worker's own journal keeps what it really answered, whatever is told of it.
 */
import { asText, type HistoryEntry, type Json, type Outcome } from '../../core/index.ts'
import { isBlank, rememberedAnswer, type CallResult } from '../../agent/index.ts'
import { isEmpty, workerTold } from '../../edge/index.ts'
import type { Results } from './options.ts'
import type { DelegationEndWord } from './delegation-hooks.ts'
import { isReferable, shownResult, withReference } from './references.ts'

/** An end that a leader's model is told of. */
export interface ResultTextInput {
  readonly worker: string
  readonly label: string
  readonly outcome: Outcome
  readonly said: readonly HistoryEntry[]
  readonly results: Results | undefined
  /** How many characters of a result are shown, where results are referred to; and the tool that reads on. */
  readonly references: { readonly above: number; readonly read: string } | undefined
}

/** How an end is told before its hook has a say. Never empty. */
export const endText = ({ worker, outcome }: Pick<ResultTextInput, 'worker' | 'outcome'>): string =>
  asText(workerTold(worker, outcome).content)

/**
 * What is handed on of an end: to those who forward it, refer to it, or are shown the conversation. Undefined: nothing.
 */
export function handedOnOutput(outcome: Outcome, word: DelegationEndWord | undefined): Json | undefined {
  if (outcome.status !== 'completed') return undefined
  if (typeof word?.result !== 'string') return isEmpty(outcome.output) ? undefined : outcome.output
  return isBlank(word.result) ? undefined : word.result
}

/**
 * What of an end is remembered: in the words of the hook, where it has some. Undefined: nothing that should be taken
 * for an answer later.
 */
export function rememberedText(outcome: Outcome, word: DelegationEndWord | undefined): string | undefined {
  const answer = rememberedAnswer(outcome)
  const said = typeof word?.result === 'string' ? word.result : answer
  return answer === undefined || isBlank(answer) || isBlank(said) ? undefined : said
}

/** The result of the call. What a hook says is told exactly as it says it. */
export function resultOfCall(telling: ResultTextInput, word: DelegationEndWord | undefined): CallResult {
  const { worker, label, outcome, results, references } = telling
  const told = workerTold(worker, outcome)
  const output = handedOnOutput(outcome, word)
  const refers = references !== undefined && isReferable(output)
  if (typeof word?.result === 'string') {
    const text = isBlank(word.result) ? '[no result]' : word.result
    return { ...told, content: refers ? withReference(text, label) : text }
  }
  const answer = refers ? shownResult(output, label, references.above, references.read) : told.content
  return { ...told, content: results === 'full' ? { answer, tools: toolResults(telling.said) } : answer }
}

/** What tools a worker has called, and what came of it. */
function toolResults(said: readonly HistoryEntry[]): Json {
  const inputs = new Map<string, Json>()
  return said.flatMap(({ message }): Json[] => {
    if (message.role === 'assistant') for (const { id, input } of message.calls ?? []) inputs.set(id, input)
    if (message.role !== 'tool') return []
    const { callId, name, content, isError = false } = message
    return [{ tool: name, callId, input: inputs.get(callId) ?? null, result: content, isError }]
  })
}
