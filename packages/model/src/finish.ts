/**
 * Finish: why a model stopped, from what its provider said of it, onto one closed list.
 *
 * Owns: the words of providers, each with its source; when an answer holds nothing that can be used. Does not own: what
 * follows an answer that is not whole (agent/model-call/answer-end.ts), errors instead of an answer (faults.ts).
 *
 * The packages of the AI SDK map stop reasons onto fewer words than providers have (a pause of Anthropic is "stop", its
 * full context is "length"), so the provider's own word counts first where the package passes it on.
 */
import { cut, failure, FailureError, isObject, own, type CallUsage, type Failure } from '@reeve/core'
import { cutOff } from './faults.ts'
import type { FinishReason, ModelAnswer } from './model.ts'
import type { SpecVersion } from './spec.ts'

/** What a provider's word stands for. `broken`: the answer did not end; `malformed`: a call that cannot be read. */
type Stop = FinishReason | 'broken' | 'malformed'

/** Providers' own words, in lower case. */
const words: { readonly [word: string]: Stop } = {
  // https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
  refusal: 'refusal',
  pause_turn: 'paused',
  // context editing with `pause_after_compaction`: the same, sent back as it is
  compaction: 'paused',
  model_context_window_exceeded: 'context-full',
  max_tokens: 'length',
  // https://platform.openai.com/docs/api-reference/chat/object (finish_reason) and …/responses/object (incomplete_details)
  length: 'length',
  max_output_tokens: 'length',
  content_filter: 'content-filter',
  // https://ai.google.dev/api/generate-content#FinishReason; `max_tokens` is above
  continuation: 'length',
  safety: 'content-filter',
  recitation: 'content-filter',
  language: 'content-filter',
  blocklist: 'content-filter',
  prohibited_content: 'content-filter',
  spii: 'content-filter',
  image_safety: 'content-filter',
  image_prohibited_content: 'content-filter',
  image_recitation: 'content-filter',
  malformed_function_call: 'malformed',
  malformed_response: 'malformed',
  unexpected_tool_call: 'malformed',
  too_many_tool_calls: 'malformed',
  missing_thought_signature: 'malformed',
  // https://openrouter.ai/docs/api-reference/overview (finish_reason "error"); https://docs.vllm.ai (abort)
  error: 'broken',
  abort: 'broken',
  // https://api-docs.deepseek.com/api/create-chat-completion
  insufficient_system_resource: 'broken',
  // https://docs.mistral.ai/api (chat completion choice)
  model_length: 'context-full',
  // https://docs.z.ai/api-reference/llm/chat-completion
  sensitive: 'content-filter',
  network_error: 'broken',
  // https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
  guardrail_intervened: 'content-filter',
  content_filtered: 'content-filter',
  malformed_model_output: 'malformed',
  malformed_tool_use: 'malformed',
  // https://docs.cohere.com/reference/chat (v2: TIMEOUT, USER_CANCEL)
  error_toxic: 'content-filter',
  error_limit: 'context-full',
  timeout: 'broken',
  user_cancel: 'broken',
  // https://cloud.ibm.com/apidocs/watsonx-ai#text-chat (time_limit, cancelled), …#text-generation (token_limit)
  time_limit: 'broken',
  cancelled: 'broken',
  token_limit: 'length',
}

/** The words of the specification of the AI SDK, and Reeve's own. */
const unifiedWords: { readonly [word: string]: FinishReason } = {
  stop: 'stop',
  'tool-calls': 'tool-calls',
  length: 'length',
  refusal: 'refusal',
  'content-filter': 'content-filter',
  'prompt-blocked': 'prompt-blocked',
  'context-full': 'context-full',
  paused: 'paused',
  other: 'other',
}

/** What an answer holds besides its reason to stop. */
export interface AnswerContent {
  readonly calls: number
  /** It has no text and no file, and the provider did nothing by itself. */
  readonly isBlank: boolean
  readonly metadata?: unknown
  readonly usage?: CallUsage | undefined
}

/** Where the reason comes from. */
export interface FinishContext {
  /** The id of the model, for messages. */
  readonly model: string
  readonly version: SpecVersion
  /** Whether the parts come from a stream, which may end early, or from a finished result. */
  readonly streamed: boolean
}

/** Why a model stopped. */
export interface AnswerFinish {
  readonly finish: FinishReason
  /** The provider's own word, where the answer is not whole. */
  readonly stopReason?: string
}

/** The longest word of a provider that is kept. */
const longestWord = 64

/**
 * Why a model stopped. Throws a `FailureError`, which the step retries, for what is no answer: `model.cut-off` if it
 * did not end, `model.calls-missing` if its calls could not be read.
 */
