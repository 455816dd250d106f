/**
 * Approval: a yes/no question to a human about one exact action (spec team R-16).
 *
 * Owns: how the question is put, what a decision may look like, what a deadline does, the facts that record how it came
 * out.
 * Does not own: which calls need one (agent/approval/tool-gate.ts), how a decision gets here (runtime), who wins (the
 * store, K2).
 *
 * An approval holds for one run, path, tool, tool version and one digest of arguments, and for one use: whoever wants
 * something else asks again. Nothing that a model wrote can grant one: decisions come from outside only, as the end of
 * this question.
 */
import { described, digestJson, present, type Json } from '../../core/index.ts'
import {
  briefText,
  defaultApprovalTimeoutMs,
  readEdge,
  riskLevels,
  type ApprovalRules,
  type ApproverTier,
  type RiskLevel,
} from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { isEdge, type ApprovalRequested, type ApprovalResolved, type EscalationHit } from '../../journal/index.ts'
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
import { announce, whileTelling, type Notice } from '../notice.ts'
import { withoutSlot } from './concurrency-slot.ts'
import { notPermitted, type AskedOf } from './approver-policy.ts'

/** How bad it is if this should not have been done. */
export type Risk = RiskLevel

/** Milliseconds until a question is answered by its deadline. `never` only for critical risk. */
export type ApprovalTimeout = number | 'never'

/** The name of the question. Persistent. */
export const approvalQuestion = 'approval'

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
  /**
   * Default: that of `rules`, else `reject`. `approve` is never obeyed for a sensitive action or for high and critical
   * risk.
   */
  readonly onTimeout?: ApprovalRules['onTimeout']
  readonly sensitive?: boolean
  /**
   * A yes may hold for later calls, too, if whoever asks looks at grants first. Never obeyed for a sensitive action or
   * for high and critical risk.
   */
  readonly grantable?: boolean
  /** Milliseconds after the decision in which a yes is good for what it approves. Default: a day. */
  readonly validForMs?: number
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
  /** The approval before it, where this one asks again. */
  readonly follows?: string
  /** Who is asked, over which channels, and how. Default: anybody, over none. */
  readonly rules?: ApprovalRules
}

/** Whether anything but a human who sees this very call may approve it: a deadline, an earlier grant. Pure. */
export const mayApproveUnseen = (request: { readonly risk?: Risk; readonly sensitive?: boolean }): boolean =>
  request.sensitive !== true && request.risk !== 'high' && request.risk !== 'critical'

/** What is wrong with how an approval is configured, one sentence each; empty if nothing. */
export function approvalProblems(
  request: Pick<ApprovalRequest, 'risk' | 'timeoutMs' | 'onTimeout' | 'sensitive' | 'validForMs'>,
  where: string,
): string[] {
  const problems: string[] = []
  if (request.onTimeout === 'approve' && !mayApproveUnseen(request))
    problems.push(
      `${where}: a deadline may not approve a sensitive action or one of high or critical risk (onTimeout: 'approve')`,
    )
  if (request.timeoutMs === 'never' && request.risk !== 'critical')
    problems.push(`${where}: only an approval of critical risk may wait without a deadline (timeoutMs: 'never')`)
  if (typeof request.timeoutMs === 'number' && !Number.isFinite(request.timeoutMs))
    problems.push(`${where}: timeoutMs is ${String(request.timeoutMs)}, expected milliseconds`)
  if (request.validForMs !== undefined && !(Number.isFinite(request.validForMs) && request.validForMs > 0))
    problems.push(`${where}: validForMs is ${described(request.validForMs)}, expected milliseconds above 0`)
  return problems
}

/** What has an approval of its own. */
interface Approvable {
  readonly name: string
  readonly sensitive: boolean
  readonly approval?: Pick<ApprovalRequest, 'onTimeout'> | undefined
}

/**
 * Where a deadline is to approve (`oversight.approval.onTimeout`), and there is what a deadline may not approve: said
 * where both are defined, one sentence each. Pure.
 */
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

/** One question of an approval: who is asked now, about what, until when. */
interface Round {
  readonly tier: number
  readonly approvers: readonly string[]
  readonly until: number | undefined
  /** The arguments as they are now: whoever has approved it already may have edited them. */
  readonly input: Json
  /** The approval before this one. */
  readonly follows?: string
  /** Whoever has approved it already, as it is now, and with which approval. */
  readonly first?: { readonly approver: string; readonly id: string }
}

/**
 * Asks and waits. Records `approval.requested` and `approval.resolved`, each once for each question, also over
 * restarts; ids and deadlines stay the same. A deadline that escalates, a second pair of eyes and a decision by
 * somebody who may not make it are questions of their own, each with its own id. Both pairs of eyes see the same
 * arguments: if the second one edits them, somebody else has to look again. If the tier of whoever looked first has
 * nobody else, the next one is asked that has, after the last one those before it; where two are needed and the tiers
 * name only one, the deadline has passed at once. Resolves to the verdict, with the capability that a yes gives;
 * rejects only with `Cancelled`. In one scope ask one question at a time; concurrent ones need `ctx.scope(name)`.
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

/**
 * Why nobody can approve it, in one sentence: two have to, and those who may are fewer. Each rule may be fine by
 * itself; together they are not.
 */
function unanswerable(request: ApprovalRequest): string | undefined {
  const tiers = request.rules?.approvers ?? []
  const [first] = tiers
  if (first === undefined || !needsFourEyes(request) || tiers.some(({ who }) => who.length === 0)) return undefined
  return tiers.flatMap(({ who }) => who).some((each) => tierWithOther(tiers, 0, each) !== undefined)
    ? undefined
    : `four eyes need two different people, and approvers names only "${first.who[0]!}"`
}

