/**
 * Time slices: long reading and folding, a few milliseconds in each turn of the event loop.
 *
 * Owns: whose turn it is. Does not own: what is done in it.
 * Holds: all that ask share one slice for each turn, so the rest of the process waits for one slice, however many read.
 * Nobody is overtaken.
 */

/** How long all of them work before the event loop goes on, in milliseconds. */
const sliceMs = 8

const waiting: (() => void)[] = []
let isRunning = false

/** Resolves when it is the caller's turn to work for a few milliseconds, up to its next `await` of anything outside. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (isRunning) return
    isRunning = true
    setImmediate(begin)
  })
}

/** So many items of a list are worked through before the time is looked at. */
const pieceLength = 100

/** One piece of work that may be long. What is short is done in one turn. */
export class Slices {
  #end = performance.now() + sliceMs

  /** Waits for the next slice, where this one has had its time. */
  async giveWay(): Promise<void> {
    if (performance.now() < this.#end) return
    await nextSlice()
    this.#end = performance.now() + sliceMs
  }

  /** A list in short pieces; gives way between them. */
  async *of<T>(items: readonly T[]): AsyncGenerator<readonly T[], undefined> {
    for (let at = 0; at < items.length; at += pieceLength) {
      await this.giveWay()
      yield items.slice(at, at + pieceLength)
    }
    return undefined
  }
}

function begin(): void {
  const end = performance.now() + sliceMs
  const step = (): void => {
    const next = waiting.shift()
    if (next === undefined) {
      isRunning = false
      return
    }
    next()
    // a tick from a microtask comes after all that follows from this turn at once
    queueMicrotask(() => process.nextTick(() => (performance.now() < end ? step() : setImmediate(begin))))
  }
  step()
}
