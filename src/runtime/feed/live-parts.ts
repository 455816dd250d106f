/**
 * Live parts for one reader: a bounded buffer between the engine, which must not wait, and a reader, who may.
 *
 * Owns: when adjacent deltas are merged, the bound in bytes, what is said about what was left out. Does not own: what
 * parts mean, how two are joined (engine/live-part.ts).
 * K9: parts are never needed for correctness, a reader owns nothing, and the buffer has bounded bytes.
 */
import type { LivePart } from '../../engine/index.ts'

/** Stands for parts that a slow reader will not see. The journal has everything that matters. */
export interface PartsDropped {
  readonly type: 'parts.dropped'
  readonly count: number
}

interface Waiting<T> {
  resolve(result: IteratorResult<T, undefined>): void
  reject(reason: unknown): void
}

interface Held<T> {
  item: T
  readonly bytes: number
}

/** How a queue makes room: `merge` joins a new item with the last one, or says it cannot; `bytes` measures. */
export interface QueueRules<T> {
  readonly bound: number
  bytes(item: T): number
  merge?(last: T, next: T): T | undefined
  /** False for what may not be left out. Default: everything may. */
  droppable?(item: T): boolean
  dropped(count: number): T
}

const maxMerged = 64 * 1024

/**
 * A queue between one writer that never waits and one reader. Above its bound the oldest droppable items go, and one
 * item says how many.
 */
export class LiveQueue<T> {
  readonly #rules: QueueRules<T>
  #held: Held<T>[] = []
  #head = 0
  #bytes = 0
  #dropped = 0
  #waiting: Waiting<T>[] = []
  #roomWanted: (() => void)[] = []
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
    if (this.#end === undefined) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
    const { failure } = this.#end
    this.#end = {}
    return failure === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(failure)
  }

  /** No more items: what is held can still be taken. With a failure, the reader gets that after the last item. */
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

  /** The reader has left: what is held is let go. */
  leave(): void {
    this.#held = []
    this.#head = 0
    this.#bytes = 0
    this.#dropped = 0
    this.end()
    this.#end = {}
  }

  /** Resolves when less than half of the bound is held: for a writer that can wait. */
  room(): Promise<void> {
    if (this.#bytes * 2 < this.#rules.bound || this.#end !== undefined) return Promise.resolve()
    return new Promise((resolve) => this.#roomWanted.push(resolve))
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
    const kept: Held<T>[] = []
    for (let i = this.#head; i < this.#held.length; i++) {
      const held = this.#held[i]!
      const goes = this.#bytes * 4 > this.#rules.bound * 3 && (this.#rules.droppable?.(held.item) ?? true)
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
    const wanted = this.#roomWanted
    this.#roomWanted = []
    for (const letIn of wanted) letIn()
  }
}

/** The part that says how many were left out. */
export function droppedPart(activation: LivePart['activation'], count: number): LivePart {
  return {
    activation,
    address: '',
    epoch: 0,
    attempt: 0,
    part: { type: 'parts.dropped', count } satisfies PartsDropped,
  }
}
