/**
 * The objects of A2A 1.0, as they stand on the wire: JSON in the form of protocol buffers.
 *
 * Owns: their types. Does not own: what of a run they say (task.ts), what is read of a request (message.ts).
 * Holds: an optional member is left out, never null.
 */
import type { Json, JsonObject } from '@reeve/core'

/** The version of the protocol. */
export const protocolVersion = '1.0'

/** The states of a task. */
export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_REJECTED'

/** A piece of a message or artifact: exactly one of `text`, `data`, `raw` (base64) and `url`. */
export interface A2aPart {
  readonly text?: string
  readonly data?: Json
  readonly raw?: string
  readonly url?: string
  readonly mediaType?: string
  readonly filename?: string
}

/** A message of a client or of the agent. */
export interface A2aMessage {
  readonly messageId: string
  readonly role: 'ROLE_USER' | 'ROLE_AGENT'
  readonly parts: readonly A2aPart[]
  readonly taskId?: string
  readonly contextId?: string
}

/** The state of a task. `timestamp`: ISO 8601. */
export interface TaskStatus {
  readonly state: TaskState
  readonly message?: A2aMessage
  readonly timestamp: string
}

/** An output of a task. */
export interface A2aArtifact {
  readonly artifactId: string
  readonly name: string
  readonly parts: readonly A2aPart[]
}

/** A run, as A2A has it. */
export interface A2aTask {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts?: readonly A2aArtifact[]
  readonly history?: readonly A2aMessage[]
  readonly metadata?: JsonObject
}

/** A message of a stream. */
export type StreamResponse =
  | { readonly task: A2aTask }
  | { readonly statusUpdate: { readonly taskId: string; readonly contextId: string; readonly status: TaskStatus } }
  | {
      readonly artifactUpdate: {
        readonly taskId: string
        readonly contextId: string
        readonly artifact: A2aArtifact
        readonly lastChunk: true
      }
    }

/** A page of tasks. */
export interface TaskPage {
  readonly tasks: readonly A2aTask[]
  /** Empty: this was the last page. */
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}
