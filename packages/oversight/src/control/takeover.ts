/**
 * Takeover context: progress, results so far and the suggested next step, for a human who takes a run over.
 *
 * Owns: the context, derived from the views of a run. Does not own: the views (journal), taking over and handing back
 * (runtime/operator/takeover.ts), edits of a plan (../../team).
 * Holds: every step is in exactly one of the five lists (team C71). Pure; plain JSON, a deep copy.
 */
import { present, type ActivationId, type Failure, type Json, type Outcome, type RunId, type Usage } from '@reeve/core'
import type { ActivationView, DelegationView, RunView, TaskView, TeamView } from '@reeve/journal'

/** A task of a plan, a delegation outside planned teams, or, in a run without either, an activation. */
export interface TakeoverStep {
  /**
   * The task, or the leader's label of the delegation; if several have this name, with the activation of the team or
   * leader before it.
   */
  readonly id: string
  readonly description: string
  /** The status of the task, delegation or activation. */
  readonly status: string
  /** The member or worker. */
  readonly worker: string
  readonly activation?: ActivationId
  /** The steps that it waits for. */
  readonly waitsFor?: readonly string[]
  /** The latest text of its worker. Only for steps in flight. */
  readonly partial?: string
  readonly failure?: Failure
  /** Why it was skipped or cancelled. */
  readonly reason?: string
  /** The name of the human who completed it by hand. */
  readonly by?: string
}

/** The suggested next step. */
export type TakeoverSuggestion =
  | { readonly type: 'task'; readonly task: string; readonly description: string }
  | { readonly type: 'approval'; readonly approval: string; readonly tool: string }
  /** These steps are in flight: they end, perhaps only after the hand back, or are completed by hand. */
  | { readonly type: 'wait'; readonly for: readonly string[] }
  /** All steps have ended. */
  | { readonly type: 'synthesise' }

/** Everything that a human needs to continue by hand. Plain JSON, a copy. */
export interface TakeoverContext {
  readonly run: RunId
  readonly agent: string
  readonly input: Json
  /** The name of the human who has the run, if given. */
  readonly owner?: string
  readonly reason?: string
  /** Milliseconds since 1970. */
  readonly since?: number
  /** The number of the first step that is not settled, at most `totalSteps`. */
  readonly currentStep: number
  readonly totalSteps: number
  readonly completed: readonly TakeoverStep[]
  readonly inFlight: readonly TakeoverStep[]
  readonly pending: readonly TakeoverStep[]
  readonly failed: readonly TakeoverStep[]
  /** Skipped or cancelled. */
  readonly skipped: readonly TakeoverStep[]
  /** The outputs of steps, by id. */
  readonly results: Readonly<Record<string, Json>>
  readonly suggestedNextAction: TakeoverSuggestion
  /** The failure of the step that failed last. */
  readonly failureReason?: string
  /** Planned teams with their members, plans and mail. */
  readonly teams: readonly TeamView[]
  readonly pendingApprovals: readonly {
    readonly id: string
    readonly tool: string
    readonly input: Json
    readonly path: readonly string[]
  }[]
  /** The number of unread messages of members. */
  readonly unreadMail: number
  readonly budget: {
    readonly used: Usage
    /** The remaining budget of the first planned team with a budget. */
    readonly remaining: { readonly tokens?: number; readonly usd?: number }
  }
  /** The plan of the root or the only team: a copy to edit for the hand back. */
  readonly plan?: TakeoverPlan
  /** The position of the feed of this context: `run.events({ from: cursor })` continues there. */
  readonly cursor: number
}

/** A plan as it is now. */
export interface TakeoverPlan {
  readonly team: ActivationId
  readonly subtasks: readonly {
    readonly id: string
    readonly description: string
    readonly role: string
    readonly status: TaskView['status']
    readonly dependencies: readonly string[]
    readonly produces: readonly string[]
    readonly consumes: readonly string[]
    readonly critical: boolean
  }[]
  readonly concurrency: number
  readonly maxFailures: number
}

/** The views that the context is made of. */
export interface TakeoverSources {
  readonly view: RunView
  readonly delegations: readonly DelegationView[]
  /** What was said last by an activation, or below it. Only of those that have not ended. */
  readonly lastText: (activation: ActivationId) => string | undefined
}

type StepKind = 'completed' | 'inFlight' | 'pending' | 'failed' | 'skipped'
interface Step extends TakeoverStep {
  readonly kind: StepKind
  readonly output?: Json
  readonly endedAt?: number
}

