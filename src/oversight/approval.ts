/**
 * Approval: a yes/no question to a human about one exact action (spec team R-16).
 *
 * Owns: how the question is put, what a decision may look like, what a deadline does, the facts that record how it came out.
 * Does not own: which calls need one (agent/gate.ts), how a decision gets here (runtime), who wins (the store, K2).
 *
 * An approval holds for one run, path, tool, tool version and one digest of arguments, and for one use: whoever wants something else asks again.
 * Nothing that a model wrote can grant one: decisions come from outside only, as the end of this question.
 */
import { digestJson, isObject, present, type Json, type Outcome } from '../core/index.ts'
import { riskLevels, type ApprovalRules, type ApproverTier, type RiskLevel } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { ApprovalRequested, ApprovalResolved, EscalationHit } from '../journal/index.ts'
import { readGranting, type SessionGrant } from './grants.ts'
import { announce, whileTelling, type Notice } from './notice.ts'
import { withoutPermit } from './permit.ts'

/** How bad it is if this should not have been done. */
export type Risk = RiskLevel

/** Milliseconds until a question is answered by its deadline. `never` only for critical risk. */
export type ApprovalTimeout = number | 'never'

/** Half an hour, as R-16 says. For a wait of days say so: `timeoutMs: 3 * 24 * 3_600_000`. */
export const defaultApprovalTimeoutMs = 30 * 60_000

/** What may be decided. */
export type DecisionOption = 'approve' | 'reject' | 'edit' | 'retry'

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
  /** Default: that of `rules`, else 30 minutes; 0 or less: the deadline has passed at once. */
  readonly timeoutMs?: ApprovalTimeout
  /** Default: that of `rules`, else `reject`. `approve` is never obeyed for a sensitive action or for high and critical risk. */
  readonly onTimeout?: ApprovalRules['onTimeout']
  readonly sensitive?: boolean
  /** A yes may hold for later calls, too, if whoever asks looks at grants first. Never obeyed for a sensitive action or for high and critical risk. */
  readonly grantable?: boolean
  /** What it is about. Default: a call of a tool. */
  readonly kind?: NonNullable<ApprovalRequested['kind']>
  /** The task of a plan that it is about. */
  readonly task?: string
  readonly description?: string
  readonly hits?: readonly EscalationHit[]
  /** What whoever decides may want to see: a result, a report. Recorded. */
  readonly context?: Json
  /** What may be decided. Default: everything. */
  readonly options?: readonly DecisionOption[]
  /** Who is asked, over which channels, and how. Default: anybody, over none. */
  readonly rules?: ApprovalRules
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

/** One question of an approval: who is asked now, until when. */
interface Round {
  readonly tier: number
  readonly approvers: readonly string[]
  readonly until: number | undefined
  /** The approval before this one. */
  readonly follows?: string
  /** Whoever has approved it already. */
  readonly first?: string
}

/**
 * Asks and waits. Records `approval.requested` and `approval.resolved`, each once for each question, also over restarts; ids and deadlines stay the same. A deadline that escalates, a second pair
 * of eyes and a decision by somebody who may not make it are questions of their own, each with its own id.
 * Resolves to the verdict; rejects only with `Cancelled`. In one scope ask one question at a time; concurrent ones need `ctx.scope(name)`.
 */
export async function approve(ctx: Context, request: ApprovalRequest): Promise<Verdict> {
  const tiers: readonly ApproverTier[] = request.rules?.approvers ?? []
  let round: Round = { tier: 1, approvers: tiers[0]?.who ?? [], until: deadlineOf(ctx, request, tiers[0]) }
  for (;;) {
    const { id, verdict } = await ask(ctx, request, round)
    const next = tiers[round.tier]
    const follows = id
    if (!verdict.approved && verdict.how === 'timed-out' && onTimeoutOf(request) === 'escalate' && next !== undefined) {
      resolved(ctx, id, verdict, 'escalated')
      round = { ...round, follows, tier: round.tier + 1, approvers: next.who, until: deadlineOf(ctx, request, next) }
    } else if (!mayDecide(verdict, round)) {
      resolved(ctx, id, verdict, 'ignored')
      round = { ...round, follows }
    } else if (round.first === undefined && needsSecond(request, verdict)) {
      resolved(ctx, id, verdict, 'seconded')
      round = { ...round, follows, first: approverOf(verdict)! }
    } else {
      resolved(ctx, id, verdict, resolutionOf(verdict))
      return verdict
    }
  }
}

