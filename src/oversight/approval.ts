/**
 * Approval: a yes/no question to a human about one exact action (spec team R-16).
 *
 * Owns: how the question is put, what a decision may look like, what a deadline does, the facts that record how it came out.
 * Does not own: which calls need one (agent/gate.ts), how a decision gets here (runtime), who wins (the store, K2).
 *
 * An approval holds for one run, path, tool, tool version and one digest of arguments, and for one use: whoever wants something else asks again.
 * Nothing that a model wrote can grant one: decisions come from outside only, as the end of this question.
 */
import { digestJson, isObject, type Json, type Outcome } from '../core/index.ts'
import type { Context } from '../engine/index.ts'
import { readGranting, type SessionGrant } from './grants.ts'
import { withoutPermit } from './permit.ts'

/** How bad it is if this should not have been done. */
export type Risk = 'low' | 'medium' | 'high' | 'critical'

/** Milliseconds until a question is answered by its deadline. `never` only for critical risk. */
export type ApprovalTimeout = number | 'never'

/** Half an hour, as R-16 says. For a wait of days say so: `timeoutMs: 3 * 24 * 3_600_000`. */
export const defaultApprovalTimeoutMs = 30 * 60_000

/** What is to be approved. */
export interface ApprovalRequest {
  /** What is to be done; for tools the tool's name. */
  readonly tool: string
  readonly toolVersion: string
  readonly input: Json
  /** Why it is asked, in words for the one who decides. */
  readonly reason: string
  readonly callId?: string
  /** Default `medium`. */
  readonly risk?: Risk
  /** Default 30 minutes; 0 or less: the deadline has passed at once. */
  readonly timeoutMs?: ApprovalTimeout
  /** Default `reject`. `approve` is never obeyed for a sensitive action or for high and critical risk. */
  readonly onTimeout?: 'reject' | 'approve'
  readonly sensitive?: boolean
  /** A yes may hold for later calls, too, if whoever asks looks at grants first. Never obeyed for a sensitive action or for high and critical risk. */
  readonly grantable?: boolean
}

/** How an approval came out. `approved` with the arguments that hold now: a human may have edited them. */
export type Verdict =
  | {
      readonly approved: true
      readonly input: Json
      readonly edited: boolean
      readonly by: 'human' | 'deadline' | 'grant'
      readonly approver?: string
      readonly comment?: string
      /** It holds for later calls, too. */
      readonly grant?: SessionGrant
    }
  | {
      readonly approved: false
      readonly how: 'rejected' | 'retry' | 'timed-out' | 'cancelled' | 'unreadable'
      readonly approver?: string
      readonly comment?: string
    }

/** A decision, as it arrives. */
export type Decided =
  | { readonly decision: 'approve'; readonly approver?: string; readonly comment?: string; readonly grant?: SessionGrant }
  | { readonly decision: 'reject' | 'retry'; readonly approver?: string; readonly comment?: string }
  | { readonly decision: 'edit'; readonly input: Json; readonly approver?: string; readonly comment?: string }

/** Reads a decision; undefined if it is none. Pure. Fields that a decision does not have are ignored. */
export function readDecision(given: Json): Decided | undefined {
  if (!isObject(given)) return undefined
  const { decision, input, approver, comment, grant: granting } = given
  const by = { ...(typeof approver === 'string' ? { approver } : undefined), ...(typeof comment === 'string' ? { comment } : undefined) }
  if (decision === 'edit') return input === undefined ? undefined : { decision, input, ...by }
  if (decision === 'approve') {
    const grant = readGranting(granting)
    return { decision, ...by, ...(grant === undefined ? undefined : { grant }) }
  }
  return decision === 'reject' || decision === 'retry' ? { decision, ...by } : undefined
}

/** Whether anything but a human who sees this very call may approve it: a deadline, an earlier grant. Pure. */
export const mayApproveUnseen = (request: { readonly risk?: Risk; readonly sensitive?: boolean }): boolean =>
  request.sensitive !== true && request.risk !== 'high' && request.risk !== 'critical'

