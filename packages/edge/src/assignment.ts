/**
 * Assignment: what crosses to a member of a planned team besides its brief: its role, its task, the results of earlier
 * tasks.
 *
 * Owns: the type. Does not own: who makes one (../team), what members do with it (../agent/teamwork).
 */
import type { ActivationId, Failure, Json, TaskStatus, Usage } from '@reeve/core'

/** The result of a task that this one depends on. `missing`: there is none, and this task goes on without it. */
export interface TaskInput {
  readonly status: TaskStatus | 'missing'
  readonly output?: Json
  readonly failure?: Failure
  readonly usage: Usage
}

/** What a member may do besides its work. */
export type TeamVerb = 'mail' | 'recruit' | 'publish'

/** The place of a member in its team, for one attempt at one task. */
export interface Assignment {
  /** The leader of the team. */
  readonly leader: ActivationId
  /** The member's id in the team's directory. */
  readonly member: string
  readonly role: string
  readonly task: string
  readonly description: string
  /** What the team was asked. */
  readonly question: Json
  /** From 1. */
  readonly attempt: number
  /** By task: those it depends on; copies. */
  readonly inputs: Readonly<Record<string, TaskInput>>
  /** What its model is offered. Code may do all of it. */
  readonly verbs: readonly TeamVerb[]
  /** What a reviewer wants changed in this attempt. */
  readonly feedback?: string
  /** How many messages were in its inbox when it began. Absent: none. */
  readonly unread?: number
  /** The topics to which its task adds entries. */
  readonly produces?: readonly string[]
  /** What the plan says of tools: their names, and what to call them with. */
  readonly tools?: readonly string[]
  readonly toolParameters?: Readonly<Record<string, Json>>
}
