/**
 * Schema dialect: a JSON Schema as a provider reads it. Every answer is checked against its author's own schema
 * afterwards, so what a provider is sent may be looser, never stricter.
 *
 * Owns: the rewriting for tools and for typed output, the test for OpenAI's strict subset. Does not own: which provider
 * reads which dialect (provider-limits.ts), the check of values (../edge/json-schema.ts).
 * Holds: pure, each schema is rewritten once per dialect. Schemas are read by their own members only. `not`, `if` and
 * whatever else could turn "looser" into "stricter" is never descended into: it is told in words. What is left out of an
 * object that is closed opens it.
 */
import { canonical, cut, isObject, own, type Json, type JsonObject } from '@reeve/core'

/** What of JSON Schema a provider reads, besides types, objects, lists, `anyOf`, `enum` and local references. */
export interface SchemaDialect {
  readonly id: string
  /** The constraints that are sent. Others are told in the description. */
  readonly keywords: ReadonlySet<string>
  /** The formats of texts that are sent. Default: all, if `format` is sent. */
  readonly formats?: ReadonlySet<string>
  /** `plain`: patterns without lookaround. Default: all that compile, if `pattern` is sent. */
  readonly patterns?: 'plain'
  /** `enum`: constants are enums of texts or numbers. Default: as they are. */
  readonly constants?: 'enum'
  /** Whether references may loop. Default: true. If not, they are written out, three levels deep. */
  readonly loops?: boolean
  /** Which names of properties are taken. Default: all. */
  readonly propertyName?: RegExp
  /** Optional members may also be null: the server refuses a call of its model that says null for what it leaves out. */
  readonly nullableOptionals?: boolean
  /** The most parts with several types (unions and lists of types) in a format. Default: any number. */
  readonly mostUnions?: number
  /** The dialect of schemas that are declared strict. */
  readonly strict?: SchemaDialect
}

/** A schema of typed output as it is sent. */
export interface WrittenOutput {
  readonly schema: JsonObject
  /** The value stands in the member `value` of an object. */
  readonly wrapped: boolean
  readonly strict: boolean
  /** It is too large for a format: it is told in words, or given to a tool. */
  readonly tooLarge: boolean
}

/** The member that holds an output that is no object. */
export const wrapperMember = 'value'

/** Levels of a schema that are sent; below them everything is allowed. */
const deepest = 40
/** Parts of a schema that are sent; beyond them everything is allowed. */
const mostParts = 4_000
/** How often a schema that contains itself is written out where references may not loop. */
const mostLoops = 3

const written = new WeakMap<JsonObject, Map<string, unknown>>()

function remembered<T>(schema: JsonObject, key: string, make: () => T): T {
  let made = written.get(schema)
  if (made === undefined) written.set(schema, (made = new Map<string, unknown>()))
  if (!made.has(key)) made.set(key, make())
  return made.get(key) as T
}

/** The input schema of a tool: an object with `properties` and without a union at its root. */
export const toolSchema = (schema: JsonObject, dialect: SchemaDialect): JsonObject =>
  remembered(schema, `tool ${dialect.id}`, () => {
    const writer = new Writer(schema, dialect)
    return writer.whole(objectRoot(writer.root(), writer, schema, dialect.nullableOptionals === true))
  })

/** The schema of typed output: an object at its root, and strict if that is asked for and can be. */
export const outputSchema = (schema: JsonObject, dialect: SchemaDialect, strict: boolean): WrittenOutput =>
  remembered(schema, `output ${dialect.id} ${strict}`, () => {
    const first = strict && dialect.strict !== undefined ? writeOutput(schema, dialect.strict) : undefined
    return first !== undefined && !first.tooLarge && isStrict(first.schema)
      ? { ...first, strict: true }
      : writeOutput(schema, dialect)
  })

