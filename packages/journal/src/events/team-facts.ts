/**
 * Facts of a team that is led by a plan: the plan, its members, the end of each task, its
 * mail and its budget.
 *
 * Owns: these events. Does not own: who emits them (../../team), their view (team-fold.ts). Spec team R-21, in
 * our words; docs/how-to/coming-from-shannon.md has the table of names.
 */
import type { ActivationId, Failure, Json, OversightMode, RiskLevel, Usage } from '@reeve/core'
import type { MailFactEvent } from './mail-facts.ts'
import type { FactCommand } from './fact-command.ts'

/** The way in which a plan is carried out. */
export type TeamRoute = 'simple' | 'dag' | 'team'
/** `sequential`: one task at a time. `parallel` and `hybrid`: whatever is ready, up to the concurrency. */
export type TeamStrategy = 'parallel' | 'sequential' | 'hybrid'
/** What becomes of a task whose dependency did not succeed. */
export type DependencyPolicy = 'tolerate' | 'require' | 'fail'
/** How a task has ended. */
export type TaskEndStatus = 'succeeded' | 'failed' | 'skipped' | 'cancelled'

/** A task as it was admitted to a plan. */
export interface PlannedTask {
  readonly task: string
  readonly description: string
  /** The member that does it. */
  readonly member: string
  readonly role: string
  readonly dependencies: readonly string[]
  readonly produces?: readonly string[]
  readonly consumes?: readonly string[]
  readonly critical?: true
  /** The action it takes outside, as approval rules name it. */
  readonly action?: string
  readonly risk?: RiskLevel
  /** If the approver rejects it, the plan goes on. */
  readonly optional?: true
  /** An approver is asked before it begins, in every mode. */
  readonly requiresApproval?: true
  /** A human reviews its result before it counts. */
  readonly review?: true
  /** Its own oversight mode. Absent: that of the team. */
  readonly mode?: OversightMode
}
/** A plan was admitted. No task has begun. */
export interface PlanCreated extends FactCommand {
  readonly type: 'plan.created'
  readonly route: TeamRoute
  /** Why this route was chosen, one sentence each. */
  readonly reasons: readonly string[]
  readonly strategy: TeamStrategy
  readonly concurrency: number
  /** The plan is given up when so many tasks have failed. */
  readonly maxFailures: number
  readonly complexity: number
  readonly tasks: readonly PlannedTask[]
  readonly warnings: readonly string[]
  /** It is the fallback plan; this is why planning failed. */
  readonly fallback?: Failure
}
/** A plan was refused before any task began, with every problem found. */
export interface PlanRejected extends FactCommand {
  readonly type: 'plan.rejected'
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
  /** The planner is asked again. */
  readonly repair: boolean
}
/** Tasks were added to a plan that is carried out. */
export interface PlanRevised extends FactCommand {
  readonly type: 'plan.revised'
  readonly added: readonly PlannedTask[]
  readonly by?: string
  readonly warnings?: readonly string[]
}
/** A human who has taken the run over has changed the plan. */
export interface PlanEdited extends FactCommand {
  readonly type: 'plan.edited'
  /** The id of the command that asked for it. */
  readonly request: string
  readonly by?: string
  readonly reason?: string
  readonly added: readonly PlannedTask[]
  /** Tasks that had not begun, in their new form. */
  readonly replaced: readonly PlannedTask[]
  readonly removed: readonly string[]
  /** Tasks whose result the human gave. */
  readonly settled: readonly string[]
  readonly tolerance?: number
  readonly maxFailures?: number
  readonly concurrency?: number
  readonly warnings: readonly string[]
}
/** An invalid edit was refused. Nothing was changed. */
export interface PlanEditRefused extends FactCommand {
  readonly type: 'plan.edit-refused'
  readonly request: string
  readonly by?: string
  readonly reason?: string
  readonly problems: readonly string[]
}
/** The plan was given up: no task begins any more, and open tasks are stopped. */
export interface PlanAborted extends FactCommand {
  readonly type: 'plan.aborted'
  /** `rejected`: a task that the plan needs was rejected, or not approved in time. */
  readonly reason: 'failures' | 'critical' | 'budget' | 'rejected'
  readonly failed: number
  readonly total: number
  readonly maxFailures: number
  readonly failures: readonly { readonly task: string; readonly failure: Failure }[]
}

