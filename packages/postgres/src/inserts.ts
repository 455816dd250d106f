/**
 * Inserting many rows with few statements of few kinds: lists of VALUES of fixed lengths, so that the server knows the
 * statement already.
 */
import type { NamedStatement, Params, Pipeline } from './connection.ts'

const lengths = [128, 32, 8, 2, 1] as const

/** Statements that insert rows of these columns, whose number may differ each time. */
export class Insert {
  readonly #width: number
  readonly #statements: ReadonlyMap<number, NamedStatement>

  /** `into`: the table and its columns; `then`: what follows the values. */
  constructor(name: string, into: string, width: number, then = '') {
    this.#width = width
    this.#statements = new Map(
      lengths.map((length) => {
        const rows = Array.from(
          { length },
          (_, row) => `(${Array.from({ length: width }, (_, i) => `$${row * width + i + 1}`).join(', ')})`,
        )
        return [length, [`${name}_${length}`, `INSERT INTO ${into} VALUES ${rows.join(', ')} ${then}`]]
      }),
    )
  }

  /** `values`: of all rows, one after the other. */
  send(pipeline: Pipeline, values: Params): void {
    let left = values.length / this.#width
    for (let from = 0; left > 0;) {
      const length = lengths.find((each) => each <= left)!
      pipeline.send(this.#statements.get(length)!, values.slice(from, from + length * this.#width))
      from += length * this.#width
      left -= length
    }
  }
}