function writeOutput(schema: JsonObject, dialect: SchemaDialect): WrittenOutput {
  const writer = new Writer(schema, dialect)
  const root = writer.root()
  const isObjectRoot = root['type'] === 'object' && root['anyOf'] === undefined
  const value = isObjectRoot
    ? withProperties(root)
    : {
        type: 'object',
        properties: { [wrapperMember]: root },
        required: [wrapperMember],
        additionalProperties: false,
      }
  const whole = writer.whole(value)
  const { mostUnions = Infinity } = dialect
  return {
    schema: whole,
    wrapped: !isObjectRoot,
    strict: false,
    tooLarge: writer.isTooLarge || unionsIn(whole) > mostUnions,
  }
}

/** The parts of a written schema that have several types. */
function unionsIn(schema: Json | undefined): number {
  if (!isObject(schema)) return 0
  const below = ['properties', '$defs'].flatMap((word) => (isObject(schema[word]) ? Object.values(schema[word]) : []))
  const inner = [...below, ...listOf(schema['anyOf']), schema['items'], schema['additionalProperties']]
  const own = schema['anyOf'] !== undefined || Array.isArray(schema['type']) ? 1 : 0
  return inner.reduce<number>((sum, each) => sum + unionsIn(each), own)
}

const withProperties = (schema: JsonObject): JsonObject =>
  schema['properties'] === undefined ? { ...schema, properties: {} } : schema

/** Constraints by the type that they are about. */
const textKeywords = ['minLength', 'maxLength', 'pattern', 'format'] as const
const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const
const listKeywords = ['minItems', 'maxItems'] as const

/** What says nothing about values, or is dealt with where it stands. */
const keywordList = (text: string): readonly string[] => text.split(' ')
const handled: ReadonlySet<string> = new Set([
  ...keywordList('$schema $id id $anchor $dynamicAnchor $comment $defs definitions $vocabulary ~standard'),
  ...keywordList('title description default examples example deprecated readOnly writeOnly contentMediaType'),
  ...keywordList('type enum const nullable discriminator externalDocs xml components anyOf oneOf allOf $ref'),
  ...keywordList('properties required additionalProperties items prefixItems additionalItems'),
  ...numberKeywords,
  ...textKeywords,
  ...listKeywords,
])

/** Names are texts in any case. */
const isUntold = (word: string, value: Json | undefined): boolean =>
  !handled.has(word) &&
  !word.startsWith('x-') &&
  !(word === 'propertyNames' && isObject(value) && Object.keys(value).every((each) => each === 'type'))

const jsonTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'])

const listOf = (given: Json | undefined): readonly Json[] => (Array.isArray(given) ? (given as readonly Json[]) : [])
const textsOf = (given: Json | undefined): readonly string[] =>
  listOf(given).filter((each): each is string => typeof each === 'string')
const isAnything = (schema: Json): boolean =>
  schema === true || (isObject(schema) && Object.keys(schema).every((word) => annotations.has(word)))
/** Libraries write `never` and `undefined` as what is not anything. */
const isNever = (schema: Json): boolean =>
  schema === false || (isObject(schema) && isObject(schema['not']) && Object.keys(schema['not']).length === 0)
const annotations: ReadonlySet<string> = new Set(['description', 'title', 'default', 'examples', '$comment'])

/** Writes one schema in one dialect. */
class Writer {
  readonly #given: JsonObject
  readonly #dialect: SchemaDialect
  readonly #names = new Map<string, string>()
  readonly #definitions = new Map<string, JsonObject>()
  /** The references that are being written out. */
  readonly #within: string[] = []
  #parts = 0
  isTooLarge = false

  constructor(given: JsonObject, dialect: SchemaDialect) {
    this.#given = given
    this.#dialect = dialect
  }

