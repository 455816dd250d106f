/**
 * Budget: how much work one check of a value may be. Counted in steps, never in time, so that the same value has the
 * same verdict on every machine and in every replay.
 *
 * Owns: the bounds, and the exception that ends a check at one of them. Does not own: what the verdict is then
 * (json-schema.ts).
 */

/** Steps of one check: a visit of a value by a schema, or a state of a pattern at a character. About 0.1 seconds. */
export const mostSteps = 5_000_000
/** The same where whoever wrote the schema checks the value as well, and may be hostile: some milliseconds. */
export const mostForeignSteps = 200_000
/** What a form of a union costs that does not fit: its sentence is kept. */
export const misfitSteps = 10
/** How deep schemas may be entered inside one another: less than half of what Node's default stack takes. */
const deepestVisit = 1_000

export const tooDeep = 'it nests too deeply'

/** A check has reached a bound. It never leaves json-schema.ts. */
export class BudgetSpent extends Error {
  override name = 'BudgetSpent'
}

/** The work that is left of one check. */
export class Budget {
  depth = 0
  #left: number

  constructor(steps = mostSteps) {
    this.#left = steps
  }

  /** Throws `BudgetSpent`. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new BudgetSpent('it takes too many steps')
  }

  /** One schema is entered; `depth` is taken back by who leaves it. Throws `BudgetSpent`. */
  enter(): void {
    this.spend(1)
    if (++this.depth > deepestVisit) throw new BudgetSpent(tooDeep)
  }
}
