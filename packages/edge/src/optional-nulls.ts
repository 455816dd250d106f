/**
 * Optional nulls: models send `null` for a member that they leave out.
 *
 * Owns: the value without such members: a `null` that its schema does not take, of a member that may be absent, at any
 * depth and in whichever form of a union the rest then fits. Does not own: the check (json-schema.ts).
 * Holds: what a value may be is decided by the check that follows; here nothing but such members is taken out.
 */
import { isObject, own, type Json, type JsonObject } from '@reeve/core'
import { type Budget, BudgetSpent } from './json-schema/budget.ts'
import type { CompiledJsonSchema, SchemaNode } from './json-schema.ts'

/** A copy without the nulls that stand where an optional member was left out; the same value if there is none. */
export function withoutOptionalNulls(value: Json, schema: CompiledJsonSchema): Json {
  try {
    return new Cleaning(schema).of(value, schema.root, new Set())
  } catch (thrown) {
    if (thrown instanceof BudgetSpent || thrown instanceof RangeError) return value
    throw thrown
  }
}

/** Steps of one cleaning. */
class Cleaning {
  readonly #schema: CompiledJsonSchema
  readonly #budget: Budget

  constructor(schema: CompiledJsonSchema) {
    this.#schema = schema
    this.#budget = schema.budget()
  }

  /** `required`: names that are required by what stands around. */
  of(value: Json, node: SchemaNode, required: ReadonlySet<string>): Json {
    if (typeof value !== 'object' || value === null) return value
    this.#budget.enter()
    const here = new Set([...required, ...namesIn(node)])
    let now = Array.isArray(value) ? this.#items(value as readonly Json[], node) : value
    if (isObject(now)) now = this.#members(now, node, here)
    for (const each of [
      ...node.references.values(),
      ...(node.several.get('allOf') ?? []),
      ...this.#conditional(now, node),
    ])
      now = this.of(now, each, here)
    for (const keyword of ['anyOf', 'oneOf']) now = this.#oneForm(now, node.several.get(keyword) ?? [], here)
    this.#budget.depth -= 1
    return now
  }

  #fits(value: Json, node: SchemaNode): boolean {
    return this.#schema.fits(value, node, this.#budget)
  }

  #items(value: readonly Json[], node: SchemaNode): Json {
    const isTuple = node.several.has('items')
    const first = node.several.get(isTuple ? 'items' : 'prefixItems') ?? []
    const rest = node.one.get(isTuple ? 'additionalItems' : 'items')
    let changed = false
    const items = value.map((each, i) => {
      const sub = i < first.length ? first[i] : rest
      const cleaned = sub === undefined ? each : this.of(each, sub, new Set())
      changed ||= cleaned !== each
      return cleaned
    })
    return changed ? items : value
  }

  #members(value: JsonObject, node: SchemaNode, required: ReadonlySet<string>): JsonObject {
    const properties = node.named.get('properties')
    const others = node.one.get('additionalProperties')
    if (properties === undefined && others === undefined) return value
    let changed = false
    const kept = Object.entries(value).flatMap(([name, member]): (readonly [string, Json])[] => {
      if (member === undefined) return []
      const sub = properties?.get(name) ?? others
      const isLeftOut =
        member === null && properties?.has(name) === true && !required.has(name) && !this.#fits(null, sub!)
      const cleaned = isLeftOut || sub === undefined ? member : this.of(member, sub, new Set())
      changed ||= isLeftOut || cleaned !== member
      return isLeftOut ? [] : [[name, cleaned]]
    })
    // fromEntries defines members: an assignment to "__proto__" would change what the copy inherits instead
    return changed ? Object.fromEntries(kept) : value
  }

  /** Schemas that hold for this value only. */
  #conditional(value: Json, node: SchemaNode): readonly SchemaNode[] {
    const when = node.one.get('if')
    const chosen = when === undefined ? undefined : node.one.get(this.#fits(value, when) ? 'then' : 'else')
    const dependent = [...(node.named.get('dependentSchemas') ?? [])].flatMap(([name, each]) =>
      isObject(value) && own(value, name) !== undefined ? [each] : [],
    )
    return chosen === undefined ? dependent : [chosen, ...dependent]
  }

  /** The value as the first of several forms takes it; as it is, if one does already, or none does then. */
  #oneForm(value: Json, forms: readonly SchemaNode[], required: ReadonlySet<string>): Json {
    if (forms.some((each) => this.#fits(value, each))) return value
    const names = forms.map(propertiesIn)
    for (const [i, form] of forms.entries()) {
      const cleaned = this.of(withoutForeign(value, names, i), form, required)
      if (cleaned !== value && this.#fits(cleaned, form)) return cleaned
    }
    return value
  }
}

/**
 * A value without the nulls of members that only other forms of a union have. A provider that takes no union at a tool's
 * root is shown the members of all forms beside one another.
 */
function withoutForeign(value: Json, names: readonly ReadonlySet<string>[], form: number): Json {
  if (!isObject(value)) return value
  const isForeign = (name: string): boolean => !names[form]!.has(name) && names.some((each) => each.has(name))
  const kept = Object.entries(value).filter(([name, member]) => member !== null || !isForeign(name))
  return kept.length === Object.keys(value).length ? value : Object.fromEntries(kept)
}

/** A schema and what always holds beside it. Schemas may meet again. */
function around(first: SchemaNode): ReadonlySet<SchemaNode> {
  const all = new Set([first])
  for (const node of all)
    for (const each of [...node.references.values(), ...(node.several.get('allOf') ?? [])]) all.add(each)
  return all
}

const propertiesIn = (first: SchemaNode): ReadonlySet<string> =>
  new Set([...around(first)].flatMap((node) => [...(node.named.get('properties')?.keys() ?? [])]))

const namesIn = (first: SchemaNode): readonly string[] =>
  [...around(first)].flatMap((node) => {
    const required = node.get('required')
    return Array.isArray(required) ? (required as readonly Json[]).filter((each) => typeof each === 'string') : []
  })
