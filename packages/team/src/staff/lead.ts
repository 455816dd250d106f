/**
 * The lead: code that looks at the team after each task that has ended, and may give orders.
 *
 * Owns: what it is shown and when, what it may order, the record of an invalid order. Does not own: carrying it out:
 * recruits, retirements and mail go through the same command handlers as those of members
 * (../mail/command-handlers.ts).
 * Holds: K6: each look is a recorded step, so orders are given once. K3: it looks at one end after the other, in the
 * order in which they came; the work stays open meanwhile.
 */
import {
  copy,
  described,
  failure,
  jsonProblem,
  messageOf,
  optionProblems,
  unchecked,
  type Json,
  type MessageId,
  type TaskResult,
} from '@reeve/core'
import {
  hookStepOptions,
  type ReceivedCommand,
  type MailToSend,
  type RecruitRequest,
  type RetireRequest,
  type TeamEntry,
  type TeamCommand,
} from '@reeve/agent'
import { isLeaving, type Context, type StepIO } from '@reeve/engine'
import type { MemberCommandHandlers } from '../mail/command-handlers.ts'
import type { Subtask } from '../plan/plan.ts'
import { validatePlan } from '../plan/validate.ts'
import { hasEnded, newEntry, resultOf, type TaskEntry } from '../state/task-graph.ts'
import { addMember, plannedTask } from './admission.ts'
import type { StaffParts } from './recruitment.ts'

/** The input of a lead. Copies. */
export interface LeadMoment {
  /** The task that has just ended. */
  readonly ended: TaskResult
  readonly tasks: readonly TaskResult[]
  readonly team: readonly TeamEntry[]
}

/** What a lead may order. */
export type LeadRequest =
  | { readonly recruit: RecruitRequest }
  | { readonly retire: RetireRequest }
  | { readonly post: MailToSend }
  /** Tasks that are added to the plan. */
  | { readonly add: readonly Subtask[] }

/** Reads the moment and gives orders. A throw is recorded (`hook.failed`), and the work goes on. */
export type Lead = (
  moment: LeadMoment,
  io: StepIO,
) => readonly LeadRequest[] | void | Promise<readonly LeadRequest[] | void>

/** The name under which its orders are recorded. */
const name = 'lead'
const requestChecks = { recruit: unchecked, retire: unchecked, post: unchecked, add: unchecked }

/** One team's lead. */
export class LeadConsultation {
  readonly #lead: Lead
  readonly #parts: StaffParts
  readonly #handlers: () => Pick<MemberCommandHandlers, 'recruit' | 'retire' | 'send'>
  readonly #ctx: Context
  /** The looks so far, one after the other. */
  #looks: Promise<void> = Promise.resolve()

  constructor(
    lead: Lead,
    parts: StaffParts,
    handlers: () => Pick<MemberCommandHandlers, 'recruit' | 'retire' | 'send'>,
  ) {
    this.#lead = lead
    this.#parts = parts
    this.#handlers = handlers
    this.#ctx = parts.ctx.scope(name)
  }

