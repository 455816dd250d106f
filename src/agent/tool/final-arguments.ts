/**
 * Final arguments: what a tool will really run with, as JSON: after validation, with defaults and transforms applied,
 * without what its schema leaves out.
 *
 * Owns: that value, and what becomes of arguments that a human has edited. Pure as long as the schema is. Does not own:
 * asking (tool-gate.ts, code-approval.ts).
 * Holds: an approver is shown this value and nothing else, and its digest is what an approval holds for.
 */
import { canonical, isObject, jsonProblem, type Json } from '../../core/index.ts'
import type { Checked, Schema } from '../../edge/index.ts'
import type { Agent } from '../definition.ts'

/**
 * What becomes of arguments that a human has edited: a text says why they do not fit; `runs` is what the tool would run
 * with, where that is something else; undefined: exactly this.
 */
export type Fit = string | undefined | { readonly runs: Json }

/** As much of a tool as says what it runs with. */
interface RunnableTool {
  readonly input: Schema
  readonly work:
    | { readonly kind: 'effect' | 'orchestration' }
    | { readonly kind: 'agent'; readonly agent: { readonly inputSchema?: Schema | undefined } }
}

/**
 * The arguments as they run. Where they hold what JSON cannot (a Map, a class of the user's), those that were given:
 * the same ones make the same value.
 */
export function finalArguments(value: unknown, given: Json): Json {
  const final = asJson(value)
  return final === undefined || canonical(final) === canonical(given) ? given : final
}

/** What becomes of arguments under a schema. */
export function fitUnderSchema(checked: Checked<unknown>, given: Json): Fit {
  if (!checked.ok) return checked.problem
  const runs = finalArguments(checked.value, given)
  return runs === given ? undefined : { runs }
}

/**
 * What a tool runs with, of a value that its schema has made: an agent as a tool makes of it what its own schema says.
 */
export function runArguments(tool: RunnableTool, value: unknown, given: Json): Json {
  const final = finalArguments(value, given)
  const own = ownSchema(tool)?.check(final)
  return own?.ok === true ? finalArguments(own.value, final) : final
}

/** What becomes of arguments for a tool that a human has edited. */
export function fitOfTool(tool: RunnableTool, checked: Checked<unknown>, given: Json): Fit {
  const own = checked.ok ? ownSchema(tool)?.check(finalArguments(checked.value, given)) : undefined
  return own?.ok === false
    ? own.problem
    : fitUnderSchema(checked.ok ? { ...checked, value: runArguments(tool, checked.value, given) } : checked, given)
}

/**
 * What crosses to work that is begun as a worker, which validates by its own schema: the arguments as they were
 * approved, where that changes nothing of them, else what it makes them of. `from`: what was validated, `value`: what
 * that made of it.
 */
export function crossingArguments(tool: RunnableTool, approved: Json, from: Json, value: unknown): Json {
  const isAgent = tool.work.kind === 'agent'
  const given = isAgent ? finalArguments(value, from) : from
  const schema = isAgent ? ownSchema(tool) : tool.input
  return approved !== from && schema !== undefined && fitUnderSchema(schema.check(approved), approved) === undefined
    ? approved
    : given
}

/** A brief as its agent works on it: what an approver is shown of work that has not begun. */
export function finalBrief(
  { inputSchema, parsesInput }: Pick<Agent, 'inputSchema' | 'parsesInput'>,
  given: Json,
): Json {
  const checked = parsesInput === true ? inputSchema?.check(given) : undefined
  return checked?.ok === true ? finalArguments(checked.value, given) : given
}

/** What becomes of a brief that a human has edited. */
export function fitOfBrief({ inputSchema, parsesInput }: Pick<Agent, 'inputSchema' | 'parsesInput'>, given: Json): Fit {
  const checked = inputSchema?.check(given)
  if (checked === undefined || (checked.ok && parsesInput !== true)) return undefined
  return fitUnderSchema(checked, given)
}

/** What an agent as a tool validates by. */
const ownSchema = ({ work }: RunnableTool): Schema | undefined =>
  work.kind === 'agent' ? work.agent.inputSchema : undefined

/** Dates and big integers as text, absent members left out; undefined for everything that would lose something. */
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
