/**
 * Placement: this process as one that a mover tells to take runs up.
 *
 * Owns: who waits for which run to leave memory, and which runs that no process holds were left to the mover, since
 * when.
 * Does not own: taking a run up (run-cache.ts), what wakes one elsewhere (../mover.ts).
 */
import { stopwatch, type RunId } from '@reeve/core'
import type { Moved, Mover, WorkerProcess } from '../mover.ts'

/**
 * A run that was not taken up this long after it was woken is taken up by the process that notices. Milliseconds of
 * real time.
 */
export const patienceMs = 3_000
/**
 * The process that made a run ready has woken it. A run that is still ready after this time is woken again, then every
 * second. Milliseconds of real time.
 */
const wakeAfterMs = 250
const wakeEveryMs = 1_000
/**
 * At most this many runs are woken again per second by one process: the other processes wake them, too, and a mover has
 * its limits.
 */
const wakesAtOnce = 1_000
/** A run that was not seen ready for this long has been taken up in between. Milliseconds of real time. */
const forgottenMs = 2_500

interface Left {
  readonly since: number
  seen: number
  wakeAt: number
}

export class Placement implements WorkerProcess {
  /** Whether a mover places runs. */
  readonly hasMover: boolean
  readonly #mover: Mover | undefined
  readonly #take: (run: RunId) => void
  readonly #waiting = new Map<RunId, Set<(moved: Moved) => void>>()
  readonly #left = new Map<RunId, Left>()
  /** How many more may be woken again before the next look of every second. */
  #wakesLeft = wakesAtOnce
  /** Passed to the mover together: one look finds many. */
  #woken: RunId[] = []
  #isClosed = false

  /**
   * `take` takes a run up, and sees to it that `left` is called when it has left memory, or if it could not be taken
   * up.
   */
  constructor(mover: Mover | undefined, take: (run: RunId) => void) {
    this.hasMover = mover !== undefined
    this.#mover = mover
    this.#take = take
  }

  move(run: RunId, signal?: AbortSignal): Promise<Moved> {
    if (this.#isClosed) return Promise.resolve('elsewhere')
    if (signal?.aborted === true) return Promise.resolve('moving')
    return new Promise((resolve) => {
      const answer = (moved: Moved): void => {
        signal?.removeEventListener('abort', aborted)
        resolve(moved)
      }
      const aborted = (): void => {
        const waiting = this.#waiting.get(run)
        waiting?.delete(answer)
        if (waiting?.size === 0) this.#waiting.delete(run)
        resolve('moving')
      }
      signal?.addEventListener('abort', aborted, { once: true })
      const waiting = this.#waiting.get(run)
      if (waiting === undefined) this.#waiting.set(run, new Set([answer]))
      else waiting.add(answer)
      this.#take(run)
    })
  }

  /** Whether the mover waits for this run to leave memory. */
  awaits(run: RunId): boolean {
    return this.#waiting.has(run)
  }

  /**
   * A run leaves memory. If it has ended without a move, a mover that keeps wake-ups is woken for it: it keeps the run,
   * too, and would wait for its end.
   */
  left(run: RunId, moved: Moved): void {
    const waiting = this.#waiting.get(run)
    if (waiting === undefined) {
      if (moved === 'ended' && this.#mover?.keepsWakeUps === true) this.wake(run)
      return
    }
    this.#waiting.delete(run)
    for (const answer of waiting) answer(moved)
  }

  /** This process has written to a run, which has something to do now. */
  wake(run: RunId): void {
    if (this.#mover === undefined) return
    if (this.#woken.push(run) === 1)
      queueMicrotask(() => {
        const runs = this.#woken
        this.#woken = []
        this.#mover!.wake(runs)
      })
  }

  /**
   * Whether this process may take up a run that no process holds. With a mover the run is woken first, and taken up
   * only if no process has done so for a while.
   */
  mayTakeUp(run: RunId): boolean {
    if (this.#mover === undefined) return true
    const now = stopwatch()
    const left = this.#left.get(run)
    if (left === undefined || now - left.seen > forgottenMs) {
      this.#left.set(run, { since: now, seen: now, wakeAt: now + wakeAfterMs })
      return false
    }
    left.seen = now
    if (now - left.since >= patienceMs) return true
    if (this.#mover.keepsWakeUps !== true && now >= left.wakeAt && this.#wakesLeft > 0) {
      this.#wakesLeft--
      left.wakeAt = now + wakeEveryMs
      this.wake(run)
    }
    return false
  }

  /**
   * These runs have been ready for longer than a process waits for the mover, by what is recorded of them: this process,
   * which has just begun, does not wait for it once more.
   */
  haveWaited(runs: Iterable<RunId>): void {
    const now = stopwatch()
    for (const run of runs) this.#left.set(run, { since: now - patienceMs, seen: now, wakeAt: now })
  }

  /** Every second: forgets runs that have been taken up. */
  tidy(): void {
    this.#wakesLeft = wakesAtOnce
    const now = stopwatch()
    for (const [run, { seen }] of this.#left) if (now - seen > forgottenMs) this.#left.delete(run)
  }

  /** No run is taken up any more; pending moves are answered with `elsewhere`. */
  close(): void {
    this.#isClosed = true
    for (const run of this.#waiting.keys()) this.left(run, 'elsewhere')
  }
}