/** When a question is over. */
function deadlineOf(ctx: Context, { timeoutMs, rules }: ApprovalRequest, tier: ApproverTier | undefined): number | undefined {
  const ms = tier?.timeoutMs ?? timeoutMs ?? rules?.timeoutMs ?? defaultApprovalTimeoutMs
  return ms === 'never' ? undefined : ctx.now().getTime() + (ms > 0 ? ms : -1)
}

/** What a deadline does; the stricter of what is asked for and what may be. */
function onTimeoutOf(request: ApprovalRequest): NonNullable<ApprovalRules['onTimeout']> {
  const wanted = request.onTimeout ?? request.rules?.onTimeout ?? 'reject'
  return wanted === 'approve' && !mayApproveUnseen(request) ? 'reject' : wanted
}

const approverOf = (verdict: Verdict): string | undefined => (verdict.approved && verdict.by !== 'human' ? undefined : verdict.approver)

/** Whether whoever decided may: they are asked, and have not approved it themselves. What no human decided is nobody's. Pure. */
function mayDecide(verdict: Verdict, { approvers, first }: Round): boolean {
  const isHuman = verdict.approved ? verdict.by === 'human' : verdict.how === 'rejected' || verdict.how === 'retry'
  if (!isHuman) return true
  const who = verdict.approver
  if (approvers.length > 0 && (who === undefined || !approvers.includes(who))) return false
  return first === undefined || !verdict.approved || (who !== undefined && who !== first)
}

/** Whether a yes needs a second one, by somebody else. */
function needsSecond({ rules, risk = 'medium' }: ApprovalRequest, verdict: Verdict): boolean {
  const from = rules === undefined ? false : (rules.fourEyes ?? 'critical')
  if (from === false || !verdict.approved || verdict.by !== 'human') return false
  return riskLevels.indexOf(risk) >= riskLevels.indexOf(from)
}

async function ask(ctx: Context, request: ApprovalRequest, round: Round): Promise<{ readonly id: string; readonly verdict: Verdict }> {
  const { tool, toolVersion, input, reason, risk = 'medium' } = request
  const { tier, approvers, until, follows, first } = round
  const onTimeout = onTimeoutOf(request)
  const id = ctx.id('apr')
  const question = ctx.ask('approval', {
    ...(until === undefined ? undefined : { until: new Date(until) }),
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
      ...(request.grantable === true && mayApproveUnseen(request) ? { grantable: true } : undefined),
      ...present({
        callId: request.callId,
        kind: request.kind,
        task: request.task,
        description: request.description,
        hits: request.hits,
        context: request.context,
        options: request.options,
        approvers: approvers.length === 0 ? undefined : approvers,
        excludes: first === undefined ? undefined : [first],
        follows,
        tier: tier > 1 ? tier : undefined,
      }),
    },
  })
  const telling = announce(ctx, request.rules?.notify ?? [], noticeOf(ctx, request, id, round))
  const outcome = await withoutPermit(ctx, () => whileTelling(ctx, question, id, telling))
  return { id, verdict: verdictOf(outcome, input, onTimeout === 'escalate' ? 'reject' : onTimeout) }
}

function noticeOf(
  ctx: Context,
  { tool, input, reason, risk = 'medium', hits }: ApprovalRequest,
  id: string,
  { until, approvers }: Round,
): Notice {
  const { run, path } = ctx.place
  return {
    type: 'approval',
    id,
    run,
    path: [...path],
    title: `${path.join(' > ')} asks for approval of ${tool}`,
    text: reason,
    input,
    risk,
    askedAt: ctx.now().getTime(),
    ...present({ hits, until, approvers: approvers.length === 0 ? undefined : approvers }),
  }
}

function resolved(ctx: Context, id: string, verdict: Verdict, resolution: ApprovalResolved['resolution']): void {
  ctx.emit({
    type: 'approval.resolved',
    id,
    resolution,
    ...(verdict.approver === undefined ? undefined : { approver: verdict.approver }),
    ...(verdict.comment === undefined ? undefined : { comment: verdict.comment }),
    ...(verdict.approved && verdict.edited ? { inputHash: digestJson(verdict.input) } : undefined),
  })
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

function resolutionOf(verdict: Verdict): ApprovalResolved['resolution'] {
  if (verdict.approved) return verdict.by === 'deadline' ? 'timed-out-approved' : verdict.edited ? 'edited' : 'approved'
  const ends = {
    'timed-out': 'timed-out-rejected',
    cancelled: 'cancelled',
    retry: 'retry',
    rejected: 'rejected',
    unreadable: 'rejected',
  } as const
  return ends[verdict.how]
}
