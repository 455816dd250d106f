/**
 * Placement: this process as one that a mover tells to take runs up.
 *
 * Owns: who waits for which run to leave memory, and which runs that nobody holds were left to the mover, since when.
 * Does not own: taking a run up (run-cache.ts), what wakes one elsewhere (../mover.ts).
 */
import { stopwatch, type RunId } from '../../core/index.ts'
import type { Moved, Mover, WorkerProcess } from '../mover.ts'

/**
 * A run that nobody has taken up for so long after it was woken is taken up by whoever sees that. Milliseconds of real
 * time.
 */
const patienceMs = 3_000
/**
 * Whoever made a run ready has woken it: one that lies there for so long is woken again, and then every second.
 * Milliseconds of real time.
 */
const wakeAfterMs = 250
const wakeEveryMs = 1_000
/**
 * In a second a process wakes so many at most of those that lie there: all of the others do so, too, and a mover can
 * only do so much.
 */
const wakesAtOnce = 1_000
/** A run that was not seen for so long lies there for another reason. Milliseconds of real time. */
const forgottenMs = 2_500

interface Left {
  readonly since: number
  seen: number
  wakeAt: number
}

export class Placement implements WorkerProcess {
  readonly #mover: Mover | undefined
  readonly #take: (run: RunId) => void
  readonly #waiting = new Map<RunId, Set<(moved: Moved) => void>>()
  readonly #left = new Map<RunId, Left>()
  /** How many more may be woken again before the next look of every second. */
  #wakesLeft = wakesAtOnce
  /** Told to the mover together: a look finds many. */
  #woken: RunId[] = []
  #isClosed = false

  /**
   * `take` takes a run up, and sees to it that `leaves` is called when it has left memory, or if it could not be taken
   * up.
   */
  constructor(mover: Mover | undefined, take: (run: RunId) => void) {
    this.#mover = mover
    this.#take = take
  }

  /** Whether somebody else places runs. */
  get hasMover(): boolean {
    return this.#mover !== undefined
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

  /** Whether somebody waits for this run to leave. */
  awaits(run: RunId): boolean {
    return this.#waiting.has(run)
  }

  /**
   * A run leaves memory. One that has ended although nobody here was told to move it is told of: a mover that keeps
   * wake-ups also keeps the run, and would wait for it.
   */
  leaves(run: RunId, moved: Moved): void {
    const waiting = this.#waiting.get(run)
    if (waiting === undefined) {
      if (moved === 'ended' && this.#mover?.keepsWakeUps === true) this.wake(run)
      return
    }
    this.#waiting.delete(run)
    for (const answer of waiting) answer(moved)
  }

  /** What this process has written has something to do now. */
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
   * A run that nobody holds: true if this process may take it up. With a mover it is woken first, and taken up only if
   * nobody has done so for a while.
   */
  isOurs(run: RunId): boolean {
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

  /** Every second: forgets what has been taken up by somebody. */
  tidy(): void {
    this.#wakesLeft = wakesAtOnce
    const now = stopwatch()
    for (const [run, { seen }] of this.#left) if (now - seen > forgottenMs) this.#left.delete(run)
  }

  /** No run is taken up any more; who waits hears that this process does not go on. */
  close(): void {
    this.#isClosed = true
    for (const run of this.#waiting.keys()) this.leaves(run, 'elsewhere')
  }
}
