/**
 * The adversarial mover: it keeps the mover contract in the worst way. A wake-up is lost, comes late, comes twice, and
 * comes to any process; a process is told that no caller waits for its answer any more.
 *
 * Owns: the weather between processes. Does not own: what a wake-up leads to (engine/host).
 */
import { seededRandom, type RunId } from '@reeve/core'
import type { Mover, WorkerProcess } from '@reeve/engine/mover'

/** How bad it is: each a share of all wake-ups, 0 to 1. */
interface MoverWeather {
  readonly lost: number
  readonly doubled: number
  /** Of the moves: their caller leaves before they are done. */
  readonly left: number
  /** A wake-up comes after at most so many milliseconds. */
  readonly lateMs: number
}

/** All that a mover may do. */
export const badMover: MoverWeather = { lost: 0.1, doubled: 0.3, left: 0.2, lateMs: 15 }

/**
 * What stands between the processes of one store: each has a mover of its own (`mover`). Equal seeds give equal weather
 * for equal wake-ups.
 */
export class WakeUps {
  readonly #weather: MoverWeather
  readonly #seed: string
  #ordinal = 0
  readonly #processes = new Set<WorkerProcess>()
  /** How many moves were ordered, and how many of them have been answered. */
  moves = 0
  answers = 0

  constructor(weather: MoverWeather = badMover, seed = 'wake') {
    this.#weather = weather
    this.#seed = seed
  }

  #random(): number {
    return seededRandom(this.#seed, this.#ordinal++)
  }

  mover(): Mover {
    let mine: WorkerProcess | undefined
    return {
      open: (process) => {
        this.#processes.add((mine = process))
        return Promise.resolve()
      },
      wake: (runs) => {
        for (const run of runs) this.#wake(run)
      },
      close: (left) => {
        if (mine !== undefined) this.#processes.delete(mine)
        for (const run of left) this.#wake(run)
        return Promise.resolve()
      },
    }
  }

  #wake(run: RunId): void {
    const { lost, doubled, lateMs } = this.#weather
    if (this.#random() < lost) return
    const times = this.#random() < doubled ? 2 : 1
    for (let i = 0; i < times; i++) setTimeout(() => this.#move(run), this.#random() * lateMs).unref()
  }

  #move(run: RunId): void {
    const processes = [...this.#processes]
    const chosen = processes[Math.floor(this.#random() * processes.length)]
    if (chosen === undefined) return
    this.moves++
    const leaving = new AbortController()
    if (this.#random() < this.#weather.left)
      setTimeout(() => leaving.abort(), this.#random() * this.#weather.lateMs).unref()
    chosen.move(run, leaving.signal).then(
      () => this.answers++,
      () => undefined,
    )
  }
}
