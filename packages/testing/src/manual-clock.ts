/**
 * A clock that the test controls: time stands still until `advance`. It reads no real time.
 *
 * Owns: the order in which timers fire. A timer that is due when it is set fires in the next turn of the event loop, as
 * a real one would.
 */
import type { Clock } from '@reeve/core'

interface Timer {
  readonly at: number
  readonly order: number
  readonly handler: () => void
}

/** 2026-01-01T00:00:00Z: the default start of a manual clock. */
export const manualStart = Date.UTC(2026, 0, 1)

/** A `Clock` that moves only on command. */
export interface ManualClock extends Clock {
  /** Advances by so many milliseconds and fires due timers, in order of time, then of setting. */
  advance(ms: number): void
  /** Moves to the next timer and fires it. False if there is none. */
  advanceToNext(): boolean
  /**
   * For effects that take time: resolves after so many milliseconds of this clock; rejects when the effect's signal
   * aborts.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** The number of sleeping effects. */
  readonly sleeping: number
  /** When the next timer fires; undefined if none is set. */
  readonly next: number | undefined
  /** The number of timers. */
  readonly pending: number
}

/** A manual clock that begins at `start`. */
export function manualClock(start: number = manualStart): ManualClock {
  let now = start
  let order = 0
  let sleeping = 0
  const timers = new Set<Timer>()
  const earliest = (): Timer | undefined => {
    let first: Timer | undefined
    for (const timer of timers)
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer
    return first
  }
  const fire = (timer: Timer): void => {
    if (!timers.delete(timer)) return
    now = Math.max(now, timer.at)
    timer.handler()
  }
  const moveTo = (until: number): void => {
    for (let timer = earliest(); timer !== undefined && timer.at <= until; timer = earliest()) fire(timer)
    now = Math.max(now, until)
  }
  const set: Clock['timer'] = (at, callback) => {
    const timer: Timer = { at, order: order++, handler: callback }
    timers.add(timer)
    if (at <= now) setImmediate(fire, timer)
    return () => void timers.delete(timer)
  }
  return {
    now: () => now,
    timer: set,
    sleep(ms, signal) {
      signal?.throwIfAborted()
      sleeping++
      return new Promise<void>((resolve, reject) => {
        const callOff = set(now + ms, resolve)
        signal?.addEventListener('abort', () => {
          callOff()
          reject(signal.reason as Error)
        })
      }).finally(() => sleeping--)
    },
    get sleeping() {
      return sleeping
    },
    advance: (ms) => moveTo(now + ms),
    advanceToNext() {
      const timer = earliest()
      if (timer === undefined) return false
      moveTo(Math.max(now, timer.at))
      return true
    },
    get next() {
      return earliest()?.at
    },
    get pending() {
      return timers.size
    },
  }
}
