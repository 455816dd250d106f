/**
 * Approval: a request to a human to allow one exact action (spec team R-16).
 *
 * Owns: the request, its rounds (tiers, second approver), the effect of a deadline, the facts that record the result.
 * Does not own: which calls need an approval (agent/approval/tool-gate.ts), how a decision arrives (runtime), which
 * decision wins (the store, K2).
 * Holds: an approval covers one use of one tool version with one digest of arguments, in one run and path; anything
 * else needs a new request. No model output can approve: decisions come from outside only.
 */
import type { Context } from '@reeve/engine'
import { beginning, digestJson, expects, present, type Json, riskLevels, type RiskLevel } from '@reeve/core'
import { briefText, defaultApprovalTimeoutMs, readEdge, type ApprovalRules, type ApproverTier } from '@reeve/edge'
import {
  isEdge,
  type ApprovalRequested,
  type ApprovalResolved,
  type DoneEffect,
  type EscalationHit,
} from '@reeve/journal'
import { capabilityFor } from './capability.ts'
import {
  decisionIn,
  readDecision,
  resolutionOf,
  verdictOf,
  type DecidedOn,
  type DecisionOption,
  type Verdict,
} from './decision.ts'
import { announce, settledWithNotices, type Notice } from '../notice.ts'
import { withoutSlot } from './concurrency-slot.ts'
import { notPermitted, type AskedOf } from './approver-policy.ts'

/** The damage if the action turns out to be wrong. */
export type Risk = RiskLevel

/** Milliseconds until the deadline of a request. `never`: no deadline; of a task of a plan only for critical risk. */
export type ApprovalTimeout = number | 'never'

/** The name of the request in the journal. Persistent. */
export const approvalQuestion = 'approval'

/** A request for approval. */
export interface ApprovalRequest {
  /** The action; for tool calls the name of the tool. */
  readonly tool: string
  readonly toolVersion: string
  readonly input: Json
  /** Why approval is needed, for the approver. */
  readonly reason: string
  readonly callId?: string
  /** Default `medium`. */
  readonly risk?: Risk
  /** Default: that of `rules`, else `defaultTimeoutMs`. With 0 or less, the deadline has passed at once. */
  readonly timeoutMs?: ApprovalTimeout
  /**
   * The deadline if neither the request nor its rules set one: 30 minutes in a planned team. Default: none, it waits for
   * as long as it takes; 30 minutes if the deadline would escalate or approve.
   */
  readonly defaultTimeoutMs?: number
  /**
   * Default: that of `rules`, else `reject`. `approve` has no effect for a sensitive action or for high and critical
   * risk.
   */
  readonly onTimeout?: ApprovalRules['onTimeout']
  readonly sensitive?: boolean
  /**
   * The approver may grant later calls, too, if the caller checks grants first. No effect for a sensitive action or for
   * high and critical risk.
   */
  readonly grantable?: boolean
  /** Milliseconds for which an approval stays valid after the decision. Default: a day. */
  readonly validForMs?: number
  /** The kind of subject. Default: a tool call. */
  readonly kind?: NonNullable<ApprovalRequested['kind']>
  /** The task of a plan that is the subject. */
  readonly task?: string
  readonly description?: string
  readonly hits?: readonly EscalationHit[]
  /** Further information for the approver, such as a result or a report. Recorded. */
  readonly context?: Json
  /** The allowed decisions. Default: all. */
  readonly options?: readonly DecisionOption[]
  /** The id of the earlier request, if this one asks again. */
  readonly follows?: string
  /** What was done for it, if it was: see `ApprovalRequested.done`. */
  readonly done?: readonly DoneEffect[]
  /** The approvers, channels and deadlines. Default: any approver, no channel. */
  readonly rules?: ApprovalRules
}

/** Whether a deadline or an earlier grant may approve it, without a human who sees this call. Pure. */
export const mayApproveUnseen = (request: { readonly risk?: Risk; readonly sensitive?: boolean }): boolean =>
  request.sensitive !== true && request.risk !== 'high' && request.risk !== 'critical'

/** The check of a time in which an approval must be decided. */
export const approvalTimeoutCheck = expects(
  (given) => given === 'never' || Number.isFinite(given),
  'milliseconds, or "never"',
)

/** The problems between the options of an approval, one sentence each. */
export function approvalProblems(
  request: Pick<ApprovalRequest, 'risk' | 'timeoutMs' | 'onTimeout' | 'sensitive'>,
  where: string,
): string[] {
  const problems: string[] = []
  if (request.onTimeout === 'approve' && !mayApproveUnseen(request))
    problems.push(
      `${where}: a deadline may not approve a sensitive action or one of high or critical risk (onTimeout: 'approve')`,
    )
  return problems
}

