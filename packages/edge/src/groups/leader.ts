/**
 * Leader: what binds a worker to the leader that waits for it.
 *
 * Owns: the group of the edge and how it crosses. Does not own: slots (../../supervisor/worker), questions
 * (../../agent/code/leader-question.ts), threads of memory (../../supervisor/delegation).
 */
import { present, type ActivationId, type Draft } from '@reeve/core'
import type { LeaderGrant } from '../grant.ts'

/** What the worker owes its leader, and what its leader holds. */
export interface EdgeLeader {
  /** The leader's name for this delegation, `d1`, `d2`, …; absent where the worker was started in another way. */
  readonly delegation?: string
  /** The leader wants to see how the answer came about: the worker leaves a handoff record. */
  readonly report?: true
  /** The leader whose concurrency slot is in use here: it is told when the work waits for a human. */
  readonly slotOf?: ActivationId
  /** The leader that takes questions of the worker and of those who work in the worker's order. */
  readonly questionsTo?: ActivationId
  /** Threads of memory that leaders hold while they wait for the work here. */
  readonly threads?: readonly string[]
}

/** What binds a worker to its leader. */
export function leaderOfWorker(above: EdgeLeader, grant: LeaderGrant): EdgeLeader {
  const { delegation, report, questionsTo, slotOf = above.slotOf, threads = above.threads } = grant
  const leader: Draft<EdgeLeader> = {}
  if (delegation !== undefined) leader.delegation = delegation
  if (report !== undefined) leader.report = report
  if (questionsTo !== undefined) leader.questionsTo = questionsTo
  if (slotOf !== undefined) leader.slotOf = slotOf
  if (threads !== undefined) leader.threads = threads
  return leader
}

/** Who works in the order of another, or is called by it, has the same leader. It owes that leader no report. */
export const sameLeader = ({ slotOf, questionsTo, threads }: EdgeLeader): EdgeLeader =>
  present({ slotOf, questionsTo, threads })
