/**
 * Review: before something is done, or after it, a human looks at it, if the oversight of its edge says so. The one way in which any work, at any depth, is escalated.
 *
 * Owns: from a subject to a verdict: the mode that holds now, the hits, the question. Does not own: the triggers (escalation.ts), the question itself (approval.ts), what is reviewed when
 * (agent, supervisor, team).
 */
import type { Json } from '../core/index.ts'
import type { Oversight } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { EscalationHit } from '../journal/index.ts'
import { approve, type ApprovalRequest } from './approval.ts'
import { goodUntil, type DecidedOn, type Verdict } from './decided.ts'
import { gateOf, type GateWord, type Subject } from './escalation.ts'
import { currentMode } from './trust.ts'

/** What is asked, apart from what follows from looking. */
export interface ReviewRequest extends Omit<ApprovalRequest, 'reason' | 'risk' | 'sensitive' | 'rules' | 'hits'> {
  /** Why it needs an approval whatever the mode; where nothing else speaks for it. */
  readonly reason?: string
  /** Hears that somebody is asked, and why, just before. */
  readonly asking?: (reason: string) => void
  /** What becomes of what a human has put in its place. Pure. Default: it fits. */
  readonly fits?: Fits
}

/**
 * What becomes of what a human has put in the place of what was asked: a text says why it does not fit, `runs` what it would come to where that is something else. Then it is asked again, three times in
 * all: nobody has approved what they have not seen. Undefined: exactly this. `on`: what was decided about.
 */
export type Fits = (input: Json, on?: DecidedOn) => string | undefined | { readonly runs: Json }

/** How often a human's words may fail to fit before the answer counts as no. */
const editRounds = 3

/** What is reviewed, for the journal. */
export interface Reviewed {
  readonly subject: 'action' | 'task' | 'result' | 'work'
  readonly name: string
  readonly callId?: string
}

/**
 * Looks, notes what was found, and asks if somebody has to be asked. Undefined: nobody has. Rejects only with `Cancelled`.
 * Without oversight only what always requires an approval is asked.
 */
export async function review(
  ctx: Context,
  oversight: Oversight | undefined,
  what: Reviewed,
  subject: Subject,
  request: ReviewRequest,
): Promise<Verdict | undefined> {
  const word = gateOf(oversight, subject, oversight === undefined ? undefined : await currentMode(ctx, oversight))
  noteHits(ctx, what, word)
  if (!word.asks) return undefined
  const { asking, fits, ...asked } = request
  const reason = reasonOf(word, request.reason)
  asking?.(reason)
  const question: ApprovalRequest = {
    ...asked,
    reason,
    risk: word.risk,
    sensitive: word.sensitive || subject.always === true,
    ...(word.hits.length === 0 ? undefined : { hits: word.hits }),
    ...(oversight === undefined ? undefined : { rules: oversight.approval ?? {} }),
  }
  return approveFitting(ctx, question, 'what was put in its place does not fit', fits)
}

/** As `review`, for what is done right after a yes: one that is not good any more by then, because the run was held for too long, is asked for again, with what was approved. Rejects only with `Cancelled`. */
export async function reviewToBegin(
  ctx: Context,
  oversight: Oversight | undefined,
  what: Reviewed,
  subject: Subject,
  request: ReviewRequest,
): Promise<Verdict | undefined> {
  let asked = request
  let about = subject
  for (;;) {
    const verdict = await review(ctx, oversight, what, about, asked)
    if (verdict?.approved !== true) return verdict
    const lapsed = await lapsedSince(ctx, verdict)
    // what was edited and is shown again is edited, also where nobody has edited it since
    if (lapsed === undefined) return asked.input === request.input ? verdict : { ...verdict, edited: true }
    about = { ...subject, always: true }
    asked = { ...request, input: verdict.edited ? verdict.input : asked.input, reason: lapsed }
  }
}

/** Why a yes is not good any more by now: a pause, which holds this step back, has lasted too long. Undefined: it is. Rejects only with `Cancelled`. */
export async function lapsedSince(ctx: Context, verdict: Extract<Verdict, { approved: true }>): Promise<string | undefined> {
  const { until } = goodUntil(verdict)
  if (until === undefined) return undefined
  const { outcome } = await ctx.next(ctx.begin('capability', (io) => io.now <= until, { effect: 'read' }))
  return outcome.status === 'completed' && outcome.output === true
    ? undefined
    : `it was approved before, but that was good until ${new Date(until).toISOString()}, and nobody had begun`
}

/** Asks, and asks again where what a human has put in its place does not fit, three times in all. `misfit` says that it does not, for whoever is asked again. Rejects only with `Cancelled`. */
export async function approveFitting(ctx: Context, request: ApprovalRequest, misfit: string, fits: Fits | undefined): Promise<Verdict> {
  let { input, reason } = request
  for (let round = 1; ; round++) {
    const verdict = await approve(ctx, { ...request, input, reason })
    const fit = verdict.approved && verdict.edited ? fits?.(verdict.input, verdict.on) : undefined
    // decisions of older journals hold as they did, and what they hold for has run
    const holds = fit === undefined || (typeof fit !== 'string' && verdict.approved && verdict.on?.fourEyes === undefined)
    // what was edited and then shown as it runs is edited, also where nobody has edited it since
    if (holds) return verdict.approved && input !== request.input ? { ...verdict, edited: true } : verdict
    const why =
      typeof fit === 'string' ? `${misfit}: ${fit}` : 'with the defaults and changes of the schema, the edited arguments are these'
    if (round >= editRounds) return { approved: false, how: 'rejected', comment: why }
    if (typeof fit !== 'string') input = fit.runs
    reason = `${request.reason} (${why})`
  }
}

/** What was found is in the journal, whether somebody is asked or not. */
export function noteHits(ctx: Context, { subject, name, callId }: Reviewed, { hits, mode, asks }: GateWord): void {
  if (hits.length === 0) return
  ctx.emit({ type: 'escalation.raised', subject, name, mode, hits, asks, ...(callId === undefined ? undefined : { callId }) })
}

/** Why it is asked, in one sentence. */
export function reasonOf({ hits, mode }: Pick<GateWord, 'hits' | 'mode'>, always?: string): string {
  const said = [...hits.map(({ detail }: EscalationHit) => detail), ...(always === undefined ? [] : [always])]
  return said.length > 0
    ? said.join('; ')
    : mode === 'in-command'
      ? 'a human is in command: every action is approved'
      : 'it needs an approval'
}
