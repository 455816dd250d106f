/**
 * Well formed: text without half characters, for those who take no other.
 *
 * Owns: the replacement, in texts and in values with texts in them. Does not own: where values leave (model/prompt.ts,
 * model/language-model.ts). The journal keeps what was said as it was said.
 */
import { isObject } from './json.ts'

/**
 * A value in whose texts, those of names included, each lone surrogate is U+FFFD: JSON in UTF-8 has no form for it, and
 * providers refuse what holds one. What is fine already is the same value; what is neither text, list nor plain object
 * is left alone.
 */
export function wellFormed<T>(value: T): T
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) {
    let list: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const made = wellFormed<unknown>(value[i])
      if (made !== value[i]) (list ??= [...(value as readonly unknown[])])[i] = made
    }
    return (list ?? value) as unknown
  }
  if (!isObject(value)) return value
  const isFine = Object.entries(value).every(([name, each]) => name.isWellFormed() && wellFormed(each) === each)
  return isFine
    ? value
    : Object.fromEntries(Object.entries(value).map(([name, each]) => [name.toWellFormed(), wellFormed(each)]))
}
