/**
 * A fork is one run: what was placed apart in its origin is in it.
 *
 * Owns: the journals of workers that were placed apart as if they had worked in their leader's run. Does not own: what
 * a fork begins with (fork.ts), the order (journal/views/woven.ts). Pure.
 * K6: what a worker has done that had not ended at the fork point is known to the fork, which asks before it does it
 * again.
 */
import { isObject, type ActivationId, type Json, type RunId } from '@reeve/core'
import { woven, type JournalEvent } from '@reeve/journal'
import type { ForkOrigin } from './fork.ts'

/**
 * The origin with everything of its workers that are placed apart in its own feed. No fork point lies behind what is
 * there of those that have not ended.
 */
export function asOneRun(
  run: RunId,
  origin: ForkOrigin,
  children: ReadonlyMap<RunId, Pick<ForkOrigin, 'feed' | 'limits'>>,
): ForkOrigin {
  if (children.size === 0) return origin
  const limits = new Map(origin.limits)
  // their code drew ids as roots of runs of their own
  const seeds = new Map<ActivationId, ActivationId>()
  for (const child of children.values())
    for (const [activation, each] of child.limits) limits.set(joined(activation), each)
  for (const { feed } of children.values()) for (const { activation } of feed) seeds.set(joined(activation), activation)
  const feed = woven(origin.feed, new Map([...children].map(([id, child]) => [id, child.feed]))).map((recorded) => ({
    ...recorded,
    run,
    activation: joined(recorded.activation),
    event: local(recorded.event),
  }))
  return { ...origin, feed, limits, seeds }
}

/** The id that an activation would have in its leader's run. */
const joined = (activation: ActivationId): ActivationId => activation.replaceAll('>>', '>') as ActivationId

/** The event as it would be if no worker were placed apart. */
function local(event: JournalEvent): JournalEvent {
  const told = withJoinedIds(event as unknown as Json) as unknown as JournalEvent
  if (told.type === 'worker.started') {
    const { apart: _apart, reserve: _reserve, ...rest } = told
    return rest
  }
  if (told.type !== 'worker.settled') return told
  const { apart: _apart, charge: _charge, ...rest } = told
  return rest
}

function withJoinedIds(value: Json): Json {
  if (typeof value === 'string')
    return value.startsWith('act_') && value.includes('>>') ? joined(value as ActivationId) : value
  if (Array.isArray(value)) return (value as readonly Json[]).map(withJoinedIds)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withJoinedIds(each)]))
}
