/**
 * Names of options: an unknown one is refused, because ignoring it would fail open: a limit that limits nothing, a
 * permission that denies nothing.
 *
 * Owns: finding such names and saying what may have been meant. Does not own: which names exist (the code that reads
 * the options), which error it becomes.
 */
import { ReeveError, type ErrorCode } from './errors.ts'

/**
 * A table with the names of all options of `T`: a table of checks is one, too. The compiler refuses one in which a name
 * is missing.
 */
export type NamesOf<T> = { readonly [Name in keyof T]-?: unknown }

/**
 * What is wrong with the names of given options, one sentence each; empty if nothing. `known`: a table whose names are
 * those of the options; `meant`: what people who know other tools mean by other names. Pure.
 */
export function unknownNames(
  given: unknown,
  known: Readonly<Record<string, unknown>>,
  where: string,
  meant: Readonly<Record<string, string>> = {},
): string[] {
  if (!hasNames(given)) return [unexpected(given, where, 'an object')]
  const problems: string[] = []
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue
    const instead = Object.hasOwn(meant, name)
      ? `: did you mean "${meant[name]!}"?`
      : meantInstead(name, Object.keys(known), 'it has')
    problems.push(`${where} has no option "${name}"${instead}`)
  }
  return problems
}

/** True for what options can stand in. */
export const hasNames = (given: unknown): given is object =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

/** Throws for options that are no object; everything else that is wrong with them is found together. */
export function mustBeOptions(given: unknown, maker: string, code: ErrorCode): void {
  if (!hasNames(given))
    throw new ReeveError(code, `${maker}() was given ${described(given)}, expected an object of options`)
}

/** The sentence about a value that is not what was expected. */
export const unexpected = (given: unknown, where: string, expected: string): string =>
  `${where} is ${given === undefined ? 'missing' : described(given)}, expected ${expected}`

/** Anything that was given by mistake, in a few words. */
export function described(given: unknown): string {
  if (typeof given === 'string') return `the text ${JSON.stringify(given)}`
  if (typeof given === 'function') return 'a function'
  if (Array.isArray(given)) return 'a list'
  if (typeof given !== 'object' || given === null) return String(given)
  if (given instanceof RegExp) return 'a RegExp'
  const { kind, name } = given as { readonly kind?: unknown; readonly name?: unknown }
  if (kind === 'tool' || kind === 'agent') return `the ${kind} "${String(name)}"`
  return given instanceof Promise ? 'a promise' : 'an object'
}

/**
 * What an unknown name was probably meant to be, as the end of a sentence: the one that is a slip away, else all there
 * are.
 */
export function meantInstead(name: string, names: readonly string[], thereAre: string): string {
  const meant = nearest(name, names)
  return meant !== undefined
    ? `: did you mean "${meant}"?`
    : names.length === 0
      ? ''
      : `; ${thereAre} ${names.join(', ')}`
}

/** The error for a worker name that is not among these. */
export function stranger(name: unknown, workers: Iterable<string>): string {
  if (typeof name !== 'string') return `${described(name)}, expected the name of a worker`
  return `"${name}", who does not work here${meantInstead(name, [...workers], 'who does:')}`
}

/**
 * The name that is a slip of the keyboard or two away; short names have room for one, long ones for three: some write
 * as they hear.
 */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const far = name.length > 7 ? 3 : name.length > 4 ? 2 : 1
  const [best] = names.map((each) => ({ each, slips: slipsBetween(name, each) })).sort((a, b) => a.slips - b.slips)
  return best === undefined || best.slips > far ? undefined : best.each
}

/** How many letters must be added, left out, replaced or swapped with their neighbour. */
function slipsBetween(one: string, other: string): number {
  let last: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same, swapped ? last[j - 2]! + 1 : Infinity))
    }
    last = row
    row = next
  }
  return row[other.length]!
}