  /** The root, never a reference. */
  root(): JsonObject {
    let root: Json = this.#given
    for (let left = 16; left > 0 && isObject(root) && typeof root['$ref'] === 'string'; left--) {
      const { $ref: reference, ...beside } = root as JsonObject & { readonly $ref: string }
      const target: Json = this.#find(reference) ?? {}
      // `type: 'object'` is put beside the reference when a tool is defined
      root = isObject(target) ? { ...withoutDefinitions(beside), ...target } : target
    }
    return this.write(isObject(root) && typeof root['$ref'] !== 'string' ? root : {}, 0)
  }

  /** A written root with the definitions that it refers to. */
  whole(root: JsonObject): JsonObject {
    return this.#definitions.size === 0 ? root : { ...root, $defs: Object.fromEntries(this.#definitions) }
  }

  /** What a written reference stands for; other schemas as they are. */
  resolved(schema: Json): JsonObject {
    const at = isObject(schema) ? schema : {}
    const reference =
      own(at, '$ref') ?? (listOf(own(at, 'anyOf')).length === 1 ? refOf(listOf(at['anyOf'])[0]) : undefined)
    return typeof reference === 'string' ? (this.#definitions.get(reference.slice('#/$defs/'.length)) ?? {}) : at
  }

  write(given: Json | undefined, depth: number): JsonObject {
    if (!isObject(given)) return {}
    if (depth > deepest || ++this.#parts > mostParts) {
      this.isTooLarge ||= this.#parts > mostParts
      return {}
    }
    const reference = own(given, '$ref')
    if (typeof reference === 'string') return this.#reference(reference, given, depth)
    const node = Array.isArray(own(given, 'allOf')) ? this.#intersection(given, 0) : given
    const ways = own(node, 'anyOf') ?? own(node, 'oneOf')
    return Array.isArray(ways) && ways.length > 0 ? this.#union(node, listOf(ways), depth) : this.#plain(node, depth)
  }

  #reference(reference: string, { description, title }: JsonObject, depth: number): JsonObject {
    const target = this.#find(reference)
    const said = { ...texts({ title, description }) }
    if (!isObject(target)) return said
    if (this.#dialect.loops === false) {
      if (this.#within.filter((each) => each === reference).length >= mostLoops) {
        const { type } = target
        return { ...(typeof type === 'string' && jsonTypes.has(type) ? { type } : {}), ...said, ...this.#shape(type) }
      }
      this.#within.push(reference)
      const inner = this.write(target, depth + 1)
      this.#within.pop()
      return { ...inner, ...said }
    }
    const ref = { $ref: `#/$defs/${this.#define(reference, target)}` }
    // some providers take nothing beside a reference
    return said.description === undefined ? ref : { description: said.description, anyOf: [ref] }
  }

  #shape = (type: Json | undefined): JsonObject =>
    type === 'object' ? { properties: {} } : type === 'array' ? { items: {} } : {}

  #define(reference: string, target: JsonObject): string {
    const before = this.#names.get(reference)
    if (before !== undefined) return before
    const last =
      reference
        .split('/')
        .at(-1)
        ?.replaceAll(/[^\w-]/g, '_')
        .slice(0, 48) ?? ''
    const plain = reference === '#' || last === '' ? 'root' : last
    const taken = new Set(this.#names.values())
    let name = plain
    for (let i = 2; taken.has(name); i++) name = `${plain}_${i}`
    this.#names.set(reference, name)
    this.#definitions.set(name, {}) // keeps its place; a loop finds the name
    this.#definitions.set(name, this.write(target, 1))
    return name
  }

  /** The part of the schema that a local reference names. */
  #find(reference: string): Json | undefined {
    if (!reference.startsWith('#')) return undefined
    let at: Json | undefined = this.#given
    for (const part of reference.slice(1).split('/').slice(1)) {
      const name = decoded(part)
      at = isObject(at) ? own(at, name) : Array.isArray(at) && /^\d+$/.test(name) ? listOf(at)[Number(name)] : undefined
    }
    return reference === '#' || reference.startsWith('#/') ? at : undefined
  }

