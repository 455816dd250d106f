/**
 * The words of a planned team's view: its plan, its members, its mailbox, as programs, terminals and the studio get
 * them.
 *
 * Owns: the types, how much of what has no end is shown. Does not own: how they are made (team-fold.ts,
 * team-projection.ts), how they are drawn (plan-graph.ts, cli).
 */
import type { MailRefused } from '../events/mail-facts.ts'
import type { ActivationId, Failure, Json, Outcome, TaskStatus, Usage } from '../../core/index.ts'
import type {
  BudgetCrossed,
  BudgetMoved,
  BudgetSet,
  BudgetWarned,
  DeadlockFound,
  MemoryUnavailable,
  PlanAborted,
  PlanRejected,
  ResultsSynthesised,
  StaffRefusal,
  StrategyAdvised,
  TeammateRetired,
  TeamRoute,
  TeamStrategy,
} from '../events/team-facts.ts'

/** A fact as a view has it: without its place in a log, with its time in milliseconds since 1970. */
export type Noted<Event> = Omit<Event, 'type' | 'op' | 'address'> & { readonly at: number }

/** Where a member of a team is. `paused`: it works, and its run is paused. The last five are ends. */
export type MemberStatus =
  'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'retired' | 'cancelled' | 'skipped'

/** A task of a plan, or what a recruit does. */
export interface TaskView {
  readonly task: string
  readonly description: string
  /** Who has it, or had it last. */
  readonly member: string
  readonly role: string
  /**
   * `waiting`: for what `waitsFor` names. `awaiting_approval`: a human is asked about it, or whoever does it waits for
   * one.
   */
  readonly status: TaskStatus
  /** Tasks of the plan that come before it. */
  readonly dependencies: readonly string[]
  /** Recruits that joined one of those before this task began, so it waits for them, too. */
  readonly joined: readonly string[]
  readonly produces: readonly string[]
  readonly consumes: readonly string[]
  readonly critical: boolean
  /** What it does with the world, and how bad it is if it should not have been done; as gates look at it. */
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
  /** The tasks and topics that are to come before it may begin. */
  readonly waitsFor: readonly string[]
  /** What it had to do without. */
  readonly missing: readonly string[]
  /** Tries so far. */
  readonly attempts: number
  /** Of its last try that failed. */
  readonly failure?: Failure
  /** Why it was skipped or cancelled. */
  readonly reason?: string
  /** A human did it: under which name, `operator` if nobody said; and what they gave, if nobody had begun it. */
  readonly by?: string
  readonly output?: Json
  /** Of all its attempts, once it has ended. */
  readonly usage: Usage
  /** Of its first attempt. */
  readonly startedAt?: number
  readonly endedAt?: number
  /** Of its last attempt. */
  readonly activation?: ActivationId
  /** Present where a recruit does it: who asked, whose task that helps, who waits for it. */
  readonly recruit?: { readonly by: string; readonly parent?: string; readonly join: 'parent' | 'run' | 'none' }
}

/** A plan and where it is. */
export interface PlanView {
  readonly route: TeamRoute
  /** Why it goes this way, one sentence each. */
  readonly reasons: readonly string[]
  readonly strategy: TeamStrategy
  readonly concurrency: number
  readonly complexity: number
  /** At so many failed tasks of the plan it is given up. */
  readonly maxFailures: number
  /** How many tasks of the plan have failed; recruits do not count. */
  readonly failed: number
  readonly warnings: readonly string[]
  /** It is a makeshift: nobody could make a plan, and this is why. */
  readonly fallback?: Failure
  /** The plans that were refused before it. */
  readonly rejected: readonly Noted<PlanRejected>[]
  /** It was given up. */
  readonly aborted?: Noted<PlanAborted>
  /** In the order of the plan, then those of recruits in the order in which they came. */
  readonly tasks: readonly TaskView[]
}

/** Somebody who is or was on a team. */
export interface MemberView {
  readonly member: string
  readonly role: string
  /** The registered role that stands in for one that nobody knows. */
  readonly resolved?: string
  readonly status: MemberStatus
  readonly task: string
  readonly recruited: boolean
  /** Of recruits: who asked for them: a member, `lead`, or whoever said so from outside. */
  readonly requestedBy?: string
  readonly joinedAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  readonly attempts: number
  readonly lastError?: Failure
  /** Somebody has let it go. */
  readonly retirement?: Noted<Omit<TeammateRetired, 'member'>>
}

