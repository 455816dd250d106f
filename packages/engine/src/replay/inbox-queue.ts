/**
 * The live part of an activation's queue: what came in and has not been delivered yet, in order of arrival. Ends of
 * workers that come in together, with nothing else between them, are delivered in the order in which the workers began
 * (team C18): the number of microtasks that the code of each takes to return has no effect.
 */
import type { ArrivalEvent } from '@reeve/journal'

/** One thing that came in. `text` is its stored form if known, `row` the inbox row that is used up by it. */
export interface QueuedArrival {
  readonly event: ArrivalEvent
  readonly text: string | undefined
  readonly row: string | undefined
  /** Of the end of a worker: its operation's. */
  readonly place: number | undefined
}

/** First in, first out, without moving the rest. */
export class InboxQueue {
  size = 0
  #items: QueuedArrival[] = []
  #head = 0

  push(item: QueuedArrival): void {
    this.size++
    let at = this.#items.length
    if (item.place !== undefined) for (; at > this.#head && (this.#items[at - 1]!.place ?? -1) > item.place; at--);
    if (at === this.#items.length) this.#items.push(item)
    else this.#items.splice(at, 0, item)
  }

  shift(): QueuedArrival | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#head++
    if (--this.size === 0) {
      this.#items = []
      this.#head = 0
    }
    return item
  }
}
