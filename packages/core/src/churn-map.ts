/**
 * Churn map: a map and a set that live long while entries are added and deleted all the time: open operations, effects
 * that are out, runs in memory.
 *
 * Owns: not keeping deleted entries alive. V8 links every table that a `Map` or `Set` has outgrown, cleared or rehashed
 * to the next one (`SetNextTable` in its `ordered-hash-table.cc`). Once the first table is in the old generation, each
 * minor collection keeps the tables after it with the entries they held, until the next major collection. So a new map
 * replaces one from which as many entries were deleted as it holds.
 */

/** Deletions before a map is replaced: fewer are not worth a new one. */
const leastDeleted = 16
const none: ReadonlyMap<never, never> = new Map<never, never>()

/**
 * Behaves as a `Map`, in the order of insertion. Entries may be deleted during an iteration; an entry added during one
 * may not be visited. Most hold no entry or one: those need no table.
 */
export class ChurnMap<K, V> implements ReadonlyMap<K, V> {
  size = 0
  /** The only entry, where there is no table. */
  #key: K | undefined
  #value: V | undefined
  #table: Map<K, V> | undefined
  #deleted = 0

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
    } else if (this.#deleted >= leastDeleted && this.#deleted >= this.size) {
      table = this.#table = new Map(table)
      this.#deleted = 0
    }
    table.set(key, value)
    this.size = table.size
  }

  /** Returns whether it was there. */
  delete(key: K): boolean {
    const table = this.#table
    if (table === undefined) {
      if (this.size === 0 || this.#key !== key) return false
      this.size = 0
      this.#key = this.#value = undefined
      return true
    }
    if (!table.delete(key)) return false
    this.#deleted++
    if (--this.size === 0) this.clear()
    return true
  }

  clear(): void {
    this.size = this.#deleted = 0
    this.#key = this.#value = this.#table = undefined
  }
}

/** Behaves as a `Set`, with the iteration of a `ChurnMap`. */
export class ChurnSet<T> {
  readonly #members = new ChurnMap<T, T>()

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
  /** Returns whether it was there. */
  delete(member: T): boolean {
    return this.#members.delete(member)
  }
  clear(): void {
    this.#members.clear()
  }
}
