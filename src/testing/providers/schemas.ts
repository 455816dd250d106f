/**
 * Walking through a JSON Schema, for the rules of several vendors.
 *
 * Owns: which members of a schema hold schemas. Does not own: what a vendor says of them.
 */
import { isObject, type Json, type JsonObject } from '../../core/index.ts'
import { memberOf } from './wire.ts'

/** A schema inside a schema. */
export interface SchemaPlace {
  readonly schema: JsonObject
  /** Its place, as a path of members: `properties.items.anyOf.0`. Empty for the root. */
  readonly path: string
  readonly isRoot: boolean
  /** How many schemas stand around it. */
  readonly depth: number
}

const single = [
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalItems',
]
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items']
const maps = ['properties', 'patternProperties', 'dependentSchemas']
const named = ['$defs', 'definitions']

/** Every schema inside one, itself first. `definitions`: whether those that are only named count. Default true. */
export function* schemasIn(
  root: JsonObject,
  { definitions = true }: { readonly definitions?: boolean } = {},
): Generator<SchemaPlace> {
  const open: SchemaPlace[] = [{ schema: root, path: '', isRoot: true, depth: 0 }]
  for (let place = open.shift(); place !== undefined; place = open.shift()) {
    yield place
    const { schema, path, depth } = place
    const add = (value: Json | undefined, step: string): void => {
      const at = path === '' ? step : `${path}.${step}`
      if (isObject(value)) open.push({ schema: value, path: at, isRoot: false, depth: depth + 1 })
    }
    for (const keyword of single) add(memberOf(schema, keyword), keyword)
    for (const keyword of lists) {
      const value = memberOf(schema, keyword)
      if (Array.isArray(value))
        for (const [index, item] of (value as readonly Json[]).entries()) add(item, `${keyword}.${index}`)
    }
    for (const keyword of definitions ? [...maps, ...named] : maps) {
      const value = memberOf(schema, keyword)
      if (isObject(value)) for (const [name, item] of Object.entries(value)) add(item, `${keyword}.${name}`)
    }
  }
}