  /** One node with what `allOf` adds to it. Of two limits of one kind the first is kept: that is looser than both. */
  #intersection(node: JsonObject, depth: number): JsonObject {
    const { allOf, ...rest } = node
    let all: JsonObject = rest
    for (const each of listOf(allOf)) {
      // references may meet again and again; less than all of a closed object would be stricter than it is
      if (++this.#parts > mostParts) break
      let part: Json | undefined = each
      for (let left = 16; left > 0 && isObject(part) && typeof part['$ref'] === 'string'; left--)
        part = this.#find(part['$ref'])
      if (!isObject(part) || typeof part['$ref'] === 'string') continue
      const flat: JsonObject = Array.isArray(part['allOf']) && depth < 16 ? this.#intersection(part, depth + 1) : part
      all = intersected(all, withoutDefinitions(flat))
    }
    if (this.#parts <= mostParts) return all
    this.isTooLarge = true
    return { ...texts(rest) }
  }

  #union(node: JsonObject, ways: readonly Json[], depth: number): JsonObject {
    const { anyOf: _a, oneOf: _o, description, title, nullable, ...beside } = node
    const common = Object.fromEntries(
      Object.entries(withoutDefinitions(beside)).filter(([word]) => !annotations.has(word)),
    )
    // a type alone, beside references, says nothing new
    const isBare = Object.keys(common).every((word) => word === 'type')
    const forms: JsonObject[] = []
    for (const way of ways) {
      if (isNever(way)) continue
      const whole =
        isBare && (!isObject(way) || refOf(way) !== undefined || way['type'] !== undefined)
          ? way
          : this.#joined(common, way)
      const form = this.write(whole, depth + 1)
      const inner = Object.keys(form).length === 1 ? listOf(form['anyOf']) : []
      forms.push(...(inner.length > 0 ? (inner as readonly JsonObject[]) : [form]))
    }
    if (nullable === true) forms.push({ type: 'null' })
    const distinct = [...new Map(forms.map((form) => [canonical(form), form])).values()]
    const said = texts({ title, description })
    // nothing fits an empty union, and providers refuse it
    if (distinct.length === 0 || distinct.some(isAnything)) return { ...said }
    const [only] = distinct
    return distinct.length === 1 && only !== undefined && only['$ref'] === undefined
      ? { ...only, ...said }
      : { ...said, anyOf: distinct }
  }

