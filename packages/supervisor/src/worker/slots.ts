/**
 * Concurrency slots: how many workers may work at once. First come, first served.
 *
 * Owns: counting, the queue. Does not own: that a worker waits for a human (watch.ts), when a slot is returned
 * (worker-task.ts).
 * Holds: K3: slots are given in the order of recorded arrivals, so replay gives them in the same order. A worker
 * returns its slot while it, or a worker below it, waits for a human. It gets the slot back at once with the answer
 * (team R-16). So for a moment more workers than slots may work, and no new one begins until that is over.
 */
import { andThen, type Now } from '@reeve/core'

/** A slot that a worker holds. */
export interface HeldSlot {
  /** Returns it for the next worker. */
  give(): void
  /** Takes it back, whether or not one is free. */
  takeBack(): void
}

/** A delegation that waits for a slot or for its next attempt. */
export interface SlotWaiter {
  /** Gives up waiting; undefined if it does not wait. */
  leave: (() => void) | undefined
}

export class Slots implements HeldSlot {
  /** Below zero while more workers than slots work. */
  #free: number
  /** Made when one waits for the first time. */
  #queue: Set<() => void> | undefined

  constructor(limit: number) {
    this.#free = limit
  }

  /**
   * Takes a slot. Undefined: taken at once. Otherwise resolves to true when it is taken, and to false if the delegation
   * gives up.
   */
  take(queued: SlotWaiter): Promise<boolean> | undefined {
    if (this.#free > 0) {
      this.#free--
      return undefined
    }
    const queue = (this.#queue ??= new Set())
    return new Promise((resolve) => {
      const turn = (): void => {
        queued.leave = undefined
        resolve(true)
      }
      const leave = (): void => {
        queued.leave = undefined
        queue.delete(turn)
        resolve(false)
      }
      queued.leave = leave
      queue.add(turn)
    })
  }

  give(): void {
    const queue = this.#queue
    const [next] = queue === undefined || this.#free < 0 ? [] : queue
    if (next === undefined) this.#free++
    else {
      queue?.delete(next)
      next()
    }
  }

  takeBack(): void {
    this.#free--
  }
}

/** Takes one slot of each, in this order. Undefined: it gave up, and holds none. */
export function takeAll(all: readonly Slots[], queued: SlotWaiter, taken = 0): Now<readonly Slots[] | undefined> {
  const slots = all[taken]
  if (slots === undefined) return all
  return andThen(slots.take(queued) ?? true, (isTaken) => {
    if (isTaken) return takeAll(all, queued, taken + 1)
    for (const each of all.slice(0, taken)) each.give()
    return undefined
  })
}
