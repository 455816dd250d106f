/**
 * Shown result: the result of a tool of which its author shows the model something else: less, or other words.
 *
 * Owns: the form in which both are recorded, as the one outcome of one step. Does not own: making what is shown
 * (agent/tool/model-output.ts), the words of results (formatted-result.ts).
 * Holds: a tool's own result is never taken for this form: one that looks like it is recorded in it.
 */
import { asText, isObject, own, type Json } from './json.ts'
import type { FilePart } from './message.ts'
import { isResultWithFiles, takenFiles, type TakenFiles } from './result-files.ts'

/** What a model reads of a result. */
export interface ShownContent {
  readonly content: Json
  readonly isError?: boolean
  /** Pictures, sounds and documents beside it. */
  readonly files?: readonly FilePart[]
}

const [output, shown] = ['$output', '$shown']

/** A result with what the model is shown of it. */
export const shownResult = (given: Json, { content, isError, files = [] }: ShownContent): Json => ({
  [output]: given,
  [shown]: {
    content,
    ...(isError === true && { isError }),
    ...(files.length > 0 && { files: files as unknown as Json }),
  },
})

const isShownResult = (value: unknown): value is { readonly [member: string]: Json } =>
  isObject(value) && Object.hasOwn(value, output) && Object.hasOwn(value, shown) && Object.keys(value).length === 2

/** A result that the model is shown as it is. */
export const wholeResult = <T>(given: T): T | Json =>
  isShownResult(given) ? shownResult(given, { content: given }) : given

/** What a function of a tool has returned, as it is recorded. */
export const recordedResult = <T>(given: T): T | Json =>
  isResultWithFiles(given)
    ? resultWithFiles((given.result ?? null) as Json, takenFiles(given.files))
    : wholeResult(given)

/** A result of which the model is shown files besides. `left`: the lines that describe files which it is not shown. */
export const resultWithFiles = (result: Json, { files, left }: TakenFiles): Json =>
  files.length === 0 && left.length === 0
    ? wholeResult(result)
    : shownResult(result, { content: withLines(result, left), files })

/** A content with lines after it. */
export const withLines = (content: Json, lines: readonly string[]): Json =>
  lines.length === 0 ? content : [asText(content), ...lines].filter((text) => text !== '').join('\n')

/** What the model reads of a recorded result. */
export function contentShown(recorded: Json): ShownContent {
  const given = isShownResult(recorded) ? own(recorded, shown) : undefined
  if (!isObject(given)) return { content: recorded }
  const content = own(given, 'content') ?? null
  const files = own(given, 'files')
  return {
    content,
    ...(own(given, 'isError') === true && { isError: true }),
    ...(Array.isArray(files) && { files: files as readonly FilePart[] }),
  }
}
