/**
 * Plan: what a planner makes of a question: subtasks, who they are for, what they wait for.
 *
 * Owns: the types and their defaults. Does not own: whether a plan makes sense (validate.ts), who makes one (planner.ts), how it is carried out (../work). Spec team 1.2, 1.23.
 */
import type { Json, JsonObject } from '../../core/index.ts'
import type { DependencyPolicy, TeamStrategy } from '../../journal/index.ts'

/** What work may use, as far as somebody dares to say. */
export interface Estimate {
  readonly tokens?: number
  readonly usd?: number
}

/** One task of a plan. */
export interface Subtask {
  /** Unique in its plan. */
  readonly id: string
  readonly description: string
  /** Default: the team's `defaultRole`. The place in `agentTypes`, where that names one, goes before it. */
  readonly role?: string
  /** Ids of the tasks that come before it. */
  readonly dependencies?: readonly string[]
  /** What becomes of it where one of them does not succeed: for all of them, or by id. Default: the team's. */
  readonly onMissing?: DependencyPolicy | Readonly<Record<string, DependencyPolicy>>
  /** Topics to which it adds an entry, and those of which it needs one. */
  readonly produces?: readonly string[]
  readonly consumes?: readonly string[]
  /** Its failure ends the plan, whatever else may fail. */
  readonly critical?: boolean
  readonly estimate?: Estimate
  /** Tools that it will need, in all likelihood; part of the brief. */
  readonly tools?: readonly string[]
  readonly toolParameters?: JsonObject
  /** For a member with an `input` schema: what it takes. */
  readonly input?: Json
  /** `synthesis`: its output is the answer of the whole plan. */
  readonly taskType?: string
}

/** A plan, as planners give it. */
export interface Plan {
  readonly subtasks: readonly Subtask[]
  /** Roles by place in `subtasks`; a blank one says nothing. */
  readonly agentTypes?: readonly string[]
  /** 0 to 1. Default 0.5. */
  readonly complexity?: number
  /** Default `hybrid`. */
  readonly strategy?: TeamStrategy
  /** Default: the team's. */
  readonly concurrencyLimit?: number
}
