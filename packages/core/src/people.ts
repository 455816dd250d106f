/**
 * People: the names under which they decide, answer and command.
 *
 * Owns: what a name is, and when two are one person's. Does not own: authentication (the application; `mayDecide`), who
 * may do what. Pure.
 */
import { isObject } from './json.ts'

/** What no reader sees: default-ignorable, formatting and control characters. */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu

/**
 * A name as it is recorded and compared: one form of each letter, nothing invisible in it, no white space around it,
 * one space between its parts. May be empty.
 */
export const personName = (given: string): string =>
  given.normalize('NFKC').replaceAll(/\s/gu, ' ').replaceAll(unseen, '').replaceAll(/ +/gu, ' ').trim()

/** Whether two names are one person's, however they are written. */
export const isSamePerson = (one: string, other: string): boolean => folded(one) === folded(other)
const folded = (name: string): string => personName(name).toLowerCase()

/**
 * A command, a decision or an answer under the name of a person, as it is recorded. What is no name stays, for the
 * check of it.
 */
export function underName<T>(given: T): T {
  if (!isObject(given)) return given
  const { by, approver } = given
  return {
    ...given,
    ...(typeof by === 'string' ? { by: personName(by) } : undefined),
    ...(typeof approver === 'string' ? { approver: personName(approver) } : undefined),
  }
}
