/**
 * Wake-ups on their way to the server: each run once at a time, so many at once.
 *
 * Owns: what is still to be sent, and what a server that is away has not taken. Does not own: how it is sent
 * (client.ts), what is said of a server that is away (mover.ts).
 * Holds: `wake` never throws. What the server has not taken is sent again while this process lives, so that the
 * workflow of a run that was taken up without it hears of the run's end. Nothing depends on it: the host takes up what
 * no process has taken up.
 */
import { delay, detached, systemClock, type RunId } from '@reeve/core'

/** How many wake-ups are on their way at once. */
const atOnce = 32
/** A server that is busy is asked again after so long. Milliseconds. */
const busyMs = 200

/** A server that is away is asked again after so long, for at most so many runs. Milliseconds. */
const awayMs = 5_000
const mostKept = 10_000

/** What a failure to send means: the server is away, or busy with this run or in general, or it refuses. */
export type Failed = 'away' | 'busy' | 'refused'

export interface WakeUpsOptions {
  readonly send: (run: RunId) => Promise<void>
  readonly meaning: (thrown: unknown) => Failed
  /** What became of each: undefined, it was taken. Not told while the server is busy. */
  readonly tell: (thrown: unknown) => void
}

export class TemporalWakeUps {
  readonly #options: WakeUpsOptions
  readonly #waiting = new Set<RunId>()
  /** What a server that is away has not taken. */
  readonly #kept = new Set<RunId>()
  #callOff: (() => void) | undefined
  #underWay = 0
  #isClosed = false
  readonly #idle: (() => void)[] = []

  constructor(options: WakeUpsOptions) {
    this.#options = options
  }

  wake(runs: readonly RunId[]): void {
    if (this.#isClosed) return
    for (const run of runs) this.#waiting.add(run)
    this.#go()
  }

  /** Takes no more; resolves when what it has is sent, or cannot be. */
  close(): Promise<void> {
    this.#isClosed = true
    this.#callOff?.()
    return this.#underWay === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  #go(): void {
    for (const run of this.#waiting) {
      if (this.#underWay >= atOnce) return
      this.#waiting.delete(run)
      this.#underWay++
      detached(
        () => this.#send(run),
        () => undefined,
      )
    }
  }

  async #send(run: RunId): Promise<void> {
    const { send } = this.#options
    try {
      await send(run)
      this.#options.tell(undefined)
    } catch (thrown) {
      this.#failed(run, thrown)
    }
    this.#underWay--
    this.#go()
    if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  #failed(run: RunId, thrown: unknown): void {
    const { meaning, tell } = this.#options
    const failed = meaning(thrown)
    if (failed === 'busy') return void delay(busyMs).then(() => this.wake([run]))
    if (failed === 'away') this.#keep(run)
    tell(thrown)
  }

  /** Until the server is asked again. What is waiting would fail, too, one after the other. */
  #keep(run: RunId): void {
    for (const each of [run, ...this.#waiting]) if (this.#kept.size < mostKept) this.#kept.add(each)
    this.#waiting.clear()
    if (this.#isClosed) return
    this.#callOff ??= systemClock.timer(systemClock.now() + awayMs, () => {
      this.#callOff = undefined
      const runs = [...this.#kept]
      this.#kept.clear()
      this.wake(runs)
    })
  }
}