  /** A form of a union with what stands beside the union. */
  #joined(common: JsonObject, way: Json): Json {
    if (!isObject(way)) return way === true ? common : way
    return this.#intersection({ ...common, allOf: [way] }, 0)
  }

  #plain(node: JsonObject, depth: number): JsonObject {
    const left = new Set(Object.keys(node).filter((word) => isUntold(word, node[word])))
    const types = typesOf(node)
    const values = this.#values(node, types, left)
    if (values !== undefined && 'anyOf' in values) return { ...texts(node), ...values }
    const out: { [word: string]: Json } = { ...values }
    if (types.length > 0 && out['type'] === undefined) out['type'] = types.length === 1 ? types[0]! : types
    if (types.includes('string')) this.#constraints(node, textKeywords, out, left)
    if (types.includes('number') || types.includes('integer')) this.#numbers(node, out, left)
    if (types.includes('array')) this.#list(node, out, left, depth)
    if (types.includes('object')) this.#object(node, out, left, depth)
    const fallback = own(node, 'default')
    if (fallback !== undefined && this.#dialect.keywords.has('default')) out['default'] = fallback
    return described(node, out, left)
  }

  /** `enum` and `const`, of values that providers take; others are told in words. */
  #values(node: JsonObject, types: readonly string[], left: Set<string>): JsonObject | undefined {
    const only = own(node, 'const')
    const given = own(node, 'enum')
    if (only === undefined && !Array.isArray(given)) return undefined
    const listed = only === undefined ? listOf(given) : [only]
    const word = only === undefined ? 'enum' : 'const'
    if (listed.length === 0 || listed.some((value) => typeof value === 'object' && value !== null)) {
      left.add(word)
      return {}
    }
    // `nullable` takes null beside what is listed
    const all = own(node, 'nullable') === true && !listed.includes(null) ? [...listed, null] : listed
    if (this.#dialect.constants !== 'enum')
      return all.length > 1 || only === undefined
        ? { enum: [...new Set(all)] }
        : only === null
          ? { type: 'null' }
          : { const: only }
    const values = all.filter((value) => typeof value === 'string' || typeof value === 'number')
    const others = types.filter((type) => type === 'null' || type === 'boolean')
    if (values.length < all.length && all.some((value) => typeof value === 'boolean')) left.add(word)
    const kinds = (['string', 'number'] as const).flatMap((kind) => {
      const own = values.filter((value) => typeof value === kind)
      return own.length === 0 ? [] : [{ type: kind, enum: own }]
    })
    const forms: JsonObject[] = [...kinds, ...others.map((type) => ({ type }))]
    return forms.length === 1 ? forms[0] : { anyOf: forms }
  }

  #constraints(node: JsonObject, words: readonly string[], out: { [word: string]: Json }, left: Set<string>): void {
    for (const word of words) {
      const value = own(node, word)
      if (value === undefined || value === null || typeof value === 'boolean') continue
      if (this.#isSent(word, value)) out[word] = value
      else left.add(word)
    }
  }

  #isSent(word: string, value: Json): boolean {
    const { keywords, formats, patterns } = this.#dialect
    if (!keywords.has(word)) return false
    if (word === 'format') return typeof value === 'string' && (formats === undefined || formats.has(value))
    if (word !== 'pattern') return typeof value === 'number'
    return typeof value === 'string' && !(patterns === 'plain' && /\(\?/.test(value)) && compiles(value)
  }

  /** Before draft 6 an exclusive limit was a word beside the limit. */
  #numbers(node: JsonObject, out: { [word: string]: Json }, left: Set<string>): void {
    const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: under, ...rest } = node
    const modern: { [word: string]: Json } = rest
    if (minimum !== undefined) modern[above === true ? 'exclusiveMinimum' : 'minimum'] = minimum
    if (maximum !== undefined) modern[under === true ? 'exclusiveMaximum' : 'maximum'] = maximum
    if (typeof above === 'number') modern['exclusiveMinimum'] = above
    if (typeof under === 'number') modern['exclusiveMaximum'] = under
    this.#constraints(modern, numberKeywords, out, left)
  }

  /** A tuple is a list of what any of its places takes; the places are told in words. */
  #list(node: JsonObject, out: { [word: string]: Json }, left: Set<string>, depth: number): void {
    const { items, prefixItems, additionalItems } = node
    const places = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined
    if (places === undefined) {
      out['items'] = this.write(items, depth + 1)
      return this.#constraints(node, listKeywords, out, left)
    }
    left.add(Array.isArray(prefixItems) ? 'prefixItems' : 'items')
    const rest = Array.isArray(prefixItems) ? items : additionalItems
    const most = typeof node['maxItems'] === 'number' ? node['maxItems'] : Infinity
    const isClosed = rest === false || most <= places.length
    const forms = isClosed ? listOf(places) : [...listOf(places), rest ?? true]
    out['items'] = forms.some(isAnything) ? {} : this.#union({}, forms, depth)
    const bounded = rest === false && most > places.length ? { ...node, maxItems: places.length } : node
    this.#constraints(bounded, listKeywords, out, left)
  }

  #object(node: JsonObject, out: { [word: string]: Json }, left: Set<string>, depth: number): void {
    const { properties, additionalProperties } = node
    const { propertyName } = this.#dialect
    const members: [string, JsonObject][] = []
    const required = textsOf(own(node, 'required'))
    let isOpened = own(node, 'patternProperties') !== undefined
    for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
      if (isNever(schema)) continue
      if (propertyName !== undefined && !propertyName.test(name)) {
        left.add('properties')
        isOpened = true
      } else {
        const member = this.write(schema, depth + 1)
        const isOptional = this.#dialect.nullableOptionals === true && !required.includes(name)
        members.push([name, isOptional ? orNull(member) : member])
      }
    }
    const names = new Set(members.map(([name]) => name))
    for (const name of new Set(required)) {
      if (names.has(name)) continue
      if (propertyName !== undefined && !propertyName.test(name)) left.add('required')
      else members.push([name, isObject(additionalProperties) ? this.write(additionalProperties, depth + 1) : {}])
      names.add(name)
    }
    out['properties'] = Object.fromEntries(members)
    const needed = [...new Set(required)].filter((name) => members.some(([each]) => each === name))
    if (needed.length > 0) out['required'] = needed
    if (isOpened) return
    if (typeof additionalProperties === 'boolean') out['additionalProperties'] = additionalProperties
    else if (isObject(additionalProperties)) out['additionalProperties'] = this.write(additionalProperties, depth + 1)
  }
}

