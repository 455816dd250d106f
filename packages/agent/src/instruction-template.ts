/**
 * Instruction template: fills placeholders in instructions from session values, for agents that enable it.
 *
 * Owns: the form of a placeholder; all other braces are plain text. Does not own: the values (the engine).
 * Holds: K3 (the values are one recorded read per activation).
 */
import { asText, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'

const placeholder = /\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g

/** The keys in the instructions, each once. Pure. */
const keysIn = (instructions: string): readonly string[] => [
  ...new Set([...instructions.matchAll(placeholder)].map((match) => match[1]!)),
]

/**
 * Fills `{key}` with values: texts as they are, everything else as JSON. Keys without a value and all other braces
 * stay. Placeholders inside values are not filled.
 */
export async function fillTemplate(instructions: string, ctx: Context): Promise<string> {
  const keys = keysIn(instructions)
  if (keys.length === 0) return instructions
  const values = await ctx.values.getAll(keys)
  const known = new Map(keys.map((key, i) => [key, values[i] ?? null] as const))
  return instructions.replace(placeholder, (text, key: string) => textOf(known.get(key) ?? null) ?? text)
}

const textOf = (value: Json): string | undefined => (value === null ? undefined : asText(value))
