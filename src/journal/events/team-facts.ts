/**
 * Facts of a team that is led by a plan: what it was decided to do, who joined, what became of each task, which mail
 * was taken.
 *
 * Owns: these events. Does not own: who emits them (../team), what is made of them (team-fold.ts). Spec team R-21, in
 * our words; docs/teams.md has the table of names.
 */
import type { ActivationId, Failure, Json, Usage } from '../../core/index.ts'
import type { MailFactEvent } from './mail-facts.ts'

interface Fact {
  readonly op: 'fact'
  readonly address: string
}

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
  /** Of its member: who is to do it. */
  readonly member: string
  readonly role: string
  readonly dependencies: readonly string[]
  readonly produces?: readonly string[]
  readonly consumes?: readonly string[]
  readonly critical?: true
  /** What it does with the world, as a gate looks at it. */
  readonly action?: string
  readonly risk?: 'low' | 'medium' | 'high' | 'critical'
  /** Whoever decides may say no to it, and the plan goes on. */
  readonly optional?: true
  /** It is asked about before it begins, in every mode. Absent in plans from before that was recorded. */
  readonly requiresApproval?: true
  /** A human sees its result before it counts. */
  readonly review?: true
  /** How closely humans look at it, where it says so itself. */
  readonly mode?: 'in-command' | 'in-the-loop' | 'on-the-loop'
}
/** A plan was admitted. Nobody has begun. */
export interface PlanCreated extends Fact {
  readonly type: 'plan.created'
  readonly route: TeamRoute
  /** Why it goes this way, one sentence each. */
  readonly reasons: readonly string[]
  readonly strategy: TeamStrategy
  readonly concurrency: number
  /** At so many failed tasks it is given up. */
  readonly maxFailures: number
  readonly complexity: number
  readonly tasks: readonly PlannedTask[]
  readonly warnings: readonly string[]
  /** The plan is a makeshift: nobody could make one, and this is why. */
  readonly fallback?: Failure
}
/** A plan was refused before anybody began: everything that is wrong with it. */
export interface PlanRejected extends Fact {
  readonly type: 'plan.rejected'
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
  /** The planner is asked again. */
  readonly repair: boolean
}
/** Tasks were added to a plan that is carried out. */
export interface PlanRevised extends Fact {
  readonly type: 'plan.revised'
  readonly added: readonly PlannedTask[]
  readonly by?: string
  readonly warnings?: readonly string[]
}
/** A human who has the run has changed the plan. */
export interface PlanEdited extends Fact {
  readonly type: 'plan.edited'
  /** The word that asked for it. */
  readonly request: string
  readonly by?: string
  readonly reason?: string
  readonly added: readonly PlannedTask[]
  /** Tasks that had not begun, as they are now. */
  readonly replaced: readonly PlannedTask[]
  readonly removed: readonly string[]
  /** Tasks whose result the human gave. */
  readonly settled: readonly string[]
  readonly tolerance?: number
  readonly maxFailures?: number
  readonly concurrency?: number
  readonly warnings: readonly string[]
}
/** An edit that makes no sense: nothing of it was done. */
export interface PlanEditRefused extends Fact {
  readonly type: 'plan.edit-refused'
  readonly request: string
  readonly by?: string
  readonly reason?: string
  readonly problems: readonly string[]
}
/** Too much has failed: nothing begins any more, and what is under way is stopped. */
export interface PlanAborted extends Fact {
  readonly type: 'plan.aborted'
  /** `rejected`: a human said no to a task without which it is worth nothing, or nobody said yes in time. */
  readonly reason: 'failures' | 'critical' | 'budget' | 'rejected'
  readonly failed: number
  readonly total: number
  readonly maxFailures: number
  readonly failures: readonly { readonly task: string; readonly failure: Failure }[]
}

/**
 * Everything that a task waited for is there. Not recorded for tasks that wait for nothing, or whose wait was in vain.
 */
export interface TaskUnblocked extends Fact {
  readonly type: 'task.unblocked'
  readonly task: string
}
/** Somebody begins a task. */
export interface TaskStarted extends Fact {
  readonly type: 'task.started'
  readonly task: string
  readonly member: string
  /** From 1. */
  readonly attempt: number
  readonly activation: ActivationId
}
/** An attempt has failed, and another follows after `delayMs`. */
export interface TaskRetried extends Fact {
  readonly type: 'task.retried'
  readonly task: string
  readonly attempt: number
  readonly failure: Failure
  readonly delayMs: number
}
/**
 * A task that had ended is to be done again, because whoever decides on what comes after it wants it changed. No
 * attempt of it, as failures count.
 */
export interface TaskReopened extends Fact {
  readonly type: 'task.reopened'
  readonly task: string
  /** From 1. */
  readonly round: number
  readonly feedback: string
  readonly by?: string
}
/** A task goes to somebody else, who begins it anew. */
export interface TaskReassigned extends Fact {
  readonly type: 'task.reassigned'
  readonly task: string
  readonly from: string
  readonly to: string
}
/** A task has ended, once. */
export interface TaskSettled extends Fact {
  readonly type: 'task.settled'
  readonly task: string
  readonly member: string
  readonly status: TaskEndStatus
  readonly attempts: number
  readonly failure?: Failure
  /** Why it was skipped or cancelled. */
  readonly reason?: string
  /** A human did it: under which name, `operator` if nobody said. */
  readonly by?: string
  /** What the human gave, of a task that nobody had begun: what whoever works on it gives is that one's own end. */
  readonly output?: Json
  /** What it had to do without. */
  readonly missing?: readonly string[]
  /** Of all its attempts. Absent: no model was called. */
  readonly usage?: Usage
}

