/**
 * Previews: a value, the arguments of a call, a durationText, each on one line for people.
 *
 * Owns: how much of a value a line shows. Does not own: which characters are visible (visible.ts).
 */
import { isObject, type Json } from './json.ts'
import { beginning, visibleJson } from './visible.ts'

/** Characters of a value on one line, and the most arguments that are listed. */
const previewCharacters = 120
export const mostArguments = 60

/** The beginning of a text, with its length and `where` the rest is. */
export const truncated = (text: string, characters: number, where: string): string =>
  text.length <= characters ? text : `${beginning(text, characters)}… (${text.length} characters${where})`

/** A value on one line; a long one is cut, with its length. */
export const preview = (value: unknown, where = '', characters: number = previewCharacters): string =>
  truncated(visibleJson(value), characters, where)

/** The name of an argument. One that is not an identifier is quoted, so that it cannot be mistaken for a value. */
export const argumentName = (name: string): string => (/^[\w.$-]{1,64}$/.test(name) ? name : preview(name))

/** The arguments of a call on one line. Each is cut separately, so that a long one hides no other. */
export function argumentsLine(input: Json): string {
  if (!isObject(input)) return preview(input)
  const fields = Object.entries(input)
  const shown = fields.slice(0, mostArguments).map(([name, value]) => `${argumentName(name)}: ${preview(value)}`)
  const more = fields.length <= mostArguments ? [] : [`… and ${fields.length - mostArguments} more`]
  return fields.length === 0 ? 'no arguments' : [...shown, ...more].join(', ')
}

/** A duration in milliseconds: `0.4s`, `12s`, `3m 05s`, `2h 10m`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)}s`
  const whole = Math.floor(seconds)
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  return minutes < 60
    ? `${minutes}m ${String(whole % 60).padStart(2, '0')}s`
    : `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`
}
