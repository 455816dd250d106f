/**
 * Model output: what a tool shows a model of its result (`toModelOutput`), in the form of the AI SDK.
 *
 * Owns: reading that form. Does not own: how it is recorded (../../core/shown-result.ts).
 * Holds: done is done: a function that fails, or returns something else, makes no failure of a tool that has run; and
 * the model is then shown nothing of the result.
 */
import { isObject, jsonProblem, shownResult, type Json, type ShownContent } from '@reeve/core'

/** What `toModelOutput` is called with. */
export interface ModelOutputInput<I = unknown> {
  readonly toolCallId: string
  readonly input: I
  /** What `execute` returned, as it is. */
  readonly output: unknown
}

/** The result with what its author shows of it. */
export async function withModelOutput(
  tool: string,
  toModelOutput: (given: ModelOutputInput) => unknown,
  given: ModelOutputInput,
): Promise<Json> {
  const { output } = given
  const made = await (async () => shownIn(tool, await toModelOutput(given)))().catch(() => undefined)
  const content = `[tool "${tool}" is done; what it shows of its result (toModelOutput) could not be made]`
  return shownResult((output ?? null) as Json, made ?? { content })
}

/** What the forms of the AI SDK say; undefined for anything else. */
function shownIn(tool: string, made: unknown): ShownContent | undefined {
  if (!isObject(made)) return undefined
  const { type, value, reason } = made as { readonly [name: string]: unknown }
  switch (type) {
    case 'text':
      return typeof value === 'string' ? { content: value } : undefined
    case 'error-text':
      return typeof value === 'string' ? { content: value, isError: true } : undefined
    case 'json':
      return jsonProblem(value) === undefined ? { content: value as Json } : undefined
    case 'error-json':
      return jsonProblem(value) === undefined ? { content: value as Json, isError: true } : undefined
    case 'execution-denied':
      return { content: withheld(tool, reason) }
    case 'content':
      return Array.isArray(value) ? { content: value.map(partText).join('\n') } : undefined
    default:
      return undefined
  }
}

/** A denial comes too late for what has run: then it is of the result alone. */
const withheld = (tool: string, reason: unknown): string =>
  `[tool "${tool}" is done; its result is withheld${typeof reason === 'string' && reason.trim() !== '' ? `: ${reason}` : ''}]`

/** A part of a content as text: a model is shown no file of a tool. */
function partText(part: unknown): string {
  const { type, text, mediaType } = (isObject(part) ? part : {}) as { readonly [name: string]: unknown }
  if (type === 'text' && typeof text === 'string') return text
  return `[${typeof mediaType === 'string' ? mediaType : String(type)}, not shown]`
}
