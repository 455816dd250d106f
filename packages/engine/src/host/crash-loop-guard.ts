/**
 * The crash-loop guard: how runs are taken up again that were lost when their process died. One of them may be what
 * killed it.
 *
 * Owns: how many of them are in memory at once, how long one rests that goes from process to process, and when one has
 * shown that it does no harm. Does not own: counting losses (the store), waking (run-cache.ts).
 */
import { jitter, stopwatch, type RunId } from '@reeve/core'

/** A process that holds a run for so long without dying has not been killed by it. Milliseconds of real time. */
export const steadyMs = 10_000
/**
 * So many losses before the last one that it is allowed a run becomes a suspect: the first losses of all runs of a
 * process say little about any of them.
 */
const suspectBefore = 3
/**
 * With each loss the group in which a suspect is taken up is so many times smaller, and before the last one that it is
 * allowed it is alone.
 */
const narrowing = 8

/**
 * A run that has gone from process to process rests before it is taken up again: after its second loss in a row for up
 * to so long, twice as long after each further one, within a bound. Processes that are late take no runs from one another
 * in turns then. Each waits for a time of its own, so that they do not all come at once. Milliseconds of real time.
 */
const restMs = 250
const longestRestMs = 2_000
/** Of a run that was not seen free for so long the rest is forgotten. Milliseconds. */
const forgottenMs = 10_000

interface LossRecord {
  readonly losses: number
  readonly since: number
  /** It has recorded the end of an effect since: it does not die where it died before. */
  hasMoved: boolean
}

export class CrashLoopGuard {
  /** From this many losses in a row on a run is a suspect. */
  readonly suspectFrom: number
  /** One more loss, and it is set aside. */
  readonly #last: number
  /** Runs in memory that were lost before. */
  readonly #lost = new Map<RunId, LossRecord>()
  /** Free runs that rest: after how many losses, and until when, by the stopwatch. */
  readonly #resting = new Map<RunId, { readonly losses: number; readonly until: number }>()

  constructor(lossLimit: number) {
    this.suspectFrom = Math.max(2, lossLimit - suspectBefore)
    this.#last = lossLimit - 1
  }

  /**
   * Whether a run that was lost so often may be taken up now: few die with the one that kills, and many are not kept
   * waiting. Suspects that have not moved yet are at most as many as its group may have; none joins a run that has a
   * single loss left. `beside`: losses of those that are being taken up.
   */
  admits(losses: number, beside: readonly number[]): boolean {
    if (losses < this.suspectFrom) return true
    let unmoved = 0
    for (const each of [...this.#lost.values(), ...beside.map((n) => ({ losses: n, hasMoved: false }))]) {
      if (each.losses < this.suspectFrom) continue
      if (each.losses >= this.#last) return false
      if (!each.hasMoved) unmoved++
    }
    return unmoved < narrowing ** (this.#last - losses)
  }

  /** Whether a free run that was lost so often has still to rest. */
  rests(run: RunId, losses: number): boolean {
    if (losses < 2) return false
    const now = stopwatch()
    const found = this.#resting.get(run)
    if (found?.losses === losses && now - found.until < forgottenMs) return now < found.until
    const until = now + jitter() * Math.min(longestRestMs, restMs * 2 ** (losses - 2))
    this.#resting.set(run, { losses, until })
    return now < until
  }

  takenUp(run: RunId, losses: number): void {
    this.#resting.delete(run)
    if (losses > 0) this.#lost.set(run, { losses, since: stopwatch(), hasMoved: false })
  }

  /** An effect of this run has ended, and that is durable. */
  moved(run: RunId): void {
    const lost = this.#lost.get(run)
    if (lost !== undefined) lost.hasMoved = true
  }

  left(run: RunId): boolean {
    return this.#lost.delete(run)
  }

  /** The most losses among the runs in memory. */
  get worst(): number {
    let worst = 0
    for (const { losses } of this.#lost.values()) worst = Math.max(worst, losses)
    return worst
  }

  /** Runs that have been held for long enough: they are like any other from now on. */
  takeSteady(): RunId[] {
    const now = stopwatch()
    for (const [run, { until }] of this.#resting) if (now - until >= forgottenMs) this.#resting.delete(run)
    const steady = [...this.#lost].flatMap(([run, { since }]) => (stopwatch() - since >= steadyMs ? [run] : []))
    for (const run of steady) this.#lost.delete(run)
    return steady
  }
}
