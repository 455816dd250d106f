/**
 * The definition of a tool as an MCP server tells it, and what Reeve makes of it.
 *
 * Owns: what of a definition is pinned and its digest, bounds, the name and the texts that a model is shown, what the
 * server's hints come to, the check of arguments. Pure. Does not own: where pins are kept (pins.ts), calls
 * (tool-call.ts).
 * Holds: what a server says of its own tools makes oversight stricter, never looser. Nothing in a definition can keep a
 * check busy: patterns and references are left to the server.
 */
import {
  cut,
  digestJson,
  isName,
  isObject,
  jsonBytes,
  own,
  ReeveError,
  visibleLines,
  type Json,
  type JsonObject,
} from '../../core/index.ts'
import { compileSchema, type JsonSchema, type Schema, type StandardSchema } from '../../edge/index.ts'

/** What a server says of a tool, as far as it is pinned. */
export interface McpDefinition {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: JsonObject
}

/** How a tool is run. */
export interface McpToolRules {
  /**
   * How it behaves when it must run again after a crash, as the option of `tool`. Default `once`, or with `hints:
   * 'trusted'` what the server says.
   */
  readonly effect?: 'read' | 'idempotent' | 'once'
  /** Every call needs an approval. Default: where the server says that the tool destroys something. */
  readonly sensitive?: boolean
  /** As the option of `tool`. Default: only what may not be done twice is made once. */
  readonly repeatable?: boolean
}

/** Bounds of what a server may say. */
const longestDescription = 10_000
const largestDefinition = 256 * 1024
const deepest = 64
/** How many tools one server may have. */
export const mostTools = 512

/**
 * The definition in a tool of a list, by its own members. Throws `tool.invalid` for one that no model could be shown,
 * or that is too large.
 */
export function definitionIn(tool: unknown, server: string): McpDefinition {
  const name = isObject(tool) ? own(tool, 'name') : undefined
  if (!isObject(tool) || typeof name !== 'string' || name === '' || name.length > 256)
    throw new ReeveError('tool.invalid', `MCP server "${server}" lists a tool without a name`)
  const [inputSchema, outputSchema, annotations, description] = (
    ['inputSchema', 'outputSchema', 'annotations', 'description'] as const
  ).map((member) => own(tool, member))
  const definition: McpDefinition = {
    name,
    description: typeof description === 'string' ? description : '',
    inputSchema: isObject(inputSchema) ? inputSchema : { type: 'object' },
    ...(isObject(outputSchema) ? { outputSchema } : undefined),
    ...(isObject(annotations) ? { annotations } : undefined),
  }
  if (isTooDeep(definition as unknown as Json) || jsonBytes(definition as unknown as Json) > largestDefinition)
    throw new ReeveError(
      'tool.invalid',
      `MCP server "${server}": the definition of "${shortName(name)}" is too large`,
      {
        hint: 'Name the tools that you want with `only`, and leave this one out.',
      },
    )
  return definition
}

/** Whether a value nests deeper than is taken from a server. */
export const isTooDeep = (value: Json): boolean => depthOf(value) > deepest

/** How deep a value nests; no deeper than one more than is allowed. */
function depthOf(value: Json, depth = 0): number {
  if (depth > deepest || typeof value !== 'object' || value === null) return depth
  return Object.values(value).reduce<number>((most, each) => Math.max(most, depthOf(each, depth + 1)), depth + 1)
}

const shortName = (name: string): string => cut(visibleLines(name).join(' '), 100)

/** The digest of a definition: name, description, schemas and hints. */
export const definitionDigest = (definition: McpDefinition): string => digestJson(definition as unknown as Json)

/** The name under which a model calls the tool: that of the server, with `_` for what Reeve's names do not allow. */
export function toolName({ name }: McpDefinition, prefix: string): string {
  const plain = `${prefix}${name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  const begun = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`
  const fits = begun.length <= 64 ? begun : `${begun.slice(0, 51)}_${digestJson(name).slice(0, 12)}`
  if (isName(fits)) return fits
  throw new ReeveError('tool.invalid', `"${shortName(name)}" cannot be made the name of a tool`)
}

/** The description that a model is shown: bounded, with everything visible that is in it. */
export const shownDescription = ({ description }: McpDefinition): string =>
  cut(visibleLines(description).join('\n'), longestDescription)

/**
 * How the tool runs. `given`: what the user says, which wins; `trusted`: the user lets the server say that a tool may
 * be repeated.
 */
export function toolRules(
  { annotations = {} }: McpDefinition,
  given: McpToolRules,
  trusted: boolean,
): Required<McpToolRules> {
  const says = (hint: string): boolean => own(annotations, hint) === true
  const destroys = says('destructiveHint')
  const repeatable =
    !trusted || destroys ? 'once' : says('readOnlyHint') ? 'read' : says('idempotentHint') ? 'idempotent' : 'once'
  const effect = given.effect ?? repeatable
  const sensitive = given.sensitive ?? destroys
  return { sensitive, effect, repeatable: given.repeatable ?? !(sensitive || effect === 'once') }
}

/**
 * The schema of the arguments: the model is shown all of it, and what can be checked without harm is checked here. The
 * server checks all of it.
 */
export function argumentSchema({ inputSchema, name }: McpDefinition): StandardSchema {
  const schema = harmless(inputSchema, name)
  return {
    '~standard': {
      version: 1,
      vendor: 'reeve/mcp',
      validate: (value) => {
        const checked = schema.check(value as Json)
        return checked.ok ? { value } : { issues: [{ message: checked.problem }] }
      },
      jsonSchema: { input: () => ({ type: 'object', ...inputSchema }) },
    },
  }
}

/** A schema of a server that is safe to check values with. */
export const harmless = (schema: JsonSchema, where: string): Schema =>
  compileSchema(withoutTraps(schema) as JsonSchema, where)

/** Members of a schema that hold schemas by name. */
const byName: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
/** Members whose values are data. */
const data: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required', 'type'])
/** A pattern may take for ever, and references may unfold without end. */
const traps: ReadonlySet<string> = new Set(['pattern', 'patternProperties', '$ref', '$dynamicRef'])

function withoutTraps(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((each: Json) => withoutTraps(each))
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).flatMap(([member, value]): [string, Json][] => {
    if (traps.has(member)) return []
    if (data.has(member) || !byName.has(member) || !isObject(value))
      return [[member, data.has(member) ? value : withoutTraps(value)]]
    return [[member, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutTraps(each)]))]]
  })
  return Object.fromEntries(entries)
}
