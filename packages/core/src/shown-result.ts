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
  /** It was bounded in the step: the content is a beginning, with a note that says so, or the result as it is. */
  readonly isHead?: boolean
  /** Of a beginning: the whole for code, or the reference to it. Default: the result. */
  readonly whole?: Json
}

const [output, shown] = ['$output', '$shown']

/** A result with what the model is shown of it. */
export function shownResult(given: Json, { content, isError, files = [], isHead, whole }: ShownContent): Json {
  const form = {
    [output]: given,
    [shown]: {
      // what is shown as it is stands here once
      ...((content !== given || isHead !== true) && { content }),
      ...(isError === true && { isError }),
      ...(files.length > 0 && { files: files as unknown as Json }),
      ...(isHead === true && { isHead }),
      ...(whole !== undefined && { whole }),
    },
  }
  forms.add(form)
  return form
}

/** The forms that were made here: what only looks like one is a result. */
const forms = new WeakSet<object>()

const isShownResult = (value: unknown): value is { readonly [member: string]: Json } =>
  isObject(value) && Object.hasOwn(value, output) && Object.hasOwn(value, shown) && Object.keys(value).length === 2

/** A result that the model is shown as it is. */
export const wholeResult = <T>(given: T): T | Json =>
  isShownResult(given) && !forms.has(given) ? shownResult(given, { content: given }) : given

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

/** The parts of a result that is recorded with what the model is shown; undefined for any other. */
export function shownParts(recorded: Json): { readonly output: Json; readonly shown: ShownContent } | undefined {
  if (!isShownResult(recorded)) return undefined
  const given = own(recorded, shown)
  if (!isObject(given)) return undefined
  const [whole, files] = [own(given, 'whole'), own(given, 'files')]
  return {
    output: own(recorded, output) ?? null,
    shown: {
      content: own(given, 'content') ?? (own(given, 'isHead') === true ? (own(recorded, output) ?? null) : null),
      ...(own(given, 'isError') === true && { isError: true }),
      ...(Array.isArray(files) && { files: files as readonly FilePart[] }),
      ...(own(given, 'isHead') === true && { isHead: true }),
      ...(whole !== undefined && { whole }),
    },
  }
}

/** What the model reads of a recorded result; of a beginning, `output` is the whole, or the reference to it. */
export function contentShown(
  recorded: Json,
): Omit<ShownContent, 'isHead' | 'whole'> & { readonly isHead?: true; readonly output?: Json } {
  const parts = shownParts(recorded)
  if (parts === undefined) return { content: recorded }
  const { isHead, whole = parts.output, ...read } = parts.shown
  return isHead === true ? { ...read, isHead, output: whole } : read
}
