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
 * seen. Most hold one entry, or none: those have no table.
 */
export class PassingMap<K, V> implements ReadonlyMap<K, V> {
  size = 0
  /** The only entry, where there is no table. */
  #key: K | undefined
  #value: V | undefined
  #table: Map<K, V> | undefined
  #gone = 0

  has(key: K): boolean {
    return this.#table === undefined ? this.size === 1 && this.#key === key : this.#table.has(key)
  }

  get(key: K): V | undefined {
    if (this.#table !== undefined) return this.#table.get(key)
    return this.#key === key ? this.#value : undefined
  }

  keys(): MapIterator<K> {
    return this.#table === undefined && this.size === 1 ? [this.#key as K].values() : (this.#table ?? none).keys()
  }
  values(): MapIterator<V> {
    return this.#table === undefined && this.size === 1 ? [this.#value as V].values() : (this.#table ?? none).values()
  }
  entries(): MapIterator<[K, V]> {
    if (this.#table !== undefined || this.size === 0) return (this.#table ?? none).entries()
    return [[this.#key, this.#value] as [K, V]].values()
  }
  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }
  forEach(each: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.entries()) each(value, key, this)
  }

  set(key: K, value: V): void {
    let table = this.#table
    if (table === undefined) {
      if (this.size === 0 || this.#key === key) {
        this.#key = key
        this.#value = value
        this.size = 1
        return
      }
      table = this.#table = new Map([[this.#key as K, this.#value as V]])
      this.#key = this.#value = undefined
    } else if (this.#gone >= leastGone && this.#gone >= this.size) {
      table = this.#table = new Map(table)
      this.#gone = 0
    }
    table.set(key, value)
    this.size = table.size
  }

  /** True: it was there. */
  delete(key: K): boolean {
    if (!this.has(key)) return false
    this.#table?.delete(key)
    this.#gone++
    if (--this.size === 0) this.clear()
    return true
  }

  clear(): void {
    this.size = this.#gone = 0
    this.#key = this.#value = this.#table = undefined
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
