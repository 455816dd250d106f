/**
 * Model: the one port through which a language model, or a rule that stands in for one, is asked for an answer.
 *
 * Owns: the request, the answer, the parts of a stream, the `Model` port.
 * Does not own: retries (the step retries, a model never does), the turn loop and tool execution (agent/), budgets
 * (edge/).
 */
import type {
  CallUsage,
  FilePart,
  JsonObject,
  Message,
  ModelPart,
  RanTool,
  Reasoning,
  Source,
  ToolCall,
} from '@reeve/core'
import type { ModelPrice } from './price.ts'

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments; an object schema. Of a tool that a provider runs: of any object, and not sent. */
  readonly parameters: JsonObject
  /** The provider runs it, inside the call of its model: its forms, one for each provider. Absent: Reeve runs it. */
  readonly provider?: readonly ProviderToolForm[]
}

/** A tool that a provider runs, as that provider knows it. */
// a type, not an interface: it is JSON
export type ProviderToolForm = {
  /** `provider.tool`, as the AI SDK names it: `anthropic.web_search_20250305`. */
  readonly id: string
  /** What the provider is told of it, in the AI SDK's words: `{ maxUses: 5 }`. */
  readonly args: JsonObject
  /** What one call costs, in US dollars. Default: the list price, if the provider lists one by the call. */
  readonly costUsd?: number
}

/** The tools that a model's provider runs. */
export interface ProviderToolSupport {
  /** The first words of the ids of its tools: `anthropic`. */
  readonly runs: readonly string[]
  /** They are taken only in a request without other tools. */
  readonly alone?: true
}

/** How to sample. Whatever is left out is the provider's default. */
export interface ModelSettings {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  /** The most tokens the answer may have, reasoning included. */
  readonly maxOutputTokens?: number
  /** Texts at which the model stops. */
  readonly stop?: readonly string[]
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /**
   * Keeps the prompt in the provider's cache, so that the next call reads it at a lower price: `'5m'` (or `true`) for
   * five minutes after it was last read, `'1h'` for an hour. Default: `false`. Claude alone is told: there, writing costs
   * 1.25 or 2 times the input, reading 0.1 times or less, and a prompt below 1,024 to 4,096 tokens, by model, is not
   * kept. Other providers cache by themselves or not at all, and are not told. `providerOptions` with a `cacheControl`
   * of their own come first.
   */
  readonly cache?: boolean | '5m' | '1h'
  /** Options of one provider, under the provider's name: `{ anthropic: { … } }`. */
  readonly providerOptions?: { readonly [provider: string]: JsonObject }
}

/** What a provider takes of settings. */
export interface SettingLimits {
  /** The most stop sequences; 0: it takes none. Absent: no such limit is known. */
  readonly stops?: number
  /** Whether a stop sequence may be white space alone. Default: true. */
  readonly blankStops?: boolean
  /** The smallest limit of output tokens. Default: 1. */
  readonly leastOutput?: number
}

/** One question to a model. */
export interface ModelRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  /** Default: 'auto' if there are tools. */
  readonly toolChoice?: 'auto' | 'none' | 'required'
  /** Asks for an answer that is JSON of this schema. Whether it is must be checked by who asked. */
  readonly outputSchema?: JsonObject
  readonly settings?: ModelSettings
  /** Aborting it makes `call` reject with the signal's reason. */
  readonly signal: AbortSignal
  /** The idempotency key of the step: the same for all attempts. Sent as the header `idempotency-key`. */
  readonly key: string
  /**
   * The W3C header `traceparent`: the span of this call. Sent as that header. Default: none is sent.
   */
  readonly traceparent?: string
  /** What the call costs here (`createRuntime({ prices })`). Default: the price of the model itself. */
  readonly price?: ModelPrice
  /**
   * How long the model may send nothing after the first part of its answer; before it, five times as long. Milliseconds;
   * `Infinity` for no limit. Default 120,000. Only models behind a connection know of it.
   */
  readonly silenceMs?: number
  /**
   * Where the parts of the answer go while it is being made. Providers are always asked to stream; the answer is the
   * same without. A sink that throws is dropped for the rest of the call: parts are never needed for correctness (K9).
   */
  readonly emit?: (part: ModelPart) => void
}

/**
 * Why a model stopped. `stop`, `tool-calls` and `other` (the provider did not say, or in words that are not known) end an
 * answer. The others do not: its output limit (`length`), the model declined (`refusal`), a filter stopped the answer
 * (`content-filter`) or what the model was sent (`prompt-blocked`), the context window is full (`context-full`), the
 * provider paused a long answer and goes on if it is asked again (`paused`).
 */
