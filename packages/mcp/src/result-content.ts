/**
 * Results of MCP tools, as the model that called is shown them.
 *
 * Owns: what of a result is shown, and how. Pure. Does not own: the result as it is recorded, which is the server's
 * own, whole; which providers take which files (model/prompt.ts).
 * Holds: what is not shown is named with its size: nothing disappears in silence. What a server says of a file counts
 * only as far as the file bears it out (core/result-files.ts).
 */
import {
  asText,
  cut,
  describeFile,
  fileInput,
  inexactPlace,
  isObject,
  mediaTypeIn,
  own,
  present,
  takenFiles,
  typeOfData,
  visibleLine,
  withFiles,
  type FilePart,
  type Json,
  type JsonObject,
  type ResultWithFiles,
} from '@reeve/core'
import type { Schema } from '@reeve/edge'

/** The blocks of a result, by what becomes of them. */
interface Blocks {
  readonly texts: readonly string[]
  /** One line for each image, sound or file that has no data. */
  readonly lines: readonly string[]
  /** Images, sounds and files with their data. */
  readonly files: readonly FilePart[]
}

/**
 * What is shown: structured content as it is, else the text, and the files with their data; where there are others
 * besides, an object that names them. `problem`: why it is not what the tool promises. It is done all the same, and that
 * comes first.
 */
export function shownResult(result: JsonObject, problem?: string): Json | ResultWithFiles<Json> {
  const { files } = blocksOf(result)
  const taken = takenFiles(files)
  const content = shownContent(result, taken.left, problem)
  return taken.files.length === 0 ? content : withFiles(content, taken.files)
}

/**
 * What is said of a result, without its files. Whole numbers from 2^53 on are shown as the text has them, or are named
 * where there is none. `left`: lines that name files which are not shown.
 */
export function shownContent(result: JsonObject, left: readonly string[] = [], problem?: string): Json {
  const { texts, lines } = blocksOf(result)
  const structured = own(result, 'structuredContent')
  const text = texts.join('\n')
  // the protocol's library has read the numbers; in the server's text its digits are still there
  const rounded = structured === undefined ? undefined : inexactPlace(structured, 'structuredContent')
  const said =
    rounded === undefined ? (structured ?? text) : text.trim() === '' ? roundedResult(rounded, structured!) : text
  const named = [...lines, ...left]
  const shown: Json = named.length === 0 ? said : { result: said, files: named }
  if (problem === undefined) return shown
  const why = cut(visibleLine(problem), 500)
  return `[the tool is done. Its result is not what its output schema promises: ${why}. It returned:]\n${asText(shown)}`
}

/** A result with a number that cannot be trusted, and no text that has it as the server wrote it. */
function roundedResult(place: string, structured: Json): Json {
  const note = `[the tool is done. ${cut(visibleLine(place), 200)} of its result is a whole number from 2^53 on, and may have been rounded on its way: do not use it as it stands. It returned:]`
  return `${note}\n${asText(structured)}`
}

/** The text of a result that is an error. */
export function errorText(result: JsonObject): string {
  const { texts, lines, files } = blocksOf(result)
  const said = [...texts, ...lines, ...files.map((file) => `[${describeFile(file)}, not shown]`)].join('\n')
  return said === '' ? 'the server says no more' : said
}

/** Why a result is not what its tool promises; undefined if it is. */
export function resultProblem(result: JsonObject, schema: Schema | undefined): string | undefined {
  if (schema === undefined) return undefined
  const structured = own(result, 'structuredContent')
  if (structured === undefined) return 'it has an output schema, and the result has no structured content'
  const checked = schema.check(structured)
  return checked.ok ? undefined : checked.problem
}

function blocksOf(result: JsonObject): Blocks {
  const content = own(result, 'content')
  const blocks = (Array.isArray(content) ? (content as readonly Json[]) : []).filter(isObject)
  const texts: string[] = []
  const lines: string[] = []
  const files: FilePart[] = []
  for (const block of blocks) {
    const text = textOf(block)
    const file = fileOf(block)
    if (text !== undefined) texts.push(text)
    else if (file !== undefined) files.push(file)
    else lines.push(fileLine(block))
  }
  return { texts, lines, files }
}

/** A block with data, as a file. */
function fileOf(block: JsonObject): FilePart | undefined {
  const inner = own(block, 'resource')
  const of = isObject(inner) ? inner : block
  const data = own(of, 'data') ?? own(of, 'blob')
  if (typeof data !== 'string') return undefined
  const mediaType = own(of, 'mimeType')
  const [name, uri] = [own(of, 'name'), own(of, 'uri')]
  const filename = typeof name === 'string' ? name : typeof uri === 'string' ? uri.replace(/[?#].*$/s, '') : undefined
  const file = fileInput({ data, ...present({ filename }) }, typeOfData(data) ?? 'application/octet-stream')
  if ('problem' in file) return undefined
  const said = typeof mediaType === 'string' ? mediaTypeIn(mediaType) : undefined
  return said === undefined ? file : { ...file, mediaType: said }
}

/** The text of a block, or of a resource in it. */
function textOf(block: JsonObject): string | undefined {
  const type = own(block, 'type')
  const resource = own(block, 'resource')
  const text =
    type === 'text' ? own(block, 'text') : type === 'resource' && isObject(resource) ? own(resource, 'text') : undefined
  return typeof text === 'string' ? text : undefined
}

function fileLine(block: JsonObject): string {
  const inner = own(block, 'resource')
  const of = isObject(inner) ? inner : block
  const kind = textMember(block, 'type') ?? 'content'
  const type = textMember(of, 'mimeType') ?? 'of unknown type'
  const uri = textMember(of, 'uri')
  const name = textMember(of, 'name')
  const at = [uri, name === undefined || uri?.endsWith(name) === true ? undefined : JSON.stringify(name)]
    .map((each) => (each === undefined ? '' : ` ${each}`))
    .join('')
  const data = own(of, 'data') ?? own(of, 'blob')
  // base64: three bytes in four characters
  const size = typeof data === 'string' ? `, ${Math.floor((data.length * 3) / 4)} bytes, not shown` : ''
  return `[${kind} ${type}${at}${size}]`
}

const textMember = (of: JsonObject, member: string): string | undefined => {
  const value = own(of, member)
  return typeof value === 'string' ? visibleLine(value.slice(0, 500)) : undefined
}