/** A written schema that takes null as well. */
function orNull(schema: JsonObject): JsonObject {
  const { type, description, ...rest } = schema
  if (isAnything(schema) || type === 'null' || listOf(type).includes('null')) return schema
  if (type !== undefined && rest['enum'] === undefined && rest['const'] === undefined && rest['anyOf'] === undefined)
    return { ...schema, type: [...(Array.isArray(type) ? listOf(type) : [type]), 'null'] }
  const { description: _, ...form } = schema
  const ways = Object.keys(form).length === 1 && Array.isArray(form['anyOf']) ? listOf(form['anyOf']) : [form]
  return { ...texts({ description }), anyOf: [...ways, { type: 'null' }] }
}

const refOf = (schema: Json | undefined): string | undefined => {
  const reference = isObject(schema) ? own(schema, '$ref') : undefined
  return typeof reference === 'string' ? reference : undefined
}

function decoded(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}

const withoutDefinitions = ({ $defs: _d, definitions: _o, $schema: _s, $id: _i, ...rest }: JsonObject): JsonObject =>
  rest

const texts = ({
  title,
  description,
}: {
  readonly title?: Json | undefined
  readonly description?: Json | undefined
}) => ({
  ...(typeof title === 'string' && { title }),
  ...(typeof description === 'string' && { description }),
})

/** The types that a node says, or that its other words are only about. */
function typesOf(node: JsonObject): string[] {
  const { type, nullable } = node
  const said = (Array.isArray(type) ? listOf(type) : [type]).filter((each): each is string => jsonTypes.has(each))
  const only = own(node, 'const')
  const values = only === undefined ? listOf(own(node, 'enum')) : [only]
  const types =
    said.length > 0
      ? said
      : values.length > 0
        ? values.map((value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value))
        : isObject(node['properties']) || Array.isArray(own(node, 'required')) || isObject(node['additionalProperties'])
          ? ['object']
          : node['items'] !== undefined || node['prefixItems'] !== undefined
            ? ['array']
            : []
  return [...new Set(nullable === true && types.length > 0 ? [...types, 'null'] : types)]
}

/** The longest text about what could not be written as a schema. */
const longestNote = 600

/** A node with its description, and with what was left out of it in words. */
function described(node: JsonObject, out: JsonObject, left: ReadonlySet<string>): JsonObject {
  const { title, description } = texts(node)
  const rules = Object.fromEntries(
    [...left].flatMap((word) => (own(node, word) === undefined ? [] : [[word, node[word]!]])),
  )
  const note = left.size === 0 ? undefined : `Also: ${cut(JSON.stringify(rules), longestNote)}`
  const text = [description, note].filter((each) => each !== undefined).join('\n')
  return { ...(title !== undefined && { title }), ...(text !== '' && { description: text }), ...out }
}

