/**
 * Row window: which rows of a long list are drawn, and where.
 *
 * Owns: offsets of rows whose heights become known as they are drawn. Does not own: drawing and measuring
 * (virtual-rows.tsx). Holds: finding a row and changing a height take log n steps (a Fenwick tree of the differences
 * from the estimate), so that a list of 100,000 rows scrolls as smoothly as one of 100.
 */

/** The rows to draw: from `first` up to, but not including, `end`. */
export interface RowRange {
  readonly first: number
  readonly end: number
}

export class RowOffsets {
  readonly #estimate: number
  #count = 0
  /** Fenwick tree, from 1: sums of the differences from the estimate. */
  #sums = new Float64Array(1)
  #heights = new Map<number, number>()

  constructor(estimate: number) {
    this.#estimate = estimate
  }

  get count(): number {
    return this.#count
  }

  /** The number of rows; those that are known keep their heights. */
  resize(count: number): void {
    if (count === this.#count) return
    for (const row of this.#heights.keys()) if (row >= count) this.#heights.delete(row)
    this.#count = count
    this.#sums = new Float64Array(count + 1)
    for (const [row, height] of this.#heights) this.#add(row, height - this.#estimate)
  }

  /** Says how high a row is. True if that is another height than was thought. */
  measure(row: number, height: number): boolean {
    if (row < 0 || row >= this.#count) return false
    const before = this.heightOf(row)
    if (Math.abs(before - height) < 0.5) return false
    this.#heights.set(row, height)
    this.#add(row, height - before)
    return true
  }

  heightOf(row: number): number {
    return this.#heights.get(row) ?? this.#estimate
  }

  /** Where a row begins; that of `count` is the height of all. */
  offsetOf(row: number): number {
    let sum = row * this.#estimate
    for (let i = row; i > 0; i -= i & -i) sum += this.#sums[i]!
    return sum
  }

  get total(): number {
    return this.offsetOf(this.#count)
  }

  /** The row at a height. */
  rowAt(offset: number): number {
    let row = 0
    let left = offset
    for (let step = 2 ** Math.floor(Math.log2(this.#count || 1)); step >= 1; step /= 2) {
      const next = row + step
      if (next > this.#count) continue
      const height = this.#sums[next]! + step * this.#estimate
      if (height > left) continue
      row = next
      left -= height
    }
    return Math.min(row, Math.max(0, this.#count - 1))
  }

  /** The rows that are seen, and some more on both sides. */
  range(top: number, height: number, beyond: number): RowRange {
    if (this.#count === 0) return { first: 0, end: 0 }
    const first = Math.max(0, this.rowAt(Math.max(0, top)) - beyond)
    return { first, end: Math.min(this.#count, this.rowAt(Math.max(0, top) + height) + 1 + beyond) }
  }

  #add(row: number, difference: number): void {
    for (let i = row + 1; i <= this.#count; i += i & -i) this.#sums[i]! += difference
  }
}