/** As `approvalProblems`, for a tool or `ctx.approve`, which have no deadline unless they set one. */
export function untimedProblems(request: Parameters<typeof approvalProblems>[0], where: string): string[] {
  const problems = approvalProblems(request, where)
  if (request.onTimeout === 'approve' && typeof request.timeoutMs !== 'number')
    problems.push(
      `${where}: onTimeout is "approve", but there is no deadline: add timeoutMs, such as 3_600_000 for an hour`,
    )
  return problems
}

/** A tool or task with an approval of its own. */
interface Approvable {
  readonly name: string
  readonly sensitive: boolean
  readonly approval?: Pick<ApprovalRequest, 'onTimeout'> | undefined
}

/** Conflicts between `oversight.approval.onTimeout: 'approve'` and what no deadline may approve. Pure. */
export function deadlineProblems(
  rules: ApprovalRules | undefined,
  all: readonly Approvable[],
  where: string,
): string[] {
  if (rules?.onTimeout !== 'approve') return []
  return all.flatMap(({ name, sensitive, approval }) =>
    approval !== undefined && approval.onTimeout === undefined
      ? [
          `${where}: oversight.approval.onTimeout is "approve", and "${name}" ${sensitive ? 'is sensitive' : 'always asks for approval'}: say approval: { onTimeout: 'reject' } of it`,
        ]
      : [],
  )
}

/** One round of an approval: its approvers, arguments and deadline. */
interface ApprovalRound {
  readonly tier: number
  readonly approvers: readonly string[]
  readonly until: number | undefined
  /** The current arguments; the first approver may have edited them. */
  readonly input: Json
  /** The id of the earlier request. */
  readonly follows?: string
  /** The first approver of these arguments, and the id of that approval. */
  readonly first?: { readonly approver: string; readonly id: string }
}

/**
 * Requests approval and waits. Records `approval.requested` and `approval.resolved` once for each round, also over
 * restarts; ids and deadlines stay the same. An escalation at a deadline, a second approver, and a decision by someone
 * who may not decide each start a new round with its own id. Both approvers see the same arguments: if the second one
 * edits them, another approver decides again. If the first approver's tier has no second approver, the next tier that
 * has one is asked, wrapping around; if no tier has one, the request expires at once. Resolves to the verdict, with the
 * capability of an approval; rejects only with `Cancelled`. One request at a time in a scope; concurrent ones need
 * `ctx.scope(name)`.
 */
export async function approve(ctx: Context, request: ApprovalRequest): Promise<Verdict> {
  const problem = unanswerable(request)
  if (problem === undefined) return inRounds(ctx, request)
  const { notify: _notify, ...rules } = request.rules!
  const asked = {
    ...request,
    reason: `${request.reason} (${problem})`,
    timeoutMs: 0,
    onTimeout: 'reject',
    rules,
  } as const
  const verdict = await inRounds(ctx, { ...asked, rules: { ...rules, onTimeout: 'reject' } })
  return verdict.approved || verdict.how !== 'timed-out' ? verdict : { ...verdict, comment: problem }
}

/** Why no approval is possible: two approvers are required and the rules allow fewer. */
function unanswerable(request: ApprovalRequest): string | undefined {
  const tiers = request.rules?.approvers ?? []
  const [first] = tiers
  if (first === undefined || !needsFourEyes(request) || tiers.some(({ who }) => who.length === 0)) return undefined
  return tiers.flatMap(({ who }) => who).some((each) => tierWithOther(tiers, 0, each) !== undefined)
    ? undefined
    : `four eyes need two different people, and approvers names only "${first.who[0]!}"`
}

/** The first tier, from `from` on, with an approver other than `first`. */
function tierWithOther(tiers: readonly ApproverTier[], from: number, first: string | undefined): number | undefined {
  const excludes = first === undefined ? [] : [first]
  const at = tiers.findIndex(
    ({ who }, i) =>
      i >= from &&
      (who.length === 0 ||
        who.some((each) => notPermitted({ approvers: who, excludes }, 'approve', each) === undefined)),
  )
  return at === -1 ? undefined : at
}

