/**
 * Client call: a call of a tool that the client runs, such as a page or an editor. It is an interrupt: the run waits
 * for the answer as for that of any question, and the first valid answer wins.
 *
 * Owns: the document that the client is shown, the form of its answer, and reading both. Does not own: when it is asked
 * (../agent/client-run.ts), who may answer (the doors of the server), how an answer arrives (../runtime).
 * Holds: which tool is to be run stands in the event, beside the question: what a model or a tool wrote in a question
 * never makes a call of it.
 */
import { described, isObject, own, visible, cut, type Json, type JsonObject } from '@reeve/core'
import { compileSchema, type Checked, type JsonSchema } from '@reeve/edge'

/** A call that waits for the client, as its question shows it. */
export interface ClientCall {
  readonly tool: string
  /** The model's id of the call: unique within one answer of the model only. */
  readonly callId: string
  /** The arguments: checked, and final. */
  readonly input: Json
  /** What the tool may do twice: `once` says that the client must not run it again for the same call. */
  readonly effect?: 'read' | 'idempotent' | 'once'
  /** The JSON Schema of the output. Absent: any JSON. */
  readonly output?: JsonObject
}

/** What the client says of a call: what came of it, or why nothing did. */
export type ClientAnswer = { readonly output: Json } | { readonly error: string }

/** The question of a call, as it is recorded. */
export function clientQuestion({ tool, callId, input, effect, output }: ClientCall): JsonObject {
  return {
    type: 'client-tool',
    tool,
    callId,
    input,
    ...(effect === undefined ? {} : { effect }),
    ...(output === undefined ? {} : { output }),
  }
}

/** The call that an open question, or its event, is about. Undefined: it asks for something else. */
export function clientCallIn(body: Json | undefined): ClientCall | undefined {
  if (!isObject(body)) return undefined
  const tool = own(body, 'tool')
  const callId = own(body, 'callId')
  // an approval has both, too, and no question
  const asked = own(body, 'question')
  if (typeof tool !== 'string' || typeof callId !== 'string' || asked === undefined) return undefined
  const question = shownQuestion(asked)
  const effect = own(question, 'effect')
  const output = own(question, 'output')
  return {
    tool,
    callId,
    input: own(question, 'input') ?? null,
    ...(effect === 'read' || effect === 'idempotent' || effect === 'once' ? { effect } : {}),
    ...(isObject(output) ? { output } : {}),
  }
}

/** The question without the problem of an earlier answer. */
function shownQuestion(asked: Json): JsonObject {
  if (!isObject(asked)) return {}
  const inner = own(asked, 'question')
  return own(asked, 'problem') !== undefined && isObject(inner) ? inner : asked
}

/** Characters of an error of the client that are kept. */
const longestError = 2_000

/** The JSON Schema of an answer: `{ output }`, or `{ error }`. `output`: the schema of the output. */
export const clientAnswerSchema = (output: JsonSchema | undefined): JsonSchema => ({
  anyOf: [
    {
      type: 'object',
      properties: { output: output ?? {} },
      required: ['output'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: { error: { type: 'string', description: 'Why the client did not do it, or could not.' } },
      required: ['error'],
      additionalProperties: false,
    },
  ],
})

/** Reads an answer by its own members. `check`: that of the output. */
export function clientAnswer(
  answer: Json,
  check: (output: Json) => Checked<unknown> = (output) => ({ ok: true, value: output }),
): Checked<{ readonly output: unknown } | { readonly error: string }> {
  // what is undefined is not recorded, so it is no member
  const [member, ...more] = isObject(answer)
    ? Object.keys(answer).filter((name) => own(answer, name) !== undefined)
    : []
  const isOne = more.length === 0 && (member === 'output' || member === 'error')
  if (!isObject(answer) || !isOne)
    return { ok: false, problem: `expected { output } or { error }, not ${described(answer)}` }
  if (member === 'error') {
    const error = own(answer, 'error')
    return typeof error === 'string'
      ? { ok: true, value: { error: visible(cut(error, longestError)) } }
      : { ok: false, problem: `error is ${described(error)}, expected a text` }
  }
  const checked = check(own(answer, 'output') ?? null)
  return checked.ok
    ? { ok: true, value: { output: checked.value } }
    : { ok: false, problem: `the output does not fit: ${checked.problem}` }
}

/** Why an answer to this question cannot be taken, where it is a call of the client. Undefined: it can. */
export function clientAnswerProblem(body: Json | undefined, answer: Json): string | undefined {
  const call = clientCallIn(body)
  if (call === undefined) return undefined
  // what this schema cannot say is checked by the run, which asks again
  const schema =
    call.output === undefined
      ? undefined
      : compileSchema(call.output, `the output of "${call.tool}"`, undefined, {
          unread: 'leave',
        })
  const checked = clientAnswer(answer, schema === undefined ? undefined : (output) => schema.check(output))
  return checked.ok ? undefined : `the answer for the tool "${call.tool}": ${checked.problem}`
}
