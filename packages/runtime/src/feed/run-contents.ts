/**
 * Contents of a run, as they are read from outside: large results that stand beside its journal.
 *
 * Owns: how much is read at once, what is said of a run that is not there. Does not own: keeping (`StepIO.contents`),
 * whose run it is (the server).
 */
import {
  type Checks,
  type ContentRef,
  mustBeOptions,
  optionProblems,
  refuseProblems,
  type RunId,
  wholeNumber,
} from '@reeve/core'
import { type Engine, pieceLength, unknownContent, unknownRun } from '@reeve/engine'

/** Which part of a content is read. */
export interface ContentRange {
  /** The first character. Default 0. */
  readonly from?: number
  /** After the last one. Default, and at most: 262,144 characters after `from`. */
  readonly to?: number
}

/** A part of a content, with its reference. */
export interface ContentPart extends ContentRef {
  readonly from: number
  /** After the last character of `text`: what comes next is read from here. The content ends where this is its `size`. */
  readonly to: number
  readonly text: string
}

const rangeChecks: Checks<ContentRange> = { from: wholeNumber(0), to: wholeNumber(0) }

/** A part of a content. Rejects with `content.unknown`, `run.unknown` and `input.invalid`. */
export async function contentPart(
  engine: Engine,
  run: RunId,
  name: string,
  range: ContentRange = {},
): Promise<ContentPart> {
  mustBeOptions(range, 'run.content', 'input.invalid')
  refuseProblems('input.invalid', optionProblems(rangeChecks, range, 'run.content()'), 'Nothing was read.')
  const { from = 0, to = Infinity } = range
  const contents = engine.contents(run)
  const ref = await contents.find(name)
  if (ref === undefined) throw await missing(engine, run, name)
  const most = from + pieceLength
  const read = await contents.slice(name, from, Math.min(to, most))
  // who reads on gets no half of a character
  const isHalf = most < Math.min(to, ref.size) && /[\ud800-\udbff]$/.test(read)
  const text = isHalf ? read.slice(0, -1) : read
  return { ...ref, from, to: from + text.length, text }
}

/** The whole of a content, a piece at a time. Throws as `contentPart`. */
export async function* contentPieces(engine: Engine, run: RunId, name: string): AsyncGenerator<string, undefined> {
  const contents = engine.contents(run)
  if ((await contents.find(name)) === undefined) throw await missing(engine, run, name)
  yield* contents.pieces(name)
  return undefined
}

const missing = async (engine: Engine, run: RunId, name: string): Promise<Error> =>
  (await engine.summary(run)) === undefined ? unknownRun(run) : unknownContent(run, name)
