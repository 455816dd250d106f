/**
 * Redaction: taking secrets out of what is recorded (K10). By the name of a member, or by a registered value wherever it stands in a text.
 *
 * Owns: the rules as data and the pure function made of them. Does not own: when it is applied (the engine, before anything is recorded).
 */
import type { Json } from './json.ts'
import { described, hasNames, unknownNames, type NamesOf } from './names.ts'

/** What is taken out before anything is recorded. What remains in its place is `[redacted]`. */
export interface Redaction {
  /** Names of members whose values never enter the journal, in any case: `apiKey`, `authorization`, … */
  readonly keys?: readonly string[]
  /** Values that never enter the journal, wherever they occur in a text. Shorter than 4 characters: not used, they would hit everything. */
  readonly values?: readonly string[]
}

const names: NamesOf<Redaction> = { keys: true, values: true }

/** What is wrong with the rules, one sentence each: one that is no text would take nothing out, and nobody would know. */
export function redactionProblems(rules: unknown, where: string): string[] {
  if (rules === undefined) return []
  const wrong = Object.entries(hasNames(rules) ? rules : {}).flatMap(([name, list]: [string, unknown]) =>
    !(name in names) || list === undefined || (Array.isArray(list) && list.every((each) => typeof each === 'string'))
      ? []
      : [`${where}.${name} is ${Array.isArray(list) ? 'a list with something else in it' : described(list)}, expected a list of texts`],
  )
  return [...unknownNames(rules, names, where), ...wrong]
}

/** What stands where something was taken out. */
export const redactedMark = '[redacted]'

/** A pure function that redacts; undefined if there is nothing to take out. */
export function redactor(rules: Redaction | undefined): ((value: Json) => Json) | undefined {
  const keys = new Set((rules?.keys ?? []).map((key) => key.toLowerCase()))
  const values = (rules?.values ?? []).filter((value) => value.length >= 4).sort((a, b) => b.length - a.length)
  if (keys.size === 0 && values.length === 0) return undefined
  const clean = (text: string): string => values.reduce((rest, value) => rest.replaceAll(value, redactedMark), text)
  const redact = (value: Json): Json => {
    if (typeof value === 'string') return clean(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item: Json) => redact(item))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        clean(key),
        keys.has(key.toLowerCase()) && member !== null ? redactedMark : redact(member),
      ]),
    )
  }
  return redact
}
