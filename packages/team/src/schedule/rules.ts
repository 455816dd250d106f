/**
 * What a team's work goes by, and who has a say in it. Types only; the scheduler is scheduler.ts.
 */
import type { Failure } from '@reeve/core'
import type { TeamVerb } from '@reeve/edge'
import type { RetryPolicy } from '@reeve/engine'
import type { DependencyPolicy, PlanAborted } from '@reeve/journal'
import type { WorkerEnd } from '@reeve/supervisor'
import type { RequestFiles } from '../plan/plan-parser.ts'
import type { TaskEntry } from '../state/task-graph.ts'
import type { FailureBudget } from './failure-budget.ts'

/** How the tasks of a plan are carried out. */
export interface WorkRules {
  readonly concurrency: number
  readonly failures: FailureBudget
  readonly countRecruits: boolean
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly policy: DependencyPolicy
  readonly dependencyTimeoutMs: number
  readonly passAll: boolean
  readonly verbs: readonly TeamVerb[]
  /** The files of the request. */
  readonly files: RequestFiles
}

/** Who wants to know what happens, or has a say in it. */
export interface WorkListener {
  /**
   * Whether there is budget for it; a failure says why not. `later`: not yet; the work is told when
   * (`Scheduler.again`).
   */
  mayBegin(entry: TaskEntry): Failure | 'later' | undefined
  /** How much mail its member has not read who is about to begin. */
  unread(entry: TaskEntry): number
  /** It was to begin (`mayBegin` said so), and could not. */
  notBegun(entry: TaskEntry): void
  /** It had ended, and is redone: its member is back. */
  reopened(entry: TaskEntry): void
  /** It has ended. */
  settled(entry: TaskEntry): void
  /**
   * Its attempt has ended and used this. A failure: what the end comes to, where it was the team's own budget that
   * ended it.
   */
  attemptEnded(entry: TaskEntry, end: WorkerEnd): Failure | undefined
  /** Something has moved: a member began, ended or published. */
  progress(): void
  /** All tasks that may begin now have begun. */
  advanced(): void
}

/** Why nothing begins any more. */
export type Aborted = Pick<PlanAborted, 'reason' | 'failed' | 'maxFailures' | 'failures'>
