/**
 * Scheduling delay: how late a thread of this process does what is due, because the machine, or code that does not
 * yield, keeps it from it.
 *
 * Owns: measuring it by timers that are there anyway, and how much longer a lease is for it. Does not own: what is done
 * about it (the stores' leases, stalls.ts). It is loaded in the heartbeat's thread, too, so it imports nothing.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'

/** What is told is of this time and of the one before it. Milliseconds. */
const windowMs = 10_000

/** The delay of one thread. */
export class SchedulingDelay {
  #now: RecordableHistogram = createHistogram()
  #before: RecordableHistogram = createHistogram()
  #turnAt = performance.now() + windowMs

  /** Something was done so late. Milliseconds. */
  note(lateMs: number): void {
    const now = performance.now()
    if (now >= this.#turnAt) {
      // where nothing was measured for longer than a window, nothing of before it counts
      const isOld = now >= this.#turnAt + windowMs
      ;[this.#now, this.#before] = [this.#before, this.#now]
      this.#now.reset()
      if (isOld) this.#before.reset()
      this.#turnAt = now + windowMs
    }
    // a histogram counts from 1 on
    this.#now.record(1 + Math.max(0, Math.floor(lateMs)))
  }

  /** So late at most, in 99 of 100 cases of the last ten to twenty seconds. Milliseconds, whole. 0: nothing was late. */
  get p99Ms(): number {
    return Math.max(...[this.#now, this.#before].map((each) => (each.count === 0 ? 0 : each.percentile(99) - 1)))
  }
}

/** A lease outlasts so many delays in a row: a renewal that comes late is not the end of it. */
const delaysPerLease = 8
/** A lease is lengthened for delays to so many times its length at most. */
const lengthenedLimit = 8

/** How long a lease is on a machine that delays its holder so much. Milliseconds. */
export const leaseFor = (leaseMs: number, delayMs: number): number =>
  Math.min(leaseMs * lengthenedLimit, Math.max(leaseMs, delaysPerLease * delayMs))

/**
 * How long a process is given that says nothing: as long as `graceMs`, and longer where the process that waits for it is
 * itself late.
 */
export const graceFor = (graceMs: number, delayMs: number): number => Math.max(graceMs, 2 * delayMs)