/**
 * Everything that a task waited for is there. Not recorded for tasks that waited for nothing or were skipped.
 */
export interface TaskUnblocked extends FactCommand {
  readonly type: 'task.unblocked'
  readonly task: string
}
/** A member begins a task. */
export interface TaskStarted extends FactCommand {
  readonly type: 'task.started'
  readonly task: string
  readonly member: string
  /** From 1. */
  readonly attempt: number
  readonly activation: ActivationId
}
/** An attempt has failed, and another follows after `delayMs`. */
export interface TaskRetried extends FactCommand {
  readonly type: 'task.retried'
  readonly task: string
  readonly attempt: number
  readonly failure: Failure
  readonly delayMs: number
}
/**
 * A task that had ended is done again, because the approver of a later task wants it changed. It does not count as a
 * failed attempt.
 */
export interface TaskReopened extends FactCommand {
  readonly type: 'task.reopened'
  readonly task: string
  /** From 1. */
  readonly round: number
  readonly feedback: string
  readonly by?: string
}
/** A task was given to another member, which begins it again. */
export interface TaskReassigned extends FactCommand {
  readonly type: 'task.reassigned'
  readonly task: string
  readonly from: string
  readonly to: string
}
/** A task has ended, once. */
export interface TaskSettled extends FactCommand {
  readonly type: 'task.settled'
  readonly task: string
  readonly member: string
  readonly status: TaskEndStatus
  readonly attempts: number
  readonly failure?: Failure
  /** Why it was skipped or cancelled. */
  readonly reason?: string
  /** The human who completed it; `operator` if no name was given. */
  readonly by?: string
  /** The result that a human gave to a task that no member had begun. Otherwise the member's own end has it. */
  readonly output?: Json
  /** The inputs that were missing when it began. */
  readonly missing?: readonly string[]
  /** Of all its attempts. Absent: no model was called. */
  readonly usage?: Usage
}

/** A member has joined the team. */
export interface TeammateJoined extends FactCommand {
  readonly type: 'teammate.joined'
  readonly member: string
  readonly role: string
  /** The registered role used in place of an unknown one. */
  readonly resolved?: string
  readonly task: string
  readonly recruited?: true
  /** The requester: a member, `lead`, or an operator's name. */
  readonly by?: string
  /** The task it helps: tasks that depend on that one wait for this member, too. */
  readonly parent?: string
  readonly join?: 'parent' | 'run' | 'none'
}
/**
 * A member gets no more work. One that retires `graceful` while it works leaves when its task settles; the others leave
 * now.
 */
export interface TeammateRetired extends FactCommand {
  readonly type: 'teammate.retired'
  readonly member: string
  readonly mode: 'graceful' | 'force'
  readonly reason?: string
  readonly by?: string
  /** The id of the command that asked for it. */
  readonly request?: string
}
/** Why a request to recruit or retire was refused. */
export type StaffRefusal =
  'policy' | 'team_size' | 'budget' | 'invalid' | 'closed' | 'per_member' | 'depth' | 'unknown' | 'ended' | 'approval'
/** A new member was requested. */
export interface RecruitRequested extends FactCommand {
  readonly type: 'recruit.requested'
  readonly request: string
  readonly role: string
  readonly description: string
  readonly by?: string
  readonly parent?: string
}
/** The request was decided: a member joined, or already does this, or the request was refused. */
export interface RecruitDecided extends FactCommand {
  readonly type: 'recruit.decided'
  readonly request: string
  readonly admitted: boolean
  readonly member?: string
  /** The member does this already. */
  readonly duplicate?: true
  /** The role and the work as the approver changed them. */
  readonly role?: string
  readonly description?: string
  readonly reason?: StaffRefusal
  readonly message?: string
}
/** A request to retire a member was refused. */
export interface RetireRefused extends FactCommand {
  readonly type: 'retire.refused'
  readonly request: string
  readonly member: string
  readonly reason: StaffRefusal
  readonly message: string
  readonly by?: string
}

