/**
 * JSON Schema: the check of a value against a plain JSON Schema. Own code rather than a package: why, with figures, in
 * docs/decisions/0017.
 *
 * Owns: the compiled form, what of a schema cannot be read, and the one sentence about a value that does not fit. Reads
 * drafts 4 to 2020-12 and the `nullable` of OpenAPI 3.0. `format` and `content…` are notes, as in 2020-12. Does not own:
 * reading (json-schema/document.ts), keywords (json-schema/keywords.ts), patterns (json-schema/pattern.ts).
 * Holds: values and schemas are read by their own members only; what a value inherits, or calls itself, changes no
 * verdict. A check never throws, and its work is bounded in steps, whatever the schema and the value.
 */
import { isObject, own, type Json, type JsonObject } from '@reeve/core'
import { Budget, BudgetSpent, mostForeignSteps, mostSteps, tooDeep } from './json-schema/budget.ts'
import { SchemaDocument, type Draft, type SchemaNode, type SchemaProblem } from './json-schema/document.ts'
import { Checks } from './json-schema/keywords.ts'

export type { Draft, SchemaNode, SchemaProblem }

/** A JSON Schema as data. */
export type JsonSchema = JsonObject

/** How a JSON Schema is read. */
export interface JsonSchemaOptions {
  /** The draft of a schema without `$schema`. Default 2020. */
  readonly draft?: Draft
  /**
   * What becomes of a value whose check is given up at a bound. Default `refuse`. With `pass`, for schemas of others who
   * check the value as well, the bound is lower.
   */
  readonly unchecked?: 'refuse' | 'pass'
}

/** A JSON Schema, compiled. It must not be changed afterwards. */
export class CompiledJsonSchema {
  readonly #document: SchemaDocument
  readonly #checks: Checks
  readonly #unchecked: 'refuse' | 'pass'

  constructor(schema: JsonSchema | boolean, { draft, unchecked = 'refuse' }: JsonSchemaOptions = {}) {
    this.#document = new SchemaDocument(schema, draft)
    this.#checks = new Checks(this.#document)
    this.#unchecked = unchecked
  }

  /** What of the schema cannot be read. It is not checked, and makes nothing else stricter. */
  get problems(): readonly SchemaProblem[] {
    return this.#document.problems
  }

  get root(): SchemaNode {
    return this.#document.root
  }

  /** The part of the schema that is this object. */
  node(schema: JsonSchema): SchemaNode {
    return this.#document.node(schema)
  }

  /** What is wrong with a value, the first problem only, as one sentence; undefined if nothing. */
  problem(value: Json | undefined, node: SchemaNode = this.root, path = ''): string | undefined {
    try {
      return this.#checks.of(node)(value, {
        budget: this.budget(),
        scope: [],
      })?.(path)
    } catch (thrown) {
      if (!isSpent(thrown)) throw thrown
      if (this.#unchecked === 'pass') return undefined
      return `${path === '' ? 'the value' : `"${path}"`} cannot be checked against its schema: ${thrown instanceof BudgetSpent ? thrown.message : tooDeep}`
    }
  }

  /** What one check of a value may cost. */
  budget(): Budget {
    return new Budget(this.#unchecked === 'pass' ? mostForeignSteps : mostSteps)
  }

  /** Whether a value fits, within a budget that is shared with other checks. Throws `BudgetSpent`. */
  fits(value: Json, node: SchemaNode, budget: Budget): boolean {
    return this.#checks.of(node)(value, { budget, scope: [] }) === undefined
  }
}

/** A value that is deeper than the stack is beyond the bounds too. */
const isSpent = (thrown: unknown): thrown is Error => thrown instanceof BudgetSpent || thrown instanceof RangeError

const compiledSchemas = new WeakMap<object, CompiledJsonSchema>()

/** A schema, compiled once. */
export function compiledJsonSchema(schema: JsonSchema): CompiledJsonSchema {
  const known = compiledSchemas.get(schema)
  if (known !== undefined) return known
  const made = new CompiledJsonSchema(schema)
  compiledSchemas.set(schema, made)
  return made
}

/**
 * What is wrong with a value, the first problem only, as one sentence; undefined if nothing. `schema` is `root`, or a
 * part of it, of whatever document. What cannot be read of it is not checked. Pure.
 */
export function schemaProblem(
  value: Json | undefined,
  schema: Json | undefined,
  root: JsonSchema,
  path = '',
): string | undefined {
  if (schema === false) return new CompiledJsonSchema(false).problem(value, undefined, path)
  if (!isObject(schema)) return undefined
  const compiled = compiledJsonSchema(root)
  return compiled.problem(value, compiled.node(schema), path)
}

/** The sub-schema that a local pointer names; undefined (which accepts everything) if there is none. */
export function resolve(reference: string, root: JsonSchema): Json | undefined {
  const [, pointer] = /^#((?:\/.*)?)$/s.exec(reference) ?? []
  if (pointer === undefined) return undefined
  let at: Json | undefined = root
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isObject(at) ? own(at, name) : Array.isArray(at) ? (at as readonly Json[])[Number(name)] : undefined
  }
  return at
}
