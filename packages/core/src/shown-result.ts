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
  /** The content is a beginning, with a note that says so: it was bounded in the step. */
  readonly isHead?: boolean
  /** Of a beginning: the whole for code, or the reference to it. Default: the result. */
  readonly whole?: Json
}

const [output, shown] = ['$output', '$shown']

/** A result with what the model is shown of it. */
export const shownResult = (given: Json, { content, isError, isHead, whole }: ShownContent): Json => ({
  [output]: given,
  [shown]: {
    content,
    ...(isError === true ? { isError } : undefined),
    ...(isHead === true ? { isHead } : undefined),
    ...(whole === undefined ? undefined : { whole }),
  },
})

const isShownResult = (value: unknown): value is { readonly [member: string]: Json } =>
  isObject(value) && Object.hasOwn(value, output) && Object.hasOwn(value, shown) && Object.keys(value).length === 2

/** A result that the model is shown as it is. */
export const wholeResult = <T>(given: T): T | Json =>
  isShownResult(given) ? shownResult(given, { content: given }) : given

/** The parts of a result that is recorded with what the model is shown; undefined for any other. */
export function shownParts(recorded: Json): { readonly output: Json; readonly shown: ShownContent } | undefined {
  if (!isShownResult(recorded)) return undefined
  const given = own(recorded, shown)
  if (!isObject(given)) return undefined
  const whole = own(given, 'whole')
  return {
    output: own(recorded, output) ?? null,
    shown: {
      content: own(given, 'content') ?? null,
      ...(own(given, 'isError') === true ? { isError: true } : undefined),
      ...(own(given, 'isHead') === true ? { isHead: true } : undefined),
      ...(whole === undefined ? undefined : { whole }),
    },
  }
}

/** What the model reads of a recorded result; of a beginning, `output` is the whole, or the reference to it. */
export function contentShown(
  recorded: Json,
): Pick<ShownContent, 'content' | 'isError'> & { readonly isHead?: true; readonly output?: Json } {
  const parts = shownParts(recorded)
  if (parts === undefined) return { content: recorded }
  const { content, isError, isHead, whole = parts.output } = parts.shown
  return {
    content,
    ...(isError === true ? { isError } : undefined),
    ...(isHead === true ? { isHead, output: whole } : undefined),
  }
}
