/**
 * Approval policy: whether an approver is asked about one call of a tool, and why (spec team ).
 *
 * Owns: what the decision depends on: the tool's name, the cost, whether the tool or the edge always asks. Does not
 * own: the question and its result (tool-gate.ts), the triggers and the modes (../../oversight). Without oversight only
 * tools and permissions ask.
 */
import { messageOf, present } from '@reeve/core'
import { needsApproval, type ApprovalRules, type Edge, type Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import { currentMode, gateOf, noteHits, reasonOf, type GateDecision } from '@reeve/oversight'
import type { Tool } from '../tool/tool.ts'
import type { KnownWork } from '../known-work.ts'

/** What needs an approval, apart from the arguments. */
export interface Gated extends Pick<Tool, 'name' | 'version' | 'sensitive' | 'approval'> {
  readonly costUsd?: Tool['costUsd']
  readonly spec?: Pick<Tool['spec'], 'description'>
}

/** Why and how an approver is asked. */
export interface ApprovalNeed {
  readonly reason: string
  /** The call always needs an approval, with or without oversight. */
  readonly always: boolean
  /** The result of the triggers; absent without oversight. */
  readonly decision?: GateDecision
  readonly rules?: ApprovalRules
  /** The earlier approval, if the call is asked about again. */
  readonly follows?: string
  /** Counts that the approver sent the call back. */
  readonly sentBack?: () => void
  /** The call may not be sent back again, so `retry` is not offered. */
  readonly isLast?: boolean
  /** What was done before that is the same, or may be. */
  readonly known?: KnownWork
}

/** How often calls of each tool were sent back, in one run of the code. */
const sentBackCounts = (): Map<string, number> => new Map()
/** The default limit of how often an approver may send a call back. */
const defaultRounds = 3

function roundsOf(ctx: Context, edge: Edge, tool: string): Required<Pick<ApprovalNeed, 'sentBack' | 'isLast'>> {
  const counts = ctx.local(sentBackCounts)
  const before = counts.get(tool) ?? 0
  const isLast = before >= (edge.oversight?.policy.approval?.rounds ?? defaultRounds)
  return { isLast, sentBack: () => void counts.set(tool, (counts.get(tool) ?? 0) + 1) }
}

/** Why this call always needs an approval; undefined if it does not. Pure if the tool's own rule is. */
export function approvalReason(gated: Gated, input: unknown, edge: Edge): string | undefined {
  const { name, sensitive, approval } = gated
  if (sensitive) return approval?.reason ?? `"${name}" is a sensitive tool`
  if (approval !== undefined && ruleApplies(approval.when, input))
    return approval.reason ?? `"${name}" asks for approval`
  return needsApproval(edge.bounds.permissions, name)
    ? `the leader requires an approval for every call of "${name}"`
    : undefined
}

function ruleApplies(when: ((input: unknown) => boolean) | undefined, input: unknown): boolean {
  try {
    return when === undefined || when(input)
  } catch {
    return true // a failing rule must not open the gate
  }
}

/**
 * Evaluates the triggers for a call, and records the hits if no approver is asked. Undefined: no approver is asked.
 * Without oversight the result is not a promise, which would delay the call.
 */
export function approvalNeedOf(
  ctx: Context,
  gated: Gated,
  call: ToolCall,
  input: unknown,
  edge: Edge,
): ApprovalNeed | undefined | Promise<ApprovalNeed | undefined> {
  const oversight = edge.oversight?.policy
  const ownReason = approvalReason(gated, input, edge)
  if (oversight !== undefined) return overseenNeedOf(ctx, gated, call, input, { edge, oversight, own: ownReason })
  return ownReason === undefined ? undefined : { reason: ownReason, always: true }
}

async function overseenNeedOf(
  ctx: Context,
  gated: Gated,
  call: ToolCall,
  input: unknown,
  { edge, oversight, own }: { readonly edge: Edge; readonly oversight: Oversight; readonly own: string | undefined },
): Promise<ApprovalNeed | undefined> {
  const { name, sensitive, approval, spec } = gated
  const { costUsd, problem } = costOf(gated, input)
  const always = own ?? problem
  const subject = {
    action: name,
    sensitive,
    always: always !== undefined,
    ...(spec === undefined ? undefined : { description: spec.description }),
    ...(approval?.risk === undefined ? undefined : { risk: approval.risk }),
    ...present({ costUsd }),
  }
  const decision = gateOf(oversight, subject, await currentMode(ctx, oversight))
  if (!decision.asks) {
    noteCallHits(ctx, call, decision, false)
    return undefined
  }
  return {
    reason: reasonOf(decision, always),
    always: always !== undefined,
    decision,
    ...roundsOf(ctx, edge, name),
    rules: oversight.approval ?? {},
  }
}

/** Records the hits in the journal. */
export const noteCallHits = (ctx: Context, { id, name }: ToolCall, decision: GateDecision, asks: boolean): void =>
  noteHits(ctx, { subject: 'action', name, callId: id }, { ...decision, asks })

/** The cost of a call, as its tool states it. A failing rule must not open the gate. */
function costOf(
  { name, costUsd: given }: Gated,
  input: unknown,
): { readonly costUsd?: number; readonly problem?: string } {
  if (given === undefined) return {}
  try {
    const costUsd = typeof given === 'function' ? given(input) : given
    if (Number.isFinite(costUsd)) return { costUsd }
    return { problem: `costUsd of "${name}" is ${String(costUsd)}, expected an amount` }
  } catch (thrown) {
    return { problem: `costUsd of "${name}" failed: ${messageOf(thrown)}` }
  }
}