/** Mail as everybody outside sees it. */
export interface MailView {
  readonly seq: number
  /** A member, `lead`, or `operator`. */
  readonly from: string
  /** Of an operator: who it is, as they say. */
  readonly by?: string
  /** A member, `role:<name>` or `*`. */
  readonly to: string
  /** Whose inboxes it went to. */
  readonly recipients: readonly string[]
  /** Whose inboxes it is still in, unread. */
  readonly unread: readonly string[]
  readonly content: Json
  readonly kind?: string
  readonly correlationId?: string
  readonly at: number
}

/** The mail of a team. */
export interface MailboxView {
  /** How many messages were taken. */
  readonly accepted: number
  /** How many of them were given up because there were too many. */
  readonly dropped: number
  /** How many were not taken, by reason. */
  readonly refused: Readonly<Partial<Record<MailRefused['reason'], number>>>
  /** How many are in each inbox, unread; no inbox is empty here. */
  readonly unread: Readonly<Record<string, number>>
  /** The newest of what is kept, oldest first: at most `shownAtMost`. */
  readonly messages: readonly MailView[]
}

/** A topic, who adds to it, who needs it. */
export interface TopicView {
  readonly topic: string
  readonly producers: readonly string[]
  readonly consumers: readonly string[]
  /** How many entries it has, and how many bytes they are as JSON. */
  readonly entries: number
  readonly bytes: number
  /** Tasks that have added to it. */
  readonly publishedBy: readonly string[]
  readonly refused: number
  readonly lastAt?: number
}

/** A wish that somebody join. Undecided while `admitted` is absent. */
export interface RecruitWishView {
  readonly request: string
  readonly role: string
  readonly description: string
  readonly by?: string
  readonly parent?: string
  readonly at: number
  readonly admitted?: boolean
  readonly member?: string
  /** The member was there already, doing just that. */
  readonly duplicate?: true
  readonly reason?: StaffRefusal
  readonly message?: string
}

/** What there is to be spent, and where it has gone. */
export interface BudgetView {
  /** What a human has added is in it. Empty: there is no budget. */
  readonly limits: BudgetSet['limits']
  readonly mode?: BudgetSet['mode']
  /** As it was observed, by tasks and recruits, whatever became of them. */
  readonly spent: BudgetMoved['spent']
  /** Set aside for those at work. */
  readonly reserved: BudgetMoved['reserved']
  /** Tasks that wait until others have used less than was set aside for them. */
  readonly waiting: readonly string[]
  /** Calls of which nobody knows what they used: they count at the estimate. */
  readonly unknown: number
  readonly crossed: readonly Noted<BudgetCrossed>[]
  readonly warned: readonly Noted<BudgetWarned>[]
}

/** A planned team: one activation that made a plan. */
export interface TeamView {
  readonly activation: ActivationId
  readonly agent: string
  /** Agents' names from the root to the team. */
  readonly path: readonly string[]
  readonly state: 'running' | 'waiting' | Outcome['status']
  readonly startedAt: number
  readonly endedAt?: number
  readonly plan: PlanView
  /** Tasks of the plan that succeeded, of all it has. Recruits do not count. */
  readonly coverage: { readonly succeeded: number; readonly planned: number }
  /** In the order in which they joined. */
  readonly members: readonly MemberView[]
  /** Wishes for members: at most `shownAtMost`, the oldest that were refused go first. */
  readonly recruiting: readonly RecruitWishView[]
  readonly mailbox: MailboxView
  readonly topics: readonly TopicView[]
  readonly budget: BudgetView
  readonly advice?: Noted<StrategyAdvised>
  /** When the memory could not be asked, or told. */
  readonly memory: readonly Noted<MemoryUnavailable>[]
  /** Who waited for each other, or went round without getting anywhere: at most `shownAtMost`, the newest. */
  readonly waits: readonly Noted<DeadlockFound>[]
  /** What the answer was made of. */
  readonly answer?: Noted<ResultsSynthesised>
}

/** Of lists that have no end of their own, a view shows so many. */
export const shownAtMost = 1_000
