/**
 * A wire: the protocol that one or several vendors speak, and a rule of what they refuse.
 *
 * Owns: the types; reading a body's members without trusting them. Does not own: the rules themselves, the server.
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import type { FailureKind, ProviderAnswer, ProviderFailure } from './answer.ts'

/** The vendors that can be played, by the names of the presets of `provider/model`. */
export type ProviderName =
  'openai' | 'openai-chat' | 'anthropic' | 'google' | 'groq' | 'openrouter' | 'vllm' | 'llamacpp' | 'ollama'

/** A request as it came in. */
export interface ProviderRequest {
  readonly provider: ProviderName
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: { readonly [name: string]: string }
  /** The body as it was sent. */
  readonly text: string
  /** The body, parsed; empty if it was not a JSON object. */
  readonly body: JsonObject
  /** The model that was asked for. */
  readonly model: string
  /** Whether a stream was asked for. */
  readonly streamed: boolean
}

/** Something that a vendor refuses. */
export interface ProviderRule {
  /** `<vendor>/<what>`: `openai-chat/tool-count`. */
  readonly id: string
  /** Who refuses it. */
  readonly providers: readonly ProviderName[]
  /** One sentence: what must be so. */
  readonly what: string
  /** The address of the vendor's reference, or of the public report, that says so. */
  readonly source: string
  /** The status of the refusal. Default 400. */
  readonly status?: number
  /** The vendor's code of the refusal, where it has one. */
  readonly code?: string
  /** What is wrong with the request, in words like the vendor's. `undefined`: nothing. */
  check(request: ProviderRequest): string | undefined
}

/** One event of a stream, a sign of life, or a line as it is. */
export type Frame =
  | { readonly stage: FrameStage; readonly event?: string; readonly data: Json }
  | { readonly stage: FrameStage; readonly comment: string }

/** What a frame belongs to: what comes before the content, the content, its end. */
export type FrameStage = 'open' | 'content' | 'end'

/** What is sent in the place of an answer. */
export interface ErrorResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: JsonObject
}

/** The protocol of a vendor. */
export interface ProviderWire {
  /** Whether this is where the vendor takes questions. */
  takes(method: string, path: string): boolean
  /** The model that a request is for. */
  modelOf(path: string, body: JsonObject): string
  /** Whether a stream is asked for. */
  isStreamed(path: string, body: JsonObject): boolean
  /** The answer as a stream. */
  stream(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): readonly Frame[]
  /** The answer as one body. */
  whole(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): JsonObject
  /** A failure before the answer. */
  failed(failure: VendorFailure, request: ProviderRequest): ErrorResponse
  /** A failure inside a stream. */
  broken(kind: FailureKind, request: ProviderRequest): readonly Frame[]
  /** A rule was broken. */
  refused(rule: ProviderRule, why: string, request: ProviderRequest): ErrorResponse
  /** A sign of life inside a stream. */
  readonly ping: Frame
}

/** A failure that has the vendor's own form. */
export type VendorFailure = ProviderFailure & { readonly failure: FailureKind }

/** Makes ids that are unique in a server's life and the same in every one. */
export type IdSource = (prefix: string) => string

/** A member as a list; empty if it is none. */
export const listAt = (object: JsonObject | undefined, name: string): readonly Json[] => {
  const value = memberOf(object, name)
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/** A member as a list of objects; what is none is left out. */
export const objectsAt = (object: JsonObject | undefined, name: string): readonly JsonObject[] =>
  listAt(object, name).filter((item) => isObject(item))

/** A member as an object. */
export const objectAt = (object: JsonObject | undefined, name: string): JsonObject | undefined => {
  const value = memberOf(object, name)
  return isObject(value) ? value : undefined
}

/** A member as an object, as a list of one; empty if it is none. */
export const membersAt = (object: JsonObject | undefined, name: string): readonly JsonObject[] => {
  const value = objectAt(object, name)
  return value === undefined ? [] : [value]
}

/** A member as a text. */
export const textAt = (object: JsonObject | undefined, name: string): string | undefined => {
  const value = memberOf(object, name)
  return typeof value === 'string' ? value : undefined
}

/** A member as a number. */
export const numberAt = (object: JsonObject | undefined, name: string): number | undefined => {
  const value = memberOf(object, name)
  return typeof value === 'number' ? value : undefined
}

/** A member of its own. */
export const memberOf = (object: JsonObject | undefined, name: string): Json | undefined =>
  object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined

/** Every text inside a value, names of members included. */
export function* textsIn(value: Json | undefined): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value as readonly Json[]) yield* textsIn(item)
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) {
      yield name
      yield* textsIn(member)
    }
}

/** The first thing that is wrong. */
export function firstOf<T>(
  items: Iterable<T>,
  problem: (item: T, at: number) => string | undefined,
): string | undefined {
  let at = 0
  for (const item of items) {
    const found = problem(item, at++)
    if (found !== undefined) return found
  }
  return undefined
}

/** The first item that is there twice. */
export function repeated(items: Iterable<string>): string | undefined {
  const seen = new Set<string>()
  for (const item of items) {
    if (seen.has(item)) return item
    seen.add(item)
  }
  return undefined
}