  /** A task has ended: it looks as soon as it has looked at those before. */
  settled(entry: TaskEntry): void {
    const { work } = this.#parts
    if (work.closed !== undefined) return
    const ended = resultOf(entry)
    const release = work.hold()
    this.#looks = this.#looks
      .then(() => this.#look(ended))
      .finally(release)
      .catch(work.leave)
  }

  async #look(ended: TaskResult): Promise<void> {
    const { graph, directory, work } = this.#parts
    if (work.closed !== undefined) return
    const ctx = this.#ctx.scope('look')
    const moment = { ended, tasks: graph.results(), team: directory.list() }
    const shown = copy(moment as unknown as Json) as unknown as LeadMoment
    const { outcome } = await ctx.next(
      ctx.begin(name, async (io) => requests(await this.#lead(shown, io)), { ...hookStepOptions, holds: 'text' }),
    )
    if (outcome.status === 'completed')
      for (const order of outcome.output as unknown as readonly LeadRequest[]) this.#carryOut(ctx, order)
    else if (outcome.status === 'failed') this.#refuse(ctx, outcome.failure.message)
  }

  #carryOut(ctx: Context, order: LeadRequest): void {
    try {
      if ('add' in order) this.#add(ctx, order.add)
      else if ('recruit' in order) this.#handlers().recruit(...this.#say(ctx, { do: 'recruit', wish: order.recruit }))
      else if ('retire' in order) this.#handlers().retire(...this.#say(ctx, { do: 'retire', wish: order.retire }))
      else this.#handlers().send(...this.#say(ctx, { do: 'send', mail: order.post, receipt: false }))
    } catch (thrown) {
      if (isLeaving(thrown)) throw thrown
      this.#refuse(ctx, messageOf(thrown))
    }
  }

  /** An order as its command handler gets it. */
  #say<W extends TeamCommand>(
    ctx: Context,
    word: W,
  ): [W, { readonly entry: undefined; readonly name: string }, ReceivedCommand] {
    return [
      word,
      { entry: undefined, name },
      { id: ctx.id('msg') as MessageId, from: undefined, command: word, by: name },
    ]
  }

  /** Tasks are added all together or not at all. */
  #add(ctx: Context, added: readonly Subtask[]): void {
    const { graph, directory, roles, work, rules, oversight, limits, files } = this.#parts
    if (work.closed !== undefined) return this.#refuse(ctx, 'the work of this team has ended: no tasks are added')
    const existing = graph.all.map(({ task }) => task)
    const ended = new Set(graph.all.flatMap((entry) => (hasEnded(entry) ? [entry.id] : [])))
    const around = { existing, ended, defaultRole: rules.defaultRole, oversight, limits, files }
    const { plan, problems, warnings } = validatePlan({ subtasks: added }, roles, around)
    if (problems.length > 0) return this.#refuse(ctx, `tasks were not added: ${problems.join('; ')}`, problems)
    if (plan.subtasks.length === 0) return
    const entries = plan.subtasks.map((task) => {
      const role = roles.find(task.role ?? rules.defaultRole)!
      return newEntry(
        task,
        role,
        directory.newId(role.role, false, (id) => graph.get(id) !== undefined),
      )
    })
    for (const entry of entries) graph.add(entry)
    const doubts = warnings.length === 0 ? undefined : { warnings }
    ctx.emit({
      type: 'plan.revised',
      added: entries.map((entry) => plannedTask(entry, oversight)),
      by: name,
      ...doubts,
    })
    for (const entry of entries) addMember(ctx, directory, entry)
    work.advance()
  }

  #refuse(ctx: Context, why: string, problems: readonly string[] = [why]): void {
    const details = { hook: name, problems: [...problems] }
    ctx.emit({
      type: 'hook.failed',
      hook: name,
      failure: failure('hook.failed', `${name}: ${why}`, 'validation', { details }),
    })
  }
}

/**
 * The orders of a lead, as they are recorded. Throws for anything but a list of orders; then none is carried out.
 */
function requests(said: unknown): Json {
  if (said === undefined || said === null) return []
  if (!Array.isArray(said)) throw new TypeError(`it returned ${described(said)}, expected a list of orders, or nothing`)
  const problem = jsonProblem(said, 'what it returned')
  const problems = problem === undefined ? said.flatMap(requestProblems) : [problem]
  if (problems.length > 0) throw new TypeError(problems.join('; '))
  return said as Json
}

const requestProblems = (order: unknown, place: number): string[] =>
  optionProblems<object>(requestChecks, order, `order ${place + 1}`, (given, where) => {
    const said = Object.keys(given)
    return [
      said.length !== 1 &&
        `${where} says ${said.length === 0 ? 'nothing' : said.join(' and ')}, expected one of recruit, retire, post, add`,
    ]
  })
