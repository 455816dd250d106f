/**
 * Elicitation: what a server asks people in the middle of a call, as a question of the run.
 *
 * Owns: the question that a person is shown, which answers fit, what the server is told. Pure. Does not own: asking
 * (tool-call.ts).
 */
import { cut, digestJson, isObject, jsonBytes, own, type Json, type JsonObject } from '@reeve/core'
import type { JsonSchema, StandardSchema } from '@reeve/edge'
import { foreignCheck, foreignSchema, isTooDeep } from './tool-definition.ts'

/** What a server asks: a message, and the form of the answer. */
export interface Elicitation {
  readonly message: string
  readonly schema: JsonSchema
}

/** What the server is told. */
export type ElicitationAnswer =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' }

const longestMessage = 10_000
const largestForm = 64 * 1024

/** What the parameters of `elicitation/create` ask; undefined if it is not a form, or too large to be shown. */
export function elicitationIn(params: unknown): Elicitation | undefined {
  if (!isObject(params)) return undefined
  const [message, schema, mode = 'form'] = (['message', 'requestedSchema', 'mode'] as const).map((name) =>
    own(params, name),
  )
  if (mode !== 'form' || typeof message !== 'string' || !isObject(schema)) return undefined
  if (isTooDeep(schema) || jsonBytes(schema) > largestForm) return undefined
  return { message: cut(message, longestMessage), schema }
}

/** The same question has the same digest. */
export const elicitationDigest = (asked: Elicitation): string => digestJson(asked as unknown as Json)

const declines = 'decline'
const cancels = 'cancel'

/** What a person is shown. */
export const questionFor = ({ message, schema }: Elicitation, server: string, tool: string): JsonObject => ({
  message,
  from: `the MCP server "${server}", which was called for "${tool}"`,
  schema,
  answerWith: `an object that fits the schema, or the text "${declines}" or "${cancels}"`,
})

/** The schema of the answer of a person. */
export function answerSchema({ schema }: Elicitation): StandardSchema<Json> {
  const form = foreignCheck(schema, 'elicitation')
  const words = { enum: [declines, cancels] }
  return foreignSchema({ anyOf: [schema, words] }, (value) =>
    value === declines || value === cancels ? { ok: true, value } : form.check(value),
  )
}

/** The answer of a person, as the server is told it: with the defaults of its form for what was left out. */
export function answerFrom(value: Json, { schema }: Elicitation): ElicitationAnswer {
  if (value === declines || value === cancels) return { action: value }
  return isObject(value) ? { action: 'accept', content: { ...defaultsOf(schema), ...value } } : { action: 'cancel' }
}

function defaultsOf(schema: JsonSchema): JsonObject {
  const properties = own(schema, 'properties')
  if (!isObject(properties)) return {}
  const found = Object.entries(properties).map(([name, field]) => [
    name,
    isObject(field) ? own(field, 'default') : undefined,
  ])
  return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as JsonObject
}