export function readFinish(reason: unknown, context: FinishContext, content: AnswerContent): AnswerFinish {
  const { unified, raw } = reasonOf(reason)
  const stop = isPromptBlocked(content) ? 'prompt-blocked' : stopOf(unified, raw, context, content)
  if (stop === 'broken') throw brokenOff(context.model, unified, raw)
  if (stop === 'malformed' && content.calls === 0) throw withUsage(callsMissing(context.model, raw), content.usage)
  const finish = stop === 'malformed' ? 'other' : stop
  return isWhole(finish) || raw === undefined ? { finish } : { finish, stopReason: raw.slice(0, longestWord) }
}

/**
 * Throws a `FailureError`, which the step retries, for an answer that is none: calls were announced and none came
 * (`model.calls-missing`), or there is nothing at all (`model.empty`). `isRule`: code has answered, and means it if it
 * says nothing.
 */
export function mustAnswer(answer: ModelAnswer, isRule: boolean): void {
  const { finish, calls, text, files = [], reasoning, model, usage } = answer
  if (!isWhole(finish) || calls.length > 0) return
  // what the provider did by itself was done
  if (reasoning?.parts.some(({ type }) => type === 'opaque') === true) return
  // words before calls that did not come are no answer: "Let me look that up."
  if (finish === 'tool-calls') throw withUsage(withPartial(callsMissing(model), text), usage)
  if (files.length > 0 || text.trim() !== '') return
  if (!isRule) throw withUsage(nothingSaid(model), usage)
}

/** The reason that a rule gives; undefined: there is no such reason. */
export const finishOfRule = (reason: unknown): FinishReason | undefined =>
  typeof reason === 'string' ? own(unifiedWords, reason) : undefined

/** Whether a model that stopped so has ended its answer. */
export const isWhole = (finish: FinishReason): boolean =>
  finish === 'stop' || finish === 'tool-calls' || finish === 'other'

function stopOf(
  unified: unknown,
  raw: string | undefined,
  { model, version, streamed }: FinishContext,
  { isBlank }: AnswerContent,
): Stop {
  const word = raw === undefined ? undefined : own(words, raw.toLowerCase())
  if (unified === 'content-filter' && word === undefined && isRefusal(raw, isBlank)) return 'refusal'
  if (word !== undefined) return word
  // Before v4 there was no word for "interrupted": providers keep their initial value when a stream ends early.
  const isSilent =
    (version === 'v2' && unified === 'unknown') || (version === 'v3' && unified === 'other' && raw === undefined)
  if (isSilent) {
    if (streamed) throw new FailureError(cutOff(model, 'the stream ended without a reason to finish'))
    return 'other'
  }
  return (typeof unified === 'string' ? own(unifiedWords, unified) : undefined) ?? 'broken'
}

/**
 * On OpenAI's wires a refusal is a part of the content, and has no reason of its own: chat says "stop", responses nothing.
 * The package of the SDK calls both "content-filter".
 */
const isRefusal = (raw: string | undefined, isBlank: boolean): boolean =>
  raw === 'stop' || (raw === undefined && !isBlank)

/** Google gives no candidate for a prompt that it blocks, only feedback: https://ai.google.dev/api/generate-content#PromptFeedback */
function isPromptBlocked({ calls, isBlank, metadata }: AnswerContent): boolean {
  if (calls > 0 || !isBlank || !isObject(metadata)) return false
  return Object.values(metadata).some((of) => {
    const feedback = isObject(of) ? own(of, 'promptFeedback') : undefined
    const blocked = isObject(feedback) ? own(feedback, 'blockReason') : undefined
    return typeof blocked === 'string' && blocked !== '' && blocked !== 'BLOCK_REASON_UNSPECIFIED'
  })
}

function reasonOf(reason: unknown): { readonly unified: unknown; readonly raw: string | undefined } {
  if (!isObject(reason)) return { unified: reason, raw: undefined }
  const raw = own(reason, 'raw')
  return { unified: own(reason, 'unified'), raw: typeof raw === 'string' ? raw : undefined }
}

const because = (raw: string | undefined): string => (raw === undefined ? '' : ` (${raw.slice(0, longestWord)})`)

const brokenOff = (model: string, unified: unknown, raw: string | undefined): FailureError =>
  new FailureError(cutOff(model, `it finished with "${String(unified)}"${because(raw)}`))

const callsMissing = (model: string, raw?: string): Failure =>
  failure('model.calls-missing', `${model} announced calls of tools and sent none${because(raw)}`, 'transport')

const nothingSaid = (model: string): Failure =>
  failure('model.empty', `${model} ended its answer without a word, a call or a file`, 'transport')

/** How much is kept of words that are no answer, in characters. */
const keptText = 8_000

const withPartial = (what: Failure, text: string): Failure =>
  text.trim() === '' ? what : { ...what, details: { ...what.details, partial: cut(text, keptText) } }

/** What it used was used: it stands in the details, for the account of the step. */
const withUsage = (what: Failure, usage: CallUsage | undefined): FailureError =>
  new FailureError(usage === undefined ? what : { ...what, details: { ...what.details, usage: { ...usage } } })
