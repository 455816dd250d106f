/**
 * Journal rows: which event of a run has which number, and where it is read.
 *
 * Owns: position, type and activation of every event, as compact arrays; finding rows by them. Does not own: the events
 * themselves, which stay in the store.
 */
import { parentOf, type ActivationId } from '@reeve/core'
import type { Recorded } from '@reeve/journal'

/** Which rows are wanted. Absent conditions hold for all. */
export interface RowFilter {
  readonly activation?: string | undefined
  /** The type of an event, or what stands before its dot: `tool.called`, `tool`. */
  readonly family?: string | undefined
}

/** Numbers for names, in the order in which they were first seen. */
class NumberedNames<T extends string> {
  readonly all: T[] = []
  readonly #numbers = new Map<T, number>()

  numberOf(name: T): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.all.push(name) - 1)
    return this.all.length - 1
  }
}

export class JournalRows {
  #size = 0
  #positions = new Float64Array(1024)
  #activations = new Uint32Array(1024)
  #types = new Uint8Array(1024)
  readonly #activationNames = new NumberedNames<ActivationId>()
  readonly #typeNames = new NumberedNames<Recorded['event']['type']>()

  get size(): number {
    return this.#size
  }

  /** Adds the next row. */
  add({ position, activation, event }: Recorded): void {
    if (this.#size === this.#positions.length) this.#grow()
    this.#positions[this.#size] = position
    this.#activations[this.#size] = this.#activationNames.numberOf(activation)
    this.#types[this.#size] = this.#typeNames.numberOf(event.type)
    this.#size++
  }

  #grow(): void {
    const size = this.#size * 2
    const [positions, activations, types] = [this.#positions, this.#activations, this.#types]
    this.#positions = new Float64Array(size)
    this.#activations = new Uint32Array(size)
    this.#types = new Uint8Array(size)
    this.#positions.set(positions)
    this.#activations.set(activations)
    this.#types.set(types)
  }

  /** Where row `index` is read: its position in the feed of the run of its activation. */
  at(index: number): { readonly position: number; readonly activation: ActivationId } {
    return { position: this.#positions[index]!, activation: this.#activationNames.all[this.#activations[index]!]! }
  }

  /** The rows of an activation, and of the beginnings of those below it, from a row on. */
  about(activation: ActivationId, from: number): readonly number[] {
    const own = this.#activationNames.all.indexOf(activation)
    const below = new Set(
      this.#activationNames.all.flatMap((name, i) => (parentOf(name)?.parent === activation ? [i] : [])),
    )
    const begin = this.#typeNames.all.indexOf('activation.started')
    const rows: number[] = []
    for (let i = from; i < this.#size; i++)
      if (this.#activations[i] === own || (this.#types[i] === begin && below.has(this.#activations[i]!))) rows.push(i)
    return rows
  }

  /** How many rows match, and the numbers of those from the `from`th match on, at most `limit`. One pass over all rows. */
  find(filter: RowFilter, from: number, limit: number): { readonly total: number; readonly rows: readonly number[] } {
    const { activation, family } = filter
    if (activation === undefined && family === undefined) {
      const rows = Math.max(0, Math.min(limit, this.#size - from))
      return { total: this.#size, rows: Array.from({ length: rows }, (_, i) => from + i) }
    }
    const who = activation === undefined ? undefined : this.#activationNames.all.indexOf(activation as ActivationId)
    const types = this.#typeNames.all.map(
      (type) => family === undefined || type === family || type.startsWith(`${family}.`),
    )
    const rows: number[] = []
    let total = 0
    for (let i = 0; i < this.#size; i++) {
      if ((who !== undefined && this.#activations[i] !== who) || !types[this.#types[i]!]) continue
      if (total >= from && rows.length < limit) rows.push(i)
      total++
    }
    return { total, rows }
  }
}
