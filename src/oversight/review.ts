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
import type { Verdict } from './decided.ts'
import { gateOf, type GateWord, type Subject } from './escalation.ts'
import { currentMode } from './trust.ts'

/** What is asked, apart from what follows from looking. */
export interface ReviewRequest extends Omit<ApprovalRequest, 'reason' | 'risk' | 'sensitive' | 'rules' | 'hits'> {
  /** Why it needs an approval whatever the mode; where nothing else speaks for it. */
  readonly reason?: string
  /** Hears that somebody is asked, and why, just before. */
  readonly asking?: (reason: string) => void
  /** What is wrong with what a human has put in its place; then it is asked again, three times in all. Pure. Default: everything fits. */
  readonly fits?: (input: Json) => string | undefined
}

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
  const question = {
    ...asked,
    risk: word.risk,
    sensitive: word.sensitive || subject.always === true,
    ...(word.hits.length === 0 ? undefined : { hits: word.hits }),
    ...(oversight?.approval === undefined ? undefined : { rules: oversight.approval }),
  }
  for (let round = 1, why = reason; ; round++) {
    const verdict = await approve(ctx, { ...question, reason: why })
    const problem = verdict.approved && verdict.edited ? fits?.(verdict.input) : undefined
    if (problem === undefined) return verdict
    if (round >= editRounds) return { approved: false, how: 'rejected', comment: `what was put in its place does not fit: ${problem}` }
    why = `${reason} (what was put in its place does not fit: ${problem})`
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