/** The takeover context as of the view. */
export function takeoverContext({ view, delegations, lastText }: TakeoverSources): TakeoverContext {
  const steps = stepsOf(view, delegations)
  const of = (kind: StepKind): TakeoverStep[] =>
    steps.filter((step) => step.kind === kind).map((step) => shownStep(step, lastText))
  const settled = steps.filter(({ kind }) => kind !== 'inFlight' && kind !== 'pending')
  const lastFailed = steps
    .filter(({ kind }) => kind === 'failed')
    .sort((one, other) => (other.endedAt ?? 0) - (one.endedAt ?? 0))[0]
  const plan = planOf(view)
  const { takeover } = view
  const open = view.approvals.filter((each) => each.open)
  return structuredClone({
    run: view.run,
    agent: view.agent,
    input: view.input,
    ...(takeover?.by === undefined ? {} : { owner: takeover.by }),
    ...(takeover?.reason === undefined ? {} : { reason: takeover.reason }),
    ...(takeover === undefined ? {} : { since: takeover.since }),
    currentStep: Math.min(settled.length + 1, steps.length),
    totalSteps: steps.length,
    completed: of('completed'),
    inFlight: of('inFlight'),
    pending: of('pending'),
    failed: of('failed'),
    skipped: of('skipped'),
    results: Object.fromEntries(steps.flatMap(({ id, output }) => (output === undefined ? [] : [[id, output]]))),
    suggestedNextAction: suggestion(steps, open),
    ...(lastFailed === undefined ? {} : { failureReason: `${lastFailed.id}: ${whyFailed(lastFailed)}` }),
    teams: view.teams,
    pendingApprovals: open.map(({ id, tool, input, path }) => ({ id, tool, input, path })),
    unreadMail: view.teams
      .flatMap(({ mailbox }) => Object.values(mailbox.unread))
      .reduce((sum, count) => sum + count, 0),
    budget: { used: view.usage, remaining: remaining(view) },
    ...present({ plan }),
    cursor: view.position,
  })
}

const whyFailed = ({ failure, reason, status }: TakeoverStep): string => failure?.message ?? reason ?? status

/** A step as it is shown. */
function shownStep(
  { kind, output: _output, endedAt: _endedAt, ...step }: Step,
  lastText: TakeoverSources['lastText'],
): TakeoverStep {
  const { activation } = step
  const partial = kind === 'inFlight' && activation !== undefined ? lastText(activation) : undefined
  return partial === undefined || partial === '' ? step : { ...step, partial }
}

function stepsOf({ teams, activations }: RunView, delegations: readonly DelegationView[]): readonly Step[] {
  const outcomes = new Map(activations.map(({ activation, outcome }) => [activation, outcome]))
  const tasks = teams.flatMap(({ activation, plan }) =>
    plan.tasks.map((task) => [activation, taskStep(task, outcomes)] as const),
  )
  // a team is shown by its tasks; the delegations of members belong to those
  const isTeams = ({ leader, activation: own }: DelegationView): boolean =>
    teams.some(({ activation }) => own === activation || `${leader}>`.startsWith(`${activation}>`))
  const beside = delegations.filter((row) => !isTeams(row))
  const steps = [...tasks, ...beside.map((row) => [row.leader, delegationStep(row)] as const)]
  if (steps.length > 0) return qualified(steps)
  const workers = activations.filter(({ parent }) => parent !== undefined)
  return (workers.length > 0 ? workers : activations).map(activationStep)
}

/** Makes ids unique: repeated names get the activation of their owner as a prefix, then a number. */
function qualified(steps: readonly (readonly [ActivationId, Step])[]): readonly Step[] {
  const seen = new Map<string, number>()
  const counts = new Map<string, number>()
  for (const [, { id }] of steps) counts.set(id, (counts.get(id) ?? 0) + 1)
  return steps.map(([owner, step]) => {
    const id = counts.get(step.id)! > 1 ? `${owner} ${step.id}` : step.id
    const count = (seen.get(id) ?? 0) + 1
    seen.set(id, count)
    return { ...step, id: count === 1 ? id : `${id}#${count}` }
  })
}

const kindOfTask: Readonly<Record<TaskView['status'], StepKind>> = {
  pending: 'pending',
  waiting: 'pending',
  awaiting_approval: 'inFlight',
  running: 'inFlight',
  succeeded: 'completed',
  failed: 'failed',
  skipped: 'skipped',
  cancelled: 'skipped',
}

