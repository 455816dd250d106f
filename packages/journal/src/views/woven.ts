/**
 * Woven feeds: the journal of a run with those of its child runs, in one order.
 *
 * Owns: which runs those are, and the order. Does not own: reading them (the engine), what is made of the whole
 * (fold.ts, fork.ts). Pure. The order is a possible one: the events of a child run that has ended stand before its
 * end in the leader's feed, those of an open one stand after the rest.
 */
import { childActivation, runOf, type RunId } from '@reeve/core'
import type { Recorded } from '../events/events.ts'

/** The child runs that are begun in this feed. */
export const childRunsIn = (feed: Iterable<Recorded>): readonly RunId[] =>
  [...feed].flatMap(({ activation, event }) =>
    event.type === 'worker.started' && event.apart === true && event.refused === undefined
      ? [runOf(childActivation(activation, event.address, true))]
      : [],
  )

/**
 * Everything of these runs as one feed. Its positions are those of the leader's feed, with fractions between them, and
 * numbers after its last for what has not ended.
 */
export function woven(
  feed: readonly Recorded[],
  children: ReadonlyMap<RunId, readonly Recorded[]>,
): readonly Recorded[] {
  const open = new Set(childRunsIn(feed))
  const inside = (child: RunId): readonly Recorded[] => woven(children.get(child) ?? [], children)
  const whole: Recorded[] = []
  for (const recorded of feed) {
    const { activation, position, event } = recorded
    const child =
      event.type === 'worker.settled' && event.apart === true
        ? runOf(childActivation(activation, event.address, true))
        : undefined
    if (child !== undefined && open.delete(child)) {
      const before = inside(child)
      for (const [i, each] of before.entries())
        whole.push({ ...each, position: position - 1 + (i + 1) / (before.length + 1) })
    }
    whole.push(recorded)
  }
  let last = feed.at(-1)?.position ?? 0
  for (const child of open) for (const each of inside(child)) whole.push({ ...each, position: ++last })
  return whole
}
