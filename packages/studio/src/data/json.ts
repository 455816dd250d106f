/** The types of JSON, as the wire has them. */
import type { StartBody } from '@reeve/server/wire'

export type Json = StartBody['input']
export type JsonObject = NonNullable<StartBody['metadata']>

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A member that the object itself has. */
export const member = (value: Json | undefined, key: string): Json | undefined =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** The same, if it is a text. */
export function textMember(value: Json | undefined, key: string): string | undefined {
  const found = member(value, key)
  return typeof found === 'string' ? found : undefined
}
