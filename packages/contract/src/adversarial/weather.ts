/**
 * Bad weather: how badly a store may behave that still keeps its contract. Seeded, so that a failure can be had again.
 */
import { seededRandom } from '@reeve/core'

/** Chances between 0 and 1. */
export interface Weather {
  /** That an answer comes later than at once. */
  readonly late: number
  /** By how many turns of the event loop at most. */
  readonly turns: number
  /** That a commit takes ten times as long. */
  readonly slow: number
  /**
   * That the store fails before anything is written or read. Calls from outside are repeated here, those of the host by
   * the host.
   */
  readonly failing: { readonly commit: number; readonly claim: number; readonly lease: number; readonly read: number }
  /** That news comes much later, and that it is said twice. */
  readonly lost: number
  readonly doubled: number
  /** That another process is faster with a run that is to be claimed. It lets it go again after a while. */
  readonly outrun: number
  /**
   * That another process has taken a run over when something of it is committed, or when this one looks after standing
   * still. What the run had out then runs again.
   */
  readonly stolen: number
  /** That this process finds that it stood still for longer than its lease. */
  readonly stale: number
}

/** All that a team must not notice: effects run as often as on a store that never fails. */
export const badWeather: Weather = {
  late: 0.5,
  turns: 5,
  slow: 0.05,
  failing: { commit: 0.03, claim: 0.05, lease: 0.05, read: 0.03 },
  lost: 0.2,
  doubled: 0.2,
  outrun: 0.1,
  stolen: 0,
  stale: 0.1,
}

/** Runs are taken away as well: effects that may run again do so, and those that may not are in doubt. */
export const storm: Weather = { ...badWeather, stolen: 0.05, stale: 0.2 }

/**
 * Draws for one process: each kind of event has a sequence of its own, so that one more question does not change all
 * others.
 */
export class Draws {
  readonly #seed: string
  readonly #drawn = new Map<string, number>()
  /** What has happened, how often. */
  readonly happened = new Map<string, number>()

  constructor(seed: string) {
    this.#seed = seed
  }

  random(kind: string): number {
    const nth = this.#drawn.get(kind) ?? 0
    this.#drawn.set(kind, nth + 1)
    return seededRandom(`${this.#seed}:${kind}`, nth)
  }
  happens(kind: string, chance: number): boolean {
    const does = chance > 0 && this.random(kind) < chance
    if (does) this.happened.set(kind, (this.happened.get(kind) ?? 0) + 1)
    return does
  }
  /** A whole number from 1 to `most`. */
  upTo(kind: string, most: number): number {
    return 1 + Math.floor(this.random(kind) * most)
  }
}

/** So many turns of the event loop. */
export async function turns(many: number): Promise<void> {
  for (let i = 0; i < many; i++) await new Promise((resolve) => setImmediate(resolve))
}
