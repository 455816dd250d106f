/**
 * File label: how a file is named in words: to a model that may not see it, or that is to name it, and to people.
 *
 * Owns: the handle of a file, its label. Pure. Does not own: who is shown it.
 * Holds: a handle follows from the content alone, so that a file has the same one for every agent, in every fork and
 * after every crash. It is a name and no secret: a handle finds files of one conversation only. A label is one line, and
 * nothing that the author of a file wrote ends it.
 */
import { RollingHash } from './hash.ts'
import type { ContentPart, FilePart } from './message.ts'
import { cut, visibleLine } from './visible.ts'

const handles = new WeakMap<FilePart, string>()

/** The handle of a file: `file-` and 12 hexadecimal digits. Files of the same type and content share it. */
export function fileHandle(file: FilePart): string {
  const known = handles.get(file)
  if (known !== undefined) return known
  const content = 'url' in file ? `url ${file.url}` : `data ${file.data}`
  const made = `file-${new RollingHash().add(`${file.mediaType} ${content}`).toString().slice(0, 12)}`
  handles.set(file, made)
  return made
}

/** What it is: `"receipt.png", image/png, 12 kB`. Of an address only its host is told: the rest may be a secret. */
export function describeFile(file: FilePart): string {
  const { filename, mediaType } = file
  const name = filename === undefined || filename === '' ? [] : [JSON.stringify(cut(visibleLine(filename), 100))]
  const size = 'url' in file ? `at ${URL.parse(file.url)?.hostname ?? 'an address'}` : sizeText(dataBytes(file.data))
  return [...name, cut(visibleLine(mediaType), 100).replaceAll(']', ')'), size].join(', ')
}

/** A file as a line names it: `[file-3f2a91bc07de: "receipt.png", image/png, 12 kB]`. `note`: follows after a semicolon. */
export const fileLabel = (file: FilePart, note?: string): string =>
  `[${fileHandle(file)}: ${describeFile(file)}${note === undefined ? '' : `; ${note}`}]`

/** Whether the label of a file stands before it. */
export function isLabelled(parts: readonly ContentPart[], at: number): boolean {
  const [file, before] = [parts[at], parts[at - 1]]
  return file?.type === 'file' && before?.type === 'text' && before.text === fileLabel(file)
}

/** The parts with its label before each file. */
export const withLabels = (parts: readonly ContentPart[]): readonly ContentPart[] =>
  parts.flatMap((part, i) =>
    part.type === 'text' || isLabelled(parts, i) ? [part] : [{ type: 'text', text: fileLabel(part) } as const, part],
  )

/** The words of a user's message as one text, with a label for each file. */
export const describedContent = (content: string | readonly ContentPart[]): string =>
  typeof content === 'string'
    ? content
    : withLabels(content)
        .flatMap((part) => (part.type === 'text' ? [part.text] : []))
        .join('\n')

/** The words of a user's message alone, without the labels of its files. */
export const contentText = (content: string | readonly ContentPart[]): string =>
  typeof content === 'string'
    ? content
    : content.flatMap((part, i) => (part.type === 'text' && !isLabelled(content, i + 1) ? [part.text] : [])).join('\n')

/** The files of a user's message. */
export const contentFiles = (content: string | readonly ContentPart[]): readonly FilePart[] =>
  typeof content === 'string' ? [] : content.filter((part) => part.type === 'file')

/** How many bytes base64 text stands for: three in four characters. */
export const dataBytes = (data: string): number => Math.floor(((data.length - paddingOf(data)) * 3) / 4)
const paddingOf = (data: string): number => (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0)

const sizeText = (bytes: number): string =>
  bytes < 1_000
    ? `${bytes} bytes`
    : bytes < 1_000_000
      ? `${Math.round(bytes / 1_000)} kB`
      : `${(bytes / 1_000_000).toFixed(1)} MB`