/** The first tier from this one on in which somebody other than this one may approve. */
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
  /** What is different when this tier is asked. */
  const asking = (at: number): Pick<Round, 'tier' | 'approvers' | 'until'> => ({
    tier: at + 1,
    approvers: tiers[at]!.who,
    until: deadlineOf(ctx, request, tiers[at]),
  })
  let round: Round = {
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

/** The last word. A yes is good for one use. */
function concluded(
  ctx: Context,
  request: ApprovalRequest,
  { first, input }: Round,
  { id, verdict, on }: Asked,
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
  // the arguments may have been edited by whoever looked first
  const edited = yes.edited || input !== request.input
  return {
    ...yes,
    edited,
    capability,
    ...present({ on }),
    ...(grant === undefined || !isGrantable(request) ? undefined : { grant }),
  }
}

/** When a question is over: the shorter of what the request says and what the rules say. */
function deadlineOf(
  ctx: Context,
  { timeoutMs, rules, risk }: ApprovalRequest,
  tier: ApproverTier | undefined,
): number | undefined {
  const ofRules = tier?.timeoutMs ?? rules?.timeoutMs
  if (timeoutMs === 'never' && risk === 'critical' && ofRules === undefined) return undefined
  const said = [timeoutMs, ofRules].filter((each) => typeof each === 'number')
  const ms = said.length === 0 ? defaultApprovalTimeoutMs : Math.min(...said)
  return ctx.now().getTime() + (ms > 0 ? ms : -1)
}

/** What a deadline does; the stricter of what is asked for and what may be. It is nobody's pair of eyes. */
function onTimeoutOf(request: ApprovalRequest): NonNullable<ApprovalRules['onTimeout']> {
  const [own, rules] = [request.onTimeout, request.rules?.onTimeout]
  const wanted = own !== undefined && rules !== undefined && own !== rules ? 'reject' : (own ?? rules ?? 'reject')
  return wanted === 'approve' && (!mayApproveUnseen(request) || needsFourEyes(request)) ? 'reject' : wanted
}

/** Whether two different people have to approve it. Where somebody oversees it, critical risk needs two by itself. */
function needsFourEyes({ rules, risk = 'medium' }: Pick<ApprovalRequest, 'rules' | 'risk'>): boolean {
  const from = rules === undefined ? false : (rules.fourEyes ?? 'critical')
  return from !== false && riskLevels.indexOf(risk) >= riskLevels.indexOf(from)
}

/**
 * Whether two had to, as far as whoever decided was told. Decisions from before that was recorded: rules that said
 * nothing asked for one.
 */
const neededFourEyes = (request: ApprovalRequest, on: DecidedOn | undefined): boolean =>
  on?.fourEyes ?? (needsFourEyes(request) && Object.keys(request.rules ?? {}).length > 0)

type Grantable = Pick<ApprovalRequest, 'grantable' | 'risk' | 'sensitive' | 'rules'>

/** Whether what this approver has granted before may stand for the answer: as if they were asked now. Pure. */
export function holdsFor(request: Grantable, approver: string | undefined): boolean {
  const tiers = request.rules?.approvers ?? []
  const may = ({ who }: ApproverTier): boolean => notPermitted({ approvers: who }, 'approve', approver) === undefined
  return isGrantable(request) && (tiers.length === 0 || tiers.some(may))
}

/** Whether a yes may hold for later calls. */
const isGrantable = (request: Grantable): boolean =>
  request.grantable === true && mayApproveUnseen(request) && !needsFourEyes(request)

/** What the question says of who may decide it. */
const askedOf = (request: ApprovalRequest, { approvers, first }: Round): AskedOf =>
  present({
    options: request.options,
    approvers: approvers.length === 0 ? undefined : approvers,
    excludes: first === undefined ? undefined : [first.approver],
    fourEyes: needsFourEyes(request) ? (true as const) : undefined,
  })

/** A question that has ended: what was decided about what. */
interface Asked {
  readonly id: string
  readonly verdict: Verdict
  readonly on: DecidedOn | undefined
}

async function ask(ctx: Context, request: ApprovalRequest, round: Round): Promise<Asked> {
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
        follows,
        tier: tier > 1 ? tier : undefined,
        ...workOf(ctx),
        ...askedOf(request, round),
      }),
    },
  })
  const telling = announce(ctx, request.rules?.notify ?? [], noticeOf(ctx, request, id, round))
  const outcome = await withoutSlot(ctx, () => whileTelling(ctx, question, id, telling))
  return {
    id,
    verdict: verdictOf(outcome, input, onTimeout === 'escalate' ? 'reject' : onTimeout),
    on: outcome.status === 'completed' ? readDecision(outcome.output)?.on : undefined,
  }
}

/** The most of a brief that is shown with a question, in characters. */
const briefMost = 500

/** Whose work it is that asks, where there is a leader: so two who do the same at once are told apart. */
function workOf({ input }: Context): Pick<ApprovalRequested, 'delegation' | 'brief'> {
  if (!isEdge(input)) return {}
  const { work, bounds, leader } = readEdge(input)
  if (bounds.depth === 0) return {}
  const text = briefText(work.brief)
  const shown =
    text.length <= briefMost ? text : `${text.slice(0, briefMost)} … (${text.length - briefMost} more characters)`
  return present({ delegation: leader.delegation, brief: shown === '' ? undefined : shown })
}

function noticeOf(ctx: Context, request: ApprovalRequest, id: string, round: Round): Notice {
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
  ctx.emit({ type: 'approval.resolved', id, resolution, ...present({ approver, comment, inputHash, capability }) })
}