/** What both schemas take, or somewhat more. */
function intersected(one: JsonObject, other: JsonObject): JsonObject {
  const all: { [word: string]: Json } = { ...other, ...one }
  const [a, b] = [one['type'], other['type']]
  if (a !== undefined && b !== undefined) {
    const types = (Array.isArray(a) ? listOf(a) : [a]).filter(
      (type) => (Array.isArray(b) ? listOf(b) : [b]).includes(type) || (type === 'integer' && b === 'number'),
    )
    all['type'] =
      a === 'number' && b === 'integer' ? b : types.length === 0 ? a : types.length === 1 ? types[0]! : types
  }
  if (isObject(one['properties']) && isObject(other['properties'])) {
    const names = new Set([...Object.keys(one['properties']), ...Object.keys(other['properties'])])
    all['properties'] = Object.fromEntries(
      [...names].map((name) => {
        const [first, second] = [
          own(one['properties'] as JsonObject, name),
          own(other['properties'] as JsonObject, name),
        ]
        if (first === undefined || second === undefined || canonical(first) === canonical(second))
          return [name, first ?? second!]
        return [name, { allOf: [first, second] }]
      }),
    )
  }
  const required = [...textsOf(one['required']), ...textsOf(other['required'])]
  if (required.length > 0) all['required'] = [...new Set(required)]
  // each of two closed objects forbids what the other one names: only what both say may stand
  const closes = [one, other].filter((each) => each['additionalProperties'] !== undefined)
  const isAlike =
    closes.length === 2 && canonical(one['additionalProperties']!) === canonical(other['additionalProperties']!)
  const names = [one, other].map((each) => (isObject(each['properties']) ? Object.keys(each['properties']).sort() : []))
  const isOneSided = closes.length === 1 && names[0]!.every((name) => names[1]!.includes(name)) && closes[0] === other
  const isOwnSided = closes.length === 1 && names[1]!.every((name) => names[0]!.includes(name)) && closes[0] === one
  if (closes.length > 0 && !isAlike && !isOneSided && !isOwnSided) delete all['additionalProperties']
  if (Array.isArray(one['enum']) && Array.isArray(other['enum'])) {
    const known = new Set(listOf(other['enum']).map((value) => canonical(value)))
    all['enum'] = listOf(one['enum']).filter((value) => known.has(canonical(value)))
  }
  return all
}

/** The longest text about the forms of a union. */
const longestForms = 4_000

/** A tool's input as one object: what takes each form of a union takes what any of them takes. */
function objectRoot(root: JsonObject, writer: Writer, given: JsonObject, nullableOptionals: boolean): JsonObject {
  if (!Array.isArray(root['anyOf']))
    return withProperties(
      root['type'] === 'object' || listOf(root['type']).includes('object')
        ? { ...root, type: 'object' }
        : { ...texts(root), type: 'object' },
    )
  const forms = [...objectForms(root, writer)]
  const names = [...new Set(forms.flatMap((form) => Object.keys(membersOf(form))))]
  const members = names.map((name): [string, JsonObject] => {
    const ways = forms.flatMap((form) => {
      const member = own(membersOf(form), name) ?? own(form, 'additionalProperties')
      return member === undefined || member === false ? [] : [member === true ? {} : member]
    })
    return [name, either(ways)]
  })
  const required = names.filter((name) => forms.every((form) => textsOf(form['required']).includes(name)))
  const isOptional = (name: string): boolean => nullableOptionals && !required.includes(name)
  const others = forms.map((form) => own(form, 'additionalProperties'))
  const isClosed = others.length > 0 && others.every((each) => each === false)
  const spread =
    forms.length > 1
      ? `The arguments have one of these forms: ${cut(formsText(given, forms), longestForms)}`
      : undefined
  const { title, description } = texts(root)
  const text = [description, spread].filter((each) => each !== undefined).join('\n')
  return {
    ...(title !== undefined && { title }),
    ...(text !== '' && { description: text }),
    type: 'object',
    properties: Object.fromEntries(members.map(([name, member]) => [name, isOptional(name) ? orNull(member) : member])),
    ...(required.length > 0 && { required }),
    ...(isClosed && { additionalProperties: false }),
  }
}

