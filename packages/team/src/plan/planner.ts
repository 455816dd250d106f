/**
 * Planning: from a question to a plan that can be carried out, and may be.
 *
 * Owns: asking the planner, once more after an impossible plan, and the result without a plan. Does not own: how a
 * planner is asked (source.ts), what makes a plan impossible (validate.ts), who has to agree (plan-approval.ts).
 * Holds: K3, K6: everything it goes by is recorded: steps, workers, model turns, decisions.
 */
import { asText, failure, failureFrom, type Failure } from '@reeve/core'
import type { Edge, Limits, Oversight } from '@reeve/edge'
import { isLeaving, type Context } from '@reeve/engine'
import type { ModelRef } from '@reeve/model'
import { planApproval, type PlanApprovalOptions } from './plan-approval.ts'
import type { PlannerLike, PlanQuestion } from './options.ts'
import type { RequestFiles } from './plan-parser.ts'
import type { RoleBook } from './roles.ts'
import { noPlanner, planFailed, sourceOf, type PlanSource } from './source.ts'
import { validatePlan, type PlanSurroundings, type Validated } from './validate.ts'

/** What a team says of planning. */
export interface PlanningOptions extends PlanApprovalOptions {
  readonly name: string
  readonly planner?: PlannerLike
  readonly model?: ModelRef
  readonly defaultRole?: string
  readonly fallback?: boolean
}

/** How planning has ended. */
export type Planned =
  | { readonly ok: true; readonly validated: Validated; readonly fallback?: Failure }
  | { readonly ok: false; readonly failure: Failure }

/** How often a human may ask for another plan. */
const mostRounds = 3

/**
 * Makes a plan that policy and approver allow. Emits `plan.rejected` for each that was refused. Rejects only with
 * `Cancelled`.
 */
export async function makePlan(
  ctx: Context,
  edge: Edge,
  options: PlanningOptions,
  roles: RoleBook,
  question: PlanQuestion,
  files: RequestFiles = new Map(),
): Promise<Planned> {
  try {
    const planning = new Planning(ctx, edge, options, roles, question, files)
    let asked = question
    for (let round = 1; ; round++) {
      const planned = await planning.plan(asked)
      if (!planned.ok) return planned
      const approval = await planning.approval(planned.validated)
      if (approval.type === 'approved') return { ...planned, validated: approval.validated }
      if (approval.type === 'refused') return { ok: false, failure: approval.failure }
      if (round > mostRounds || !planning.canBeAsked)
        return planning.withoutAnother(planned.validated, approval.comment)
      asked = { ...question, problems: [approval.comment] }
    }
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return { ok: false, failure: planFailed(failureFrom(thrown, 'plan.failed')) }
  }
}

class Planning {
  readonly #ctx: Context
  readonly #options: PlanningOptions
  readonly #oversight: Oversight | undefined
  readonly #limits: Limits | undefined
  readonly #roles: RoleBook
  readonly #question: PlanQuestion
  readonly #files: RequestFiles
  readonly #source: PlanSource | undefined
  /** What was given last. */
  #given: unknown

  constructor(
    ctx: Context,
    edge: Edge,
    options: PlanningOptions,
    roles: RoleBook,
    question: PlanQuestion,
    files: RequestFiles,
  ) {
    this.#files = files
    this.#ctx = ctx
    this.#options = options
    this.#roles = roles
    this.#question = question
    this.#source = sourceOf(options, edge, files)
    this.#oversight = edge.oversight?.policy
    this.#limits = edge.bounds.limits
  }

  get canBeAsked(): boolean {
    return this.#source?.canBeAsked === true
  }

  /** Asks until a plan can be carried out, or no further question is allowed. */
  async plan(first: PlanQuestion): Promise<Planned> {
    const source = this.#source
    if (source === undefined) return this.#fallbackPlan(noPlanner)
    let asked = first
    for (let left = source.repairs; ; left--) {
      const drafted = await source.ask(this.#ctx, asked, this.#given)
      if (!drafted.ok) return this.#fallbackPlan(planFailed(drafted.failure))
      this.#given = drafted.plan
      const validated = this.#validated(
        drafted.plan,
        source.writes ? { author: 'model' } : { unknownFields: 'refused' },
      )
      const { problems, warnings } = validated
      if (problems.length === 0) return { ok: true, validated }
      this.#ctx.emit({ type: 'plan.rejected', problems, warnings, repair: left > 0 })
      if (left > 0) asked = { ...this.#question, problems }
      else
        return source.canBeAsked
          ? this.#fallbackPlan(impossible(validated))
          : { ok: false, failure: impossible(validated) }
    }
  }

  approval(validated: Validated): ReturnType<typeof planApproval> {
    return planApproval(
      this.#ctx,
      { ...this.#options, oversight: this.#oversight },
      validated,
      this.#question.question,
      (edited) => this.#validated(edited),
    )
  }

  /** Another plan is wanted, and no planner can make one. */
  withoutAnother({ warnings }: Validated, comment: string): Planned {
    const why = this.canBeAsked ? `after ${mostRounds} others` : 'and this one is fixed'
    const message = `another plan is wanted, ${why}: ${comment}`
    this.#ctx.emit({ type: 'plan.rejected', problems: [message], warnings, repair: false })
    return { ok: false, failure: failure('work.rejected', message, 'rejected', { details: { how: 'retry', comment } }) }
  }

  #validated(given: unknown, more?: Pick<PlanSurroundings, 'author' | 'unknownFields'>): Validated {
    const { defaultRole } = this.#options
    const around = { defaultRole, oversight: this.#oversight, limits: this.#limits, files: this.#files }
    return validatePlan(given, this.#roles, { ...around, ...more })
  }

  /** The whole question as one task, where that is allowed. */
  #fallbackPlan(why: Failure): Planned {
    if (this.#options.fallback !== true) return { ok: false, failure: why }
    const { question } = this.#question
    const subtasks = [
      { id: 'task-1', description: asText(question), ...this.#roles.forWhole(this.#options.defaultRole, question) },
    ]
    const validated = this.#validated({ subtasks, complexity: 0.1 })
    return validated.problems.length === 0
      ? { ok: true, validated, fallback: why }
      : {
          ok: false,
          failure: {
            ...why,
            message: `${why.message}; and there is no one task instead: ${validated.problems.join('; ')}`,
          },
        }
  }
}

/** What becomes of a plan that cannot be carried out, or be read at all. */
function impossible({ problems, unreadable }: Validated): Failure {
  if (unreadable)
    return planFailed(failure('plan.invalid', problems.join('; '), 'validation', { details: { problems } }))
  return failure('plan.invalid', `the plan cannot be carried out: ${problems.join('; ')}`, 'validation', {
    hint: 'Fix the listed problems. The list is complete, and no task has begun.',
    details: { problems },
  })
}
