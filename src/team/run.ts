/**
 * One run of a planned team: advice, plan, work, answer, memory, in this order.
 *
 * Owns: the order, what is noted of it, how it ends. Does not own: any of its parts.
 * Holds: K3 (nothing but recorded arrivals decides), K7 (one outcome, whatever became of the tasks), K11 (usage is the engine's, nothing is added here).
 */
import { asText, failed, failure, type Failure, type Json, type Outcome, type PlanResults } from '../core/index.ts'
import { fitting } from '../agent/index.ts'
import { briefText, briefValue, type Edge, type Schema } from '../edge/index.ts'
import type { Context, RetryPolicy } from '../engine/index.ts'
import type { PlannedTask, TeamRoute, TeamStrategy } from '../journal/index.ts'
import { openOffice, type Clerks } from './office.ts'
import { defaults, type AnyTeamOptions } from './options.ts'
import type { Plan, Subtask } from './plan/plan.ts'
import { makePlan } from './plan/planner.ts'
import { generalist, type RoleBook } from './plan/roles.ts'
import { routeOf } from './plan/route.ts'
import type { Validated } from './plan/validate.ts'
import { synthesise } from './result/synthesis.ts'
import { Directory } from './staff/directory.ts'
import { Book, newEntry } from './work/book.ts'
import { maxFailuresOf, percentOf } from './work/failure-budget.ts'
import { Topics } from './work/topics.ts'
import { Work, type WorkRules } from './work/work.ts'

/** What a team is made of. */
export interface TeamParts {
  readonly options: AnyTeamOptions
  readonly roles: RoleBook
  readonly outputSchema: Schema | undefined
}

export class TeamRun {
  readonly #options: AnyTeamOptions
  readonly #roles: RoleBook
  readonly #outputSchema: Schema | undefined
  readonly #ctx: Context
  readonly #edge: Edge
  readonly #book = new Book()
  readonly #directory = new Directory()
  readonly #topics = new Topics()

  constructor({ options, roles, outputSchema }: TeamParts, ctx: Context, edge: Edge) {
    this.#options = options
    this.#roles = roles
    this.#outputSchema = outputSchema
    this.#ctx = ctx
    this.#edge = edge
  }

  async run(): Promise<Outcome> {
    const question = briefValue(this.#edge.brief)
    const planned = await makePlan(this.#ctx.scope('planning'), this.#edge, this.#options, this.#roles, {
      question,
      roles: this.#roles.list,
    })
    if (!planned.ok) return failed(planned.failure)
    const { route, work } = this.#open(planned.validated, planned.fallback)
    openOffice(this.#ctx, this.#clerks(work), ({ from }) => (from === undefined ? undefined : work.memberAt(from)), work.leave)
    await work.done()
    return this.#answer(route, question, work)
  }

  /** Notes the plan and who is on the team. */
  #open({ plan, warnings }: Validated, fallback: Failure | undefined): { readonly route: TeamRoute; readonly work: Work } {
    const options = this.#options
    const { route, reasons } = routeOf(plan, options.routing, options.route)
    const subtasks = route === 'simple' ? [this.#whole(plan)] : plan.subtasks
    const strategy: TeamStrategy = options.strategy ?? plan.strategy ?? 'hybrid'
    const concurrency = strategy === 'sequential' ? 1 : (options.concurrency ?? plan.concurrencyLimit ?? defaults.concurrency)
    const maxFailures = options.maxFailures ?? maxFailuresOf(subtasks.length, percentOf(options.tolerance ?? defaults.tolerance))
    for (const task of subtasks) {
      const role = this.#roles.find(task.role ?? options.defaultRole ?? generalist)!
      this.#book.add(newEntry(task, role, this.#directory.newId(role.role, false)))
    }
    this.#ctx.emit({
      type: 'plan.created',
      route,
      reasons,
      strategy,
      concurrency,
      maxFailures,
      complexity: plan.complexity ?? 0.5,
      tasks: this.#book.planned.map(({ task, member, role }) => plannedTask(task, member, role.role)),
      warnings,
      ...(fallback === undefined ? undefined : { fallback }),
    })
    for (const { id, member, role } of this.#book.planned) {
      this.#directory.join({ member, role: role.role, task: id, recruited: false })
      const resolved = role.resolved.toLowerCase() === role.role.toLowerCase() ? undefined : { resolved: role.resolved }
      this.#ctx.emit({ type: 'teammate.joined', member, role: role.role, task: id, ...resolved })
    }
    return { route, work: this.#work(concurrency, maxFailures, route) }
  }

