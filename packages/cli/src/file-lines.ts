/**
 * File lines: the files that results of tools have shown to models, one line each.
 *
 * Owns: which files are listed, and how many. Does not own: how a file is named (core), what the transcript is of
 * (journal).
 */
import { fileHandle, fileLabel, visible } from '@reeve/core'
import { spokenOf } from '@reeve/journal'
import type { Recorded } from '@reeve/runtime'

/** The most files that are listed. */
const mostFiles = 10

/** A line for each file of a result, the newest last; one that several results have stands with the first. */
export function fileLines(events: readonly Recorded[]): readonly string[] {
  const lines = new Map<string, string>()
  for (const said of spokenOf(events)) {
    if (said.type !== 'tool') continue
    for (const file of said.files ?? []) {
      const handle = fileHandle(file)
      if (!lines.has(handle))
        lines.set(handle, `file of a result: ${visible(said.tool)} (${visible(said.agent)}) ${fileLabel(file)}`)
    }
  }
  const all = [...lines.values()]
  const left = all.length - mostFiles
  return left <= 0
    ? all
    : [`… and ${left} more file${left === 1 ? '' : 's'} of results before these`, ...all.slice(-mostFiles)]
}