const membersOf = (form: JsonObject): JsonObject => (isObject(form['properties']) ? form['properties'] : {})

const formsText = (given: JsonObject, forms: readonly JsonObject[]): string =>
  JSON.stringify(own(given, 'anyOf') ?? own(given, 'oneOf') ?? forms)

/** The forms of a union of unions. References may meet again. */
function* objectForms(root: JsonObject, writer: Writer): Generator<JsonObject> {
  const all = new Set([root])
  for (const at of all) {
    const ways = listOf(at['anyOf'])
    for (const way of ways) all.add(writer.resolved(way))
    const { type } = at
    if (ways.length === 0 && (type === undefined || type === 'object' || listOf(type).includes('object'))) yield at
  }
}

/** A schema of all values that one of these takes. */
function either(ways: readonly Json[]): JsonObject {
  const distinct = [...new Map(ways.map((way) => [canonical(way), way])).values()].filter(isObject)
  const [first] = distinct
  if (first === undefined || distinct.some(isAnything)) return {}
  if (distinct.length === 1) return first
  const values = distinct.map((way) => (own(way, 'const') !== undefined ? [way['const']!] : listOf(own(way, 'enum'))))
  const types = new Set(distinct.map((way) => canonical(way['type'] ?? null)))
  if (types.size === 1 && values.every((each) => each.length > 0)) {
    const { const: _, ...rest } = first
    return { ...rest, enum: [...new Set(values.flat())] }
  }
  return { anyOf: distinct }
}

/** What OpenAI allows in one schema that is declared strict. */
const strictLimits = {
  levels: 10,
  properties: 5_000,
  values: 1_000,
  characters: 120_000,
  long: 250,
  longCharacters: 15_000,
}

/** Whether this written schema lies in OpenAI's strict subset: closed objects, all properties required, known types. */
export function isStrict(root: JsonObject): boolean {
  const sizes = { properties: 0, values: 0, characters: 0 }
  const fits = (schema: Json, level: number): boolean => {
    if (!isObject(schema) || level > strictLimits.levels) return false
    if (refOf(schema) !== undefined) return Object.keys(schema).length === 1
    const ways = listOf(schema['anyOf'])
    if (ways.length > 0) return ways.every((way) => fits(way, level))
    const { type, properties, required, additionalProperties, items } = schema
    if (type === undefined) return false
    const values = [...listOf(schema['enum']), ...(schema['const'] === undefined ? [] : [schema['const']])]
    const length = values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)
    sizes.values += values.length
    sizes.characters += length
    if (values.length > strictLimits.long && length > strictLimits.longCharacters) return false
    const kinds = Array.isArray(type) ? listOf(type) : [type]
    if (kinds.includes('array') && !(isObject(items) && fits(items, level))) return false
    if (!kinds.includes('object')) return true
    const members = Object.entries(isObject(properties) ? properties : {})
    sizes.properties += members.length
    sizes.characters += members.reduce((sum, [name]) => sum + name.length, 0)
    return (
      additionalProperties === false &&
      members.every(([name, member]) => textsOf(required).includes(name) && fits(member, level + 1))
    )
  }
  const { $defs, ...rest } = root
  const definitions = Object.entries(isObject($defs) ? $defs : {})
  sizes.characters += definitions.reduce((sum, [name]) => sum + name.length, 0)
  return (
    root['type'] === 'object' &&
    fits(rest, 1) &&
    definitions.every(([, schema]) => fits(schema, 1)) &&
    sizes.properties <= strictLimits.properties &&
    sizes.values <= strictLimits.values &&
    sizes.characters <= strictLimits.characters
  )
}