/** The budget of the team. Recorded again when a human raises it. */
export interface BudgetSet extends FactCommand {
  readonly type: 'budget.set'
  readonly limits: { readonly tokens?: number; readonly usd?: number }
  readonly mode: 'hard' | 'soft'
  readonly raised?: { readonly of: 'tokens' | 'usd'; readonly by: number }
}
/**
 * An amount was reserved for an attempt, or an attempt has ended and its usage is known (not recorded if it is zero),
 * or a task waits because it would fit only if others use less than their reservations.
 */
export interface BudgetMoved extends FactCommand {
  readonly type: 'budget.moved'
  readonly task: string
  readonly move: 'reserved' | 'settled' | 'waiting'
  /** The amount that was reserved, used, or is wanted. */
  readonly tokens: number
  readonly usd: number
  /** Of the whole team, after this move. */
  readonly spent: { readonly tokens: number; readonly usd: number }
  readonly reserved: { readonly tokens: number; readonly usd: number }
  /** Calls of unknown usage so far: they count at the estimate. Absent: none. */
  readonly unknown?: number
}
/** Spending has crossed a threshold of the budget. */
export interface BudgetCrossed extends FactCommand {
  readonly type: 'budget.crossed'
  readonly percent: 50 | 80 | 100
  readonly of: 'tokens' | 'usd'
  readonly spent: number
  readonly limit: number
}
/** A task begins although the budget may not suffice: the limit is soft. */
export interface BudgetWarned extends FactCommand {
  readonly type: 'budget.warned'
  readonly task: string
  readonly of: 'tokens' | 'usd'
  readonly wanted: number
  readonly left: number
}

/** A strategy was advised from earlier cases. */
export interface StrategyAdvised extends FactCommand {
  readonly type: 'strategy.advised'
  readonly strategy: string
  readonly confidence: number
  /** True: it replaces the planned strategy. False: it is a hint to the planner. */
  readonly overrides: boolean
  /** The earlier case it is based on, if there is one. */
  readonly source?: string
  readonly warnings: readonly string[]
}
/** The memory could not be read or written. The work goes on without it. */
export interface MemoryUnavailable extends FactCommand {
  readonly type: 'memory.unavailable'
  readonly wanted: 'recall' | 'record'
  readonly failure: Failure
}
/** What the answer was made of. */
export interface ResultsSynthesised extends FactCommand {
  readonly type: 'results.synthesised'
  /** `verbatim`: the one result there was. `task`: that of the task whose work it was. */
  readonly by: 'verbatim' | 'task' | 'concatenation' | 'function' | 'agent' | 'model'
  readonly used: readonly string[]
  readonly dropped: readonly { readonly task: string; readonly reason: string }[]
  /** Why the configured synthesis was not used. */
  readonly fallback?: Failure
}
/** Tasks wait for each other, or exchange mail without progress. */
export interface DeadlockFound extends FactCommand {
  readonly type: 'deadlock.found'
  readonly kind: 'deadlock' | 'livelock' | 'loop'
  /**
   * Tasks. Each waits for the next, the last for the first; of mail that goes round, those who take part, as they first
   * replied.
   */
  readonly cycle: readonly string[]
  readonly message: string
}

export type TeamFactEvent =
  | PlanCreated
  | PlanRejected
  | PlanRevised
  | PlanEdited
  | PlanEditRefused
  | PlanAborted
  | TaskUnblocked
  | TaskStarted
  | TaskRetried
  | TaskReassigned
  | TaskReopened
  | TaskSettled
  | TeammateJoined
  | TeammateRetired
  | RecruitRequested
  | RecruitDecided
  | RetireRefused
  | MailFactEvent
  | BudgetSet
  | BudgetMoved
  | BudgetCrossed
  | BudgetWarned
  | StrategyAdvised
  | MemoryUnavailable
  | ResultsSynthesised
  | DeadlockFound
