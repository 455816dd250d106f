/**
 * The definition of a tool as an MCP server tells it, and what Reeve makes of it.
 *
 * Owns: what of a definition is pinned and its digest, bounds, the name and the texts that a model is shown, what the
 * server's hints come to, the check of arguments. Pure. Does not own: where pins are kept (pins.ts), calls
 * (tool-call.ts).
 * Holds: what a server says of its own tools makes oversight stricter, never looser. Nothing in a definition can keep a
 * check busy, or refuse what the server would take: a check is bounded, and what cannot be read is left to the server.
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
} from '@reeve/core'
import { compileSchema, type Checked, type JsonSchema, type Schema, type StandardSchema } from '@reeve/edge'

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
export const mostTools = 4096

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

/**
 * The names of all tools of a server, in their order. Those that would be the same, such as names in letters that
 * Reeve's names do not have, are told apart by a digest of the server's name.
 */
export function toolNames(definitions: readonly McpDefinition[], prefix: string): readonly string[] {
  const plain = definitions.map((definition) => toolName(definition, prefix))
  const counts = Map.groupBy(plain, (name) => name)
  const isTaken = (i: number): boolean =>
    counts.get(plain[i]!)!.length > 1 && plain[i] !== `${prefix}${definitions[i]!.name}`
  return plain.map((name, i) =>
    isTaken(i) ? `${name.slice(0, 51)}_${digestJson(definitions[i]!.name).slice(0, 12)}` : name,
  )
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

/** The schema of the arguments. The model is shown all of it. */
export function argumentSchema({ inputSchema, name }: McpDefinition): StandardSchema<Json> {
  const schema = foreignCheck(inputSchema, name)
  return foreignSchema({ type: 'object', ...inputSchema }, (value) => schema.check(value))
}

/** A schema that a server wrote, as others take schemas: what is shown of it, and its check. */
export const foreignSchema = (shown: JsonSchema, check: (value: Json) => Checked<unknown>): StandardSchema<Json> => ({
  '~standard': {
    version: 1,
    vendor: 'reeve/mcp',
    validate: (value) => {
      const checked = check(value as Json)
      return checked.ok ? { value: checked.value as Json } : { issues: [{ message: checked.problem }] }
    },
    jsonSchema: { input: () => shown },
  },
})

/**
 * The check of a schema that a server wrote. What cannot be read of it is not checked here: the server checks it as
 * well.
 */
export const foreignCheck = (schema: JsonSchema, where: string): Schema =>
  compileSchema(schema, where, undefined, { unread: 'leave' })
