/** JSON as a person types it. Owns: reading it, with the place of a mistake. Pure. */
import type { Json } from './json.ts'

/** What was typed as a value. A text that does not begin like JSON is that text. */
export function parsedJson(typed: string): { readonly value: Json } | { readonly problem: string } {
  const text = typed.trim()
  try {
    return { value: JSON.parse(text) as Json }
  } catch (error) {
    if (!/^[[{"]/.test(text)) return { value: text }
    return { problem: `This is not JSON: ${(error as Error).message}` }
  }
}
