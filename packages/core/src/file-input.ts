/**
 * File input: a file as a caller or a remote agent describes it.
 *
 * Owns: the one rule for its content, its media type and its name. Pure. Does not own: which addresses are taken
 * (file-address.ts), where a protocol has these members.
 * Holds: content is base64, or at a public address: a provider takes some texts for addresses. A media type is one of
 * RFC 6838; a name is bounded, and has neither folders nor characters that control how it is shown.
 */
import { beginning } from './visible.ts'
import { fileSource, type FileSource } from './file-address.ts'
import { base64Problem, mediaTypeIn } from './file-content.ts'
import type { FilePart } from './message.ts'

/** A file as it was described: its content in base64, or an address. */
export type FileInput = ({ readonly data: string } | { readonly url: string }) & {
  /** Of an address that holds the data itself, this one counts. */
  readonly mediaType?: string
  readonly filename?: string
}

/** The longest file name, in characters. */
const longestName = 255

/**
 * The file as it is recorded. `otherwise`: its media type where none is given. `problem`: why it is refused, as a
 * sentence without a full stop.
 */
export function fileInput(given: FileInput, otherwise: string): FilePart | { readonly problem: string } {
  const { mediaType: type = '', filename: name = '' } = given
  const source = 'url' in given ? fileSource(given.url) : dataSource(given.data, otherwise)
  if ('problem' in source)
    return { problem: 'url' in given ? `the url of a file ${source.problem}` : `the data of a file ${source.problem}` }
  const own = 'mediaType' in source ? source.mediaType : otherwise
  const mediaType = type === '' ? own : mediaTypeIn(type)
  if (mediaType === undefined) return { problem: 'the media type of a file is not one, such as "image/png"' }
  const filename = nameIn(name)
  const content = 'data' in source ? { data: source.data } : { url: source.url }
  return { type: 'file', mediaType, ...(filename === '' ? undefined : { filename }), ...content }
}

function dataSource(data: string, mediaType: string): FileSource {
  const problem = base64Problem(data)
  return problem === undefined ? { data, mediaType } : { problem }
}

/** The name of a file without its folders; empty where nothing is left. */
function nameIn(given: string): string {
  const name = given.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/gu, '').replace(/^.*[/\\]/, '')
  return /^\.*$/.test(name) ? '' : beginning(name, longestName)
}
