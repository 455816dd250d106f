/**
 * The live part of an activation's queue: what came in and has not been delivered yet, in order of arrival.
 */
import type { ArrivalEvent } from '../journal/index.ts'

/** One thing that came in. `text` is its stored form if known, `row` the inbox row that is used up by it. */
export interface Live {
  readonly event: ArrivalEvent
  readonly text: string | undefined
  readonly row: string | undefined
}

/** First in, first out, without moving the rest. */
export class LiveQueue {
  #items: Live[] = []
  #head = 0

  get empty(): boolean {
    return this.#head === this.#items.length
  }

  push(item: Live): void {
    this.#items.push(item)
  }

  shift(): Live | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    if (++this.#head === this.#items.length) {
      this.#items = []
      this.#head = 0
    }
    return item
  }
}
