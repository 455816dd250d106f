/**
 * Transfer loop: whether control only goes round (spec collaboration 29).
 *
 * Owns: what counts as going round. Pure. Does not own: how many transfers are allowed (control-loop.ts).
 */

/** Control was handed on. `did`: the agent that had it said or did something besides. */
export interface Hop {
  readonly from: string
  readonly to: string
  readonly did: boolean
  /** What the next agent was asked to do. */
  readonly task?: string | undefined
}

/** How often the same round must be made before it counts as a loop. */
const enough = 3

/**
 * The round that control has made three times while no agent did anything else; the names from where it begins to where
 * it comes back. Undefined if there is none.
 */
export function transferLoopOf(hops: readonly Hop[]): readonly string[] | undefined {
  const quiet = hops.length - 1 - hops.findLastIndex(({ did }) => did)
  for (let length = 1; length * enough <= quiet; length++) {
    const last = hops.slice(-length * enough)
    if (last.every((hop, i) => isSame(hop, last[i % length]!))) {
      const round = last.slice(0, length)
      if (round[0]!.from === round.at(-1)!.to) return [...round.map(({ from }) => from), round[0]!.from]
    }
  }
  return undefined
}

const isSame = (one: Hop, other: Hop): boolean =>
  one.from === other.from && one.to === other.to && one.task === other.task
