/**
 * Sent files: which files of its conversation an agent of another framework is sent, and how the others are named.
 *
 * Owns: their bounds, the lines. Pure. Does not own: the form in which a framework takes a file (the adapter
 * of each).
 * Holds: no file is left out without a line that names it, whoever has written the prompt.
 */
import { asText, fileLabel, mostFileData, mostFiles, withLines, type FilePart } from '@reeve/core'

/** A prompt with a line for each file, and the files that are sent with it. */
export interface PromptWithFiles {
  readonly text: string
  readonly sent: readonly FilePart[]
}

const textOnly = 'this agent is given text only'

/**
 * Names all files after the prompt, and sends those that the agent takes: at most 100, and 32 Mi characters of base64.
 * `why`: why it is not sent one that it does not take.
 */
export function withSentFiles(
  prompt: string,
  files: readonly FilePart[],
  takes: (file: FilePart) => boolean = () => false,
  why = textOnly,
): PromptWithFiles {
  const sent: FilePart[] = []
  let data = 0
  const lines = files.map((file) => {
    const size = 'data' in file ? file.data.length : 0
    if (!takes(file)) return fileLabel(file, `not sent: ${why}`)
    if (sent.length >= mostFiles || data + size > mostFileData) return fileLabel(file, 'not sent: they are too many')
    sent.push(file)
    data += size
    return fileLabel(file)
  })
  return { text: asText(withLines(prompt, lines)), sent }
}
