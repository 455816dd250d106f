/**
 * The events of AG-UI 1.0 that Reeve sends.
 *
 * Owns: their types, as they stand on the wire. Does not own: when each is sent (event-translator.ts).
 * Holds: an optional member is left out, never null: clients refuse null.
 */
import type { Json, JsonObject } from '@reeve/core'

/** The version of the protocol. */
export const protocolVersion = '1.0'

/** What every event may carry. */
interface Common {
  /** Milliseconds since 1970. */
  readonly timestamp?: number
  readonly metadata?: JsonObject
}

/** What the work of a subagent carries besides. */
interface Attributed extends Common {
  /** The activation of the worker; absent: the agent of the run itself. */
  readonly subagentRunId?: string
}

/** A question that ends a stream; a resume entry answers it by its id. */
export interface AgUiInterrupt extends Attributed {
  readonly id: string
  readonly reason: 'tool_approval' | 'approval' | 'question' | 'client_tool' | 'in_doubt'
  readonly message?: string
  readonly toolCallId?: string
  /** JSON Schema of the payload. */
  readonly responseSchema?: JsonObject
  /** ISO 8601. */
  readonly expiresAt?: string
}

/** Tokens of one model. */
export interface AgUiTokenUsage {
  readonly provider?: string
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  readonly cachedInputTokens?: number
  readonly reasoningTokens?: number
}

/** An event. */
export type AgUiEvent =
  | (Common & {
      readonly type: 'RUN_STARTED'
      readonly threadId: string
      readonly runId: string
      readonly protocolVersion: string
    })
  | (Common & {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly result?: Json
      readonly outcome:
        | { readonly type: 'success' | 'cancelled' }
        | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] }
      readonly usage?: readonly AgUiTokenUsage[]
    })
  | (Common & {
      readonly type: 'RUN_ERROR'
      readonly message: string
      readonly code?: string
      readonly usage?: readonly AgUiTokenUsage[]
    })
  | (Attributed & {
      readonly type: 'TEXT_MESSAGE_START'
      readonly messageId: string
      readonly role: 'assistant'
      readonly name?: string
    })
  | (Attributed & { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string })
  | (Attributed & { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string })
  | (Attributed & { readonly type: 'REASONING_START' | 'REASONING_END'; readonly messageId: string })
  | (Attributed & {
      readonly type: 'REASONING_MESSAGE_START'
      readonly messageId: string
      readonly role: 'reasoning'
    })
  | (Attributed & { readonly type: 'REASONING_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string })
  | (Attributed & { readonly type: 'REASONING_MESSAGE_END'; readonly messageId: string })
  | (Attributed & {
      readonly type: 'TOOL_CALL_START'
      readonly toolCallId: string
      readonly toolCallName: string
      readonly parentMessageId?: string
    })
  | (Attributed & { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string })
  | (Attributed & { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string })
  | (Attributed & {
      readonly type: 'TOOL_CALL_RESULT'
      readonly messageId: string
      readonly toolCallId: string
      readonly content: string
      readonly role: 'tool'
    })
  | (Attributed & {
      readonly type: 'ACTIVITY_SNAPSHOT'
      readonly messageId: string
      readonly activityType: 'PLAN'
      readonly content: JsonObject
      readonly replace: true
    })
  | (Common & {
      readonly type: 'SUBAGENT_STARTED'
      readonly subagentRunId: string
      readonly name: string
      readonly parentSubagentRunId?: string
      readonly parentToolCallId?: string
    })
  | (Common & {
      readonly type: 'SUBAGENT_FINISHED'
      readonly subagentRunId: string
      readonly result?: Json
      readonly outcome:
        { readonly type: 'success' } | { readonly type: 'suspended'; readonly interruptIds?: readonly string[] }
    })
  | (Common & {
      readonly type: 'SUBAGENT_ERROR'
      readonly subagentRunId: string
      readonly message: string
      readonly code?: string
    })
