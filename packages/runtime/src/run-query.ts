/**
 * A filter of runs as text: how the command line and the server write and read what is in it.
 *
 * Owns: cursors and values of metadata as text. Does not own: the filter and its checks (engine).
 */
import { readJson, type RunId } from '@reeve/core'
import type { RunFilter, RunSummary } from '@reeve/engine'

/** The place of a run in a list, for `RunFilter.after` of the next page. */
export const cursorOf = ({ createdAt, run }: Pick<RunSummary, 'createdAt' | 'run'>): string => `${createdAt}:${run}`

/** The place that a text names; undefined if it names none. */
export function cursorIn(text: string): RunFilter['after'] {
  const cut = text.indexOf(':')
  const createdAt = Number(text.slice(0, cut))
  const run = text.slice(cut + 1)
  return cut > 0 && run !== '' && Number.isFinite(createdAt) ? { createdAt, run: run as RunId } : undefined
}

/** A value that is JSON is that value, so that `1` is a number and `"1"` a text; any other text is itself. */
export function metadataValue(text: string): string | number | boolean | null {
  const read = readJson(text)
  // a number that would be rounded stays the text that it is
  return read.ok && (read.value === null || typeof read.value !== 'object') ? read.value : text
}
