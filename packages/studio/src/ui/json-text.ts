/** JSON as text with its keys in order, so that equal values give equal texts; without `indent` as it is hashed. */
import { isObject, type Json } from '../data/json.ts'

/** Pure. `indent`: spaces, for a text of several lines. */
export function sortedJson(value: Json, indent?: number, level = 0): string {
  const list = (parts: readonly string[], begin: string, end: string): string => {
    if (parts.length === 0 || indent === undefined) return `${begin}${parts.join(',')}${end}`
    const line = (depth: number): string => `\n${' '.repeat(indent * depth)}`
    return `${begin}${parts.map((part) => `${line(level + 1)}${part}`).join(',')}${line(level)}${end}`
  }
  const inner = (each: Json): string => sortedJson(each, indent, level + 1)
  if (Array.isArray(value))
    return list(
      value.map((each) => inner(each as Json)),
      '[',
      ']',
    )
  if (!isObject(value)) return JSON.stringify(value)
  const colon = indent === undefined ? ':' : ': '
  const names = Object.keys(value).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return list(
    names.map((name) => `${JSON.stringify(name)}${colon}${inner(value[name] as Json)}`),
    '{',
    '}',
  )
}