/** What is wrong with how an approval is configured, one sentence each; empty if nothing. */
export function approvalProblems(
  request: Pick<ApprovalRequest, 'risk' | 'timeoutMs' | 'onTimeout' | 'sensitive'>,
  where: string,
): string[] {
  const problems: string[] = []
  if (request.onTimeout === 'approve' && !mayApproveUnseen(request))
    problems.push(`${where}: a deadline may not approve a sensitive action or one of high or critical risk (onTimeout: 'approve')`)
  if (request.timeoutMs === 'never' && request.risk !== 'critical')
    problems.push(`${where}: only an approval of critical risk may wait without a deadline (timeoutMs: 'never')`)
  if (typeof request.timeoutMs === 'number' && !Number.isFinite(request.timeoutMs))
    problems.push(`${where}: timeoutMs is ${String(request.timeoutMs)}, expected milliseconds`)
  return problems
}

/**
 * Asks and waits. Records `approval.requested` and `approval.resolved`, each once, also over restarts; the id and the deadline stay the same.
 * Resolves to the verdict; rejects only with `Cancelled`. In one scope ask one question at a time; concurrent ones need `ctx.scope(name)`.
 */
export async function approve(ctx: Context, request: ApprovalRequest): Promise<Verdict> {
  const { tool, toolVersion, input, reason, risk = 'medium', timeoutMs = defaultApprovalTimeoutMs } = request
  const onTimeout = request.onTimeout === 'approve' && mayApproveUnseen(request) ? 'approve' : 'reject'
  const id = ctx.id('apr')
  const question = ctx.ask('approval', {
    ...(timeoutMs === 'never' ? undefined : { until: new Date(ctx.now().getTime() + (timeoutMs > 0 ? timeoutMs : -1)) }),
    as: {
      type: 'approval.requested',
      id,
      path: ctx.place.path,
      tool,
      toolVersion,
      input,
      inputHash: digestJson(input),
      reason,
      risk,
      onTimeout,
      ...(request.callId === undefined ? undefined : { callId: request.callId }),
      ...(request.grantable === true && mayApproveUnseen(request) ? { grantable: true } : undefined),
    },
  })
  const { outcome } = await withoutPermit(ctx, () => ctx.next(question))
  const verdict = verdictOf(outcome, input, onTimeout)
  ctx.emit({
    type: 'approval.resolved',
    id,
    resolution: resolutionOf(verdict),
    ...(verdict.approver === undefined ? undefined : { approver: verdict.approver }),
    ...(verdict.comment === undefined ? undefined : { comment: verdict.comment }),
    ...(verdict.approved && verdict.edited ? { inputHash: digestJson(verdict.input) } : undefined),
  })
  return verdict
}

/** What the end of the question means. Pure. */
export function verdictOf(outcome: Outcome, input: Json, onTimeout: 'reject' | 'approve'): Verdict {
  if (outcome.status === 'timed-out')
    return onTimeout === 'approve' ? { approved: true, input, edited: false, by: 'deadline' } : { approved: false, how: 'timed-out' }
  if (outcome.status !== 'completed') return { approved: false, how: 'cancelled' }
  const decided = readDecision(outcome.output)
  if (decided === undefined) return { approved: false, how: 'unreadable' }
  const { decision, ...rest } = decided
  const by = {
    ...(rest.approver === undefined ? undefined : { approver: rest.approver }),
    ...(rest.comment === undefined ? undefined : { comment: rest.comment }),
  }
  if (decided.decision === 'edit') return { approved: true, input: decided.input, edited: true, by: 'human', ...by }
  if (decided.decision === 'approve')
    return {
      approved: true,
      input,
      edited: false,
      by: 'human',
      ...by,
      ...(decided.grant === undefined ? undefined : { grant: decided.grant }),
    }
  return { approved: false, how: decision === 'retry' ? 'retry' : 'rejected', ...by }
}

function resolutionOf(verdict: Verdict): 'approved' | 'rejected' | 'timed-out-rejected' | 'timed-out-approved' | 'edited' | 'cancelled' {
  if (verdict.approved) return verdict.by === 'deadline' ? 'timed-out-approved' : verdict.edited ? 'edited' : 'approved'
  return verdict.how === 'timed-out' ? 'timed-out-rejected' : verdict.how === 'cancelled' ? 'cancelled' : 'rejected'
}