  #work(concurrency: number, maxFailures: number, route: TeamRoute): Work {
    const { retry, timeoutMs, dependencies, recruit } = this.#options
    const rules: WorkRules = {
      concurrency,
      maxFailures,
      countRecruits: recruit?.countFailures === true,
      retry: retry === 'none' ? noBackoff : (retry ?? {}),
      timeoutMs: timeoutMs ?? defaults.timeoutMs,
      policy: dependencies?.policy ?? 'tolerate',
      dependencyTimeoutMs: dependencies?.timeoutMs ?? defaults.dependencyTimeoutMs,
      passAll: dependencies?.passAll === true,
      verbs: route === 'team' ? ['mail', 'recruit', 'publish'] : [],
    }
    const parts = { book: this.#book, directory: this.#directory, topics: this.#topics }
    return new Work(this.#ctx, this.#edge, parts, rules, {
      mayBegin: () => undefined,
      settled: () => undefined,
      attemptEnded: () => undefined,
      progress: () => undefined,
    })
  }

  /** Who answers what members and people outside ask. */
  #clerks(work: Work): Clerks {
    return {
      send: () => ({ accepted: false, reason: 'closed' }),
      inbox: () => ({ mail: [] }),
      recruit: () => ({ admitted: false, reason: 'closed', message: '' }),
      retire: () => ({ retired: false, reason: 'closed', message: '' }),
      team: ({ role }) => ({ team: this.#directory.list(role) as unknown as Json }),
      publish: ({ topic, entry }, { entry: by }) =>
        by === undefined ? { published: false, reason: 'undeclared' } : { ...work.publish(by, topic, entry) },
      entries: ({ topic }) => ({ entries: [...this.#topics.entries(topic)] }),
    }
  }

  /** The question as one task. */
  #whole(plan: Plan): Subtask {
    const [only] = plan.subtasks
    return {
      id: only?.id ?? 'task-1',
      description: briefText(this.#edge.brief),
      ...(only?.role === undefined ? undefined : { role: only.role }),
    }
  }

  async #answer(route: TeamRoute, question: Json, work: Work): Promise<Outcome> {
    const results = this.#results()
    const { aborted } = work
    if (aborted !== undefined) {
      const { failed: count, reason } = aborted
      const message = reason === 'budget' ? 'the budget is used up' : `Too many subtask failures (${count}/${results.coverage.planned})`
      const code = reason === 'budget' ? 'budget.exceeded' : 'team.too-many-failures'
      return { status: 'failed', failure: failure(code, message, reason === 'budget' ? 'budget' : 'policy'), results }
    }
    const answer = await synthesise(this.#ctx.scope('synthesis'), this.#edge, this.#options, { question, results: results.tasks }, route)
    if ('failure' in answer) return { status: 'failed', failure: answer.failure, results }
    const fits = fitting(answer.output, this.#outputSchema)
    if (fits.ok) return { status: 'completed', output: fits.value, results }
    const unfit = failure(
      'output.invalid',
      `the answer does not fit the output schema of "${this.#options.name}": ${fits.problem}`,
      'validation',
    )
    return { status: 'failed', failure: unfit, results }
  }

  #results(): PlanResults {
    const tasks = this.#book.results()
    const planned = tasks.filter(({ recruited }) => recruited !== true)
    const succeeded = planned.filter(({ status }) => status === 'succeeded').length
    return { coverage: { succeeded, planned: planned.length }, partial: succeeded < planned.length, tasks }
  }
}

const noBackoff: RetryPolicy = { backoffMs: 0, jitter: false }

const plannedTask = (
  { id, description, dependencies = [], produces, consumes, critical }: Subtask,
  member: string,
  role: string,
): PlannedTask => ({
  task: id,
  description: asText(description),
  member,
  role,
  dependencies,
  ...(produces === undefined ? undefined : { produces }),
  ...(consumes === undefined ? undefined : { consumes }),
  ...(critical === true ? { critical } : undefined),
})