async function inRounds(ctx: Context, request: ApprovalRequest): Promise<Verdict> {
  const tiers: readonly ApproverTier[] = request.rules?.approvers ?? []
  /** The fields of a round for this tier. */
  const asking = (at: number): Pick<ApprovalRound, 'tier' | 'approvers' | 'until'> => ({
    tier: at + 1,
    approvers: tiers[at]!.who,
    until: deadlineOf(ctx, request, tiers[at]),
  })
  let round: ApprovalRound = {
    tier: 1,
    approvers: tiers[0]?.who ?? [],
    until: deadlineOf(ctx, request, tiers[0]),
    input: request.input,
    ...present({ follows: request.follows }),
  }
  for (;;) {
    const { id, verdict, on } = await ask(ctx, request, round)
    const next = tierWithOther(tiers, round.tier, round.first?.approver)
    const decision = decisionIn(verdict)
    if (!verdict.approved && verdict.how === 'timed-out' && onTimeoutOf(request) === 'escalate' && next !== undefined) {
      resolved(ctx, id, verdict, 'escalated')
      round = { ...round, follows: id, ...asking(next) }
    } else if (
      decision !== undefined &&
      notPermitted(askedOf(request, round), decision, verdict.approver) !== undefined
    ) {
      resolved(ctx, id, verdict, 'ignored')
      round = { ...round, follows: id }
    } else if (verdict.approved && neededFourEyes(request, on) && (round.first === undefined || verdict.edited)) {
      resolved(ctx, id, verdict, 'seconded')
      const first = { approver: verdict.approver!, id }
      const at = tierWithOther(tiers, round.tier - 1, first.approver) ?? tierWithOther(tiers, 0, first.approver)
      round = {
        ...round,
        follows: id,
        input: verdict.input,
        first,
        ...(at === undefined || at === round.tier - 1 ? {} : asking(at)),
      }
    } else return concluded(ctx, request, round, { id, verdict, on })
  }
}

/** The final verdict. An approval is valid for one use. */
function concluded(
  ctx: Context,
  request: ApprovalRequest,
  { first, input }: ApprovalRound,
  { id, verdict, on }: DecidedRound,
): Verdict {
  if (!verdict.approved) {
    resolved(ctx, id, verdict, resolutionOf(verdict))
    return verdict
  }
  const { tool, toolVersion } = on ?? request
  const capability = capabilityFor(ctx, {
    tool,
    toolVersion,
    inputHash: verdict.edited || on === undefined ? digestJson(verdict.input) : on.inputHash,
    by: verdict.by,
    approvers: [first?.approver, verdict.approver].filter((name) => name !== undefined),
    approvals: first === undefined ? [id] : [first.id, id],
    validForMs: request.validForMs,
  })
  resolved(ctx, id, verdict, resolutionOf(verdict), capability.id)
  const { grant, ...yes } = verdict
  // the first approver may have edited the arguments
  const edited = yes.edited || input !== request.input
  return {
    ...yes,
    edited,
    capability,
    ...present({ on }),
    ...(grant === undefined || !isGrantable(request) ? undefined : { grant }),
  }
}

/** The deadline of a round: the shorter of the request's and the rules' time. Undefined: it waits for a decision. */
function deadlineOf(ctx: Context, request: ApprovalRequest, tier: ApproverTier | undefined): number | undefined {
  const { timeoutMs, rules } = request
  const said = [timeoutMs, tier?.timeoutMs ?? rules?.timeoutMs].filter((each) => typeof each === 'number')
  const ms = said.length === 0 ? unsaidTimeout(request) : Math.min(...said)
  return ms === undefined ? undefined : ctx.now().getTime() + (ms > 0 ? ms : -1)
}

/** The time of a request for which none is set. */
function unsaidTimeout(request: ApprovalRequest): number | undefined {
  if (request.timeoutMs === 'never' && request.risk === 'critical') return undefined
  return request.defaultTimeoutMs ?? (onTimeoutOf(request) === 'reject' ? undefined : defaultApprovalTimeoutMs)
}

/** The effect of a deadline: the stricter of the request's and the rules'. A deadline never counts as an approver. */
function onTimeoutOf(request: ApprovalRequest): NonNullable<ApprovalRules['onTimeout']> {
  const [own, rules] = [request.onTimeout, request.rules?.onTimeout]
  const wanted = own !== undefined && rules !== undefined && own !== rules ? 'reject' : (own ?? rules ?? 'reject')
  return wanted === 'approve' && (!mayApproveUnseen(request) || needsFourEyes(request)) ? 'reject' : wanted
}

/** Whether two different approvers are required. Under oversight, critical risk requires two by default. */
function needsFourEyes({ rules, risk = 'medium' }: Pick<ApprovalRequest, 'rules' | 'risk'>): boolean {
  const from = rules === undefined ? false : (rules.fourEyes ?? 'critical')
  return from !== false && riskLevels.indexOf(risk) >= riskLevels.indexOf(from)
}

/** Whether two approvers were required when it was decided. */
const neededFourEyes = (request: ApprovalRequest, on: DecidedOn | undefined): boolean =>
  on?.fourEyes ?? needsFourEyes(request)

type Grantable = Pick<ApprovalRequest, 'grantable' | 'risk' | 'sensitive' | 'rules'>

