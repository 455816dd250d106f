/**
 * Steadiness: how runs are taken up again that were lost when their process died. One of them may be what killed it.
 *
 * Owns: how many of them are in memory at once, and when one has shown that it does no harm. Does not own: counting losses (lease.ts), waking (residents.ts).
 */
import { stopwatch, type RunId } from '../../core/index.ts'

/** A process that holds a run for so long without dying has not been killed by it. Milliseconds of real time. */
export const steadyMs = 10_000
/** So many losses before the last one that it is allowed a run becomes a suspect: the first losses of all runs of a process say little about any of them. */
const suspectBefore = 3

export class Steadiness {
  /** From this many losses in a row on a run is a suspect. */
  readonly suspectFrom: number
  /** Runs in memory that were lost before. */
  readonly #lost = new Map<RunId, { readonly losses: number; readonly since: number }>()
  /** How many suspects may be in memory at once: so that few die with the one that kills, and many are not kept waiting for long. */
  #room = 1

  constructor(lossLimit: number) {
    this.suspectFrom = Math.max(2, lossLimit - suspectBefore)
  }

  /** Whether a run that was lost so often may be taken up now. `beside`: how many suspects are being taken up. */
  admits(losses: number, beside: number): boolean {
    if (losses < this.suspectFrom) return true
    let suspects = beside
    for (const each of this.#lost.values()) if (each.losses >= this.suspectFrom) suspects++
    return suspects < this.#room
  }

  takenUp(run: RunId, losses: number): void {
    if (losses > 0) this.#lost.set(run, { losses, since: stopwatch() })
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
    const steady = [...this.#lost].filter(([, { since }]) => stopwatch() - since >= steadyMs)
    for (const [run] of steady) this.#lost.delete(run)
    if (steady.some(([, { losses }]) => losses >= this.suspectFrom)) this.#room *= 2
    return steady.map(([run]) => run)
  }
}
