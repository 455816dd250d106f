/**
 * Advice: what earlier runs of a session say about how to go about a question (spec team 1.12, R-12). Pure, and seeded: the same memory, question and numbers give the same advice.
 *
 * Owns: the types, the rule. Does not own: what is remembered and where (memory.ts), how alike two questions are (similarity.ts).
 */
import type { Json } from '../../core/index.ts'
import type { TeamStrategy } from '../../journal/index.ts'
import type { Subtask } from '../plan/plan.ts'

/** What is known of one kind of question. */
export interface RememberedPlan {
  readonly question: string
  readonly strategy: TeamStrategy
  readonly subtasks: readonly Subtask[]
  /** How many runs, how many of them succeeded. */
  readonly runs: number
  readonly successes: number
}

/** What is remembered of a session. */
export interface Recollection {
  readonly plans: readonly RememberedPlan[]
  /** By strategy: what became of it. */
  readonly strategies: Readonly<
    Record<string, { readonly runs: number; readonly successes: number; readonly ms: number; readonly tokens: number }>
  >
}

/** How a run has ended, for the memory. */
export interface TeamEnd {
  readonly run: string
  readonly question: string
  readonly strategy: TeamStrategy
  readonly subtasks: readonly Subtask[]
  readonly status: 'success' | 'partial' | 'aborted' | 'failed' | 'cancelled'
  readonly ms: number
  readonly tokens: number
}

/** Where a team's memory is kept. Both are recorded steps; a session is what it is asked about. */
export interface TeamMemory {
  recall(question: string, scope: { readonly session: string; readonly team: string }): Recollection | Promise<Recollection>
  record(end: TeamEnd, scope: { readonly session: string; readonly team: string }): unknown
}

/** Advice. */
export interface Advice {
  readonly strategy: TeamStrategy
  /** 0 to 1. */
  readonly confidence: number
  /** Subtasks that have worked before. */
  readonly subtasks?: readonly Subtask[]
  /** The question of the earlier case it goes by. */
  readonly source?: string
  readonly warnings: readonly string[]
}

/** Makes advice of what is remembered. Pure; `random` gives the same numbers on replay. */
export type Advisor = (recollection: Recollection, question: string, random: () => number) => Advice

/** For programs that keep advice as data. */
export type AdviceJson = Json
