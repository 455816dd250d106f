/**
 * Wire schemas: JSON Schemas as data, each with the TypeScript type of what fits it.
 *
 * Owns: the builders, and the sentence about a value that does not fit. A schema of an object names exactly the members
 * of its type, or the compiler refuses it. Does not own: the check itself (edge/json-schema.ts), the types (wire.ts).
 */
import { isObject, meantInstead, present, shownName, type Json, type JsonObject } from '@reeve/core'
import { schemaProblem } from '@reeve/edge'

declare const typed: unique symbol

/** A JSON Schema, and the type of the values that fit it. */
export interface WireSchema<T> {
  readonly schema: JsonObject
  readonly isOptional?: boolean
  readonly [typed]?: T
}

export interface OptionalSchema<T> extends WireSchema<T> {
  readonly isOptional: true
}

/** A schema for each member of `T`; a member that may be absent has an optional one. */
type MemberSchemas<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K> ? OptionalSchema<Exclude<T[K], undefined>> : WireSchema<T[K]>
}

interface SchemaNotes {
  readonly description?: string
  readonly example?: Json
}

const about = ({ description, example }: SchemaNotes): JsonObject =>
  present({ description, examples: example === undefined ? undefined : [example] })

const made = <T>(schema: JsonObject): WireSchema<T> => ({ schema })

/** A member that may be absent. */
export const optional = <T>({ schema }: WireSchema<T>): OptionalSchema<T> => ({ schema, isOptional: true })

export const text = <T extends string = string>({
  maxLength = 100_000,
  minLength,
  ...said
}: SchemaNotes & { readonly maxLength?: number; readonly minLength?: number } = {}): WireSchema<T> =>
  made({ type: 'string', maxLength, ...present({ minLength }), ...about(said) })

/** A name or an id: one line without control characters. */
export const name = <T extends string = string>(said: SchemaNotes = {}): WireSchema<T> =>
  made({ type: 'string', minLength: 1, maxLength: 1_024, pattern: '^[^\\p{Cc}\\p{Cs}]+$', ...about(said) })

export const choice = <T extends string>(words: readonly T[], said: SchemaNotes = {}): WireSchema<T> =>
  made({ type: 'string', enum: [...words], ...about(said) })

export const whole = ({
  minimum = 0,
  maximum = Number.MAX_SAFE_INTEGER,
  ...said
}: SchemaNotes & { readonly minimum?: number; readonly maximum?: number } = {}): WireSchema<number> =>
  made({ type: 'integer', minimum, maximum, ...about(said) })

export const amount = ({ minimum, ...said }: SchemaNotes & { readonly minimum?: number } = {}): WireSchema<number> =>
  made({ type: 'number', ...present({ minimum }), ...about(said) })

export const flag = <T extends boolean = boolean>(said: SchemaNotes = {}): WireSchema<T> =>
  made({ type: 'boolean', ...about(said) })

/** Any JSON; what it means is checked by the runtime. */
export const json = <T = Json>(said: SchemaNotes = {}): WireSchema<T> => made(about(said))

/** Any JSON object; what it means is checked by the runtime. */
export const jsonObject = <T = JsonObject>(said: SchemaNotes = {}): WireSchema<T> =>
  made({ type: 'object', ...about(said) })

export const list = <T>(
  items: WireSchema<T>,
  { maxItems, ...said }: SchemaNotes & { readonly maxItems?: number } = {},
): WireSchema<readonly T[]> => made({ type: 'array', items: items.schema, ...present({ maxItems }), ...about(said) })

/** One of several forms. */
export const anyOf = <T>(...forms: readonly WireSchema<T>[]): WireSchema<T> =>
  made({ anyOf: forms.map(({ schema }) => schema) })

/** An object with these members and no others. `title` names it in the OpenAPI document. */
export const object = <T>(title: string, members: MemberSchemas<T>, said: SchemaNotes = {}): WireSchema<T> =>
  made({ ...membersOf(members), title, additionalProperties: false, ...about(said) })

/** A view that the runtime makes: these members, and others that the document does not spell out. */
export const view = <T>(title: string, members: Partial<MemberSchemas<T>>, said: SchemaNotes = {}): WireSchema<T> =>
  made({ ...membersOf(members), title, ...about(said) })

/** An answer without a body. */
export const nothing: WireSchema<void> = { schema: object<object>('Nothing', {}).schema }

function membersOf(members: object): JsonObject {
  const all = Object.entries(members) as [string, WireSchema<unknown>][]
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(([key, { schema }]) => [key, schema])),
    required: all.flatMap(([key, { isOptional }]) => (isOptional === true ? [] : [key])),
  }
}

/** What is wrong with a value, as one sentence; undefined if it fits. Unknown members are named, with what was meant. */
export function wireProblem(value: Json | undefined, { schema }: WireSchema<unknown>): string | undefined {
  const known = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
  if (isObject(value) && schema['additionalProperties'] === false) {
    const strange = Object.keys(value).find((key) => !known.includes(key))
    if (strange !== undefined)
      return known.length === 0
        ? `unknown member "${shownName(strange)}": nothing is expected`
        : `unknown member "${shownName(strange)}"${meantInstead(strange, known, 'known:')}`
  }
  return schemaProblem(value, schema, schema)
}
