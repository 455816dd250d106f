/**
 * Review: a proposal is put to an approver until the answer holds. The one loop behind every approval, at any depth.
 *
 * Owns: asking again where an edit does not fit or a yes is no longer good; from a subject to its question (mode, hits,
 * reason).
 * Does not own: the triggers (escalation.ts), one question and who decides it (approval.ts), the sentences of a refusal
 * (refusal.ts), what is reviewed when (agent, supervisor, team).
 * Holds: a yes binds to exactly what was shown. An edit that would run as something else is shown as it runs; one that
 * does not fit is asked again, three times in all, and then counts as a no.
 */
import { present, ruleOfMode, type Json } from '@reeve/core'
import type { Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { DoneEffect, EscalationHit } from '@reeve/journal'
import { approve, type ApprovalRequest } from './approval.ts'
import { goodUntil, type ApprovedVerdict, type DecidedOn, type Verdict } from './decision.ts'
import { gateOf, type GateDecision, type Subject } from '../escalation/escalation.ts'
import { currentMode } from '../trust/trust.ts'

/**
 * Checks a proposal that an approver has edited. Pure. A text says why it does not fit; `runs` is what it would run as,
 * where that is something else; undefined: it fits, exactly as it is. `on`: the document on which the approver decided.
 */
export type Fits = (input: Json, on?: DecidedOn) => string | undefined | { readonly runs: Json }

/** What the approver is shown next. */
export interface ReviewQuestion {
  readonly input: Json
  /** Why it is asked again; absent in the first question. */
  readonly again?: string
}

/** One review. `V` is undefined too where no approver may have to be asked. */
interface ReviewOptions<V extends Verdict | undefined> {
  /** The proposal as it is shown first. */
  readonly input: Json
  /** Puts one question and waits for its decision. */
  readonly ask: (shown: ReviewQuestion) => Promise<V>
  /** Default: every edit fits. */
  readonly fits?: Fits | undefined
  /**
   * Begins what was approved. A text says why the yes is no longer good: then it is asked again, with what was
   * approved.
   */
  readonly begin?: (approval: ApprovedVerdict) => Promise<string | undefined>
  /** Introduces the problem of an edit that does not fit. */
  readonly misfit?: string
}

/** How many edits may fail to fit before the answer counts as a no. */
const mostMisfits = 3

/**
 * Asks, and asks again until the answer holds: approved, with the input that holds; or refused, in the approver's
 * words; or expired. Rejects with `Cancelled`, and with what `ask` and `begin` reject with.
 */
export async function review<V extends Verdict | undefined>({
  input,
  ask,
  fits,
  begin,
  misfit,
}: ReviewOptions<V>): Promise<V | Verdict> {
  let shown: ReviewQuestion = { input }
  let misfits = 0
  for (;;) {
    const verdict = await ask(shown)
    if (verdict?.approved !== true) return verdict
    const fit = verdict.edited ? fits?.(verdict.input, verdict.on) : undefined
    if (fit !== undefined && (typeof fit === 'string' || verdict.on !== undefined)) {
      const again = typeof fit === 'string' ? `${misfit ?? defaultMisfit}: ${fit}` : runsAs
      if (++misfits >= mostMisfits) return { approved: false, how: 'rejected', comment: again, misfit: true }
      shown = { input: typeof fit === 'string' ? shown.input : fit.runs, again }
      continue
    }
    // an edit stays an edit in the questions after it
    const approval: ApprovedVerdict = shown.input === input ? verdict : { ...verdict, edited: true }
    const again = await begin?.(approval)
    if (again === undefined) return approval
    misfits = 0
    shown = { input: verdict.edited ? verdict.input : shown.input, again }
  }
}

const defaultMisfit = 'the edited arguments do not fit'
const runsAs = 'with the defaults and changes of the schema, the edited arguments are these'

/** How one request is reviewed. */
interface RequestReview extends Pick<ReviewOptions<Verdict>, 'fits' | 'misfit'> {
  /** What is shown beside exactly this input; asked for each question. Default: the context of the request. */
  readonly contextOf?: (input: Json) => Promise<Json> | undefined
}

/** Reviews one request for approval. Rejects only with `Cancelled`. */
export function reviewRequest(
  ctx: Context,
  request: ApprovalRequest,
  { contextOf, ...how }: RequestReview = {},
): Promise<Verdict> {
  const { input, reason } = request
  const put = ({ input: shown, again }: ReviewQuestion, context?: Json): Promise<Verdict> =>
    approve(ctx, {
      ...request,
      ...present({ context }),
      input: shown,
      reason: again === undefined ? reason : `${reason} (${again})`,
    })
  const ask = (question: ReviewQuestion): Promise<Verdict> =>
    contextOf?.(question.input)?.then((context) => put(question, context)) ?? put(question)
  return review({ input, ask, ...how })
}

/** What an escalation asks, apart from what the triggers say. */
export interface EscalationRequest extends Omit<
  ApprovalRequest,
  'reason' | 'risk' | 'sensitive' | 'rules' | 'hits' | 'done'
> {
  /** Why it needs an approval in every mode, if it does. */
  readonly reason?: string
  /** Called with the reason just before the approver is asked. */
  readonly asking?: (reason: string) => void
  /** Reads what was done for it; asked for once an approver is asked. */
  readonly doneSoFar?: () => Promise<readonly DoneEffect[]>
  readonly fits?: Fits
}

/** What is escalated, for the journal. */
export interface Escalated {
  readonly subject: 'action' | 'task' | 'result' | 'work'
  readonly name: string
  readonly callId?: string
}

/**
 * Evaluates the triggers, notes the hits, and reviews the request if the mode asks for it. Undefined: no approver has
 * to be asked. Rejects only with `Cancelled`. Without oversight only a subject that always needs an approval is asked
 * about.
 */
export async function escalate(
  ctx: Context,
  oversight: Oversight | undefined,
  what: Escalated,
  subject: Subject,
  request: EscalationRequest,
): Promise<Verdict | undefined> {
  const word = gateOf(oversight, subject, oversight === undefined ? undefined : await currentMode(ctx, oversight))
  noteHits(ctx, what, word)
  if (!word.asks) return undefined
  const { asking, doneSoFar, fits, ...asked } = request
  const reason = reasonOf(word, request.reason)
  asking?.(reason)
  const done = await doneSoFar?.()
  const question: ApprovalRequest = {
    ...asked,
    ...present({ done }),
    reason,
    risk: word.risk,
    sensitive: word.sensitive || subject.always === true,
    ...(word.hits.length === 0 ? undefined : { hits: word.hits }),
    ...(oversight === undefined ? undefined : { rules: oversight.approval ?? {} }),
  }
  return reviewRequest(ctx, question, { fits, misfit: 'what was put in its place does not fit' })
}

/**
 * As `escalate`, for work that begins right after the yes. A yes that has expired by then, because the run was held, is
 * asked for again. Rejects only with `Cancelled`.
 */
export function escalateToBegin(
  ctx: Context,
  oversight: Oversight | undefined,
  what: Escalated,
  subject: Subject,
  request: EscalationRequest,
): Promise<Verdict | undefined> {
  return review({
    input: request.input,
    ask: ({ input, again }) =>
      again === undefined
        ? escalate(ctx, oversight, what, subject, request)
        : escalate(ctx, oversight, what, { ...subject, always: true }, { ...request, input, reason: again }),
    begin: (approval) => expiredBy(ctx, approval),
  })
}

/**
 * Why a yes is no longer good at this step, which a pause holds back; undefined while it is. Rejects only with
 * `Cancelled`.
 */
export async function expiredBy(ctx: Context, approval: ApprovedVerdict): Promise<string | undefined> {
  const { until } = goodUntil(approval)
  if (until === undefined) return undefined
  const { outcome } = await ctx.next(ctx.begin('capability', (io) => io.now <= until, { effect: 'read' }))
  return outcome.status === 'completed' && outcome.output === true
    ? undefined
    : `it was approved before, but that was good until ${new Date(until).toISOString()}, and nobody had begun`
}

/** Notes the hits of the triggers, whether an approver is asked or not. */
export function noteHits(ctx: Context, { subject, name, callId }: Escalated, { hits, mode, asks }: GateDecision): void {
  if (hits.length === 0) return
  ctx.emit({
    type: 'escalation.raised',
    subject,
    name,
    mode,
    hits,
    asks,
    ...present({ callId }),
  })
}

/** Why an approver is asked, in one sentence. */
export function reasonOf({ hits, mode }: Pick<GateDecision, 'hits' | 'mode'>, always?: string): string {
  const said = [...hits.map(({ detail }: EscalationHit) => detail), ...(always === undefined ? [] : [always])]
  if (said.length > 0) return said.join('; ')
  return ruleOfMode(mode)?.reason ?? 'it needs an approval'
}
