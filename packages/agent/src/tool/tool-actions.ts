/**
 * Tool actions: what the result of a tool does to its agent: break, return, exit, transfer.
 *
 * Owns: applying a tool's action rule. Does not own: the ends themselves (../loop/turn-loop.ts), running the tool
 * (../approval/tool-gate.ts). Each action belongs to one call, so concurrent calls of one tool do not mix. It is
 * decided when the call has ended, and takes effect when the turn has.
 */
import { completed, failure, FailureError, messageOf, type Json } from '@reeve/core'
import { thrownText, type Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import { withoutAction } from './binding.ts'
import type { CallResult } from '../conversation/call-result.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import { checkOutput, outputOf } from '../output.ts'
import type { ActionRule, ToolAction } from './tool.ts'
import { transferResult } from './transfer-tool.ts'

/** The call that an action belongs to. */
interface ActionCall {
  readonly ctx: Context
  readonly call: ToolCall
  readonly state: ConversationState
  /** The schema of the agent's answer, for results that become the answer. */
  readonly answer: Schema | undefined
}

/** The result with its actions applied. */
export function withActions(rule: ActionRule, called: CallResult, input: unknown, at: ActionCall): CallResult {
  try {
    const chosen = typeof rule === 'function' ? rule(outputIn(called), input) : rule
    const actions =
      chosen === undefined ? [] : Array.isArray(chosen) ? (chosen as readonly ToolAction[]) : [chosen as ToolAction]
    return actions.reduce((result, action) => applyAction(action, result, at), called)
  } catch (thrown) {
    const open = `the action of "${at.call.name}" failed`
    // the journal has the message of an exception, a model never sees it
    return withoutAction(
      at.ctx,
      at.call,
      called,
      failure('tool.failed', `${open}: ${messageOf(thrown)}`, 'internal'),
      `${open}: ${thrownText(thrown)}`,
    )
  }
}

/** What the tool has returned, as it is recorded. */
const outputIn = ({ content, output = content }: CallResult): Json => output

function applyAction(action: ToolAction, result: CallResult, at: ActionCall): CallResult {
  const { ctx, call, state } = at
  if (action === 'break') {
    ctx.emit({ type: 'break.requested', callId: call.id })
    return { ...result, breaks: true }
  }
  if (typeof action === 'object' && 'transfer' in action) return transferAction(action, result, at)
  const output = outputIn(result)
  const fits = typeof output === 'string' ? outputOf(output, at.answer) : checkOutput(output, at.answer)
  if (!fits.ok) {
    const what = failure(
      'output.invalid',
      `the result of "${call.name}" cannot be the answer of "${state.agent}": ${fits.problem}`,
      'validation',
    )
    return withoutAction(ctx, call, result, what)
  }
  if (action === 'return') return { ...result, finish: { outcome: completed(fits.value) } }
  if (action !== 'exit' && action.exit !== 'supervisor')
    throw new FailureError(failure('tool.failed', `invalid action ${JSON.stringify(action)}`, 'validation'))
  const scope = action === 'exit' ? 'run' : 'supervisor'
  return { ...result, finish: { outcome: completed(fits.value), action: { type: 'exit', scope } } }
}

function transferAction(
  { transfer: to, task }: { readonly transfer: string; readonly task?: string },
  told: CallResult,
  at: ActionCall,
): CallResult {
  const { ctx, call, state } = at
  const names = (state.edge.flow?.to ?? []).map(({ name }) => name)
  if (names.includes(to))
    return {
      ...told,
      ...(told.breaks === undefined ? {} : { breaks: true as const }),
      finish: transferResult(to, ctx, call, task).finish!,
    }
  const what = failure(
    'transfer.refused',
    `"${call.name}" cannot transfer to "${to}": ${names.length === 0 ? 'no other agent can take over' : `only ${names.join(', ')} can take over`}`,
    'validation',
  )
  return withoutAction(ctx, call, told, what, `not transferred: ${what.message}`)
}
