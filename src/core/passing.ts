/**
 * Passing: a map and a set that live long while their entries come and go: what is under way, who waits.
 *
 * Owns: keeping what has gone from staying in memory. V8 links each table that a `Map` or `Set` has outgrown, emptied or
 * tidied up to the one after it (`SetNextTable` in its `ordered-hash-table.cc`). Once the first of them is in the old
 * generation, every minor collection keeps all tables after it with what they held, until a major one comes: a
 * delegation kept 20 KB that nobody could reach. So a new map begins once as many entries have gone as are there.
 */

/** So many have gone before a new one is worth its making. */
const leastGone = 16
const none: ReadonlyMap<never, never> = new Map<never, never>()

/**
 * As a `Map`, in the order of insertion. Entries may be deleted while it is walked; what is set meanwhile may not be
 * seen. Without entries it takes no room.
 */
export class PassingMap<K, V> implements ReadonlyMap<K, V> {
  #entries: Map<K, V> | undefined
  #gone = 0

  get size(): number {
    return this.#entries === undefined ? 0 : this.#entries.size
  }
  has(key: K): boolean {
    return this.#entries !== undefined && this.#entries.has(key)
  }
  get(key: K): V | undefined {
    return this.#entries?.get(key)
  }
  keys(): MapIterator<K> {
    return (this.#entries ?? none).keys()
  }
  values(): MapIterator<V> {
    return (this.#entries ?? none).values()
  }
  entries(): MapIterator<[K, V]> {
    return (this.#entries ?? none).entries()
  }
  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }
  forEach(each: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.entries()) each(value, key, this)
  }

  set(key: K, value: V): void {
    if (this.#entries === undefined) this.#entries = new Map()
    else if (this.#gone >= leastGone && this.#gone >= this.#entries.size) {
      this.#entries = this.#entries.size === 0 ? new Map() : new Map(this.#entries)
      this.#gone = 0
    }
    this.#entries.set(key, value)
  }

  /** True: it was there. */
  delete(key: K): boolean {
    const wasThere = this.#entries !== undefined && this.#entries.delete(key)
    if (wasThere) this.#gone++
    return wasThere
  }

  clear(): void {
    this.#entries = undefined
    this.#gone = 0
  }
}

/** As a `Set`, in the order of insertion; walked as a `PassingMap` is. */
export class PassingSet<T> {
  readonly #members = new PassingMap<T, T>()

  get size(): number {
    return this.#members.size
  }
  has(member: T): boolean {
    return this.#members.has(member)
  }
  [Symbol.iterator](): MapIterator<T> {
    return this.#members.values()
  }
  add(member: T): void {
    this.#members.set(member, member)
  }
  /** True: it was there. */
  delete(member: T): boolean {
    return this.#members.delete(member)
  }
  clear(): void {
    this.#members.clear()
  }
}
