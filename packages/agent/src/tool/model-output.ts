/**
 * Model output: what a tool shows a model of its result (`toModelOutput`), in the form of the AI SDK.
 *
 * Owns: reading that form. Does not own: how it is recorded (../../core/shown-result.ts).
 * Holds: done is done: a function that fails, or returns something else, makes no failure of a tool that has run; and
 * the model is then shown nothing of the result.
 */
import {
  isObject,
  isResultWithFiles,
  jsonProblem,
  present,
  shownResult,
  takenFiles,
  withLines,
  type FilePart,
  type GivenFile,
  type Json,
  type ShownContent,
} from '@reeve/core'

/** What `toModelOutput` is called with. */
export interface ModelOutputInput<I = unknown> {
  readonly toolCallId: string
  readonly input: I
  /** What `execute` returned, as it is. */
  readonly output: unknown
}

/** The result with what its author shows of it. Files that `execute` gave with it are shown beside. */
export async function withModelOutput(
  tool: string,
  toModelOutput: (given: ModelOutputInput) => unknown,
  given: ModelOutputInput,
): Promise<Json> {
  const { result, files } = isResultWithFiles(given.output)
    ? { result: given.output.result, ...takenFiles(given.output.files) }
    : { result: given.output, files: [] }
  const made = await (async () => shownIn(tool, await toModelOutput({ ...given, output: result })))().catch(
    () => undefined,
  )
  const content = `[tool "${tool}" is done; what it shows of its result (toModelOutput) could not be made]`
  return shownResult((result ?? null) as Json, withFilesBeside(made, files) ?? { content })
}

const withFilesBeside = (made: ShownContent | undefined, files: readonly FilePart[]): ShownContent | undefined =>
  made === undefined || files.length === 0 ? made : { ...made, files: [...(made.files ?? []), ...files] }

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
      return Array.isArray(value) ? partsShown(value) : undefined
    default:
      return undefined
  }
}

/** A denial comes too late for what has run: then it is of the result alone. */
const withheld = (tool: string, reason: unknown): string =>
  `[tool "${tool}" is done; its result is withheld${typeof reason === 'string' && reason.trim() !== '' ? `: ${reason}` : ''}]`

/** The texts of a content, and its files. What is neither is named. */
function partsShown(parts: readonly unknown[]): ShownContent {
  const texts: string[] = []
  const given: GivenFile[] = []
  for (const part of parts) {
    const { type, text, mediaType } = (isObject(part) ? part : {}) as { readonly [name: string]: unknown }
    const file = fileIn(part)
    if (type === 'text' && typeof text === 'string') texts.push(text)
    else if (file !== undefined) given.push(file)
    else texts.push(`[${typeof mediaType === 'string' ? mediaType : String(type)}, not shown]`)
  }
  const { files, left } = takenFiles(given)
  return { content: withLines(texts.join('\n'), left), files }
}

/** The types that an extension in an address stands for, where a form has no place for a type. */
const extensions: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
}

/** A part that is a file, in the forms of versions 5 (`media`), 6 (`file-data`, `image-url`, …) and 7 (`file`). */
function fileIn(part: unknown): GivenFile | undefined {
  if (!isObject(part)) return undefined
  const { type, data, url, mediaType: said, filename } = part as { readonly [name: string]: unknown }
  const mediaType = typeof said === 'string' ? said : undefined
  const more = { ...present({ mediaType }), ...(typeof filename === 'string' && { filename }) }
  switch (type) {
    case 'media':
    case 'file-data':
    case 'image-data':
      return withData(data, more)
    case 'file-url':
    case 'image-url':
      return withUrl(url, more, type === 'image-url' ? 'image/*' : undefined)
    case 'file': {
      if (!isObject(data) || data instanceof Uint8Array)
        return data instanceof URL ? withUrl(data, more) : withData(data, more)
      const tagged = data as { readonly [name: string]: unknown }
      if (tagged['type'] === 'url') return withUrl(tagged['url'], more)
      return tagged['type'] === 'data' ? withData(tagged['data'], more) : undefined
    }
    default:
      return undefined
  }
}

type Described = { readonly mediaType?: string; readonly filename?: string }

const withData = (data: unknown, more: Described): GivenFile | undefined =>
  typeof data === 'string' ? { data, ...more } : data instanceof Uint8Array ? { data, ...more } : undefined

function withUrl(given: unknown, more: Described, otherwise?: string): GivenFile | undefined {
  const url = given instanceof URL ? given.href : given
  if (typeof url !== 'string') return undefined
  const extension = /\.([a-z]{3,4})$/i.exec(URL.parse(url)?.pathname ?? '')?.[1]?.toLowerCase() ?? ''
  return { url, ...present({ mediaType: otherwise ?? extensions[extension] }), ...more }
}
