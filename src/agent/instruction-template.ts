/**
 * Templating: instructions with places that are filled from session values, where an agent asks for it.
 *
 * Owns: what a place looks like, and that everything else in braces is only text. Does not own: the values (the
 * engine).
 * Holds: K3 (the values are one recorded read per activation).
 */
import { asText, type Json } from '../core/index.ts'
import type { Context } from '../engine/index.ts'

const placeholder = /\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g

/** The keys that instructions name, each once. Pure. */
const keysIn = (instructions: string): readonly string[] => [
  ...new Set([...instructions.matchAll(placeholder)].map((found) => found[1]!)),
]

/**
 * The instructions with values in place of `{key}`: texts as they are, everything else as JSON. A key without a value
 * stays as it stands, and so do all other braces; what a value brings is not filled again.
 */
export async function fillTemplate(instructions: string, ctx: Context): Promise<string> {
  const keys = keysIn(instructions)
  if (keys.length === 0) return instructions
  const values = await ctx.values.getAll(keys)
  const known = new Map(keys.map((key, i) => [key, values[i] ?? null] as const))
  return instructions.replace(placeholder, (text, key: string) => textOf(known.get(key) ?? null) ?? text)
}

const textOf = (value: Json): string | undefined => (value === null ? undefined : asText(value))
