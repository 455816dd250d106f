/**
 * Live parts of one run that come from several processes: each once, in order, and none of an older epoch after a newer
 * one has begun.
 *
 * Owns: what of it is old or doubled. Does not own: how parts get here (../store.ts), who hears them
 * (subscriptions.ts), what a reader makes of a gap (`LivePart.offset`).
 * Holds: K9.
 */
import type { LivePart } from '../port.ts'
import type { PublishedParts } from '../store.ts'

export class PartFilter {
  /**
   * The newest epoch of which anything was heard: what an older holder of the run still shows is not the run's any
   * more.
   */
  #epoch = 0
  /** By process: the number of what was heard last. */
  readonly #last = new Map<string, number>()

  /** Whether a part is the run's: of what this process shows itself, too. */
  admits({ epoch }: LivePart): boolean {
    // one without an epoch is of a run that is out of memory for a moment
    if (epoch === 0) return true
    this.#epoch = Math.max(this.#epoch, epoch)
    return epoch === this.#epoch
  }

  /** What is to be heard of what another process has published. */
  take({ from, n, parts }: PublishedParts): readonly LivePart[] {
    if (n <= (this.#last.get(from) ?? 0)) return []
    this.#last.set(from, n)
    return parts.filter((part) => this.admits(part))
  }
}
