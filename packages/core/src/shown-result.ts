/**
 * Shown result: the result of a tool of which its author shows the model something else: less, or other words.
 *
 * Owns: the form in which both are recorded, as the one outcome of one step. Does not own: making what is shown
 * (agent/tool/model-output.ts), the words of results (formatted-result.ts).
 * Holds: a tool's own result is never taken for this form: one that looks like it is recorded in it.
 */
import { isObject, own, type Json } from './json.ts'

/** What a model reads of a result. */
export interface ShownContent {
  readonly content: Json
  readonly isError?: boolean
}

const [output, shown] = ['$output', '$shown']

/** A result with what the model is shown of it. */
export const shownResult = (given: Json, { content, isError }: ShownContent): Json => ({
  [output]: given,
  [shown]: isError === true ? { content, isError } : { content },
})

const isShownResult = (value: unknown): value is { readonly [member: string]: Json } =>
  isObject(value) && Object.hasOwn(value, output) && Object.hasOwn(value, shown) && Object.keys(value).length === 2

/** A result that the model is shown as it is. */
export const wholeResult = <T>(given: T): T | Json =>
  isShownResult(given) ? shownResult(given, { content: given }) : given

/** What the model reads of a recorded result. */
export function contentShown(recorded: Json): ShownContent {
  const given = isShownResult(recorded) ? own(recorded, shown) : undefined
  if (!isObject(given)) return { content: recorded }
  const content = own(given, 'content') ?? null
  return own(given, 'isError') === true ? { content, isError: true } : { content }
}
