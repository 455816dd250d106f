/**
 * Final arguments: what a tool actually runs with, as JSON: validated, with defaults and transforms applied, without
 * members that its schema drops.
 *
 * Owns: that value, and the check of arguments that a human edited. Pure if the schema is. Does not own: asking
 * (approval/tool-gate.ts, code/code-approval.ts).
 * Holds: an approver sees exactly this value, and an approval holds for its digest.
 */
import { canonical, isObject, jsonProblem, type Json } from '@reeve/core'
import type { Checked, Schema } from '@reeve/edge'
import type { Agent } from './definition.ts'

/**
 * The check of edited arguments. A text says why they do not fit. `runs`: what the tool would run with, if that
 * differs. Undefined: exactly these.
 */
export type Fit = string | undefined | { readonly runs: Json }

/** The part of a tool that decides its final arguments. */
interface RunnableTool {
  readonly input: Schema
  readonly work:
    | { readonly kind: 'effect' | 'client' | 'orchestration' | 'provider' }
    | { readonly kind: 'agent'; readonly agent: { readonly inputSchema?: Schema | undefined } }
}

/**
 * The arguments as they run. If they hold values that JSON cannot (a Map, a user's class), the given ones, which always
 * parse to the same value.
 */
export function finalArguments(value: unknown, given: Json): Json {
  const final = asJson(value)
  return final === undefined || canonical(final) === canonical(given) ? given : final
}

/** Checks arguments against a schema. */
export function fitUnderSchema(checked: Checked<unknown>, given: Json): Fit {
  if (!checked.ok) return checked.problem
  const runs = finalArguments(checked.value, given)
  return runs === given ? undefined : { runs }
}

/** The final arguments of a parsed value. An agent as a tool also applies its own schema. */
export function runArguments(tool: RunnableTool, value: unknown, given: Json): Json {
  const final = finalArguments(value, given)
  const own = ownSchema(tool)?.check(final)
  return own?.ok === true ? finalArguments(own.value, final) : final
}

/** Checks edited arguments of a tool. */
export function fitOfTool(tool: RunnableTool, checked: Checked<unknown>, given: Json): Fit {
  const own = checked.ok ? ownSchema(tool)?.check(finalArguments(checked.value, given)) : undefined
  return own?.ok === false
    ? own.problem
    : fitUnderSchema(checked.ok ? { ...checked, value: runArguments(tool, checked.value, given) } : checked, given)
}

/**
 * The input of work that runs as a worker and validates by its own schema: the approved arguments if validation does
 * not change them, else the validated ones. `from`: what was validated; `value`: the result.
 */
export function crossingArguments(tool: RunnableTool, approved: Json, from: Json, value: unknown): Json {
  const isAgent = tool.work.kind === 'agent'
  const given = isAgent ? finalArguments(value, from) : from
  const schema = isAgent ? ownSchema(tool) : tool.input
  return approved !== from && schema !== undefined && fitUnderSchema(schema.check(approved), approved) === undefined
    ? approved
    : given
}

/** A brief as its agent will receive it. An approver sees this before the work begins. */
export function finalBrief(
  { inputSchema, parsesInput }: Pick<Agent, 'inputSchema' | 'parsesInput'>,
  given: Json,
): Json {
  const checked = parsesInput === true ? inputSchema?.check(given) : undefined
  return checked?.ok === true ? finalArguments(checked.value, given) : given
}

/** Checks a brief that a human edited. */
export function fitOfBrief({ inputSchema, parsesInput }: Pick<Agent, 'inputSchema' | 'parsesInput'>, given: Json): Fit {
  const checked = inputSchema?.check(given)
  if (checked === undefined || (checked.ok && parsesInput !== true)) return undefined
  return fitUnderSchema(checked, given)
}

/** The schema by which an agent as a tool validates. */
const ownSchema = ({ work }: RunnableTool): Schema | undefined =>
  work.kind === 'agent' ? work.agent.inputSchema : undefined

/** Dates and big integers as text, without undefined members. Undefined for values that would lose something. */
function asJson(value: unknown): Json | undefined {
  if (jsonProblem(value) === undefined) return JSON.parse(JSON.stringify(value)) as Json
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString()
  if (Array.isArray(value)) {
    const items = value.map(asJson)
    return items.some((item) => item === undefined) ? undefined : (items as Json)
  }
  if (!isObject(value)) return value instanceof URL ? value.href : leaf(value)
  const members = Object.entries(value as { readonly [name: string]: unknown }).filter(
    ([, member]) => member !== undefined,
  )
  const shown = members.map(([name, member]) => [name, asJson(member)] as const)
  return shown.some(([, member]) => member === undefined) ? undefined : (Object.fromEntries(shown) as Json)
}

const leaf = (value: unknown): Json | undefined =>
  value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
    ? (value as Json)
    : undefined
