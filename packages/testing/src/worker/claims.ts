/**
 * Claims: what a worker may honour, what it says of each, and what came of a case.
 *
 * Owns: the list of claims. Does not own: how each is shown (cases.ts), the table of them (table.ts).
 */
import type { Agent } from '@reeve/agent'
import type { WorkerPart } from './part.ts'

/** What a worker may honour, and what each means. The order is that of the table. */
export const workerClaims = {
  brief: 'its brief reaches it word for word',
  result: 'what it says at its end is its output, word for word',
  failure: 'a failure of its model is a failed outcome that says why, and its leader goes on',
  cancel: 'a cancel of the run stops its work at once, and nothing is begun afterwards',
  timeout: 'the time limit of its leader stops its work at once',
  approval: 'it asks an approver for an action, with the exact arguments, and acts only if they are approved',
  edits: 'what an approver has edited is what is done',
  reasons: 'it is told why an approver has rejected its action',
  question: 'it asks a person, and goes on with the answer',
  usage: 'the tokens of its model calls are recorded, by model',
  streaming: 'its text is shown while it is written',
  crash: 'after a kill it goes on: work in flight is repeated with the same key, or is in doubt',
  finished: 'after a kill, calls that had ended are not made again',
} as const

/** One thing that a worker may honour. */
export type WorkerClaim = keyof typeof workerClaims

/** What a worker says of a claim: true, false, or the limit in a few words. */
export type WorkerHonours = { readonly [Claim in WorkerClaim]: boolean | string }

/** A worker under test. */
export interface WorkerUnderTest {
  /**
   * The worker, made anew in every process in which it works: once, and once more after a kill. `part`: the model and the
   * tools that die with that process.
   */
  readonly worker: (part: WorkerPart) => Agent | Promise<Agent>
  /** What it claims to honour. A claim that does not hold fails its case; what is not claimed is a row of the table. */
  readonly honours: WorkerHonours
  /** Called after each case: ends servers and processes of its own. */
  readonly close?: () => Promise<void>
}

/** What came of one case. A claim that does not hold has no result: its case rejects. */
export interface WorkerResult {
  readonly worker: string
  readonly case: string
  readonly claim: WorkerClaim
  readonly honoured: boolean
  /** Why it is not shown: the claim that is not made, and the limit, if one was given. */
  readonly limit?: string
}
