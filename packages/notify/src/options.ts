/** Options of channels: an invalid one is refused at once, before anything waits for a person. */
import { mustBeOptions, optionProblems, refuseProblems, type Check, type Checks, type Rule } from '@reeve/core'

/**
 * Attempts of a channel to a server elsewhere, which may be away for a while: about three hours. They end sooner when
 * the request is decided.
 */
export const attemptsMost = 50

/** Throws `config.invalid` with everything that is wrong. */
export function mustBeOptionsOf<T>(channel: string, options: T, checks: Checks<T>, rule?: Rule<T>): void {
  mustBeOptions(options, channel, 'config.invalid')
  refuseProblems(
    'config.invalid',
    optionProblems(checks, options, channel, rule),
    'Nothing was opened, and no notice was sent.',
  )
}

/** An address that is posted to. Never says the address: it may be a secret. */
export const addressCheck: Check = (given, where) => {
  const address = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  if (address?.protocol !== 'https:' && address?.protocol !== 'http:') return [`${where} is not an http(s) address`]
  return address.username === '' && address.password === ''
    ? []
    : [`${where} has a name or a password in it: give headers instead`]
}
