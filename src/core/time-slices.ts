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
