/**
 * Result files: pictures, sounds and documents that a tool shows beside what it says, as they are recorded.
 *
 * Owns: what a function of a tool returns to show files (`withFiles`), how many and how large they may be, what becomes of
 * those that are not taken. Pure. Does not own: one file (file-input.ts), how a result is recorded (shown-result.ts).
 * Holds: done is done: a file that cannot be shown is described, and never a failure of a tool that has run. JSON never
 * stands for a result with files: a remote server cannot make one.
 */
import { base64Of, mediaTypeIn, typeOfData } from './file-content.ts'
import { fileInput, type FileInput } from './file-input.ts'
import { describeFile } from './file-label.ts'
import { isObject, own } from './json.ts'
import type { FilePart } from './message.ts'

/** The most files of one message or result. */
export const mostFiles = 100
/** The most data of all files of one message or result, in characters of base64. */
export const mostFileData = 32 * 1024 * 1024

/** A file as a tool gives it: base64 or bytes, or a public address. Without a `mediaType` its first bytes say what it is. */
export type GivenFile = FileInput | (Omit<FileInput, 'data' | 'url'> & { readonly data: Uint8Array })

const mark = Symbol.for('reeve.result-with-files')

/** A result that shows files: what `withFiles` makes. */
export interface ResultWithFiles<T = unknown> {
  readonly result: T
  readonly files: readonly GivenFile[]
}

/**
 * A result of a tool with files that its model is shown beside it: `return withFiles('The chart:', [{ data, mediaType:
 * 'image/png' }])`. `data` is base64 or bytes, `url` is public and `https:`. At most 100 files and 32 Mi characters of base64 in
 * all; a file above that, or one that is not what it is said to be, is described to the model instead. Never throws.
 */
export const withFiles = <T>(result: T, files: readonly GivenFile[]): ResultWithFiles<T> =>
  Object.defineProperty({ result, files }, mark, { value: true })

/** Whether a function of a tool has returned a result with files. */
export const isResultWithFiles = (value: unknown): value is ResultWithFiles =>
  typeof value === 'object' && value !== null && (value as { readonly [mark]?: unknown })[mark] === true

/** Files as they are recorded, and one line for each that is not taken. */
export interface TakenFiles {
  readonly files: readonly FilePart[]
  readonly left: readonly string[]
}

/** Takes files of any form; never throws. */
export function takenFiles(given: unknown): TakenFiles {
  const files: FilePart[] = []
  const left: string[] = []
  let [data, more] = [0, 0]
  if (given !== undefined && !Array.isArray(given)) left.push('[files, not shown: they are no list]')
  for (const each of Array.isArray(given) ? (given as readonly unknown[]) : []) {
    if (files.length + left.length >= mostFiles) {
      more++
      continue
    }
    const file = takenFile(each)
    if ('problem' in file) left.push(`[${saidType(each)}, not shown: ${file.problem}]`)
    else if (data + sizeOf(file) > mostFileData) left.push(`[${describeFile(file)}, not shown: ${tooMuch}]`)
    else {
      data += sizeOf(file)
      files.push(file)
    }
  }
  return { files, left: more === 0 ? left : [...left, `[and ${more} more files, not shown]`] }
}

const saidType = (given: unknown): string => {
  const said = isObject(given) ? own(given, 'mediaType') : undefined
  return (typeof said === 'string' ? mediaTypeIn(said) : undefined) ?? 'a file'
}

const tooMuch = `the files of one result have at most ${mostFileData} characters of base64`
const sizeOf = (file: FilePart): number => ('data' in file ? file.data.length : 0)

/** Types that begin in a known way. Providers refuse such a file that begins otherwise, and the whole request with it. */
const known: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'])

function takenFile(given: unknown): FilePart | { readonly problem: string } {
  const file = describedFile(given)
  return 'problem' in file || 'url' in file ? file : withTrueType(file, typeOfData(file.data))
}

function describedFile(given: unknown): FilePart | { readonly problem: string } {
  if (!isObject(given)) return { problem: 'it is no object' }
  const [bytes, url, mediaType, filename] = ['data', 'url', 'mediaType', 'filename'].map((name) => own(given, name))
  const data = bytes instanceof Uint8Array ? base64Of(bytes) : bytes
  if (typeof url !== 'string' && typeof data !== 'string') return { problem: 'it has neither data nor a url' }
  const content = typeof url === 'string' ? { url } : { data: data as string }
  const said = {
    ...(typeof mediaType === 'string' && { mediaType }),
    ...(typeof filename === 'string' && { filename }),
  }
  const begins = 'data' in content ? typeOfData(content.data) : undefined
  return fileInput({ ...content, ...said }, begins ?? 'application/octet-stream')
}

/** A picture has the type of its first bytes; another file is what it is said to be, or is not taken. */
function withTrueType(file: FilePart, begins: string | undefined): FilePart | { readonly problem: string } {
  const { mediaType } = file
  const said = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  if (said.startsWith('image/') && begins?.startsWith('image/') === true) return { ...file, mediaType: begins }
  return said === begins || !known.has(said)
    ? file
    : { problem: `${describeFile(file)} does not begin as a file of that type does` }
}

/** Why these are no files as they may be recorded, as the end of a sentence; undefined: they are. */
export function filesProblem(given: unknown): string | undefined {
  if (!Array.isArray(given)) return 'are no list'
  if (given.length > mostFiles) return `are ${given.length}, and ${mostFiles} are the most`
  let data = 0
  for (let i = 0; i < given.length; i++) {
    const file = describedFile(given[i])
    if ('problem' in file) return `hold one that is none: [${i}]: ${file.problem}`
    data += sizeOf(file)
  }
  return data > mostFileData ? `have more than ${mostFileData} characters of base64` : undefined
}
