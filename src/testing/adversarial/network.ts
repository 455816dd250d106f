/**
 * A network that cannot be trusted: what is sent comes late, twice or never. Seeded, so that a failure can be had again.
 */
import { seededRandom } from '../../core/index.ts'

/** How bad it is: chances between 0 and 1, and the longest delay in turns. */
export interface Weather {
  readonly lost: number
  readonly doubled: number
  readonly delay: number
}

/** A quarter of all letters lost, a quarter doubled, each late by up to six rounds. */
export const badWeather: Weather = { lost: 0.25, doubled: 0.25, delay: 6 }

export class LossyNetwork {
  readonly #seed: string
  readonly #weather: Weather
  #draws = 0
  #turn = 0
  #under: { at: number; arrive: () => void }[] = []
  sent = 0
  lost = 0
  doubled = 0

  constructor(seed: string, weather: Weather = badWeather) {
    this.#seed = seed
    this.#weather = weather
  }

  random(): number {
    return seededRandom(this.#seed, this.#draws++)
  }

  /** One of many. */
  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)]
  }

  get idle(): boolean {
    return this.#under.length === 0
  }

  send(arrive: () => void): void {
    this.sent++
    if (this.random() < this.#weather.lost) {
      this.lost++
      return
    }
    this.#post(arrive)
    if (this.random() < this.#weather.doubled) {
      this.doubled++
      this.#post(arrive)
    }
  }

  #post(arrive: () => void): void {
    this.#under.push({ at: this.#turn + 1 + Math.floor(this.random() * this.#weather.delay), arrive })
  }

  /** One turn passes; what is due arrives. */
  turn(): void {
    this.#turn++
    const due = this.#under.filter(({ at }) => at <= this.#turn)
    if (due.length === 0) return
    this.#under = this.#under.filter(({ at }) => at > this.#turn)
    for (const { arrive } of due) arrive()
  }

  /** The process dies: what was under way is gone. */
  clear(): void {
    this.#under = []
  }
}
