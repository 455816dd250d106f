/**
 * Consent: whether a plan may be carried out at all, as the team's policy and a human see it, before anybody begins (spec team R-16 for plans, C06, C89b).
 *
 * Owns: who is asked, what becomes of their word. Does not own: policies (../staff/policy.ts), approvals (../../oversight), what makes a plan impossible (validate.ts).
 * Holds: no route and no shape of a plan goes round it. K6: each question is put once, and has the same id and deadline over a crash.
 */
import { asText, failure, type Failure, type Json } from '../../core/index.ts'
import type { Oversight } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { reviewToBegin, type Verdict } from '../../oversight/index.ts'
import { decide, type TeamPolicy } from '../staff/policy.ts'
import type { Validated } from './validate.ts'

/** What a team says of consent. */
export interface ConsentOptions {
  readonly approvePlan?: boolean
  readonly policy?: TeamPolicy
  /** What holds for the team: where a human is in command, every plan is approved. */
  readonly oversight?: Oversight | undefined
}

/** What consent has come to. `again`: whoever made the plan is to make another one, and is told this. */
export type Consent =
  | { readonly type: 'given'; readonly validated: Validated }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'again'; readonly comment: string }

/** How often an edited plan may be impossible before that is an answer, too. */
const mostEdits = 3

/** Asks the policy, then a human, if either is to be asked. `look` looks at a plan that a human has edited. Rejects only with `Cancelled`. */
export async function consentTo(
  ctx: Context,
  { approvePlan = false, policy, oversight }: ConsentOptions,
  validated: Validated,
  question: Json,
  look: (edited: Json) => Validated,
): Promise<Consent> {
  const { run, caller } = ctx.place
  const { verdict, reason } = await decide(ctx, [policy], {
    action: 'plan',
    actor: 'lead',
    description: asText(question),
    run,
    ...(caller.user === undefined ? undefined : { user: caller.user }),
    teamSize: validated.plan.subtasks.length,
    details: { plan: validated.plan as unknown as Json },
  })
  if (verdict === 'deny') return refused(ctx, validated, `the plan is not allowed: ${reason}`, 'policy')
  if (verdict === 'allow' && !approvePlan) {
    if (oversight === undefined) return { type: 'given', validated }
    return approved(ctx, oversight, validated, undefined, look)
  }
  const why = reason ?? (verdict === 'ask' ? 'the policy asks for it' : 'every plan of this team is approved')
  return approved(ctx, oversight, validated, why, look)
}

/** `reason`: why it is asked; undefined: only where a human is in command. */
async function approved(
  ctx: Context,
  oversight: Oversight | undefined,
  first: Validated,
  reason: string | undefined,
  look: (edited: Json) => Validated,
): Promise<Consent> {
  let shown = first
  let why = reason
  let asked = ''
  for (let edits = 0; ; edits++) {
    const input = shown.plan as unknown as Json
    const verdict = await reviewToBegin(ctx, oversight, { subject: 'action', name: 'plan' }, why === undefined ? {} : { always: true }, {
      kind: 'plan',
      tool: 'plan',
      toolVersion: ctx.place.version,
      input,
      ...(why === undefined ? undefined : { reason: why }),
      asking: (said) => (asked = said),
    })
    if (verdict === undefined) return { type: 'given', validated: shown }
    if (!verdict.approved) {
      const { how, comment } = verdict
      return how === 'retry' ? { type: 'again', comment: comment ?? 'make another plan' } : refusal(ctx, shown, verdict, asked)
    }
    if (!verdict.edited) return { type: 'given', validated: shown }
    const edited = look(verdict.input)
    if (edited.problems.length === 0) return { type: 'given', validated: edited }
    if (edits + 1 >= mostEdits)
      return refused(ctx, edited, `the plan, as it was edited, cannot be carried out: ${edited.problems.join('; ')}`, 'validation')
    ctx.emit({ type: 'plan.rejected', problems: edited.problems, warnings: edited.warnings, repair: true })
    // the plan as it was before is shown again: nobody approves one that cannot be carried out
    shown = first
    why = `${reason ?? 'a human is in command'}; as it was edited it cannot be carried out: ${edited.problems.join('; ')}`
  }
}

function refusal(ctx: Context, shown: Validated, verdict: Extract<Verdict, { readonly approved: false }>, why: string): Consent {
  const { how, approver, comment } = verdict
  const words = {
    rejected: `the plan was rejected${approver === undefined ? '' : ` by ${approver}`}`,
    retry: 'another plan is wanted',
    'timed-out': 'nobody approved the plan before its deadline',
    cancelled: 'the question whether the plan may be carried out was withdrawn',
    unreadable: 'the decision on the plan could not be read',
  } as const
  const message = `${words[how]}${comment === undefined ? '' : `: ${comment}`} (asked because: ${why})`
  return refused(ctx, shown, message, how === 'timed-out' ? 'timeout' : 'rejected', {
    how,
    ...(approver === undefined ? undefined : { approver }),
    ...(comment === undefined ? undefined : { comment }),
  })
}

function refused(
  ctx: Context,
  { warnings }: Validated,
  message: string,
  of: Failure['class'],
  details?: NonNullable<Failure['details']>,
): Consent {
  ctx.emit({ type: 'plan.rejected', problems: [message], warnings, repair: false })
  return {
    type: 'refused',
    failure: failure('work.rejected', message, of, { retryable: false, ...(details === undefined ? undefined : { details }) }),
  }
}
