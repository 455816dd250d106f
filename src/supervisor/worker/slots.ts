/**
 * Concurrency slots: how many workers may work at once. First come, first served.
 *
 * Owns: counting, the queue. Does not own: hearing that a worker waits for a human (watch.ts), when a slot is given
 * back (worker-task.ts).
 * Holds: K3: who gets the next slot follows from the order of recorded arrivals, so replay gives them out in the same
 * order. A worker gives its slot back while it, or a worker below it, waits for a human, and has it again at once when
 * the answer is there (team R-16): it is at work then, so for a moment there may be more workers than slots, and no new
 * one begins until that is over.
 */

/** What a worker holds while it works. */
export interface HeldSlot {
  /** It is free for the next worker. */
  give(): void
  /** The same worker has it again, whether or not one is free. */
  takeBack(): void
}

/** A delegation that waits for a slot, or for the time to try again. */
export interface SlotWaiter {
  /** Gives up waiting; undefined while there is nothing to give up. */
  leave: (() => void) | undefined
}

export class Slots implements HeldSlot {
  /** Whether there is a limit at all. */
  readonly limited: boolean
  /** Below zero while more are at work than there are slots. */
  #free: number
  readonly #queue = new Set<() => void>()

  constructor(limit: number | undefined) {
    this.limited = limit !== undefined
    this.#free = limit ?? Infinity
  }

  /** Undefined: taken at once. Else resolves when it is taken, to true; to false once the delegation stops waiting. */
  take(queued: SlotWaiter): Promise<boolean> | undefined {
    if (this.#free > 0) {
      this.#free--
      return undefined
    }
    return new Promise((resolve) => {
      const turn = (): void => {
        queued.leave = undefined
        resolve(true)
      }
      queued.leave = () => {
        queued.leave = undefined
        this.#queue.delete(turn)
        resolve(false)
      }
      this.#queue.add(turn)
    })
  }

  give(): void {
    const [next] = this.#free < 0 ? [] : this.#queue
    if (next === undefined) this.#free++
    else {
      this.#queue.delete(next)
      next()
    }
  }

  takeBack(): void {
    this.#free--
  }
}

/** One slot of each, in this order, once all are taken. Undefined: it stopped waiting, and holds none. */
export async function takeAll(all: readonly Slots[], queued: SlotWaiter): Promise<readonly Slots[] | undefined> {
  const taken: Slots[] = []
  for (const slots of all) {
    const waiting = slots.take(queued)
    if (waiting !== undefined && !(await waiting)) {
      for (const each of taken) each.give()
      return undefined
    }
    taken.push(slots)
  }
  return taken
}
