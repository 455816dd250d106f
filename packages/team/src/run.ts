/**
 * One run of a planned team: advice, plan, work, answer, memory, in this order.
 *
 * Owns: the order, what is noted of it, how it ends. Does not own: any of its parts.
 * Holds: K3 (nothing but recorded arrivals decides), K7 (one outcome, whatever became of the tasks), K11 (usage is the
 * engine's, nothing is added here).
 */
import {
  asText,
  describeOutcome,
  failed,
  fileLabel,
  filesByHandle,
  hasNames,
  present,
  type Failure,
  type Json,
  type MessageId,
  type Outcome,
  type PlanResults,
} from '@reeve/core'
import type { ReceivedCommand } from '@reeve/agent'
import { briefText, briefValue, entriesOf, type Edge, type Schema } from '@reeve/edge'
import type { Context, Ordinals } from '@reeve/engine'
import type { TeamRoute, TeamStrategy } from '@reeve/journal'
import { overrides } from './learn/advisor.ts'
import type { Advice } from './plan/plan.ts'
import { Learning, type Progress } from './learn/learning.ts'
import { listenToMembers, type MemberCommandHandlers } from './mail/command-handlers.ts'
import { defaults, type AnyTeamOptions } from './options.ts'
import { mailDefaults } from './mail/options.ts'
import { mailFactTypes, MessageRouter, type MessageRouterState } from './mail/message-router.ts'
import { overseenTogether } from './plan/task-oversight.ts'
import type { Estimate, Plan, Subtask } from './plan/plan.ts'
import type { RequestFiles } from './plan/plan-parser.ts'
import { makePlan } from './plan/planner.ts'
import { generalist, type RoleBook } from './plan/roles.ts'
import { routeOf } from './plan/route.ts'
import type { Validated } from './plan/validate.ts'
import { synthesise } from './result/synthesis.ts'
import { Directory } from './state/directory.ts'
import { addMember, plannedTask } from './staff/admission.ts'
import { waitingFor } from './staff/permission.ts'
import { Staff } from './staff/staff.ts'
import { TaskGraph, newEntry, type TaskEntry } from './state/task-graph.ts'
import { Deadlocks } from './progress/deadlocks.ts'
import { edited, type EditParts } from './plan-edit.ts'
import { Exchanges, type ExchangesState } from './progress/mail-loops.ts'
import { failureBudgetOf, givenUp, type FailureBudget } from './schedule/failure-budget.ts'
import { isRefused } from './schedule/task-reviews.ts'
import type { WorkRules } from './schedule/rules.ts'
import { Spending } from './budget/spending.ts'
import { Rollback } from './schedule/rollback.ts'
import { published, Topics } from './state/topics.ts'
import { Scheduler } from './schedule/scheduler.ts'

/** What a team is made of. */
export interface TeamParts {
  readonly options: AnyTeamOptions
  readonly roles: RoleBook
  readonly outputSchema: Schema | undefined
}

/** What all mail of a team came to so far. Persistent. */
interface MailSummary {
  readonly post: MessageRouterState
  readonly rounds: ExchangesState
  readonly named: Ordinals
}

export class TeamRun {
  readonly #options: AnyTeamOptions
  readonly #roles: RoleBook
  readonly #outputSchema: Schema | undefined
  readonly #ctx: Context
  readonly #edge: Edge
  readonly #graph = new TaskGraph()
  readonly #directory: Directory
  readonly #topics = new Topics()
  readonly #rounds: Exchanges
  readonly #rollback: Rollback
  /** The files of its conversation. */
  readonly #files: RequestFiles
  #strategy: TeamStrategy = 'hybrid'
  /** As planned. */
  #subtasks: readonly Subtask[] = []
  #staff: Staff | undefined
  #post: MessageRouter | undefined
  #spending: Spending | undefined
  #deadlocks: Deadlocks | undefined
  /** What the work goes by, as far as a human may edit it. */
  #rules: EditParts['rules'] | undefined

