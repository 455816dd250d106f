/**
 * Plan approval: whether the team's policy and an approver let a plan be carried out, before any task begins (spec team
 * R-16 for plans, C06, C89b).
 *
 * Owns: who is asked, what follows from the decision. Does not own: policies (../policy.ts), approvals
 * (../../oversight), what makes a plan impossible (validate.ts).
 * Holds: no route and no shape of a plan goes round it. K6: each question is put once, and has the same id and deadline
 * over a crash.
 */
import { asText, failure, present, type Failure, type Json } from '@reeve/core'
import { defaultApprovalTimeoutMs, type Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { escalateToBegin, refusalFailure, refusalOf, review } from '@reeve/oversight'
import { decide, type TeamPolicy } from '../policy.ts'
import type { Validated } from './validate.ts'

/** The options of a team about the approval of its plan. */
export interface PlanApprovalOptions {
  readonly approvePlan?: boolean
  readonly policy?: TeamPolicy
  /** What holds for the team: where a human is in command, every plan is approved. */
  readonly oversight?: Oversight | undefined
}

/** The result of the approval. `again`: the planner makes another plan, and receives the comment. */
export type PlanApproval =
  | { readonly type: 'approved'; readonly validated: Validated }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'again'; readonly comment: string }

/**
 * Asks the policy, then an approver, if either is to be asked. `look` validates a plan that the approver has edited.
 * Rejects only with `Cancelled`.
 */
export async function planApproval(
  ctx: Context,
  { approvePlan = false, policy, oversight }: PlanApprovalOptions,
  validated: Validated,
  question: Json,
  look: (edited: Json) => Validated,
): Promise<PlanApproval> {
  const { run, caller } = ctx.place
  const { verdict, reason } = await decide(ctx, [policy], {
    action: 'plan',
    actor: 'lead',
    description: asText(question),
    run,
    ...present({ user: caller.user }),
    teamSize: validated.plan.subtasks.length,
    details: { plan: validated.plan as unknown as Json },
  })
  if (verdict === 'deny')
    return refused(
      ctx,
      validated,
      failure('work.rejected', `the plan is not allowed: ${reason}`, 'policy', { retryable: false }),
    )
  if (verdict === 'allow' && !approvePlan) {
    if (oversight === undefined) return { type: 'approved', validated }
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
): Promise<PlanApproval> {
  let edited = first
  let why = ''
  const verdict = await review({
    input: first.plan as unknown as Json,
    misfit: 'as it was edited it cannot be carried out',
    ask: ({ input, again }) => {
      if (again !== undefined)
        ctx.emit({ type: 'plan.rejected', problems: edited.problems, warnings: edited.warnings, repair: true })
      const asked = again === undefined ? reason : `${reason ?? 'a human is in command'}; ${again}`
      return escalateToBegin(
        ctx,
        oversight,
        { subject: 'action', name: 'plan' },
        asked === undefined ? {} : { always: true },
        {
          kind: 'plan',
          tool: 'plan',
          toolVersion: ctx.place.version,
          input,
          defaultTimeoutMs: defaultApprovalTimeoutMs,
          ...present({ reason: asked }),
          asking: (said) => (why = said),
        },
      )
    },
    fits: (input) => {
      edited = look(input)
      return edited.problems.length === 0 ? undefined : edited.problems.join('; ')
    },
  })
  if (verdict === undefined) return { type: 'approved', validated: first }
  if (verdict.approved) return { type: 'approved', validated: verdict.edited ? edited : first }
  if (verdict.how === 'retry') return { type: 'again', comment: verdict.comment ?? 'make another plan' }
  if (verdict.misfit === true) {
    const message = `the plan, as it was edited, cannot be carried out: ${edited.problems.join('; ')}`
    return refused(ctx, edited, failure('work.rejected', message, 'validation', { retryable: false }))
  }
  return refused(ctx, first, refusalFailure(refusalOf({ kind: 'plan', why }, verdict), verdict))
}

function refused(ctx: Context, { warnings }: Validated, what: Failure): PlanApproval {
  ctx.emit({ type: 'plan.rejected', problems: [what.message], warnings, repair: false })
  return { type: 'refused', failure: what }
}
