/**
 * Approval policy: whether an approver is asked about one call of a tool, and why (spec team ).
 *
 * Owns: what is looked at of a call: its tool's name, what it costs, whether its tool or the edge always asks. Does not
 * own: the question and what follows from it (tool-gate.ts), the triggers and the modes (../oversight). Without
 * oversight only tools and permissions ask, exactly as they say.
 */
import { messageOf } from '../../core/index.ts'
import { needsApproval, type ApprovalRules, type Edge, type Oversight } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import type { ToolCall } from '../../model/index.ts'
import { currentMode, gateOf, noteHits, reasonOf, type GateWord } from '../../oversight/index.ts'
import type { Tool } from '../tool/tool.ts'

/** What is to be approved, apart from the arguments. */
export interface Gated extends Pick<Tool, 'name' | 'version' | 'sensitive' | 'approval'> {
  readonly costUsd?: Tool['costUsd']
  readonly spec?: Pick<Tool['spec'], 'description'>
}

/** That an approver is asked, and how. */
export interface ApprovalNeed {
  readonly reason: string
  /** The call always asks, with or without oversight. */
  readonly always: boolean
  /** What the triggers say; absent without oversight. */
  readonly word?: GateWord
  readonly rules?: ApprovalRules
  /** The approval before it, where it is asked again. */
  readonly follows?: string
  /** Counts that the approver has sent the call back. */
  readonly sentBack?: () => void
  /** The call was sent back as often as it may be: `retry` is not offered. */
  readonly isLast?: boolean
}

/** How often calls of each tool were sent back, in one run of the code. */
const sentBackCounts = (): Map<string, number> => new Map()
/** How often an approver may send a call back, by default. */
const defaultRounds = 3

function roundsOf(ctx: Context, edge: Edge, tool: string): Required<Pick<ApprovalNeed, 'sentBack' | 'isLast'>> {
  const counts = ctx.local(sentBackCounts)
  const before = counts.get(tool) ?? 0
  const isLast = before >= (edge.oversight?.policy.approval?.rounds ?? defaultRounds)
  return { isLast, sentBack: () => void counts.set(tool, (counts.get(tool) ?? 0) + 1) }
}

/** Why this call always needs an approval; undefined if it does not. Pure as long as the tool's own rule is. */
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
    return true // a rule that fails must not open the gate
  }
}

/**
 * Evaluates the triggers for a call, and notes the hits if no approver is asked. Undefined: none is asked. Without
 * oversight the answer is no promise, so that nothing happens later than it would.
 */
export function approvalNeedOf(
  ctx: Context,
  gated: Gated,
  call: ToolCall,
  input: unknown,
  edge: Edge,
): ApprovalNeed | undefined | Promise<ApprovalNeed | undefined> {
  const oversight = edge.oversight?.policy
  const own = approvalReason(gated, input, edge)
  if (oversight !== undefined) return overseenNeedOf(ctx, gated, call, input, { edge, oversight, own })
  return own === undefined ? undefined : { reason: own, always: true }
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
    ...(costUsd === undefined ? undefined : { costUsd }),
  }
  const word = gateOf(oversight, subject, await currentMode(ctx, oversight))
  if (!word.asks) {
    noteCallHits(ctx, call, word, false)
    return undefined
  }
  return {
    reason: reasonOf(word, always),
    always: always !== undefined,
    word,
    ...roundsOf(ctx, edge, name),
    rules: oversight.approval ?? {},
  }
}

/** Notes the hits, for the journal. */
export const noteCallHits = (ctx: Context, { id, name }: ToolCall, word: GateWord, asks: boolean): void =>
  noteHits(ctx, { subject: 'action', name, callId: id }, { ...word, asks })

/** What a call costs, as far as its tool says. A rule that fails must not open the gate. */
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
