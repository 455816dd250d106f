/**
 * Equal calls: what becomes of a call that stands in the same answer twice, under different ids.
 *
 * Owns: which call of an answer is made for which others, what the model is told of those. Does not own: which tools
 * may be repeated (../tool/tool.ts), calls under one id (../../model/call-ids.ts), running a call (turn.ts).
 * Holds: K4: it follows from the recorded answer alone. One approval, one effect: a call that is not made has neither.
 */
import { asText, fileLabel, withLines, withNote } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import type { Binding } from '../tool/binding.ts'
import type { CallResult } from '../conversation/call-result.ts'

/** For each call the place of the earlier call of the same answer that is made for it, too; undefined: it is made. */
export function madeFor(
  calls: readonly ToolCall[],
  find: (name: string) => Binding | undefined,
): readonly (number | undefined)[] {
  const first = new Map<string, number>()
  const several = new Set(calls.filter(({ name }, i) => calls.some((other, j) => j !== i && other.name === name)))
  return calls.map((call, i) => {
    const key = several.has(call) && call.invalid === undefined ? find(call.name)?.onceKey?.(call) : undefined
    if (key === undefined) return undefined
    const whole = JSON.stringify([call.name, key])
    const before = first.get(whole)
    if (before === undefined) first.set(whole, i)
    return before
  })
}

/** The result of a call that an equal one was made for. It is recorded as it is told: nothing else is recorded of it. */
export function repeatedResult(ctx: Context, call: ToolCall, made: ToolCall, result: CallResult): CallResult {
  const { content, isError, note, pending, files = [] } = result
  const open = `this answer calls "${call.name}" more than once with the same arguments, and it is made at most once`
  const message =
    pending === undefined
      ? `[${open}. The result of that call:]\n${asText(
          withLines(
            withNote(note, content),
            files.map((file) => fileLabel(file, 'shown there')),
          ),
        )}`
      : `[${open}. That call works in the background as ${pending}: its result will stand there.]`
  ctx.emit({ type: 'fact.noted', name: 'call.repeated', data: { callId: call.id, tool: call.name, of: made.id } })
  ctx.emit({ type: 'result.told', callId: call.id, content: message, ...(isError === true ? { isError } : undefined) })
  return isError === true ? { content: message, isError } : { content: message }
}
