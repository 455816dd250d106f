/** Options of channels: an invalid one is refused at once, before anything waits for a person. */
import { described, mustBeOptions, ReeveError, unknownNames, type NamesOf } from '../../core/index.ts'

/** Throws `config.invalid` with everything that is wrong. `more`: what only this channel knows. */
export function mustBeOptionsOf<T extends object>(
  channel: string,
  options: T,
  names: NamesOf<T>,
  more: (options: T) => readonly string[],
): void {
  mustBeOptions(options, channel, 'config.invalid')
  const problems = [...unknownNames(options, names, channel), ...more(options)]
  if (problems.length > 0)
    throw new ReeveError('config.invalid', problems.join('\n'), { hint: 'Nothing was opened, and no notice was sent.' })
}

/** What is wrong with an address that is posted to. Never says the address: it may be a secret. */
export function addressProblems(given: unknown, where: string): readonly string[] {
  const address = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  if (address?.protocol !== 'https:' && address?.protocol !== 'http:') return [`${where} is not an http(s) address`]
  if (address.username !== '' || address.password !== '')
    return [`${where} has a name or a password in it: give headers instead`]
  return []
}

/** What is wrong with milliseconds. */
export const timeProblems = (given: unknown, where: string): readonly string[] =>
  given === undefined || (Number.isFinite(given) && (given as number) > 0)
    ? []
    : [`${where} is ${described(given)}, expected milliseconds above 0`]

/** What is wrong with something that, if it is there, has to be a function. */
export const functionProblems = (given: { readonly [name: string]: unknown }, channel: string): readonly string[] =>
  Object.entries(given).flatMap(([name, value]) =>
    value === undefined || typeof value === 'function'
      ? []
      : [`${channel}: ${name} is ${described(value)}, expected a function`],
  )
