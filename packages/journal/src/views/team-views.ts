/**
 * The types of a planned team's view: its plan, members, mailbox, topics and budget.
 *
 * Owns: the types, how much of an unbounded list is shown. Does not own: how views are made (team-fold.ts,
 * team-projection.ts) and drawn (plan-graph.ts, cli).
 * All times are milliseconds since 1970.
 */
import type { MailRefused } from '../events/mail-facts.ts'
import type { ActivationId, Failure, Json, Outcome, OversightMode, RiskLevel, TaskStatus, Usage } from '@reeve/core'
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

/** A fact in a view: without its place in a log, with its time in milliseconds since 1970. */
export type Noted<Event> = Omit<Event, 'type' | 'op' | 'address'> & { readonly at: number }

/** The state of a member. `paused`: it works, and its run is paused. The last five are final. */
export type MemberStatus =
  'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'retired' | 'cancelled' | 'skipped'

/** A task of a plan, or the work of a recruit. */
export interface TaskView {
  readonly task: string
  readonly description: string
  /** The member that has it, or had it last. */
  readonly member: string
  readonly role: string
  /**
   * `waiting`: for what `waitsFor` names. `awaiting_approval`: it waits for an approver, or its worker waits for a
   * human.
   */
  readonly status: TaskStatus
  /** Tasks of the plan that come before it. */
  readonly dependencies: readonly string[]
  /** Recruits that joined one of its dependencies before it began: it waits for them, too. */
  readonly joined: readonly string[]
  /** Topics that it adds to, and topics that it needs. */
  readonly produces: readonly string[]
  readonly consumes: readonly string[]
  /** Its failure ends the plan. */
  readonly critical: boolean
  /** The action it takes outside and its risk, as approval rules name them. */
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
  /** The tasks and topics it waits for. */
  readonly waitsFor: readonly string[]
  /** The inputs that were missing when it began. */
  readonly missing: readonly string[]
  /** Attempts so far. */
  readonly attempts: number
  /** Of its last failed attempt. */
  readonly failure?: Failure
  /** Why it was skipped or cancelled. */
  readonly reason?: string
  /**
   * The human who completed it (`operator` if no name was given), and the result they gave if no member had begun it.
   */
  readonly by?: string
  readonly output?: Json
  /** Of all its attempts, once it has ended. */
  readonly usage: Usage
  /** Of its first attempt. */
  readonly startedAt?: number
  readonly endedAt?: number
  /** Of its last attempt. */
  readonly activation?: ActivationId
  /** Present where a recruit does it: the requester, the task that it helps, and what waits for it. */
  readonly recruit?: { readonly by: string; readonly parent?: string; readonly join: 'parent' | 'run' | 'none' }
}

/** A plan and its progress. */
export interface PlanView {
  readonly route: TeamRoute
  /** Why this route was chosen, one sentence each. */
  readonly reasons: readonly string[]
  readonly strategy: TeamStrategy
  readonly concurrency: number
  readonly complexity: number
  /** The plan is given up when so many of its tasks have failed. */
  readonly maxFailures: number
  /** How many tasks of the plan have failed; recruits do not count. */
  readonly failed: number
  readonly warnings: readonly string[]
  /** It is the fallback plan; this is why planning failed. */
  readonly fallback?: Failure
  /** The plans that were refused before it. */
  readonly rejected: readonly Noted<PlanRejected>[]
  /** It was given up. */
  readonly aborted?: Noted<PlanAborted>
  /** In the order of the plan, then the work of recruits in the order in which they joined. */
  readonly tasks: readonly TaskView[]
}

/** A member, or former member, of a team. */
export interface MemberView {
  readonly member: string
  readonly role: string
  /** The registered role used in place of an unknown one. */
  readonly resolved?: string
  readonly status: MemberStatus
  readonly task: string
  readonly recruited: boolean
  /** Of a recruit: the requester, which is a member, `lead`, or an operator's name. */
  readonly requestedBy?: string
  readonly joinedAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  readonly attempts: number
  readonly lastError?: Failure
  /** How it was retired. Absent: it was not. */
  readonly retirement?: Noted<Omit<TeammateRetired, 'member'>>
}

/** A message in a team's mailbox. */
export interface MailView {
  readonly seq: number
  /** A member, `lead`, or `operator`. */
  readonly from: string
  /** Of an operator: their name, as given. */
  readonly by?: string
  /** A member, `role:<name>` or `*`. */
  readonly to: string
  /** The members whose inboxes it went to. */
  readonly recipients: readonly string[]
  /** The members who have not read it. */
  readonly unread: readonly string[]
  readonly content: Json
  readonly kind?: string
  readonly correlationId?: string
  readonly at: number
}

/** The mail of a team. */
export interface MailboxView {
  /** How many messages were accepted. */
  readonly accepted: number
  /** How many of them were dropped because a bound was reached. */
  readonly dropped: number
  /** How many were refused, by reason. */
  readonly refused: Readonly<Partial<Record<MailRefused['reason'], number>>>
  /** The number of unread messages by member. Empty inboxes are left out. */
  readonly unread: Readonly<Record<string, number>>
  /** The newest messages, oldest first: at most `shownAtMost`. */
  readonly messages: readonly MailView[]
}

/** A topic, the tasks that add to it, and the tasks that need it. */
export interface TopicView {
  readonly topic: string
  readonly producers: readonly string[]
  readonly consumers: readonly string[]
  /** The number of entries, and their size as JSON in bytes. */
  readonly entries: number
  readonly bytes: number
  /** Tasks that have added to it. */
  readonly publishedBy: readonly string[]
  readonly refused: number
  readonly lastAt?: number
}

/** A request for a new member. It is undecided while `admitted` is absent. */
export interface RecruitRequestView {
  readonly request: string
  readonly role: string
  readonly description: string
  readonly by?: string
  readonly parent?: string
  readonly at: number
  readonly admitted?: boolean
  readonly member?: string
  /** The member was on the team already, with this work. */
  readonly duplicate?: true
  readonly reason?: StaffRefusal
  readonly message?: string
}

/** The budget of a team and its use. */
export interface BudgetView {
  /** Includes what a human has added. Empty: there is no budget. */
  readonly limits: BudgetSet['limits']
  readonly mode?: BudgetSet['mode']
  /** Observed usage of tasks and recruits, whatever their end. */
  readonly spent: BudgetMoved['spent']
  /** Reserved for tasks at work. */
  readonly reserved: BudgetMoved['reserved']
  /** Tasks that wait until others have used less than was reserved for them. */
  readonly waiting: readonly string[]
  /** Calls of unknown usage: they count at the estimate. */
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
  /** How many tasks of the plan succeeded, and how many it has. Recruits do not count. */
  readonly coverage: { readonly succeeded: number; readonly planned: number }
  /** In the order in which they joined. */
  readonly members: readonly MemberView[]
  /** Requests for members: at most `shownAtMost`; the oldest refused ones are left out first. */
  readonly recruiting: readonly RecruitRequestView[]
  readonly mailbox: MailboxView
  readonly topics: readonly TopicView[]
  readonly budget: BudgetView
  readonly advice?: Noted<StrategyAdvised>
  /** Failures to read or write the memory. */
  readonly memory: readonly Noted<MemoryUnavailable>[]
  /** Deadlocks and mail loops: the newest, at most `shownAtMost`. */
  readonly waits: readonly Noted<DeadlockFound>[]
  /** What the answer was made of. */
  readonly answer?: Noted<ResultsSynthesised>
}

/** How many entries of an unbounded list a view shows. */
export const shownAtMost = 1_000
