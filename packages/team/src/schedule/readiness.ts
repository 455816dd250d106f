/**
 * Readiness: whether a task may begin, must wait, or cannot be done at all (spec team ). Pure.
 *
 * Owns: the rule. Does not own: concurrency and order (scheduler.ts), clocks (dependency-timeouts.ts), what an entry of
 * a topic holds (topics.ts).
 */
import type { DependencyPolicy } from '@reeve/journal'
import { hasEnded, policyTowards, type TaskGraph, type Entry } from '../state/task-graph.ts'

/** Whether a task may begin. */
export type Readiness =
  | {
      readonly type: 'ready'
      /** What it has to do without. */ readonly missing: readonly string[]
      /** It waited, and everything came. */ readonly satisfied: boolean
    }
  | { readonly type: 'waits'; /** For these tasks. */ readonly on: readonly Entry[] }
  | { readonly type: 'impossible'; readonly status: 'skipped' | 'failed'; readonly on: string }

/** What a task waits for, and what has become of it. */
interface Need {
  readonly name: string
  readonly state: 'there' | 'missing' | 'open'
  readonly on: readonly Entry[]
  readonly policy: DependencyPolicy
}

/** Whether this task may begin now. `has`: whether a topic has an entry. */
export function readiness(
  entry: Entry,
  graph: TaskGraph,
  has: (topic: string) => boolean,
  common: DependencyPolicy,
): Readiness {
  const needs = needsOf(entry, graph, has, common)
  const lost = needs.find(({ state, policy }) => state === 'missing' && policy !== 'tolerate')
  if (lost !== undefined)
    return { type: 'impossible', status: lost.policy === 'fail' ? 'failed' : 'skipped', on: lost.name }
  const open = needs.filter(({ state }) => state === 'open')
  if (open.length > 0) return { type: 'waits', on: [...new Set(open.flatMap(({ on }) => on))] }
  const missing = needs.filter(({ state }) => state === 'missing').map(({ name }) => name)
  return { type: 'ready', missing, satisfied: needs.length > 0 && missing.length === 0 }
}

function needsOf(
  entry: Entry,
  graph: TaskGraph,
  has: (topic: string) => boolean,
  common: DependencyPolicy,
): readonly Need[] {
  const tasks = graph.before(entry).map((on): Need => {
    const state = !hasEnded(on) ? 'open' : on.status === 'succeeded' ? 'there' : 'missing'
    const policy = on.recruit === undefined ? policyTowards(entry, on.id, common) : 'tolerate'
    return { name: on.id, state, on: [on], policy }
  })
  const topics = (entry.task.consumes ?? []).flatMap((topic): Need[] => {
    const producers = graph.producers(topic, entry)
    if (producers.length === 0) return [] // the plan was warned of it: there is no producer to wait for
    const on = producers.filter((each) => !hasEnded(each))
    const state = has(topic) ? 'there' : on.length > 0 ? 'open' : 'missing'
    return [{ name: topic, state, on, policy: policyTowards(entry, topic, common) }]
  })
  return [...tasks, ...topics]
}
