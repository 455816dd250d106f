/**
 * Scheduling delay: how late a thread of this process does what is due, because the machine, or code that does not
 * yield, keeps it from it.
 *
 * Owns: measuring it by timers that are there anyway, and how much longer a lease is for it. Does not own: what is done
 * about it (the stores' leases, stalls.ts). It is loaded in the heartbeat's thread, too, so it imports nothing.
 */
/** What is told is of this time and of the one before it. Milliseconds. */
const windowMs = 10_000
/** Up to so many milliseconds each has a place of its own; above, eight places share each doubling. */
const exact = 16
const perDoubling = 8
/** The longest delay that is told apart: 2 ** 20 milliseconds, a quarter of an hour. */
const doublings = 17

function placeOf(ms: number): number {
  if (ms < exact) return Math.max(0, Math.floor(ms))
  const doubling = Math.min(doublings - 1, Math.floor(Math.log2(ms / exact)))
  const share = Math.min(perDoubling - 1, Math.floor((ms / (exact * 2 ** doubling) - 1) * perDoubling))
  return exact + doubling * perDoubling + share
}

/** The shortest delay that has this place. Milliseconds. */
function delayAt(place: number): number {
  if (place < exact) return place
  const doubling = Math.floor((place - exact) / perDoubling)
  return exact * 2 ** doubling * (1 + ((place - exact) % perDoubling) / perDoubling)
}

/** Delays of one window, counted. */
class DelayCounts {
  readonly #counts = new Uint32Array(exact + doublings * perDoubling)
  #total = 0

  note(ms: number): void {
    this.#counts[placeOf(ms)]!++
    this.#total++
  }
  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }
  /** So late at most in this share of all cases; 0 where there are none. */
  quantile(share: number): number {
    let left = this.#total - Math.ceil(this.#total * share)
    for (let place = this.#counts.length - 1; place > 0; place--) {
      left -= this.#counts[place]!
      if (left < 0) return delayAt(place)
    }
    return 0
  }
}

/** The delay of one thread. */
export class SchedulingDelay {
  #now = new DelayCounts()
  #before = new DelayCounts()
  #turnAt = performance.now() + windowMs

  /** Something was done so late. Milliseconds. */
  note(lateMs: number): void {
    const now = performance.now()
    if (now >= this.#turnAt) {
      // where nothing was measured for longer than a window, nothing of before it counts
      const isOld = now >= this.#turnAt + windowMs
      ;[this.#now, this.#before] = [this.#before, this.#now]
      this.#now.clear()
      if (isOld) this.#before.clear()
      this.#turnAt = now + windowMs
    }
    this.#now.note(lateMs)
  }

  /**
   * So late at most, in 99 of 100 cases of the last ten to twenty seconds. Whole milliseconds, an eighth too few at most.
   * 0: nothing was late.
   */
  get p99Ms(): number {
    return Math.max(this.#now.quantile(0.99), this.#before.quantile(0.99))
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
