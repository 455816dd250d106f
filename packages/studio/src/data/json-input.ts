/** JSON as a person types it. Owns: reading it, with the place of a mistake. Pure. */
import { readJson } from '@reeve/core/json-text'
import type { Json } from './json.ts'

/** What was typed as a value. A text that does not begin like JSON is that text. */
export function parsedJson(typed: string): { readonly value: Json } | { readonly problem: string } {
  const text = typed.trim()
  if (!isJsonLike(text)) return { value: text }
  return jsonAsTyped(text)
}

/** What was typed as JSON and nothing else. A number that would be rounded is a mistake. */
export function jsonAsTyped(text: string): { readonly value: Json } | { readonly problem: string } {
  const read = readJson(text, { path: 'It' })
  if (read.ok) return { value: read.value }
  if (read.none !== true) return { problem: `${read.problem}.` }
  try {
    JSON.parse(text)
    return { problem: 'This is not JSON.' }
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` }
  }
}

/** Whether a text is JSON, or is begun like it. */
function isJsonLike(text: string): boolean {
  const read = readJson(text)
  return read.ok || read.none !== true || /^[[{"]/.test(text)
}
