/**
 * Refusals: results of calls that do not run.
 *
 * Owns: the fact that is recorded, what the model is told besides the reason. Does not own: why a call is refused.
 */
import { failure, formatRefusedCall, present, type Failure } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import type { CallResult } from '../conversation/call-result.ts'
import { knownOfTool } from '../known-work.ts'

/** Refuses a call: records a fact, and tells the model why. */
export function refuse(ctx: Context, call: ToolCall, failure: Failure, message: string): CallResult {
  const content = message === formatRefusedCall(failure) ? undefined : message
  ctx.emit({ type: 'tool.refused', tool: call.name, callId: call.id, failure, ...present({ content }) })
  return { content: message, isError: true }
}

/** Refuses a call before it reaches its tool. What was done with the tool before is told, so that nobody misses it. */
export function refuseUnreached(ctx: Context, call: ToolCall, failure: Failure, message: string): CallResult {
  const known = knownOfTool(ctx, call)
  return refuse(ctx, call, failure, known === undefined ? message : `${message} [${known.told}]`)
}

/** The result for arguments that do not fit their schema. It says what is wrong. */
export function invalidInput(ctx: Context, call: ToolCall, problem: string): CallResult {
  const what = failure('tool.invalid-input', `the arguments of "${call.name}" do not fit: ${problem}`, 'validation')
  return refuseUnreached(ctx, call, what, `[${what.message}. Correct them and call again.]`)
}

/** The message to a model that calls an unknown tool. */
export const noSuchTool = (name: string): string => `there is no tool "${name}"`
