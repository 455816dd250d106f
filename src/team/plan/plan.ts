/**
 * Plan: what a planner makes of a question: subtasks, who they are for, what they wait for.
 *
 * Owns: the types and their defaults. Does not own: whether a plan makes sense (validate.ts), who makes one
 * (planner.ts), how it is carried out (../work). Spec team 1.2, 1.23.
 */
import type { Json, JsonObject } from '../../core/index.ts'
import type { OversightMode, RiskLevel } from '../../edge/index.ts'
import type { DependencyPolicy, TeamStrategy } from '../../journal/index.ts'

/** What work may use, as an estimate. */
export interface Estimate {
  readonly tokens?: number
  readonly usd?: number
}

/** How a human is asked about one task. What the oversight of the team says goes before it, where that is stricter. */
export interface TaskApproval {
  /**
   * Milliseconds. Default: what the oversight says, else 30 minutes; 0 or less: the deadline has passed at once;
   * `never`: none, for critical risk only.
   */
  readonly timeoutMs?: number | 'never'
  /**
   * What a deadline does. Default: what the oversight says, else `reject`. `approve` is refused for what is sensitive,
   * always requires an approval, or has high or critical risk.
   */
  readonly onTimeout?: 'reject' | 'approve' | 'escalate'
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
  /** What it does with the world, by an identifier: `publish_report`. Gates look at it. */
  readonly action?: string
  /** How bad it is if it should not have been done. Default `medium`; `high` at least for what is sensitive. */
  readonly risk?: RiskLevel
  /**
   * Whether the plan is worth nothing without it: then a human who does not approve of it ends the run. Default true;
   * otherwise it is skipped.
   */
  readonly required?: boolean
  /** A human approves of it before it begins, in every mode. Default false. */
  readonly requiresApproval?: boolean
  /**
   * How closely humans look at it and at everything below it; the stricter of this and what holds for its team counts.
   */
  readonly mode?: OversightMode
  /** A human sees its result before it counts. Default false. */
  readonly review?: boolean
  readonly approval?: TaskApproval
  /** What it will use. A gate looks at `usd`. */
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
