/**
 * Result bound: a result that is larger than its limit is kept by reference, and the model is shown its beginning.
 *
 * Owns: when the whole is kept: for an effect in its own step, for any other result in a step of its own. Does not own:
 * the limit (edge/limits.ts), the words (core/result-bound.ts), keeping (engine/contents.ts), what teams and flows hand on
 * from agent to agent (handed-results.ts).
 * Holds: done is done: a result that cannot be kept is recorded as any other, and its beginning is shown all the same. What
 * is shown is what was kept, so it is redacted as that is. A run from before there was a limit has none.
 */
import {
  asText,
  boundedText,
  headOf,
  oversizeText,
  plainCopy,
  present,
  shownParts,
  shownResult,
  unkeptText,
  type ContentRef,
  type Json,
} from '@reeve/core'
import type { Context, StepIO } from '@reeve/engine'
import { resultLimit } from '@reeve/edge'
import type { ToolCall } from '@reeve/model'
import type { CallResult } from '../conversation/call-result.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'

/** How much is shown of the results of an effect. */
export interface ResultBound {
  readonly tool: string
  /** Tokens, as estimated. Undefined: no limit. */
  readonly limit: number | undefined
  /** That of the agent, which may be less: readers of the journal expect no more. Default: `limit`. */
  readonly ofAgent?: number | undefined
  /** It may become the answer, or is looked at by a rule: code is given the whole where an entry can hold it. */
  readonly isWhole: boolean
}

/** The longest result that may become an answer as it is, and not as a reference. Characters. */
const longestAnswer = 1024 * 1024

/** A result as its step records it. */
export function withinBound(
  io: Pick<StepIO, 'contents'>,
  { tool, limit, ofAgent = limit, isWhole }: ResultBound,
  result: Json,
): Json | Promise<Json> {
  if (limit === undefined) return result
  const parts = shownParts(result)
  const shown = parts === undefined ? result : parts.shown.content
  const text = textOver(shown, limit)
  const isOutputOver = parts !== undefined && textOver(parts.output, limit) !== undefined
  if (text !== undefined || isOutputOver) return bounded()
  // it is told as it is, although it is above the limit of the agent: this is said here, and it is not told once more
  const isLong = parts === undefined && ofAgent! < limit && textOver(result, ofAgent!) !== undefined
  return isLong ? shownResult(result, { content: result, isHead: true }) : result

  async function bounded(): Promise<Json> {
    const kept = text === undefined ? undefined : await keepWhole(io, shown, text, limit!)
    if (parts === undefined) {
      if (kept === undefined) return result
      const content = boundedText(tool, kept.ref, kept.head)
      return shownResult(isWhole && text!.length <= longestAnswer ? result : kept.whole, { content, isHead: true })
    }
    const output = isOutputOver ? await wholeOf(io, parts.output) : parts.output
    if (text !== undefined && kept === undefined) return shownResult(output, parts.shown)
    return shownResult(
      output,
      kept === undefined
        ? parts.shown
        : {
            ...parts.shown,
            content: boundedText(tool, kept.ref, kept.head),
            isHead: true,
            whole: isWhole && text!.length <= longestAnswer ? shown : kept.whole,
          },
    )
  }
}

/** The text of a value that is over the limit; undefined also for one that JSON does not take as it is. */
function textOver(value: Json, limit: number): string | undefined {
  try {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined)
    if (text === undefined || oversizeText(text, limit) === undefined) return undefined
    // what is recorded in another form says so (kept-result.ts)
    return typeof value === 'string' || plainCopy(value) !== undefined ? text : undefined
  } catch {
    return undefined
  }
}

interface KeptWhole {
  readonly ref: ContentRef
  readonly whole: Json
  readonly head: string
}

/** Undefined: it could not be kept. */
async function keepWhole(
  { contents }: Pick<StepIO, 'contents'>,
  value: Json,
  text: string,
  limit: number,
): Promise<KeptWhole | undefined> {
  try {
    const ref = await contents.keep(text, typeof value === 'string' ? 'text' : 'json')
    // no character has less than a quarter of a token
    const head = headOf(await contents.slice(ref.$content, 0, 4 * limit + 1), limit)
    return { ref, whole: { ...ref }, head }
  } catch {
    return undefined
  }
}

/** A reference to what is recorded beside what is shown; where it cannot be kept, the value itself. */
const wholeOf = async ({ contents }: Pick<StepIO, 'contents'>, value: Json): Promise<Json> => {
  try {
    return { ...(await contents.keep(asText(value), typeof value === 'string' ? 'text' : 'json')) }
  } catch {
    return value
  }
}

/** The step that keeps the result of something else than an effect. Its name is persistent format. */
const keepStep = 'result.keep'

/** How a result is told. */
export interface CallBound {
  /** The limit of the author of the tool. Default: that of the agent. */
  readonly own?: number | undefined
  /** What is told is recorded in any case, and not only where it is not what was recorded of the work. */
  readonly isTold?: boolean
}

/**
 * A result as the model is told it: bounded, if it is no effect's that has bounded itself. What is told in other words
 * than the end of the work says is recorded beside it (`result.told`). Readers of the journal expect that of each result
 * above the limit of its agent (journal/views/transcript.ts).
 */
export async function boundedCall(
  ctx: Context,
  call: ToolCall,
  { edge: { bounds } }: Pick<ConversationState, 'edge'>,
  result: CallResult,
  { own, isTold = false }: CallBound = {},
): Promise<CallResult> {
  const ofAgent = bounds.limits?.resultTokens
  const limit = resultLimit(bounds.limits, own)
  const isOver =
    ofAgent !== undefined &&
    limit !== undefined &&
    result.isHead !== true &&
    result.pending === undefined &&
    oversizeText(result.content, Math.min(ofAgent, limit)) !== undefined
  if (!isOver && !isTold) return result
  const text = isOver && result.bounded !== result.content ? oversizeText(result.content, limit) : undefined
  const told: CallResult =
    text === undefined ? result : { ...result, content: await keptText(ctx, call.name, result.content, text, limit!) }
  const { content, isError, files } = told
  ctx.emit({
    type: 'result.told',
    callId: call.id,
    content,
    ...(isError === true ? { isError } : undefined),
    ...present({ files }),
  })
  return { ...told, isHead: true }
}

/**
 * Keeps a text above its limit with one step, and says what a model is told of it. `shown`: how much of it, in tokens.
 * Rejects only with `Cancelled`.
 */
export async function keptText(
  ctx: Context,
  called: string,
  value: Json,
  text: string,
  shown: number,
): Promise<string> {
  const step = ctx.begin(
    keepStep,
    async (io) => {
      const kept = await keepWhole(io, value, text, shown)
      return kept === undefined ? null : { content: boundedText(called, kept.ref, kept.head) }
    },
    { effect: 'idempotent' },
  )
  const { outcome } = await ctx.next(step)
  const kept = outcome.status === 'completed' ? (outcome.output as { readonly content: string } | null) : null
  return kept === null ? unkeptText(called, text, headOf(text, shown)) : kept.content
}