export type FinishReason =
  | 'stop'
  | 'tool-calls'
  | 'length'
  | 'refusal'
  | 'content-filter'
  | 'prompt-blocked'
  | 'context-full'
  | 'paused'
  | 'other'

/** An answer up to where the model stopped: `finish` says whether it is whole. JSON: it is recorded. */
export interface ModelAnswer {
  /** May be empty, also when nothing was called. */
  readonly text: string
  readonly calls: readonly ToolCall[]
  /** What the model made besides text; absent if nothing. They come with the answer, never as parts of a stream. */
  readonly files?: readonly FilePart[]
  readonly finish: FinishReason
  /** The provider's own word for it. Absent of a whole answer, and where the provider has none. */
  readonly stopReason?: string
  /** Undefined: the provider did not say. */
  readonly usage?: CallUsage
  /** The id of the model that was asked, as in `Model.id`. */
  readonly model: string
  readonly reasoning?: Reasoning
  /** The calls of tools that the provider ran, in order; absent if none. At most 100. */
  readonly ran?: readonly RanTool[]
  /** What the answer is taken from, each once; absent if the provider names nothing. At most 100. */
  readonly sources?: readonly Source[]
  /** What the provider says of itself: the id of the response and the name of the model that made it. */
  readonly response?: { readonly id?: string; readonly model?: string }
  /** What the provider could not do as it was asked, in its own words. */
  readonly warnings?: readonly string[]
  readonly providerMetadata?: JsonObject
}

/**
 * Why the next model of a chain is asked:
 *
 * | reason | the model before it |
 * |---|---|
 * | `down` | could not be reached, does not work, or its answer broke off, after its retries |
 * | `limited` | limits the rate of calls for longer than is waited, or has no credit left |
 * | `denied` | is not known to its provider, its package is not installed, or the key is missing or refused |
 * | `too-large` | refused the request for its size |
 * | `slow` | was silent for too long, or took too long |
 * | `refused` | refused to answer, or its provider filtered the question or the answer |
 */
export type FallbackReason = 'down' | 'limited' | 'denied' | 'too-large' | 'slow' | 'refused'

/** A model of a chain. */
export interface ModelLink {
  readonly model: Model
  /** For which reasons it is asked after one before it. */
  readonly when: readonly FallbackReason[]
}

/** Something that answers. */
export interface Model {
  /** `provider/model`: names the model in usage, prices and traces. */
  readonly id: string
  /**
   * It is code: a call costs nothing unless its answer says so, and an answer without a word is meant so. Default: of a
   * model, such an answer is none (`model.empty`).
   */
  readonly isRule?: boolean
  /** What it costs, if that is known; a limit in US dollars needs it. */
  readonly price?: ModelPrice
  /** The most tools of one request, Reeve's own included. Default: no limit is known. */
  readonly mostTools?: number
  /** The tools that its provider runs: others are refused when the agent is defined. Default: none. */
  readonly providerTools?: ProviderToolSupport
  /** What its provider takes of settings: others are refused when the agent is defined. Default: nothing is known. */
  readonly settingLimits?: SettingLimits
  /** Of a chain: its models, the first asked first. Absent: it is one model. */
  readonly chain?: readonly ModelLink[]
  /**
   * Asks once, without retrying. Rejects with a `FailureError`, and with nothing else, unless the request's signal was
   * aborted: then with the signal's reason. An answer whose transport died is never returned (`model.cut-off`); one that
   * the model did not end is, and its `finish` says why.
   */
  call(request: ModelRequest): Promise<ModelAnswer>
  /**
   * Loads what its first call needs (a package, a key, an address) and sends nothing. Rejects with the `FailureError`
   * with which that call would. Absent: it needs nothing.
   */
  prepare?(): Promise<void>
}

/** What a model function may return; a text alone means an answer of just that text. */
export interface ModelAnswerInput {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input: ToolCall['input']; readonly id?: string }[]
  /** What it made besides text. One whose data is empty is left out. */
  readonly files?: readonly FilePart[]
  /**
   * What the call used. Default: nothing at all, because a rule costs nothing; a function that asks a model itself must
   * say. `'unknown'` if it cannot.
   */
  readonly usage?: CallUsage | 'unknown'
  readonly finish?: FinishReason
  readonly providerMetadata?: JsonObject
}

/**
 * A rule brain: a function in the place of a language model. What it throws is a failure of class 'unknown' unless it
 * throws a `FailureError`.
 */
export type ModelFunction = (request: ModelRequest) => ModelAnswerInput | string | Promise<ModelAnswerInput | string>
