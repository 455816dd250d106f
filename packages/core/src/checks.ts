/**
 * Checks: what may be wrong with options, declared beside their type.
 *
 * Owns: the combinators of which every table of options is made; the table is also the list of known names. Does not
 * own: any option, which error a problem becomes.
 * Holds: every problem is found, one sentence each; an unknown name is refused with the one that was probably meant.
 * All of it is pure.
 */
import { ReeveError, type ErrorCode } from './errors.ts'
import { isObject, jsonProblem } from './json.ts'
import { firstProblems, hasNames, nearest, shownName, unexpected, unknownNames } from './names.ts'

/** What is wrong with a value, one sentence each. `where` names it. */
export interface Check {
  (given: unknown, where: string): readonly string[]
  /** It is asked also where the option is absent. */
  readonly isRequired?: true
}

/** A type in a result from which nothing is inferred, as by `NoInfer`; people are shown the type itself. */
export type Inferred<T> = [T] extends [infer Known] ? Known : never

/**
 * Options that something does not have. Said as such, they tell the compiler which kind is meant, so that its message
 * stands at the option that is wrong.
 */
export type Without<Facts> = { readonly [Option in keyof Facts]?: undefined }

/**
 * A check for each option of `T`. The compiler refuses a table in which one is missing. An absent option is checked
 * only if it is required.
 */
export type Checks<T> = { readonly [Name in keyof T]-?: Check }

/**
 * What must hold between the options of one object. Each part is a sentence, or false or undefined if it holds. It is
 * asked also where an option is wrong, so it must read them with care.
 */
export type Rule<T> = (given: T, where: string) => readonly (string | false | undefined)[]

/** The check of an option that must be there. */
export const required = (check: Check): Check =>
  Object.assign(
    (given: unknown, where: string) => {
      const problems = check(given, where)
      return given === undefined && problems.length === 0 ? [`${where} is missing`] : problems
    },
    { isRequired: true } as const,
  )

/** A value for which this is true; `expected` completes the sentence for every other. */
export const expects =
  (isSound: (given: unknown) => boolean, expected: string): Check =>
  (given, where) =>
    isSound(given) ? [] : [unexpected(given, where, expected)]

/** The same for a value that may be a secret and is not repeated; `problem` follows its name in the sentence. */
export const secret =
  (isSound: (given: unknown) => boolean, problem: string): Check =>
  (given, where) =>
    isSound(given) ? [] : [`${where} ${problem}`]

/** A value of which this finds nothing wrong. */
export const valid =
  (problemOf: (given: unknown) => string | undefined): Check =>
  (given, where) => {
    const problem = problemOf(given)
    return problem === undefined ? [] : [`${where}: ${problem}`]
  }

/** Plain JSON. */
export const jsonCheck: Check = (given, where) => {
  const problem = given === undefined ? undefined : jsonProblem(given, where)
  return problem === undefined ? [] : [problem]
}

/** A value for which this is true, or else one that the check takes. */
export const either =
  (isSound: (given: unknown) => boolean, check: Check): Check =>
  (given, where) =>
    isSound(given) ? [] : check(given, where)

/** An object, as the first check says, or else what the second one takes. */
export const objectOr =
  (check: Check, other: Check): Check =>
  (given, where) =>
    (hasNames(given) ? check : other)(given, where)

/** A number for which this is true. */
export const number = (isSound: (given: number) => boolean, expected: string): Check =>
  expects((given) => typeof given === 'number' && isSound(given), expected)

const identifier = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
/**
 * True for valid names of agents and tools: a letter or `_`, then up to 63 letters, digits, `_` or `-`. Every provider
 * accepts these.
 */
export const isName = (given: unknown): boolean => typeof given === 'string' && identifier.test(given)
/** What such a name is, in a sentence. */
export const nameForm = 'a letter or "_", then up to 63 letters, digits, "_" or "-"'
export const isFunction = (given: unknown): boolean => typeof given === 'function'

export const isBoolean = (given: unknown): boolean => typeof given === 'boolean'

export const flag = expects(isBoolean, 'true or false')
export const functionCheck = expects(isFunction, 'a function')
export const string = expects((given) => typeof given === 'string', 'a text')
export const text = expects((given) => typeof given === 'string' && given.trim() !== '', 'a text that is not empty')
export const nameCheck = expects(isName, nameForm)
export const wholeNumber = (least: number, most = Infinity): Check =>
  number(
    (given) => Number.isSafeInteger(given) && given >= least && given <= most,
    most === Infinity ? `a whole number of at least ${least}` : `a whole number from ${least} to ${most}`,
  )
export const amount = number((given) => Number.isFinite(given) && given >= 0, 'a number of at least 0')
export const milliseconds = number((given) => Number.isFinite(given) && given >= 0, 'milliseconds, or 0 for no limit')
export const duration = number((given) => Number.isFinite(given) && given > 0, 'milliseconds above 0')
export const interval = number((given) => Number.isFinite(given) && given >= 0, 'milliseconds, not below 0')
export const fraction = number((given) => given >= 0 && given <= 1, 'a number between 0 and 1')
/** An option that is checked elsewhere, or may be anything. */
export const unchecked: Check = () => []

