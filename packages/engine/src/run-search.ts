/**
 * Searching runs: where in a store the runs of a filter are looked for.
 *
 * Owns: the state of a run that its own row says, in SQL that every store takes, and which states the runs of a status
 * can have. Does not own: statements and indexes (the stores), what options a filter may have (port.ts).
 * Holds: a search reads candidates from an index, newest first, and never misses a run of the filter. What status a run
 * has is derived in one place of each store; a state alone decides it only where nothing else matters.
 */
import { isObject } from '@reeve/core'
import type { RunFilter, RunStatus, RunSummary } from './port.ts'
import { tagsOf } from './run-row.ts'

/**
 * What its own row says of a run. A status, but for three states: `work`, a process goes on with it or may; `asks`, it
 * rests and has asked people; `rests`, it waits for something else. `asks` of the row is as of when it began to rest.
 */
export const stateColumn = `CASE WHEN ended IS NOT NULL THEN status WHEN stuck IS NOT NULL THEN 'stuck'
  WHEN control IN ('pausing', 'paused', 'human_control') THEN control WHEN parked = 0 THEN 'work' WHEN asks > 0 THEN 'asks' ELSE 'rests' END`

/** States that alone do not say what status a run has: child runs and unread mail count, too. */
export const derivedStates = ['work', 'asks', 'rests'] as const
export type DerivedState = (typeof derivedStates)[number]

/** Where the runs of these statuses are. */
export interface StatusSearch {
  /** States of their own rows. */
  readonly states: readonly string[]
  /** States of child runs under which a run may have one of the statuses. */
  readonly apart: readonly string[]
  /** Among those with an unread pause. */
  readonly pausing: boolean
}

/** Child runs at work, or with questions: those that are stuck or paused may have both. */
const haltedStatuses = ['stuck', 'pausing', 'paused', 'human_control']

/** Where runs of these statuses are looked for. */
export function statusSearch(statuses: readonly RunStatus[]): StatusSearch {
  const asked = new Set<string>(statuses)
  const own = statuses.flatMap((status) =>
    status === 'running' ? ['work', 'rests'] : status === 'waiting' ? ['asks'] : [status],
  )
  const apart = [
    ...(asked.has('running') ? ['work', ...haltedStatuses] : []),
    ...(asked.has('waiting') ? ['asks', ...haltedStatuses] : []),
  ]
  return { states: [...new Set(own)], apart: [...new Set(apart)], pausing: asked.has('pausing') }
}

/** Whether more than its own row says whether a run has this status. */
export const isDerived = (status: RunStatus): boolean =>
  status === 'running' || status === 'waiting' || status === 'pausing'

/** The states that a row may have whose run has one of these statuses. */
export const possibleStates = (statuses: readonly RunStatus[]): readonly string[] => [
  ...new Set<string>([...statuses, ...(statuses.some(isDerived) ? derivedStates : [])]),
]

/** Runs up to this number are read as they are found, and put in order then. */
export const fewRuns = 500
/**
 * The agent of a batch: a run that gives a command to many others. No user can name an agent so. Its runs are listed and
 * counted only where this agent is asked for. Persistent format.
 */
export const batchAgent = 'reeve:batch'

/** The length of a list that says none. */
export const mostListed = 1_000

/** Whether a filter asks for something that an index alone knows. */
export const asksIndex = ({ text, code, cause }: RunFilter): boolean =>
  text !== undefined || code !== undefined || cause !== undefined

/** Whether a run is of the filter: for lists that are short and have no index of their own. */
export function isOfFilter(summary: RunSummary, filter: RunFilter): boolean {
  const { status, agent, version, since = -Infinity, before = Infinity, usdFrom, after } = filter
  const { createdAt, run, usage, caller } = summary
  // an index has no child runs, of which these lists are
  if (asksIndex(filter)) return false
  if (status !== undefined && !status.includes(summary.status)) return false
  if (agent !== undefined && summary.agent !== agent) return false
  if (version !== undefined && summary.version !== version) return false
  if (createdAt < since || createdAt >= before) return false
  if (usdFrom !== undefined && !(usage?.usd !== undefined && usage.usd >= usdFrom)) return false
  if (after !== undefined && (createdAt > after.createdAt || (createdAt === after.createdAt && run >= after.run)))
    return false
  const { metadata } = caller
  const has = new Set(tagsOf({ ...caller, ...(isObject(metadata) ? { metadata } : {}) }).map(keyOf))
  return tagsOf(filter).every((tag) => has.has(keyOf(tag)))
}

const keyOf = ({ name, value }: { readonly name: string; readonly value: string }): string => `${name} ${value}`
