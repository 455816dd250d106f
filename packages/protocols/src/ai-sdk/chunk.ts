/**
 * Chunks of the AI SDK's UI message stream (version 1, `ai` 5 to 7), as far as a run needs them.
 *
 * Owns: these types, the data of a worker and of a question, the metadata of a message. Does not own: which chunk says
 * what (chunk-writer.ts). Written out here, so that nothing has to be installed on the server.
 */
import type { Json, JsonObject } from '@reeve/core'

/** The data of a part `data-agent`: a worker. Its id is that of the worker's activation. */
export interface AgentData {
  readonly agent: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  /**
   * `running`, `waiting` for a person, or how it ended: `completed`, `failed`, `limited`, `timed-out`, `cancelled`,
   * `bailed`.
   */
  readonly status: string
  /** What it said last, at most 20,000 characters of it. */
  readonly text: string
}

/** The data of a part `data-question`: a question for a value. */
export interface QuestionData {
  readonly id: string
  readonly question: Json
  /** Agents' names from the root to the one that asks. */
  readonly path: readonly string[]
  readonly status: 'open' | 'closed'
  /** The JSON Schema of the answer, if it has one. */
  readonly schema?: JsonObject
}

/** The metadata of a message of a run. */
export interface RunMessageMetadata {
  readonly run: string
  readonly agent: string
  /** Set when the stream ends: how the run ended, or `waiting`, `paused`, `human_control`, `stuck`, `queued`. */
  readonly status?: string
  /** Up to where the message shows the run: a position in its feed. The next request goes on from there. */
  readonly position?: number
  /**
   * Of the whole tree, when it has ended. `unknown` calls whose tokens are not known, `unpriced` those without a price.
   */
  readonly usage?: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly totalTokens: number
    readonly cachedInputTokens: number
    /** Of the output, as far as providers told it. Absent: none did. */
    readonly reasoningTokens?: number
    readonly usd: number
    readonly calls: number
    readonly unknown: number
    readonly unpriced: number
  }
}

/** The data parts of a message of a run: `UIMessage<RunMessageMetadata, RunMessageData>`. */
// a type, not an interface: the data types of a UI message have an index signature
export type RunMessageData = { agent: AgentData; question: QuestionData }

/** One chunk of the stream. */
export type UiMessageChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata: RunMessageMetadata }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string }
  | { readonly type: 'source-url'; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: Json
      readonly dynamic: true
      /** It runs on the server: the client has nothing to do for it. Absent: the client runs it. */
      readonly providerExecuted?: true
      /** `question`: where the client runs it, the id under which it sends what came of it. */
      readonly toolMetadata: { readonly path: readonly string[]; readonly question?: string }
    }
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: Json
      readonly dynamic: true
      readonly providerExecuted: true
    }
  | {
      readonly type: 'tool-output-error'
      readonly toolCallId: string
      readonly errorText: string
      readonly dynamic: true
      readonly providerExecuted: true
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-request'
      readonly approvalId: string
      readonly toolCallId: string
      readonly reason: string
    }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | { readonly type: 'data-agent'; readonly id: string; readonly data: AgentData }
  | { readonly type: 'data-question'; readonly id: string; readonly data: QuestionData }
  | { readonly type: 'finish'; readonly finishReason: FinishReasonOfRun; readonly messageMetadata: RunMessageMetadata }
  | { readonly type: 'abort'; readonly reason: string }
  | { readonly type: 'error'; readonly errorText: string }

type FinishReasonOfRun = 'stop' | 'length' | 'tool-calls' | 'error' | 'other'