/** One of these words; a slip is told which one was meant. */
export const choice = (...words: readonly string[]): Check => choiceOr(() => false, '', ...words)

/** The same for the names of a table, of which the compiler sees to it that none is missing. */
export const choiceIn = <Word extends string>(words: Readonly<Record<Word, unknown>>): Check =>
  choice(...Object.keys(words))

/** One of these words, or something else that is sound; `other` names that in the sentence. */
export const choiceOr =
  (isSound: (given: unknown) => boolean, other: string, ...words: readonly string[]): Check =>
  (given, where) => {
    if (words.includes(given as string) || isSound(given)) return []
    const named = [...words.map((each) => `"${each}"`), ...(other === '' ? [] : [other])]
    const last = named.pop()!
    const meant = typeof given === 'string' ? nearest(given, words) : undefined
    const expected = named.length === 0 ? last : `${named.join(', ')} or ${last}`
    return [`${unexpected(given, where, expected)}${meant === undefined ? '' : `: did you mean "${meant}"?`}`]
  }

/** A list of what the check takes; `of` completes "a list of". */
export const listOf =
  (check: Check, of: string): Check =>
  (given, where) =>
    Array.isArray(given)
      ? firstProblems(Array.from(given as readonly unknown[]), (each, i) => check(each, `${where}[${i}]`))
      : [unexpected(given, where, `a list of ${of}`)]

/** Values by name, each as the check says; `expected` completes the sentence for what is no object. */
export const recordOf =
  (
    check: Check,
    expected: string,
    nameProblem: (name: string, where: string) => string | undefined = () => undefined,
  ): Check =>
  (given, where) =>
    hasNames(given)
      ? firstProblems(Object.entries(given), ([name, each]: [string, unknown]) => {
          const problem = nameProblem(name, where)
          return [
            ...(problem === undefined ? [] : [problem]),
            ...(each === undefined ? [] : check(each, `${where}.${shownName(name)}`)),
          ]
        })
      : [unexpected(given, where, expected)]

/** What may be said of options beside their checks. */
interface About<T> {
  readonly rule?: Rule<T>
  /** What people who know other tools mean by names that there are not. */
  readonly meant?: Readonly<Record<string, string>>
}

/** An object with these options and no others. */
export const object =
  <T>(checks: Checks<T>, about?: Rule<T> | About<T>): Check =>
  (given, where) =>
    problemsIn(checks, given, where, '.', about)

/** An object with these options, whatever else it has. */
export const openObject =
  <T>(checks: Checks<T>, rule?: Rule<T>): Check =>
  (given, where) =>
    hasNames(given) ? knownProblems(checks, given, where, '.', rule) : unknownNames(given, checks, where)

/** An object with these options; an instance of a class may keep whatever else it likes. */
export const objectOrInstance = <T>(checks: Checks<T>, rule?: Rule<T>): Check => {
  const [strict, open] = [object(checks, rule), openObject(checks, rule)]
  return (given, where) => (isObject(given) ? strict : open)(given, where)
}

/** The options of a maker, such as `agent "a"`: no others, and each as its check says. */
export const optionProblems = <T>(
  checks: Checks<T>,
  options: unknown,
  where: string,
  about?: Rule<T> | About<T>,
): string[] => problemsIn(checks, options, where, ': ', about)

function problemsIn<T>(
  checks: Checks<T>,
  given: unknown,
  where: string,
  between: string,
  about?: Rule<T> | About<T>,
): string[] {
  const { rule, meant } = typeof about === 'function' ? { rule: about, meant: undefined } : (about ?? {})
  return [
    ...unknownNames(given, checks, where, meant),
    ...(hasNames(given) ? knownProblems(checks, given, where, between, rule) : []),
  ]
}

const knownProblems = <T>(
  checks: Checks<T>,
  given: object,
  where: string,
  between: string,
  rule?: Rule<T>,
): string[] => [
  ...Object.entries<Check>(checks).flatMap(([name, check]) => {
    const value = (given as Readonly<Record<string, unknown>>)[name]
    return value === undefined && check.isRequired !== true ? [] : check(value, `${where}${between}${name}`)
  }),
  ...(rule?.(given as T, where) ?? []).filter((problem) => typeof problem === 'string'),
]

/** One sentence for each name that two things of a list have. `what`: what they are. */
export const twiceIn = (names: readonly unknown[], where: string, what: string): string[] => [
  ...new Set(
    names.flatMap((name, i) =>
      names.indexOf(name) === i ? [] : [`${where}: two ${what} are called "${String(name)}"`],
    ),
  ),
]

/**
 * The first thing that is wrong with what code has given back, its members by their names alone; undefined if nothing.
 * `what` names the whole.
 */
export const firstProblem = <T>(checks: Checks<T>, given: object, what: string): string | undefined =>
  unknownNames(given, checks, what)[0] ?? knownProblems(checks, given, '', '')[0]

/** Throws all problems in one error, if there are any. */
export function refuseProblems(code: ErrorCode, problems: readonly string[], hint?: string): void {
  if (problems.length > 0)
    throw new ReeveError(
      code,
      problems.join(code === 'input.invalid' ? '; ' : '\n'),
      hint === undefined ? {} : { hint },
    )
}
