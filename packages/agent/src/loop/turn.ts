/**
 * Turn: the calls of one answer of the model (spec collaboration 1.17). There is one loop for everything.
 *
 * Owns: that they start together, each in its own scope, and are told in call order. Does not own: the call of the model
 * (../model-call), when another turn follows (turn-loop.ts), what a call does (../tool/binding.ts).
 * Holds: K3, K4 (scopes `call` are numbered by the order in the model's answer, never by the model's ids).
 */
import { failure } from '@reeve/core'
import { allowsTool, denies } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { callScope } from '@reeve/journal'
import { argumentsProblem, type ToolCall } from '@reeve/model'
import { approvalQuestion, approvedBefore, expiredBy, review } from '@reeve/oversight'
import { noSuchTool, refuse, refuseUnreached } from '../tool/refusal.ts'
import type { CallResult } from '../conversation/call-result.ts'
import { knownOfTool, toldRefusal } from '../known-work.ts'
import { type Binding, type Toolbox } from '../tool/binding.ts'
import { boundedCall } from '../tool/result-bound.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import { offeredTools } from './offered-tools.ts'
import { madeFor, repeatedResult } from './equal-calls.ts'
import { earlierQuestion, approvalRefusal, noteReview, passGate } from '../approval/tool-gate.ts'
import { approvalReason } from '../approval/approval-policy.ts'

/**
 * Runs the calls of one answer. All start at once; those marked `last` follow one by one when the others have settled.
 * Results are in call order.
 */
export function runCalls(
  state: ConversationState,
  turn: Context,
  toolbox: Toolbox,
  calls: readonly ToolCall[],
): Promise<readonly CallResult[]> {
  if (calls.length !== 1) return runSeveral(state, turn, toolbox, calls)
  const only = calls[0]!
  return toldCall(state, turn.scope(callScope), toolbox.find(only.name), toolbox, only).then((result) => [result])
}

async function runSeveral(
  state: ConversationState,
  turn: Context,
  toolbox: Toolbox,
  calls: readonly ToolCall[],
): Promise<readonly CallResult[]> {
  const results: CallResult[] = []
  const late: (() => Promise<void>)[] = []
  const begun: Promise<void>[] = []
  const ends = new Map<number, Promise<void>>()
  const before = madeFor(calls, (name) => toolbox.find(name))
  calls.forEach((call, i) => {
    const ctx = turn.scope(callScope)
    const binding = toolbox.find(call.name)
    const of = before[i]
    const made = of === undefined ? undefined : ends.get(of)
    if (of !== undefined && made !== undefined) {
      begun.push(made.then(() => void (results[i] = repeatedResult(ctx, call, calls[of]!, results[of]!))))
      return
    }
    const run = async (): Promise<void> => {
      results[i] = await toldCall(state, ctx, binding, toolbox, call)
    }
    if (binding?.last === true) return void late.push(run)
    const end = run()
    ends.set(i, end)
    begun.push(end)
  })
  await Promise.all(begun)
  for (const run of late) await run()
  return results
}

/** Runs a call, and bounds what the model is told of it. */
async function toldCall(
  state: ConversationState,
  ctx: Context,
  binding: Binding | undefined,
  toolbox: Toolbox,
  call: ToolCall,
): Promise<CallResult> {
  const result = await runCall(state, ctx, binding, toolbox, call)
  return boundedCall(ctx, call, state, result, { own: binding?.resultTokens })
}

function runCall(
  state: ConversationState,
  ctx: Context,
  binding: Binding | undefined,
  toolbox: Toolbox,
  call: ToolCall,
): Promise<CallResult> {
  const permissions = state.edge.bounds.permissions
  if (binding === undefined) return unknownTool(state, ctx, toolbox, call)
  if (
    permissions !== undefined &&
    !(binding.verb === true ? !denies(permissions, call.name) : allowsTool(permissions, call.name))
  ) {
    const what = failure('permission.denied', `you may not use "${call.name}" here`, 'policy')
    return Promise.resolve(refuseUnreached(ctx, call, what, `[${what.message}]`))
  }
  if (call.invalid !== undefined) {
    const what = failure(
      'tool.invalid-input',
      `the arguments of "${call.name}" ${argumentsProblem(call.invalid)}`,
      'validation',
    )
    return Promise.resolve(refuseUnreached(ctx, call, what, `[${what.message}. Call it again with a JSON object.]`))
  }
  const listed = permissions?.approval
  if (binding.verb === true && listed !== undefined && listed !== 'all') return gatedVerb(state, ctx, binding, call)
  // a middleware around calls would take the stop for a failure
  return binding.verb === true || state.hooks?.wrapsTools === true
    ? binding.run(ctx, call, state)
    : state.stoppable(ctx, () => binding.run(ctx, call, state))
}

/** Reeve's own verbs need an approval only if the edge names them; `all` means all tools. */
async function gatedVerb(
  state: ConversationState,
  ctx: Context,
  binding: Binding,
  call: ToolCall,
): Promise<CallResult> {
  const gated = { name: binding.spec.name, version: '1', sensitive: false, approval: undefined }
  const reason = approvalReason(gated, call.input, state.edge)
  if (reason === undefined) return binding.run(ctx, call, state)
  const placed = binding.placed?.(call) ?? binding
  const rules = state.edge.oversight?.policy.approval
  const verdict = await review({
    input: call.input,
    ask: ({ input, again }) => {
      const why = again === undefined ? reason : `${reason} (asked again: ${again})`
      const asking = { reason: why, always: true, ...(rules === undefined ? undefined : { rules }) }
      return state.stoppable(ctx, () => passGate(ctx, gated, { ...call, input }, asking, () => undefined))
    },
    begin: (approval) => expiredBy(ctx, approval),
  })
  if (!verdict.approved) return approvalRefusal(ctx, call, verdict)
  const runs = { ...call, input: verdict.input }
  const reviewed = noteReview(ctx, runs, verdict)
  return { ...(await placed.run(ctx, runs, state)), ...reviewed }
}

async function unknownTool(
  state: ConversationState,
  ctx: Context,
  toolbox: Toolbox,
  call: ToolCall,
): Promise<CallResult> {
  // the tool is gone since its approval was asked: the approver's decision still counts
  if (ctx.wasAsked(approvalQuestion)) {
    const asking = earlierQuestion(state.edge, `"${call.name}" is gone since this was asked`)
    const gone = { name: call.name, version: 'none', sensitive: false, approval: undefined }
    const verdict = await passGate(ctx, gone, call, asking, () => undefined)
    const known = knownOfTool(ctx, call)
    if (!verdict.approved) return approvalRefusal(ctx, call, verdict, known)
    const message = toldRefusal(`${approvedBefore(verdict.approver)}, and ${noSuchTool(call.name)} any more`, known)
    const what = failure('tool.unknown', message, 'validation')
    return refuse(ctx, call, what, `[${what.message}]`)
  }
  const names = offeredTools(toolbox.specs, state).map((spec) => spec.name)
  const what = failure('tool.unknown', noSuchTool(call.name), 'validation')
  const message = `[${what.message}. ${names.length === 0 ? 'There are no tools.' : `Tools are: ${names.join(', ')}.`}]`
  return { ...refuseUnreached(ctx, call, what, message), unknownTool: true }
}