function taskStep(view: TaskView, outcomes: ReadonlyMap<ActivationId, Outcome | undefined>): Step {
  const { task, description, status, member, activation, waitsFor, failure, reason, endedAt, by } = view
  const outcome = activation === undefined ? undefined : outcomes.get(activation)
  const output = status === 'succeeded' ? (view.output ?? outputOf(outcome)) : undefined
  return {
    kind: kindOfTask[status],
    id: task,
    description,
    status,
    worker: member,
    ...present({ activation }),
    ...(waitsFor.length === 0 ? {} : { waitsFor }),
    ...present({ failure, reason, by, endedAt, output }),
  }
}

const outputOf = (outcome: Outcome | undefined): Json | undefined =>
  outcome?.status === 'completed' ? outcome.output : undefined

function ofOutcome(outcome: Outcome | undefined): Pick<Step, 'failure' | 'reason' | 'by' | 'output'> {
  switch (outcome?.status) {
    case 'completed':
      return { output: outcome.output, ...present({ by: outcome.by }) }
    case 'failed':
      return { failure: outcome.failure }
    case 'cancelled':
      return { reason: outcome.reason }
    case 'bailed':
    case 'limited':
    case 'timed-out':
      return { reason: outcome.message }
    case undefined:
      return {}
  }
}

const kindOfEnd = (status: Outcome['status']): StepKind =>
  status === 'completed' || status === 'bailed' ? 'completed' : status === 'cancelled' ? 'skipped' : 'failed'

function delegationStep(row: DelegationView): Step {
  const { label, callId, worker, status, activation, brief, failure, outcome, endedAt } = row
  const open: Partial<Record<DelegationView['status'], StepKind>> = {
    pending: 'pending',
    running: 'inFlight',
    waiting: 'inFlight',
    refused: 'failed',
  }
  return {
    kind: open[status] ?? kindOfEnd(status as Outcome['status']),
    id: label ?? callId ?? activation ?? worker,
    description: typeof brief === 'string' ? brief : brief === undefined ? '' : JSON.stringify(brief),
    status,
    worker,
    ...present({ activation, failure, endedAt }),
    ...ofOutcome(outcome),
  }
}

function activationStep({ activation, agent, state, endedAt, outcome }: ActivationView): Step {
  return {
    kind: outcome === undefined ? 'inFlight' : kindOfEnd(outcome.status),
    id: activation,
    description: '',
    status: state,
    worker: agent,
    activation,
    ...present({ endedAt }),
    ...ofOutcome(outcome),
  }
}

function suggestion(steps: readonly Step[], approvals: RunView['approvals']): TakeoverSuggestion {
  const ready = steps.find(({ kind, waitsFor }) => kind === 'pending' && waitsFor === undefined)
  if (ready !== undefined) return { type: 'task', task: ready.id, description: ready.description }
  const [asked] = approvals
  if (asked !== undefined) return { type: 'approval', approval: asked.id, tool: asked.tool }
  const atWork = steps.filter(({ kind }) => kind === 'inFlight').map(({ id }) => id)
  if (atWork.length > 0) return { type: 'wait', for: atWork }
  const open = [...new Set(steps.flatMap(({ kind, waitsFor = [] }) => (kind === 'pending' ? waitsFor : [])))]
  return open.length > 0 ? { type: 'wait', for: open } : { type: 'synthesise' }
}

function remaining({ teams }: RunView): TakeoverContext['budget']['remaining'] {
  const budget = teams
    .map((team) => team.budget)
    .find(({ limits }) => limits.tokens !== undefined || limits.usd !== undefined)
  if (budget === undefined) return {}
  const { limits, spent } = budget
  return {
    ...(limits.tokens === undefined ? {} : { tokens: limits.tokens - spent.tokens }),
    ...(limits.usd === undefined ? {} : { usd: limits.usd - spent.usd }),
  }
}

function planOf({ teams }: RunView): TakeoverPlan | undefined {
  const team = teams.find(({ activation }) => !activation.includes('>')) ?? (teams.length === 1 ? teams[0] : undefined)
  if (team === undefined) return undefined
  const { tasks, concurrency, maxFailures } = team.plan
  return {
    team: team.activation,
    subtasks: tasks
      .filter(({ recruit }) => recruit === undefined)
      .map(({ task, description, role, status, dependencies, produces, consumes, critical }) => ({
        id: task,
        description,
        role,
        status,
        dependencies,
        produces,
        consumes,
        critical,
      })),
    concurrency,
    maxFailures,
  }
}
