/**
 * Plan: the subtasks of a question, their roles and their dependencies.
 *
 * Owns: the types and their defaults, a plan as it is recorded. Does not own: whether a plan makes sense (validate.ts), who makes one
 * (planner.ts), how it is carried out (../schedule). Spec team 1.2.
 */
import { type Json, type JsonObject, type OversightMode, type RiskLevel } from '@reeve/core'

import type { DependencyPolicy, TeamStrategy } from '@reeve/journal'

/** What work may use, as an estimate. */
export interface Estimate {
  readonly tokens?: number
  readonly usd?: number
}

/** How a human is asked about one task. The team's oversight takes precedence where it is stricter. */
export interface TaskApproval {
  /**
   * Milliseconds. Default: that of the oversight, else 30 minutes; 0 or less: the deadline passes at once; `never`:
   * none, for critical risk only.
   */
  readonly timeoutMs?: number | 'never'
  /**
   * What a deadline does. Default: that of the oversight, else `reject`. `approve` is refused for sensitive tasks, for
   * tasks that always require an approval, and for high or critical risk.
   */
  readonly onTimeout?: 'reject' | 'approve' | 'escalate'
}

/** One task of a plan. */
export interface Subtask {
  /** Unique in its plan. */
  readonly id: string
  readonly description: string
  /** Default: the team's `defaultRole`. A role named in `agentTypes` takes precedence. */
  readonly role?: string
  /** Ids of the tasks it depends on. */
  readonly dependencies?: readonly string[]
  /** What happens if a dependency does not succeed: for all of them, or by id. Default: the team's. */
  readonly onMissing?: DependencyPolicy | Readonly<Record<string, DependencyPolicy>>
  /** Topics it adds an entry to, and topics it needs an entry of. */
  readonly produces?: readonly string[]
  readonly consumes?: readonly string[]
  /** Its failure ends the plan, under any tolerance. */
  readonly critical?: boolean
  /** Identifier of its action in the world: `publish_report`. Approval gates check it. */
  readonly action?: string
  /** The harm of doing it wrongly. Default `medium`; at least `high` for a sensitive action. */
  readonly risk?: RiskLevel
  /**
   * Whether the plan needs it: then a human's rejection ends the run. Default true; otherwise a rejected task is
   * skipped.
   */
  readonly required?: boolean
  /** A human approves it before it begins, in every mode. Default false. */
  readonly requiresApproval?: boolean
  /**
   * Oversight mode of the task and its workers; the stricter of this and the team's counts.
   */
  readonly mode?: OversightMode
  /** A human reviews its result before it counts. Default false. */
  readonly review?: boolean
  readonly approval?: TaskApproval
  /** Its expected usage. Approval gates check `usd`. */
  readonly estimate?: Estimate
  /** Tools it probably needs; part of the brief. */
  readonly tools?: readonly string[]
  readonly toolParameters?: JsonObject
  /** The input, for a member with an `input` schema. */
  readonly input?: Json
  /** Files of the request that its member sees, by handle or name. Default: none; it reads their names. */
  readonly files?: readonly string[]
  /** `synthesis`: its output is the answer of the whole plan. */
  readonly taskType?: string
}

/** A plan as a planner returns it. */
export interface Plan {
  readonly subtasks: readonly Subtask[]
  /** Roles by position in `subtasks`; a blank one is ignored. */
  readonly agentTypes?: readonly string[]
  /** 0 to 1. Default 0.5. */
  readonly complexity?: number
  /** Default `hybrid`. */
  readonly strategy?: TeamStrategy
  /** Default: the team's. */
  readonly concurrencyLimit?: number
}

/**
 * A plan as it can be recorded: numbers that JSON cannot hold by their names, so that they can be told of. Throws where
 * it contains itself.
 */
export const recordable = (plan: unknown): Json =>
  JSON.parse(
    JSON.stringify(plan, (_name, each: unknown) =>
      typeof each === 'number' && !Number.isFinite(each) ? String(each) : each,
    ) ?? 'null',
  ) as Json

/** Advice on the plan of a question, from earlier cases. */
export interface Advice {
  readonly strategy: TeamStrategy
  /** 0 to 1. Above 0.8 the strategy is followed; else it is a hint to the planner. */
  readonly confidence: number
  /** Subtasks that have worked before. */
  readonly subtasks?: readonly Subtask[]
  /** The question of the earlier case behind it. */
  readonly source?: string
  readonly warnings: readonly string[]
}