/** Somebody is on the team from now on. */
export interface TeammateJoined extends Fact {
  readonly type: 'teammate.joined'
  readonly member: string
  readonly role: string
  /** The registered role that stands in for one that nobody knows. */
  readonly resolved?: string
  readonly task: string
  readonly recruited?: true
  /** Who asked for them: a member, `lead`, or whoever said so from outside. */
  readonly by?: string
  /** The task that waits no longer than for them: those that depend on it wait for them, too. */
  readonly parent?: string
  readonly join?: 'parent' | 'run' | 'none'
}
/**
 * Somebody gets no more work. Whoever is at work and retires `graceful` has left when its task settles, others have
 * left now.
 */
export interface TeammateRetired extends Fact {
  readonly type: 'teammate.retired'
  readonly member: string
  readonly mode: 'graceful' | 'force'
  readonly reason?: string
  readonly by?: string
  /** The word that asked for it. */
  readonly request?: string
}
/** Why nobody was taken in, or let go. */
export type StaffRefusal =
  'policy' | 'team_size' | 'budget' | 'invalid' | 'closed' | 'per_member' | 'depth' | 'unknown' | 'ended' | 'approval'
/** Somebody asks for a new member. */
export interface RecruitRequested extends Fact {
  readonly type: 'recruit.requested'
  readonly request: string
  readonly role: string
  readonly description: string
  readonly by?: string
  readonly parent?: string
}
/** What became of it: somebody joined (or is there already, doing just that), or nobody. */
export interface RecruitDecided extends Fact {
  readonly type: 'recruit.decided'
  readonly request: string
  readonly admitted: boolean
  readonly member?: string
  /** The member does this already. */
  readonly duplicate?: true
  /** What they do, where whoever approved it has changed what was asked for. */
  readonly role?: string
  readonly description?: string
  readonly reason?: StaffRefusal
  readonly message?: string
}
/** What became of a wish that somebody leave the team, if nothing. */
export interface RetireRefused extends Fact {
  readonly type: 'retire.refused'
  readonly request: string
  readonly member: string
  readonly reason: StaffRefusal
  readonly message: string
  readonly by?: string
}

/** What there is to be spent. Again when a human has said that there is more. */
export interface BudgetSet extends Fact {
  readonly type: 'budget.set'
  readonly limits: { readonly tokens?: number; readonly usd?: number }
  readonly mode: 'hard' | 'soft'
  readonly raised?: { readonly of: 'tokens' | 'usd'; readonly by: number }
}
/**
 * Something was set aside for an attempt at a task, or it has ended and what it used is known: not recorded where that
 * is nothing. Or a task waits, because it would fit only if others use less than was set aside for them.
 */
export interface BudgetMoved extends Fact {
  readonly type: 'budget.moved'
  readonly task: string
  readonly move: 'reserved' | 'settled' | 'waiting'
  /** What was set aside, used, or is wanted. */
  readonly tokens: number
  readonly usd: number
  /** Of the whole team, after it. */
  readonly spent: { readonly tokens: number; readonly usd: number }
  readonly reserved: { readonly tokens: number; readonly usd: number }
  /** Calls so far of which nobody knows what they used: they count at the estimate. Absent: none. */
  readonly unknown?: number
}
/** A part of the budget is used up. */
export interface BudgetCrossed extends Fact {
  readonly type: 'budget.crossed'
  readonly percent: 50 | 80 | 100
  readonly of: 'tokens' | 'usd'
  readonly spent: number
  readonly limit: number
}
/** A task begins although the budget may not be enough: its limit is soft. */
export interface BudgetWarned extends Fact {
  readonly type: 'budget.warned'
  readonly task: string
  readonly of: 'tokens' | 'usd'
  readonly wanted: number
  readonly left: number
}

/** What the past says about how to go about this. */
export interface StrategyAdvised extends Fact {
  readonly type: 'strategy.advised'
  readonly strategy: string
  readonly confidence: number
  /** It decides; otherwise it is a hint to the planner. */
  readonly overrides: boolean
  /** What it goes by, if that is one earlier case. */
  readonly source?: string
  readonly warnings: readonly string[]
}
/** The memory could not be asked, or told; the work goes on without. */
export interface MemoryUnavailable extends Fact {
  readonly type: 'memory.unavailable'
  readonly wanted: 'recall' | 'record'
  readonly failure: Failure
}
/** What the answer was made of. */
export interface ResultsSynthesised extends Fact {
  readonly type: 'results.synthesised'
  /** `verbatim`: the one result there was. `task`: that of the task whose work it was. */
  readonly by: 'verbatim' | 'task' | 'concatenation' | 'function' | 'agent' | 'model'
  readonly used: readonly string[]
  readonly dropped: readonly { readonly task: string; readonly reason: string }[]
  /** Why the one who was to do it did not. */
  readonly fallback?: Failure
}
/** Some wait for each other, or go round without getting anywhere. */
export interface DeadlockFound extends Fact {
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
