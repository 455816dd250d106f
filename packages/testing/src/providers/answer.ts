/**
 * What a strict provider answers, in words that belong to no vendor; each wire writes it in its own form.
 *
 * Owns: the types of answers and failures, and the one order their parts have.
 * Does not own: how a vendor writes them (the files of the wires), which answer comes when (server.ts).
 */
import type { Json, JsonObject } from '@reeve/core'

/** One piece of what the model says. A text given as a list is streamed in those pieces. */
export type ProviderPart =
  | {
      readonly type: 'reasoning'
      readonly text: string | readonly string[]
      /** Anthropic's and Google's signature of it. */
      readonly signature?: string
      /** OpenAI's encrypted form of it. Default: one is made up if the request asked for it. */
      readonly encrypted?: string
      /** Anthropic: the thought is hidden, this is its data; the text is not sent. */
      readonly redacted?: string
    }
  | { readonly type: 'text'; readonly text: string | readonly string[] }
  | { readonly type: 'refusal'; readonly text: string | readonly string[] }
  | ({ readonly type: 'call' } & ProviderCall)
  | ({ readonly type: 'ran' } & ProviderRan)
  /** Something of the vendor's own, put on the wire as it is: an event of a stream, or an item of a whole answer. */
  | { readonly type: 'raw'; readonly value: JsonObject }

/** A call of a tool. */
export interface ProviderCall {
  readonly name: string
  /** The arguments: JSON, or the text itself, which may be cut or broken. Default `{}`. */
  readonly input?: Json
  /** The arguments as the text that is sent, whatever it is. Before `input`. */
  readonly inputText?: string
  /** How many pieces the arguments are streamed in. Default 1. */
  readonly pieces?: number
  /** Default: one that is unique in the server's life. `null`: none is sent. */
  readonly id?: string | null
  /** The index that the stream gives it, where the wire has one. Default: its place among the calls. */
  readonly index?: number
  /** Google: the signature of the thought before it. */
  readonly signature?: string
}

/** A search of the web that the vendor ran inside the answer. Chat completions have none, and leave it out. */
export interface ProviderRan {
  /** What was searched for. */
  readonly query: string
  /** What was found. Default: nothing. */
  readonly found?: readonly { readonly url: string; readonly title: string }[]
  /** It failed: the vendor's code of the error. */
  readonly error?: string
  /** Anthropic: the answer pauses before its result. */
  readonly open?: true
}

/** What the vendor says was used. All in tokens. */
export interface ProviderUsage {
  /** Of the whole prompt, what was cached included. Default 10. */
  readonly input?: number
  /** Of the whole answer, reasoning included. Default 5. */
  readonly output?: number
  readonly reasoning?: number
  /** Read from the prompt cache; a part of `input`. */
  readonly cached?: number
  /** Written to the prompt cache for five minutes; a part of `input`. */
  readonly cacheWrite?: number
  /** Written to the prompt cache for an hour; a part of `input`. */
  readonly cacheWriteHour?: number
  /** Streamed in two events: the first says less than the last. */
  readonly split?: boolean
}

/** An answer of the model. Parts come in the order reasoning, text, refusal, calls, unless `parts` says otherwise. */
export interface ProviderAnswer {
  readonly reasoning?: string | readonly string[]
  readonly text?: string | readonly string[]
  readonly refusal?: string
  readonly calls?: readonly ProviderCall[]
  /** All of it in its order; the four above are then not looked at. */
  readonly parts?: readonly ProviderPart[]
  /**
   * Why it stopped, in the vendor's own word (`length`, `max_tokens`, `MAX_TOKENS`, `pause_turn` …). Default: what the
   * vendor says of such an answer. On the responses wire the reason in `incomplete_details`, or `failed`.
   */
  readonly finish?: string
  /** Details that a vendor sends beside the reason, put where it puts them. */
  readonly finishDetails?: JsonObject
  /** Google: the prompt was refused for this reason; nothing is said. */
  readonly blocked?: string
  /** `null`: the vendor does not say. */
  readonly usage?: ProviderUsage | null
  /** The model that the vendor says has answered. Default: the one that was asked. */
  readonly model?: string
  /** Headers beside the usual ones. */
  readonly headers?: { readonly [name: string]: string }
  /** How many signs of life (pings, comments) are sent before every event of the stream. Default 0. */
  readonly pings?: number
  /** What happens to the connection on the way. */
  readonly breaks?: ProviderBreak
}

/** How an answer ends before its end. */
export interface ProviderBreak {
  /**
   * `error`: the vendor's error event. `reset`: the connection is gone, in the middle of the body. `end`: the body ends as if it were whole.
   * `stall`: nothing more comes until `release()`, then the rest.
   */
  readonly with: 'error' | 'reset' | 'end' | 'stall'
  /**
   * After what: `headers` (none of the body), `open` (what comes before the content), `content` (all of the content, not
   * its end), or that many pieces of the content. Default `content`.
   */
  readonly after?: 'headers' | 'open' | 'content' | number
  /** Of an error event. Default `overloaded`. */
  readonly failure?: FailureKind
}

/** The kinds of failure every vendor has its own words for. */
export type FailureKind =
  | 'rate-limit'
  | 'no-credit'
  | 'overloaded'
  | 'unavailable'
  | 'unauthorized'
  | 'unknown-model'
  | 'context-full'
  | 'bad-request'
  | 'prompt-blocked'

/** The request fails before there is an answer. */
export interface ProviderFailure {
  readonly failure: FailureKind | 'html' | 'empty'
  /** Default: the vendor's. Of `html` 502, of `empty` 200. */
  readonly status?: number
  /** In seconds: when to come back. Said as `waitIn` says. */
  readonly retryAfter?: number
  /** Where the vendor says when to come back. Default: where this vendor does. */
  readonly waitIn?: 'header' | 'body' | 'text'
  /** The vendor's words. Default: what it usually says. */
  readonly message?: string
  /** Instead of the vendor's body. */
  readonly body?: string | JsonObject
  readonly headers?: { readonly [name: string]: string }
}

/** What one request is answered with. */
export type ProviderReply = ProviderAnswer | ProviderFailure | string

export const isProviderFailure = (reply: ProviderReply): reply is ProviderFailure =>
  typeof reply === 'object' && 'failure' in reply

/** The parts of an answer in their order. */
export function partsOfAnswer(answer: ProviderAnswer): readonly ProviderPart[] {
  if (answer.parts !== undefined) return answer.parts
  return [
    ...(answer.reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: answer.reasoning }]),
    ...(answer.text === undefined ? [] : [{ type: 'text' as const, text: answer.text }]),
    ...(answer.refusal === undefined ? [] : [{ type: 'refusal' as const, text: answer.refusal }]),
    ...(answer.calls ?? []).map((call) => ({ type: 'call' as const, ...call })),
  ]
}

/** A text as the pieces it is streamed in. */
export const piecesOf = (text: string | readonly string[]): readonly string[] =>
  typeof text === 'string' ? [text] : text

/** A text as one. */
export const wholeOf = (text: string | readonly string[]): string => piecesOf(text).join('')

/** The arguments of a call as the text on the wire. */
export const inputTextOf = (call: ProviderCall): string => call.inputText ?? JSON.stringify(call.input ?? {})

/** That text in the pieces it is streamed in. */
export function inputPiecesOf(call: ProviderCall): readonly string[] {
  const text = inputTextOf(call)
  const size = Math.max(1, Math.ceil(text.length / Math.max(1, call.pieces ?? 1)))
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  return pieces
}
