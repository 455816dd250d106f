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
  const name = isContentRef(given) ? given.$content : given
  if (typeof name !== 'string' || !isContentName(name)) return given as Json
  const pieces: string[] = []
  for await (const piece of io.contents.pieces(name)) pieces.push(piece)
  const text = pieces.join('')
  // what it is was said where it was kept: a model, or a tool, may have written the reference
  const ref = await io.contents.find(name)
  return ref?.type === 'json' ? (JSON.parse(text) as Json) : text
}
