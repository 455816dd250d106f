/**
 * Options of a planned team, as data and functions: what a user may say, and the defaults (spec team 1.22).
 *
 * Owns: the types, the defaults, the names. Does not own: what any of them does (the folders of this room), their
 * checks (checks.ts).
 */
import type { Assess, ToolsLike } from '@reeve/agent'
import type { Limits, Oversight, SchemaLike } from '@reeve/edge'
import type { RetryPolicy } from '@reeve/engine'
import type { DependencyPolicy, TeamRoute, TeamStrategy } from '@reeve/journal'
import type { ModelRef } from '@reeve/model'
import type { Advisor, AdvisorOptions } from './learn/advisor.ts'
import type { TeamMemory } from './learn/memory.ts'
import type { MailboxOptions } from './mail/options.ts'
import type { PlannerLike } from './plan/options.ts'
import type { Roles } from './plan/roles.ts'
import type { RouteHints } from './plan/route.ts'
import type { SynthesisOptions, Synthesizer } from './result/options.ts'
import type { Lead } from './staff/lead.ts'
import type { RecruitOptions } from './staff/options.ts'
import type { TeamPolicy } from './policy.ts'
import type { BudgetOptions } from './budget/budget.ts'
import type { Tolerance } from './schedule/failure-budget.ts'
import type { UndoTask } from './schedule/rollback.ts'

export interface TeamOptions<Name extends string, Out extends SchemaLike | undefined = undefined> {
  // Identity and output

  readonly name: Name
  /** What it is good for; required for a worker or a tool. */
  readonly description?: string
  /** Declared version. Default `1`. */
  readonly version?: string
  /** Schema of the answer. An answer that does not fit fails the run. */
  readonly output?: Out
  readonly outputKey?: string

  // Members

  /** Model of the built-in roles and of the default planner. */
  readonly model?: ModelRef
  /** Tools of the built-in roles. */
  readonly tools?: ToolsLike
  /**
   * Agents or instructions by kind of work. With a `model` these built-in roles are added: generalist, researcher,
   * analyst, strategist and writer.
   */
  readonly roles?: Roles
  /** The role of tasks that name none. Default `generalist`. */
  readonly defaultRole?: string
  /** How many members the team may ever have. It bounds recruits only: a plan is never cut. Default 10. */
  readonly maxTeamSize?: number
  readonly recruit?: RecruitOptions
  /** Called after each ended task: it may recruit, retire, send mail and add tasks. */
  readonly lead?: Lead

  // Planning and order

  /** Splits a question into tasks: a plan, a function, an agent, or a model with instructions. Default: `model`. */
  readonly planner?: PlannerLike
  /**
   * Without a planner, or if the planner makes only invalid plans, the whole question is one task. Default false: then
   * the run fails with `plan.failed` or `plan.invalid`.
   */
  readonly fallback?: boolean
  /**
   * Whether a human approves the plan before any task begins, whatever its route: within 30 minutes; they may edit it,
   * or ask for another. Default false.
   */
  readonly approvePlan?: boolean
  /** How a plan is carried out. Default: chosen by the shape of the plan. */
  readonly route?: TeamRoute
  readonly routing?: RouteHints
  /**
   * The order of tasks. Default: advice with a confidence above 0.8 (`memory`, `advisor`), else the plan, else
   * `hybrid`.
   */
  readonly strategy?: TeamStrategy
  /** How many members work at once. Default: the plan's number, else 5. */
  readonly concurrency?: number

  // Failures

  /**
   * Percent of the plan's tasks that may fail, whole; or a preset: `research` 50, `data_analysis` 20, `critical` 0.
   * Default 50: exactly half is tolerated. At 100 the plan is never given up by number. Tasks that are added later
   * count when they fail, and make no more failures tolerable.
   */
  readonly tolerance?: Tolerance
  /** The plan is given up at this number of failed tasks, for any `tolerance`. */
  readonly maxFailures?: number
  /**
   * Retries of a task with a transient failure: `{ attempts, backoffMs, maxBackoffMs, jitter }`. Default: 3 attempts in
   * all, 1 s doubling up to 30 s with jitter, and never sooner than the other side asked for. `{ backoffMs: 0 }`: no
   * waiting in between; `{ attempts: 1 }`: once. Where a step has tried again already, as model calls do, the task is
   * not tried again.
   */
  readonly retry?: RetryPolicy
  /** Milliseconds of working time for one attempt. Default 600,000; 0: no limit. */
  readonly timeoutMs?: number
  readonly dependencies?: DependencyOptions
  /**
   * Undoes what was done for tasks that have ended, where the team is cancelled while it is at work: called for each
   * that has succeeded or failed, last ended first, each once, after those at work have undone their own (`onCancel`).
   * Default: what has ended stays.
   */
  readonly undo?: UndoTask

  // Mail and policy

  readonly mailbox?: MailboxOptions
  /** Decides on mail, recruits and plans. Default: all are allowed. */
  readonly policy?: TeamPolicy

  // Result

  /**
   * Makes the answer from the results of the tasks. Default: the results one after the other, each under its heading.
   */
  readonly synthesize?: Synthesizer
  readonly synthesis?: SynthesisOptions

  // Learning

  /** Remembers earlier runs of a session. `true`: kept in the store of the runtime. Default: none. */
  readonly memory?: TeamMemory | true
  /**
   * Gives advice from earlier runs: a function, or options of the built-in advisor. Default: the built-in one if there
   * is a `memory`. A function is called without a memory too.
   */
  readonly advisor?: Advisor | AdvisorOptions

  // Limits and oversight

  /** Tokens or dollars that the tasks may use together. Default: no limit of its own. */
  readonly budget?: BudgetOptions
  /** Hard limits of the team and all its workers. Default: none of its own. */
  readonly limits?: Limits
  /**
   * Human oversight: which tasks need an approval, which results are reviewed, who is asked. Default: only what tools,
   * edges and tasks require themselves.
   */
  readonly oversight?: Oversight
  /** Assesses its own result: a function of the output and the brief. Default: none. */
  readonly assess?: Exclude<Assess, 'report'>
}

/** What becomes of a task whose dependencies fail or stall. */
export interface DependencyOptions {
  /** Default `tolerate`: the task goes on without the result, and is told so. */
  readonly policy?: DependencyPolicy
  /**
   * Milliseconds of working time without progress among the dependencies; then the task has failed. Default 360,000; 0:
   * no limit.
   */
  readonly timeoutMs?: number
  /** A task gets the results of all ended tasks, not only of its dependencies. Default false. */
  readonly passAll?: boolean
}

/** Any team's. */
export type AnyTeamOptions = TeamOptions<string, SchemaLike | undefined>

/** Defaults (spec team 1.22). */
export const defaults = {
  concurrency: 5,
  maxTeamSize: 10,
  tolerance: 50,
  timeoutMs: 600_000,
  dependencyTimeoutMs: 360_000,
} as const
