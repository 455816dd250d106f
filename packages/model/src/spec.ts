/**
 * Spec: the little we need to know of the AI SDK's language model specification (v2, v3, v4), as structural types of
 * our own, so that no type of theirs is in our public API and three versions of it go through one door.
 *
 * Owns: those shapes. Does not own: what we make of them (prompt.ts, answer.ts, language-model.ts).
 */
import type { JsonObject } from '@reeve/core'

/** Versions of the specification that we speak. */
export type SpecVersion = 'v2' | 'v3' | 'v4'

/** Any AI SDK language model object: `openai('gpt-5')`, `anthropic('claude-…')`, a gateway's, a mock of `ai/test`. */
export interface LanguageModelLike {
  readonly specificationVersion: SpecVersion
  readonly provider: string
  readonly modelId: string
  doGenerate(options: never): PromiseLike<unknown>
  doStream(options: never): PromiseLike<unknown>
}

/** The same object as we call it. */
export interface SpecModel {
  readonly specificationVersion: SpecVersion
  readonly provider: string
  readonly modelId: string
  doGenerate(options: SpecCallOptions): PromiseLike<SpecGenerateResult>
  doStream(options: SpecCallOptions): PromiseLike<{ readonly stream: ReadableStream<SpecPart> }>
}

/** A tool of a request. `provider-defined` is what v2 calls a tool of the provider. */
export type SpecTool =
  | {
      readonly type: 'function'
      readonly name: string
      readonly description: string
      readonly inputSchema: JsonObject
    }
  | {
      readonly type: 'provider' | 'provider-defined'
      readonly id: string
      readonly name: string
      readonly args: JsonObject
    }

/** What is asked of a model. The same in all three versions, but for files inside the prompt. */
export interface SpecCallOptions {
  readonly prompt: SpecMessage[]
  readonly tools?: SpecTool[]
  readonly toolChoice?: { readonly type: 'auto' | 'none' | 'required' }
  readonly responseFormat?: { readonly type: 'json'; readonly schema?: JsonObject; readonly name?: string } | undefined
  readonly abortSignal: AbortSignal
  readonly headers: { readonly [name: string]: string }
  readonly providerOptions?: { readonly [provider: string]: JsonObject }
  readonly [setting: string]: unknown
}

/** A message of a provider's prompt. */
export type SpecMessage = (
  | { readonly role: 'system'; readonly content: string }
  | {
      readonly role: 'user' | 'assistant' | 'tool'
      readonly content: readonly { readonly type: string; readonly [member: string]: unknown }[]
    }
) & { readonly providerOptions?: { readonly [provider: string]: JsonObject } }

/**
 * A part of a provider's stream, or an item of a finished result's content; all versions together, nothing believed.
 */
export interface SpecPart {
  readonly type: string
  readonly id?: unknown
  readonly delta?: unknown
  readonly text?: unknown
  readonly toolCallId?: unknown
  readonly toolName?: unknown
  readonly input?: unknown
  readonly providerExecuted?: unknown
  readonly providerMetadata?: unknown
  readonly result?: unknown
  readonly isError?: unknown
  readonly preliminary?: unknown
  readonly kind?: unknown
  readonly mediaType?: unknown
  readonly data?: unknown
  readonly filename?: unknown
  readonly sourceType?: unknown
  readonly url?: unknown
  readonly title?: unknown
  readonly modelId?: unknown
  readonly finishReason?: unknown
  readonly usage?: unknown
  readonly warnings?: unknown
  readonly error?: unknown
}

/** What `doGenerate` gives. */
export interface SpecGenerateResult {
  readonly content: readonly SpecPart[]
  readonly finishReason: unknown
  readonly usage: unknown
  readonly providerMetadata?: unknown
  readonly warnings?: unknown
  readonly response?: { readonly id?: unknown; readonly modelId?: unknown }
}
