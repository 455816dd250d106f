/**
 * Checks: what may be wrong with options, declared beside their type.
 *
 * Owns: the combinators of which every table of options is made; the table is also the list of known names. Does not
 * own: any option, which error a problem becomes.
 * Holds: every problem is found, one sentence each; an unknown name is refused with the one that was probably meant.
 * All of it is pure.
 */
import { described, hasNames, meantInstead, unknownNames } from './names.ts'

/** What is wrong with a value, one sentence each. `where` names it. */
export interface Check {
  (given: unknown, where: string): readonly string[]
  /** It is asked also where the option is absent. */
  readonly isRequired?: true
}

/**
 * A check for each option of `T`. The compiler refuses a table in which one is missing. An absent option is checked
 * only if it is required.
 */
export type Checks<T> = { readonly [Name in keyof T]-?: Check }

/** The check of an option that must be there. */
export const required = (check: Check): Check =>
  Object.assign((given: unknown, where: string) => check(given, where), { isRequired: true } as const)

/** A value for which this is true; `expected` completes the sentence for every other. */
export const expects =
  (isSound: (given: unknown) => boolean, expected: string): Check =>
  (given, where) =>
    isSound(given) ? [] : [`${where} is ${described(given)}, expected ${expected}`]

/** A number for which this is true. */
export const number = (isSound: (given: number) => boolean, expected: string): Check =>
  expects((given) => typeof given === 'number' && isSound(given), expected)

export const flag = expects((given) => typeof given === 'boolean', 'true or false')
export const functionCheck = expects((given) => typeof given === 'function', 'a function')
export const text = expects((given) => typeof given === 'string' && given.trim() !== '', 'a text that is not empty')
export const wholeNumber = (least: number): Check =>
  number((given) => Number.isSafeInteger(given) && given >= least, `a whole number of at least ${least}`)
export const amount = number((given) => Number.isFinite(given) && given >= 0, 'a number of at least 0')
export const milliseconds = number((given) => Number.isFinite(given) && given >= 0, 'milliseconds, or 0 for no limit')
export const fraction = number((given) => given >= 0 && given <= 1, 'a number between 0 and 1')
/** An option that is checked elsewhere, or may be anything. */
export const unchecked: Check = () => []

/** One of these words; the error for a misspelled one names the word that was probably meant. */
export const word =
  <Word extends string>(words: Readonly<Record<Word, true>>): Check =>
  (given, where) => {
    const known = Object.keys(words)
    if (typeof given === 'string' && known.includes(given)) return []
    const instead =
      typeof given === 'string' ? meantInstead(given, known, 'there are') : `, expected one of ${known.join(', ')}`
    return [`${where} is ${described(given)}${instead}`]
  }

/** One of two or three words that are all named. */
export const choice =
  (...words: readonly string[]): Check =>
  (given, where) => {
    if (typeof given === 'string' && words.includes(given)) return []
    const quoted = words.map((each) => `"${each}"`)
    const shown = typeof given === 'string' ? JSON.stringify(given) : described(given)
    return [`${where} is ${shown}, expected ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)!}`]
  }

/** An object with these options and no others. */
export const object =
  <T>(checks: Checks<T>): Check =>
  (given, where) =>
    hasNames(given)
      ? [...unknownNames(given, checks, where), ...knownProblems(checks, given, where, (at, name) => `${at}.${name}`)]
      : unknownNames(given, checks, where)

/** The options of a maker, such as `agent "a"`: no others, and each as its check says. */
export const optionProblems = (checks: Readonly<Record<string, Check>>, options: unknown, where: string): string[] =>
  hasNames(options)
    ? [...unknownNames(options, checks, where), ...knownProblems(checks, options, where)]
    : unknownNames(options, checks, where)

/** The same where others look at the names. `place`: how an option is named in a sentence. */
export const knownProblems = (
  checks: Readonly<Record<string, Check>>,
  options: object,
  where: string,
  place = (at: string, name: string): string => `${at}: ${name}`,
): string[] =>
  Object.entries(checks).flatMap(([name, check]) => {
    const given = (options as Readonly<Record<string, unknown>>)[name]
    return given === undefined && check.isRequired !== true ? [] : check(given, place(where, name))
  })