/** Whether an earlier grant by this approver may replace the request: only if they could approve it now. Pure. */
export function holdsFor(request: Grantable, approver: string | undefined): boolean {
  const tiers = request.rules?.approvers ?? []
  const may = ({ who }: ApproverTier): boolean => notPermitted({ approvers: who }, 'approve', approver) === undefined
  return isGrantable(request) && (tiers.length === 0 || tiers.some(may))
}

/** Whether an approval may cover later calls. */
const isGrantable = (request: Grantable): boolean =>
  request.grantable === true && mayApproveUnseen(request) && !needsFourEyes(request)

/** The fields of the request that say who may decide it. */
const askedOf = (request: ApprovalRequest, { approvers, first }: ApprovalRound): AskedOf =>
  present({
    options: request.options,
    approvers: approvers.length === 0 ? undefined : approvers,
    excludes: first === undefined ? undefined : [first.approver],
    fourEyes: needsFourEyes(request) ? (true as const) : undefined,
  })

/** A round that has ended: the verdict, and the document that the approver saw. */
interface DecidedRound {
  readonly id: string
  readonly verdict: Verdict
  readonly on: DecidedOn | undefined
}

async function ask(ctx: Context, request: ApprovalRequest, round: ApprovalRound): Promise<DecidedRound> {
  const { tool, toolVersion, reason, risk = 'medium' } = request
  const { tier, until, follows, input } = round
  const onTimeout = onTimeoutOf(request)
  const id = ctx.id('apr')
  const question = ctx.ask(approvalQuestion, {
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
      ...(isGrantable(request) ? { grantable: true } : undefined),
      ...present({
        callId: request.callId,
        kind: request.kind,
        task: request.task,
        description: request.description,
        hits: request.hits,
        context: request.context,
        ...doneShown(request.done),
        follows,
        tier: tier > 1 ? tier : undefined,
        ...workOf(ctx),
        ...askedOf(request, round),
      }),
    },
  })
  const telling = announce(ctx, request.rules?.notify ?? [], noticeOf(ctx, request, id, round))
  const outcome = await withoutSlot(ctx, () => settledWithNotices(ctx, question, id, telling))
  return {
    id,
    verdict: verdictOf(outcome, input, onTimeout === 'escalate' ? 'reject' : onTimeout),
    on: outcome.status === 'completed' ? readDecision(outcome.output)?.on : undefined,
  }
}

/** How many effects a question lists. */
const doneMost = 50

/** The newest of them: what is left out can be named in no decision. */
function doneShown(done: readonly DoneEffect[] = []): Pick<ApprovalRequested, 'done' | 'doneMore'> {
  if (done.length === 0) return {}
  const more = done.length - doneMost
  return more > 0 ? { done: done.slice(-doneMost), doneMore: more } : { done }
}

/** The maximum of a brief shown with a request, in characters. */
const briefMost = 500

/** The delegation and brief of a worker that asks, so that two similar workers can be told apart. */
function workOf({ input }: Context): Pick<ApprovalRequested, 'delegation' | 'brief'> {
  if (!isEdge(input)) return {}
  const { work, bounds, leader } = readEdge(input)
  if (bounds.depth === 0) return {}
  const text = briefText(work.brief)
  const shown =
    text.length <= briefMost ? text : `${beginning(text, briefMost)} … (${text.length - briefMost} more characters)`
  return present({ delegation: leader.delegation, brief: shown === '' ? undefined : shown })
}

function noticeOf(ctx: Context, request: ApprovalRequest, id: string, round: ApprovalRound): Notice {
  const { tool, reason, risk = 'medium', hits, kind, task, description, context } = request
  const { until, follows, input } = round
  const { run, path } = ctx.place
  const { approvers, excludes, options } = askedOf(request, round)
  const work = workOf(ctx)
  return {
    type: 'approval',
    id,
    run,
    path: [...path],
    title: `${path.join(' > ')} asks for approval of ${tool}`,
    text: reason,
    input,
    inputHash: digestJson(input),
    risk,
    askedAt: ctx.now().getTime(),
    ...present({
      work: Object.keys(work).length === 0 ? undefined : work,
      hits,
      until,
      approvers,
      excludes,
      options,
      follows,
      kind,
      task,
      description,
      context,
    }),
  }
}

function resolved(
  ctx: Context,
  id: string,
  verdict: Verdict,
  resolution: ApprovalResolved['resolution'],
  capability?: string,
): void {
  const { approver, comment } = verdict
  const inputHash = verdict.approved && verdict.edited ? digestJson(verdict.input) : undefined
  const repeat = verdict.approved ? undefined : verdict.repeat
  ctx.emit({
    type: 'approval.resolved',
    id,
    resolution,
    ...present({ approver, comment, inputHash, capability, repeat }),
  })
}
