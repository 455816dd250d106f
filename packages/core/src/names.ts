/**
 * Names of options: an unknown one is refused, because ignoring it would fail open: a limit that limits nothing, a
 * permission that denies nothing.
 *
 * Owns: finding such names and saying what may have been meant. Does not own: which names exist (the code that reads
 * the options), which error it becomes.
 * Holds: names come from outside, too. What a wrong one costs is bounded whatever its length, and so is what is said of it:
 * the beginning of a name, and the first of many problems.
 */
import { ReeveError, type ErrorCode } from './errors.ts'
import { cut, visible } from './visible.ts'

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
  const strange = Object.keys(given).filter((name) => !Object.hasOwn(known, name))
  return firstProblems(strange, (name) => {
    const instead = Object.hasOwn(meant, name)
      ? `: did you mean "${meant[name]!}"?`
      : meantInstead(name, Object.keys(known), 'it has')
    return [`${where} has no option "${shownName(name)}"${instead}`]
  })
}

/** How many problems of one kind are told. */
const mostProblems = 20

/** The problems of many things: the first few, and that there may be more. No more of the things are looked at. */
export function firstProblems<T>(all: readonly T[], problemsOf: (each: T, i: number) => readonly string[]): string[] {
  const problems: string[] = []
  for (const [i, each] of all.entries()) {
    const found = problemsOf(each, i)
    if (problems.length + found.length > mostProblems) return [...problems, `and there may be more`]
    problems.push(...found)
  }
  return problems
}

/** How much of a name is said, in characters. */
const longestShown = 80

/** A name from outside, as it stands in a sentence. */
export const shownName = (name: string): string => visible(cut(name, longestShown))

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

/** How much of a text is said that was given by mistake, and of the names that could have been given, in characters. */
const [longestText, longestList] = [400, 4_000]

/** Anything that was given by mistake, in a few words. */
export function described(given: unknown): string {
  if (typeof given === 'string') return `the text ${JSON.stringify(cut(given, longestText))}`
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
      : `; ${thereAre} ${cut(names.slice(0, mostCompared).join(', '), longestList)}`
}

/** The end of an error: the name of a worker that is not among `workers`, and which are known. */
export function unknownWorker(name: unknown, workers: Iterable<string>): string {
  if (typeof name !== 'string') return `${described(name)} is not the name of a worker`
  return `unknown worker "${shownName(name)}"${meantInstead(name, [...workers], 'known:')}`
}

/** Names that are longer are no slip of one another, and of more of them the first are compared. */
const [longestCompared, mostCompared] = [100, 1_000]

/**
 * The name that is a slip of the keyboard or two away; short names have room for one, long ones for three: some write
 * as they hear. Names of very different lengths, and very long ones, are not compared.
 */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const far = name.length > 7 ? 3 : name.length > 4 ? 2 : 1
  if (name.length > longestCompared) return undefined
  let best: { readonly each: string; readonly slips: number } | undefined
  for (const each of names.slice(0, mostCompared)) {
    if (Math.abs(each.length - name.length) > far) continue
    const slips = slipsBetween(name, each, far)
    if (slips <= far && (best === undefined || slips < best.slips)) best = { each, slips }
  }
  return best?.each
}

/** How many letters must be added, left out, replaced or swapped with their neighbour; Infinity for more than `most`. */
function slipsBetween(one: string, other: string, most: number): number {
  let last: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same, swapped ? last[j - 2]! + 1 : Infinity))
    }
    if (Math.min(...next, ...row) > most) return Infinity
    last = row
    row = next
  }
  return row[other.length]!
}
