/**
 * Journals of planned teams, written down as an engine would: the market analysis of spec team 2, with a recruit and
 * mail, and small ones for single facts.
 */
import {
  childActivation,
  completed,
  failure,
  rootActivation,
  runId,
  type ActivationId,
  type MessageId,
  type Outcome,
} from '@reeve/core'
import type { JournalEvent, PlanCreated, PlannedTask, Recorded, TaskSettled, TeamFactEvent } from '../src/index.ts'

const run = runId('market')
export const root = rootActivation(run)

/** A fact without its place in the log. */
type FactInput = TeamFactEvent extends infer Each
  ? Each extends TeamFactEvent
    ? Omit<Each, 'op' | 'address'>
    : never
  : never

/** Writes a journal: each event at a second, in its activation's own log. */
export class Writer {
  readonly events: Recorded[] = []
  readonly #seqs = new Map<ActivationId, number>()
  readonly #leader: ActivationId

  constructor(leader: ActivationId = root, agent = 'analysts') {
    this.#leader = leader
    this.event(0, leader, {
      type: 'activation.started',
      agent,
      version: '1+x',
      input: { brief: { instructions: 'go' } },
    })
  }

  event(second: number, activation: ActivationId, event: JournalEvent): this {
    const seq = this.#seqs.get(activation) ?? 0
    this.#seqs.set(activation, seq + 1)
    this.events.push({ position: this.events.length + 1, run, activation, seq, at: second * 1_000, event })
    return this
  }

  fact(second: number, fact: FactInput): this {
    return this.event(second, this.#leader, {
      op: 'fact',
      address: `work/${fact.type}#${this.events.length}`,
      ...fact,
    } as unknown as JournalEvent)
  }

  plan(
    tasks: readonly (Partial<PlannedTask> & { readonly task: string })[],
    more: Partial<Omit<PlanCreated, 'type'>> = {},
  ): this {
    const planned = tasks.map((each) => ({
      description: `Do ${each.task}`,
      member: `${each.role ?? 'worker'}_${each.task}`,
      role: 'worker',
      dependencies: [],
      ...each,
    }))
    this.fact(0, {
      type: 'plan.created',
      route: 'team',
      reasons: ['tasks depend on each other'],
      strategy: 'hybrid',
      concurrency: 5,
      maxFailures: 4,
      complexity: 0.7,
      tasks: planned,
      warnings: [],
      ...more,
    })
    for (const { task, member, role } of planned) this.fact(0, { type: 'teammate.joined', member, role, task })
    return this
  }

  begin(second: number, task: string, member: string, attempt = 1): this {
    return this.fact(second, {
      type: 'task.started',
      task,
      member,
      attempt,
      activation: workerOf(task, attempt, this.#leader),
    })
  }

  settle(second: number, task: string, member: string, more: Partial<TaskSettled> = {}): this {
    return this.fact(second, { type: 'task.settled', task, member, status: 'succeeded', attempts: 1, ...more })
  }

  /** Mail that a message brought. */
  mail(second: number, seq: number, from: string, to: string, recipients: readonly string[], content: string): this {
    const id = `msg_${seq}` as MessageId
    this.event(second, this.#leader, {
      type: 'message.received',
      id,
      body: { type: '$team', do: 'send', mail: { to, content }, receipt: false },
    })
    return this.fact(second, { type: 'mail.accepted', seq, from, to, recipients, message: id })
  }

  end(second: number, outcome: Outcome = completed('The answer.')): this {
    return this.event(second, this.#leader, { type: 'activation.settled', outcome })
  }

  /** What is there up to a second, it included. */
  until(second: number): Recorded[] {
    return this.events.filter(({ at }) => at <= second * 1_000)
  }
}

export const workerOf = (task: string, attempt = 1, leader = root): ActivationId =>
  childActivation(leader, `work/${task}/${attempt}`)

export const broken = failure('tool.failed', 'the exchange does not answer', 'transport', { retryable: true })

/**
 * Spec team 2.3: A to D together, C gets a pricing analyst at 10, A writes to E at 15, E begins at 20, F at 35; it ends
 * at 45.
 */
export function marketAnalysis(): Writer {
  const tasks = [
    { task: 'market-research', role: 'researcher', dependencies: [] },
    { task: 'competitor-scan', role: 'analyst', dependencies: [] },
    { task: 'product-compare', role: 'product_expert', dependencies: [] },
    { task: 'tech-trend', role: 'tech_expert', dependencies: [] },
    {
      task: 'swot',
      role: 'strategist',
      dependencies: ['market-research', 'competitor-scan', 'product-compare', 'tech-trend'],
    },
    { task: 'report', role: 'writer', dependencies: ['swot'] },
  ].map((each) => ({ ...each, member: `${each.role}_1` }))
  const pricing = 'dynamic_pricing_analyst_1'
  const wish = 'Deep analysis of the pricing strategy of each product'
  return new Writer()
    .plan(tasks, { reasons: ['6 tasks are more than 5', 'tasks depend on each other'] })
    .begin(0, 'market-research', 'researcher_1')
    .begin(0, 'competitor-scan', 'analyst_1')
    .begin(0, 'product-compare', 'product_expert_1')
    .begin(0, 'tech-trend', 'tech_expert_1')
    .fact(10, {
      type: 'recruit.requested',
      request: 'r1',
      role: 'pricing_analyst',
      description: wish,
      by: 'product_expert_1',
      parent: 'product-compare',
    })
    .fact(10, { type: 'recruit.decided', request: 'r1', admitted: true, member: pricing })
    .fact(10, {
      type: 'teammate.joined',
      member: pricing,
      role: 'pricing_analyst',
      resolved: 'generalist',
      task: pricing,
      recruited: true,
      by: 'product_expert_1',
      parent: 'product-compare',
      join: 'parent',
    })
    .begin(10, pricing, pricing)
    .settle(12, 'competitor-scan', 'analyst_1')
    .mail(15, 1, 'researcher_1', 'strategist_1', ['strategist_1'], 'Competitor X has launched Y.')
    .settle(15, 'market-research', 'researcher_1')
    .settle(15, 'tech-trend', 'tech_expert_1')
    .settle(18, 'product-compare', 'product_expert_1')
    .settle(20, pricing, pricing)
    .fact(20, { type: 'task.unblocked', task: 'swot' })
    .begin(20, 'swot', 'strategist_1')
    .fact(21, { type: 'mail.delivered', member: 'strategist_1', seqs: [1] })
    .settle(35, 'swot', 'strategist_1')
    .begin(35, 'report', 'writer_1')
    .settle(45, 'report', 'writer_1')
    .fact(45, { type: 'results.synthesised', by: 'concatenation', used: tasks.map(({ task }) => task), dropped: [] })
    .end(45)
}
