/**
 * Live parts for one reader: a bounded buffer between the engine, which must not wait, and a slow reader.
 *
 * Owns: merging adjacent deltas, the bound in bytes, counting dropped parts. Does not own: the meaning of parts,
 * joining two of them (engine/live-part.ts).
 * Holds: K9: parts are never needed for correctness, readers change nothing, and the buffer is bounded.
 */
import type { ActivationId, PartsDropped } from '@reeve/core'
import type { LivePart } from '@reeve/engine'

interface Waiting<T> {
  resolve(result: IteratorResult<T, undefined>): void
  reject(reason: unknown): void
}

interface QueuedItem<T> {
  item: T
  readonly bytes: number
}

/** The rules of a queue: `merge` joins a new item with the last one, or returns undefined; `bytes` measures an item. */
export interface QueueRules<T> {
  readonly bound: number
  bytes(item: T): number
  merge?(last: T, next: T): T | undefined
  /** False for items that must not be dropped. Default: all may be. */
  droppable?(item: T): boolean
  dropped(count: number): T
}

const maxMerged = 64 * 1024

/**
 * A queue between one writer that never waits and one reader. Above its bound the oldest droppable items are dropped,
 * but for the newest, and one item counts them.
 */
export class LiveQueue<T> {
  readonly #rules: QueueRules<T>
  #held: QueuedItem<T>[] = []
  #head = 0
  #bytes = 0
  #dropped = 0
  #waiting: Waiting<T>[] = []
  #roomWanted: (() => void)[] = []
  #itemWanted: (() => void)[] = []
  #end: { readonly failure?: Error } | undefined

  constructor(rules: QueueRules<T>) {
    this.#rules = rules
  }

  push(item: T): void {
    if (this.#end !== undefined) return
    const reader = this.#waiting.shift()
    if (reader !== undefined) {
      reader.resolve({ value: item, done: false })
      return
    }
    const bytes = this.#rules.bytes(item)
    const last = this.#held.length > this.#head ? this.#held[this.#held.length - 1] : undefined
    if (last !== undefined && last.bytes + bytes <= maxMerged) {
      const merged = this.#rules.merge?.(last.item, item)
      if (merged !== undefined) {
        const both = this.#rules.bytes(merged)
        this.#held[this.#held.length - 1] = { item: merged, bytes: both }
        this.#bytes += both - last.bytes
        this.#makeRoom()
        return
      }
    }
    this.#held.push({ item, bytes })
    this.#bytes += bytes
    this.#makeRoom()
  }

  /** The next item; waits for one. After the end: done, or the failure. */
  take(): Promise<IteratorResult<T, undefined>> {
    if (this.#dropped > 0) {
      const count = this.#dropped
      this.#dropped = 0
      return Promise.resolve({ value: this.#rules.dropped(count), done: false })
    }
    if (this.#held.length > this.#head) return Promise.resolve({ value: this.#shift(), done: false })
    if (this.#end === undefined)
      return new Promise((resolve, reject) => {
        this.#waiting.push({ resolve, reject })
        this.#itemWanted = called(this.#itemWanted)
      })
    const { failure } = this.#end
    this.#end = {}
    return failure === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(failure)
  }

  /** Ends the queue: buffered items can still be taken. With a failure, the reader receives it after the last item. */
  end(failure?: unknown): void {
    if (this.#end !== undefined) return
    this.#end = failure === undefined ? {} : { failure: failure as Error }
    const waiting = this.#waiting
    this.#waiting = []
    for (const reader of waiting) {
      if (failure === undefined) reader.resolve({ value: undefined, done: true })
      else reader.reject(failure)
    }
    this.#letIn()
  }

  /** The reader has left: drops the buffer. */
  leave(): void {
    this.#held = []
    this.#head = 0
    this.#bytes = 0
    this.#dropped = 0
    this.end()
    this.#end = {}
  }

  /** Resolves when less than half of the bound is used, for a writer that can wait. */
  room(): Promise<void> {
    if (this.#bytes * 2 < this.#rules.bound || this.#end !== undefined) return Promise.resolve()
    return new Promise((resolve) => this.#roomWanted.push(resolve))
  }

  /** Resolves when the reader waits for an item, for a writer that is to hold none back. */
  wanted(): Promise<void> {
    if (this.#waiting.length > 0 || this.#end !== undefined) return Promise.resolve()
    return new Promise((resolve) => this.#itemWanted.push(resolve))
  }

  get bytes(): number {
    return this.#bytes
  }

  #shift(): T {
    const held = this.#held[this.#head]!
    this.#held[this.#head] = undefined as never
    this.#head++
    this.#bytes -= held.bytes
    if (this.#head === this.#held.length || this.#head > 1024) {
      this.#held = this.#held.slice(this.#head)
      this.#head = 0
    }
    if (this.#bytes * 2 < this.#rules.bound) this.#letIn()
    return held.item
  }

  #makeRoom(): void {
    if (this.#bytes <= this.#rules.bound) return
    const kept: QueuedItem<T>[] = []
    for (let i = this.#head; i < this.#held.length; i++) {
      const held = this.#held[i]!
      // the newest stays, however long it is: the text so far of a call is one item
      const isNewest = i === this.#held.length - 1
      const goes = !isNewest && this.#bytes * 4 > this.#rules.bound * 3 && (this.#rules.droppable?.(held.item) ?? true)
      if (!goes) kept.push(held)
      else {
        this.#bytes -= held.bytes
        this.#dropped++
      }
    }
    this.#held = kept
    this.#head = 0
  }

  #letIn(): void {
    this.#roomWanted = called(this.#roomWanted)
    if (this.#end !== undefined) this.#itemWanted = called(this.#itemWanted)
  }
}

function called(waiting: readonly (() => void)[]): [] {
  for (const letIn of waiting) letIn()
  return []
}

/** How a step is named among those of a run. */
export const stepKey = (activation: ActivationId, address: string): string => `${activation} ${address}`

/** The part that counts dropped parts. */
export const droppedPart = (
  activation: LivePart['activation'],
  count: number,
): LivePart & { readonly part: PartsDropped } => ({
  activation,
  address: '',
  epoch: 0,
  attempt: 0,
  part: { type: 'parts.dropped', count },
})
