/**
 * Whole result: what code reads where it is given a result that may be a reference.
 *
 * Owns: `readWhole`. Does not own: what is kept by reference (result-bound.ts), reading by the piece (engine/contents.ts).
 */
import { isContentName, isContentRef, type Json } from '@reeve/core'
import type { StepIO } from '@reeve/engine'

/**
 * The whole of a result, in a step or in the `execute` of a tool: of a reference, or of its name, the text or the JSON value
 * that is kept; any other value is returned as it is. All of it is held in memory: for a part use `io.contents.slice`, for
 * one piece after the other `io.contents.pieces`. Rejects with `content.unknown` for a name of another run, and with
 * `store.*`.
 */
export async function readWhole(io: Pick<StepIO, 'contents'>, given: unknown): Promise<Json> {
  const named = typeof given === 'string' && isContentName(given) ? await io.contents.find(given) : undefined
  const ref = isContentRef(given) ? given : named
  if (ref === undefined && !(typeof given === 'string' && isContentName(given))) return given as Json
  const pieces: string[] = []
  for await (const piece of io.contents.pieces(ref?.$content ?? (given as string))) pieces.push(piece)
  const text = pieces.join('')
  return ref?.type === 'json' ? (JSON.parse(text) as Json) : text
}
