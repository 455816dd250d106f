/**
 * Named files: the files of a conversation, and which of them somebody means who names them.
 *
 * Owns: finding files by handle, label or file name, and the words of a problem with a name. Pure. Does not own: who may
 * name them, and what is done with them.
 * Holds: a name finds files of the one conversation only; one that two files have finds none.
 */
import { contentFiles, fileHandle, fileLabel } from './file-label.ts'
import type { Json } from './json.ts'
import type { FilePart, Message } from './message.ts'
import { filesProblem } from './result-files.ts'
import { cut } from './visible.ts'

/** The files of a message. */
export const messageFiles = (message: Message): readonly FilePart[] =>
  message.role === 'system' ? [] : message.role === 'user' ? contentFiles(message.content) : (message.files ?? [])

/** The files of messages by their handles, in the order in which they came. */
export const filesByHandle = (messages: readonly Message[]): ReadonlyMap<string, FilePart> =>
  new Map(messages.flatMap((message) => messageFiles(message).map((file) => [fileHandle(file), file])))

/**
 * The files that are named by handles, labels or file names: one name or a list. A text is the problem with them. `whose`:
 * whose files they are, for that text.
 */
export function filesNamed(
  given: Json | undefined,
  files: ReadonlyMap<string, FilePart>,
  whose: string,
): readonly FilePart[] | string {
  if (given === undefined || given === null) return []
  const named: readonly Json[] = Array.isArray(given) ? (given as readonly Json[]) : [given]
  const found = new Map<string, FilePart>()
  for (const name of named) {
    const [file, second] = typeof name === 'string' ? filesCalled(name, files) : []
    if (file === undefined || second !== undefined)
      return `"files" names ${cut(JSON.stringify(name), 200)}, which is ${second === undefined ? `no file of ${whose}` : 'the name of several files: give the handle'}. ${knownFiles(files)}`
    found.set(fileHandle(file), file)
  }
  const all = [...found.values()]
  const problem = filesProblem(all)
  return problem === undefined ? all : `the named files ${problem}`
}

function filesCalled(name: string, files: ReadonlyMap<string, FilePart>): readonly FilePart[] {
  // models sometimes copy the whole label
  const handle = /file-[0-9a-f]{12}/.exec(name)?.[0]
  const byHandle = handle === undefined ? undefined : files.get(handle)
  return byHandle === undefined ? [...files.values()].filter(({ filename }) => filename === name.trim()) : [byHandle]
}

/** How many files an error lists. */
const mostListed = 20

const knownFiles = (files: ReadonlyMap<string, FilePart>): string =>
  files.size === 0
    ? 'There are no files.'
    : `Files are: ${[...files.values()]
        .slice(-mostListed)
        .map((file) => fileLabel(file))
        .join(' ')}`