  constructor({ options, roles, outputSchema }: TeamParts, ctx: Context, edge: Edge) {
    this.#options = options
    this.#roles = roles
    this.#outputSchema = outputSchema
    this.#ctx = ctx
    this.#edge = edge
    this.#files = filesByHandle(entriesOf(edge).map(({ message }) => message))
    this.#directory = new Directory(() => ctx.now().getTime())
    this.#rollback = new Rollback(ctx, options.undo)
    this.#rounds = new Exchanges(options.mailbox?.maxExchanges ?? mailDefaults.maxExchanges)
  }

  run(): Promise<Outcome> {
    const question = briefValue(this.#edge.work.brief)
    const progress = (): Progress => ({ strategy: this.#strategy, subtasks: this.#subtasks, results: this.#results() })
    return new Learning(this.#ctx, this.#options, asText(question), progress).around((advice) =>
      this.#led(question, advice),
    )
  }

  async #led(question: Json, advice: Advice | undefined): Promise<Outcome> {
    const asked = {
      question,
      roles: this.#roles.list,
      ...(this.#files.size > 0 && { files: [...this.#files.values()].map((file) => fileLabel(file)) }),
      ...present({ advice }),
    }
    const planning = this.#ctx.scope('planning')
    const planned = await makePlan(planning, this.#edge, this.#options, this.#roles, asked, this.#files)
    if (!planned.ok) return failed(planned.failure)
    const { route, work } = this.#open(planned.validated, planned.fallback, advice)
    const handlers = this.#handlers(work, route)
    const memberAt = ({ from }: ReceivedCommand): TaskEntry | undefined =>
      from === undefined ? undefined : work.memberAt(from)
    const callers = {
      memberAt,
      late: (heard: ReceivedCommand) => this.#post?.late(heard) === true,
      isToJoin: work.isToJoin,
    }
    listenToMembers(this.#ctx, handlers, callers, work.leave, this.#sumsMail(work))
    await this.#rollback.around(
      () => work.done(),
      () => work.atWork,
    )
    this.#staff?.close()
    this.#spending?.close()
    this.#deadlocks?.close()
    return this.#answer(route, question, work)
  }

  /**
   * Sums up mail, so that a team that has heard a million messages goes on without them. Not while a task could begin
   * if a slot were free: then it matters who waited for mail in between.
   */
  #sumsMail(work: Scheduler): (command: MessageId) => void {
    const ctx = this.#ctx
    return ctx.sums({
      facts: mailFactTypes,
      state: () => {
        const post = work.isAtRest ? this.#post?.state : undefined
        if (post === undefined) return undefined
        return { post, rounds: this.#rounds.state, named: ctx.ordinals() } satisfies MailSummary as unknown as Json
      },
      restore: (state) => {
        const { post, rounds, named } = state as unknown as MailSummary
        ctx.ordinals(named)
        this.#rounds.state = rounds
        this.#post!.goOn(post, (task) => this.#graph.get(task))
      },
    })
  }

  /** Notes the plan and who is on the team. */
  #open(
    { plan, warnings }: Validated,
    fallback: Failure | undefined,
    advice: Advice | undefined,
  ): { readonly route: TeamRoute; readonly work: Scheduler } {
    const options = this.#options
    const { route, reasons } = routeOf(plan, options.routing, options.route)
    const subtasks = route === 'simple' || plan.subtasks.length === 0 ? [this.#whole(plan)] : plan.subtasks
    const advised = advice !== undefined && overrides(advice) ? advice.strategy : undefined
    const strategy = options.strategy ?? advised ?? plan.strategy ?? 'hybrid'
    this.#strategy = strategy
    this.#subtasks = plan.subtasks
    const concurrency =
      strategy === 'sequential' ? 1 : (options.concurrency ?? plan.concurrencyLimit ?? defaults.concurrency)
    const failures = failureBudgetOf(subtasks.length, options.tolerance ?? defaults.tolerance, options.maxFailures)
    for (const task of subtasks) {
      const role = this.#roles.find(task.role ?? options.defaultRole ?? generalist)!
      this.#graph.add(newEntry(task, role, this.#directory.newId(role.role, false)))
    }
    this.#ctx.emit({
      type: 'plan.created',
      route,
      reasons,
      strategy,
      concurrency,
      maxFailures: failures.maxFailures,
      complexity: plan.complexity ?? 0.5,
      tasks: this.#graph.planned.map((entry) => plannedTask(entry, this.#edge.oversight?.policy)),
      warnings,
      ...present({ fallback }),
    })
    for (const entry of this.#graph.planned) addMember(this.#ctx, this.#directory, entry)
    return { route, work: this.#work(concurrency, failures, route) }
  }

  #work(concurrency: number, failures: FailureBudget, route: TeamRoute): Scheduler {
    const { retry, timeoutMs, dependencies, recruit, budget } = this.#options
    const rules: WorkRules & EditParts['rules'] = {
      concurrency,
      failures,
      countRecruits: recruit?.countFailures === true,
      retry: retry ?? {},
      timeoutMs: timeoutMs ?? defaults.timeoutMs,
      policy: dependencies?.policy ?? 'tolerate',
      dependencyTimeoutMs: dependencies?.timeoutMs ?? defaults.dependencyTimeoutMs,
      passAll: dependencies?.passAll === true,
      verbs: route === 'team' ? ['mail', 'recruit', 'publish'] : [],
      files: this.#files,
    }
    this.#rules = rules
    const parts = { graph: this.#graph, directory: this.#directory, topics: this.#topics }
    const spending = (this.#spending = new Spending(this.#ctx, this.#graph, budget))
    const work = new Scheduler(this.#ctx, this.#edge, parts, rules, {
      mayBegin: spending.mayBegin,
      unread: ({ member }) => this.#post?.unread(member) ?? 0,
      notBegun: (entry) => spending.notBegun(entry),
      reopened: (entry) => this.#back(entry),
      settled: (entry) => {
        spending.settled(entry)
        this.#rollback.ended(entry)
        this.#post?.settled()
        this.#staff?.settled(entry)
      },
      attemptEnded: (entry, end) => {
        const { outcome } = end
        const stopped = spending.attemptEnded(entry, end)
        this.#directory.tried(
          entry.member,
          entry.attempts,
          outcome.status === 'completed' ? undefined : describeOutcome(outcome),
        )
        this.#post?.attemptEnded(entry, end.id)
        this.#deadlocks?.attemptEnded()
        return stopped
      },
      progress: () => {
        this.#rounds.moved()
        spending.progress()
        this.#staff?.progress()
      },
      advanced: () => this.#deadlocks?.look(),
    })
    spending.on(work)
    return work
  }

  /** The member redoes its task; a new one, if it has retired. */
  #back(entry: TaskEntry): void {
    const { member: from, role } = entry
    if (this.#directory.back(from)) return this.#post?.back(from)
    entry.member = this.#directory.newId(role.role, false, (id) => this.#graph.get(id) !== undefined)
    this.#ctx.emit({ type: 'task.reassigned', task: entry.id, from, to: entry.member })
    addMember(this.#ctx, this.#directory, entry)
  }

  /** Who answers what members and people outside ask. */
  #handlers(work: Scheduler, route: TeamRoute): MemberCommandHandlers {
    const post = (this.#post = this.#postRoom(work, route))
    const staff = (this.#staff = this.#staffOf(work, post))
    this.#deadlocks = new Deadlocks(this.#ctx, {
      graph: this.#graph,
      directory: this.#directory,
      work,
      mail: post,
      budget: this.#spending!,
      hasLead: this.#options.lead !== undefined,
      isUndecided: () => work.held || staff.isUndecided,
    })
    const { send, inbox } = post
    return {
      send,
      inbox,
      ...staff.handlers,
      publish: ({ topic, entry }, { entry: by }) =>
        by === undefined
          ? { published: false, reason: 'undeclared' }
          : published(work.publish(by, topic, entry), topic, by.task),
      entries: ({ topic }) => ({ entries: [...this.#topics.entries(topic)] }),
      edit: (word, _speaker, heard) => edited(this.#editing(work), word, heard),
    }
  }

  #editing(work: Scheduler): EditParts {
    const { defaultRole = generalist } = this.#options
    const parts = {
      ctx: this.#ctx,
      graph: this.#graph,
      directory: this.#directory,
      roles: this.#roles,
      rules: this.#rules!,
      files: this.#files,
    }
    return { ...parts, work, defaultRole, oversight: this.#edge.oversight?.policy, limits: this.#edge.bounds.limits }
  }

  /** Who looks after the mail. */
  #postRoom(work: Scheduler, route: TeamRoute): MessageRouter {
    const { mailbox: options, policy } = this.#options
    return new MessageRouter({
      ctx: this.#ctx,
      options,
      policy,
      oversight: this.#edge.oversight?.policy,
      directory: this.#directory,
      waitForMail: (entry, waits) => {
        work.waitForMail(entry, waits)
        this.#deadlocks?.look()
      },
      waitForHuman: (member, ask) => waitingFor(member, work, ask),
      decided: () => this.#deadlocks?.look(),
      rounds: this.#rounds,
      toldAt: (member) =>
        route === 'team' && hasModel(this.#graph.ofMember(member)) ? work.activationOf(member) : undefined,
      leave: work.leave,
    })
  }

  /** Who joins and leaves while it works. */
  #staffOf(work: Scheduler, post: MessageRouter): Staff {
    const { recruit, maxTeamSize = defaults.maxTeamSize, defaultRole = generalist, policy, lead } = this.#options
    const rules = { ...recruit, maxTeamSize, defaultRole, policies: [recruit?.policy, policy] }
    const parts = {
      ctx: this.#ctx,
      rules,
      oversight: this.#edge.oversight?.policy,
      limits: this.#edge.bounds.limits,
      roles: this.#roles,
      graph: this.#graph,
      directory: this.#directory,
      files: this.#files,
      work,
      admit: (estimate: Estimate | undefined, asker: string | undefined) => this.#spending?.refusal(estimate, asker),
    }
    return new Staff(parts, lead, ({ mail }) => {
      post.post(mail)
      return undefined
    })
  }

  /**
   * The question as one task, with all its files. What the plan says of its only task stays: who has it, and with what; of several, how
   * closely humans look: no route goes round them.
   */
  #whole({ subtasks }: Plan): Subtask {
    const [only, ...others] = subtasks
    const question = briefValue(this.#edge.work.brief)
    const description = briefText(this.#edge.work.brief)
    const files = this.#files.size === 0 ? undefined : [...this.#files.keys()]
    if (only?.role === undefined || others.length > 0)
      return {
        id: 'task-1',
        description,
        ...this.#roles.forWhole(this.#options.defaultRole, question),
        ...overseenTogether(subtasks),
        ...present({ files }),
      }
    const { dependencies: _dependencies, consumes: _consumes, ...kept } = only
    // who wrote the plan down knows what its only task is to be called
    if (isFixed(this.#options.planner)) return { ...this.#roles.inputFor(only.role, question), ...kept }
    return { ...this.#roles.inputFor(only.role, question), ...present({ files }), ...kept, description }
  }

  async #answer(route: TeamRoute, question: Json, work: Scheduler): Promise<Outcome> {
    const results = this.#results()
    const { aborted } = work
    if (aborted !== undefined) {
      const critical = this.#graph.planned.find(({ status, task }) => status === 'failed' && task.critical === true)
      const refused = aborted.reason === 'rejected' ? this.#graph.planned.find(isRefused)?.failure : undefined
      const gaveUp = refused ?? this.#spending?.gaveUp ?? givenUp(aborted, results.coverage.planned, critical?.id)
      return { status: 'failed', failure: gaveUp, results }
    }
    const subtasks = this.#graph.all.map(({ task }) => task)
    const material = { question, results: results.tasks, subtasks, route }
    const answer = await synthesise(
      this.#ctx.scope('synthesis'),
      this.#edge,
      this.#options,
      material,
      this.#outputSchema,
    )
    if ('failure' in answer) return { status: 'failed', failure: answer.failure, results }
    return { status: 'completed', output: answer.output, results }
  }

  #results(): PlanResults {
    const tasks = this.#graph.results()
    const planned = tasks.filter(({ recruited }) => recruited !== true)
    const succeeded = planned.filter(({ status }) => status === 'succeeded').length
    return { coverage: { succeeded, planned: planned.length }, partial: succeeded < planned.length, tasks }
  }
}

/** Whether a model does this task: code looks for its mail itself. */
const hasModel = (entry: TaskEntry | undefined): boolean => entry?.role.agent.model !== undefined

const isFixed = (planner: unknown): boolean => hasNames(planner) && 'subtasks' in planner
