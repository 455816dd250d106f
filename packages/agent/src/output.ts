/**
 * Output: turns the last text of a model into the output that the definition promises.
 *
 * Owns: parsing the text, validating the output, the wording of corrections and of the failure. Does not own: how often
 * the model may correct it (turn-loop.ts).
 */
import { failure, jsonOf, jsonProblem, writingProblem, type Failure, type Json } from '@reeve/core'
import type { Checked, Schema } from '@reeve/edge'

/**
 * The output in a text; without a schema the text itself. `quotable`: what its author had read, which it may quote.
 * Pure.
 */
export function outputOf(text: string, schema: Schema | undefined, quotable: readonly string[] = []): Checked<Json> {
  if (schema === undefined) return { ok: true, value: text }
  const parsed = jsonOf(text, { path: 'the answer', quotable })
  if (parsed.ok) {
    const checked = checkOutput(parsed.value, schema)
    if (checked.ok || schema.json['type'] !== 'string') return checked
  }
  if (schema.json['type'] === 'string') return checkOutput(text, schema)
  if (parsed.ok || parsed.none !== true)
    return { ok: false, problem: parsed.ok ? 'the answer is not JSON' : parsed.problem }
  return { ok: false, problem: text.trim() === '' ? 'the answer is empty' : 'the answer is not JSON' }
}

/** Validates a value against an output schema. The parsed value must be JSON again, because it is recorded. Pure. */
export function checkOutput(value: Json, schema: Schema | undefined): Checked<Json> {
  if (schema === undefined) return { ok: true, value }
  const checked = schema.check(value)
  if (!checked.ok) return checked
  if (jsonProblem(checked.value, 'output') === undefined) return { ok: true, value: checked.value as Json }
  // a date, as a schema with a transform makes it, is recorded as a result of a tool is
  const problem = writingProblem(checked.value, 'output')
  return problem === undefined
    ? { ok: true, value: JSON.parse(JSON.stringify(checked.value)) as Json }
    : { ok: false, problem }
}

/** An output as that of an agent with this schema: a text of another agent or of a hook is read as an answer is. Pure. */
export const outputAs = (output: Json, schema: Schema | undefined): Checked<Json> =>
  typeof output === 'string' ? outputOf(output, schema) : checkOutput(output, schema)

/** The message to the model about an answer that does not fit. */
export const correction = (problem: string): string =>
  `Your answer does not have the required form: ${problem}. Answer again, with only the JSON value.`

/** The failure of an agent whose answer does not fit its schema. */
export const outputMisfit = (agent: string, why: string): Failure =>
  failure('output.invalid', `the answer of "${agent}" does not have the required form, ${why}`, 'validation')
