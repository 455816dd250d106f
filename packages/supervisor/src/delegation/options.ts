/**
 * Delegation options: what crosses from a leader to its workers. A brief goes in, one result comes out.
 *
 * Owns: the leader's edge policy as options, their checks, the names of its verbs. Does not own: the steps of one
 * delegation (delegations.ts), the tools by which a model delegates (../delegate-tools.ts), the edge (../../edge).
 */
import {
  askTool,
  choice,
  choiceOr,
  hasNames,
  isFunction,
  isName,
  nameCheck,
  object,
  own,
  present,
  recordOf,
  unknownWorker,
  transferTool,
  unknownNames,
  type Check,
  type Checks,
  type Rule,
} from '@reeve/core'
import { usdCapOf, type Agent, type UsdCap } from '@reeve/agent'
import {
  limitsCheck,
  narrow,
  oversightCheck,
  permissionsCheck,
  stricter,
  tighter,
  type ContextPolicy,
  type LeaderGrant,
  type Limits,
  type Oversight,
  type Permissions,
} from '@reeve/edge'
import {
  isIdlePlan,
  teamDispatchChecks,
  workerDispatchChecks,
  type TeamDispatch,
  type WorkerDispatch,
} from './dispatch.ts'
import { hookChecks, type DelegationHooks } from './delegation-hooks.ts'
import { memoryCheck, threadOf, type WorkerMemory } from './worker-memory.ts'
import { questionsCheck, type WorkerQuestions } from './worker-questions.ts'
import { referencesCheck, type References } from './references.ts'

/** The default names of a supervisor's verbs. Persistent: models and journals know them. */
export const verbNames = {
  delegate: 'delegate',
  forward: 'forward_message',
  recruit: 'recruit',
  readResult: 'read_result',
  stop: 'stop_delegation',
  several: 'delegate_to_several',
} as const
/** The names of one supervisor's verbs. Its own tools may not use them. */
export type VerbNames = { readonly [Verb in keyof typeof verbNames]: string }
/** The names of the verbs, with the defaults. */
export const verbsOf = (given: Partial<VerbNames> | undefined): VerbNames => ({
  ...verbNames,
  ...(hasNames(given) ? given : undefined),
})
/** The tool for a worker that takes a typed input. */
export const typedVerb = (worker: string, { delegate }: VerbNames): string => `${delegate}_${worker}`
/** Whether a tool of this name delegates. */
export const isDelegating = (name: string, { delegate, several }: VerbNames): boolean =>
  name === delegate || name === several || name.startsWith(`${delegate}_`)

/** All tool names that Reeve uses with these workers. */
export const verbsTaken = (verbs: VerbNames, workers: readonly { readonly name: string }[]): ReadonlySet<string> =>
  new Set([...Object.values(verbs), ...workers.map(({ name }) => typedVerb(name, verbs))])

/** The problems of the names given to verbs, one sentence each. `typed`: the workers that take a typed input. */
export function verbProblems(given: unknown, typed: readonly string[], where: string): string[] {
  const problems = given === undefined ? [] : unknownNames(given, verbNames, `${where}: verbs`)
  if (given !== undefined && !hasNames(given)) return problems
  const verbs = verbsOf(given)
  const names = [
    ...Object.entries(verbs),
    ...typed.map((worker) => [`delegate, for "${worker}"`, typedVerb(worker, verbs)] as const),
  ]
  const first = new Map<unknown, string>()
  for (const [verb, name] of names) {
    const other = first.get(name)
    problems.push(...nameCheck(name, `${where}: verbs.${verb}`))
    if (name === transferTool || name === askTool)
      problems.push(`${where}: verbs.${verb} is "${name}", which is the name of another tool of Reeve's own`)
    else if (other !== undefined && isName(name))
      problems.push(`${where}: verbs.${other} and verbs.${verb} are both called "${name}"`)
    first.set(name, verb)
  }
  return problems
}

/**
 * How much of a worker's work its leader sees. `answer`: its answer. `report`: hooks also see what it said and did.
 * `full`: the leader's model sees that, too.
 */
export type Results = 'answer' | 'report' | 'full'

/** What crosses to one worker. */
export interface WorkerDelegation extends WorkerDispatch {
  /** Default: that of the team, else `brief`; with a `filterMessages`, `conversation`. */
  readonly context?: ContextPolicy
  /** What this worker may do. Never more than its leader. */
  readonly permissions?: Permissions
  /** Hard limits of each delegation to this worker. The tighter of these and the worker's own hold. */
  readonly limits?: Limits
  /** Stricter human oversight for this worker. The strictest of this, that of the team, and the worker's own holds. */
  readonly oversight?: Oversight
  /** What its leader sees of its work. Default: that of the team, else `answer`. */
  readonly results?: Results
  /** What it remembers of earlier delegations. Default: that of the team, else `isolated`: nothing. */
  readonly memory?: WorkerMemory
  /**
   * Whether it may ask its leader questions while it works: a model agent by the tool `ask_supervisor`, code by
   * `askSupervisor(ctx, question)`. The leader's code answers, or its model, in a side query on its conversation so
   * far. Default: that of the team, else no.
   */
  readonly questions?: boolean | WorkerQuestions
}

/** What crosses from a leader to its workers. */
export interface Delegation<Workers extends string = string>
  extends Omit<WorkerDelegation, keyof WorkerDispatch>, TeamDispatch<Workers>, DelegationHooks {
  /**
   * Results by reference: the leader's model sees the label of each result, `[ref: d1]`, and the first part of a long
   * one. It may read on with `read_result`, and pass results unchanged to workers that take text, with `refs`. Default:
   * off, each result is shown in full.
   */
  readonly references?: boolean | References
  /** Exceptions by worker. */
  readonly workers?: { readonly [Name in Workers]?: WorkerDelegation }
}

const crossingChecks: Checks<Omit<WorkerDelegation, keyof WorkerDispatch>> = {
  context: choiceOr(isFunction, 'a function', 'brief', 'answers', 'conversation'),
  permissions: permissionsCheck,
  limits: limitsCheck,
  oversight: oversightCheck,
  results: choice('answer', 'report', 'full'),
  memory: memoryCheck,
  questions: questionsCheck,
}

/** `known`: the names of all possible workers. */
const delegationChecks = (known: ReadonlySet<string>): Checks<Delegation> => ({
  ...crossingChecks,
  ...teamDispatchChecks(known),
  ...hookChecks,
  references: referencesCheck,
  workers: recordOf(
    object<WorkerDelegation>({ ...crossingChecks, ...workerDispatchChecks(known) }),
    'exceptions by name',
    (name, where) => (known.has(name) ? undefined : `${where}: ${unknownWorker(name, known)}`),
  ),
})

/** What must hold between them. */
const delegationRule: Rule<Delegation> = (given, where) => [
  given.filterMessages !== undefined &&
    given.context === 'brief' &&
    `${where}.context is "brief", so there is nothing for filterMessages to filter`,
  ...(hasNames(given.workers) ? Object.entries(given.workers) : []).flatMap(([worker, own]) =>
    hasNames(own) ? hedgeInLine(given, worker, `${where}.workers.${worker}`) : [],
  ),
]

/**
 * The check of the delegation options. `known`: the names of all possible workers; `inherits`: those with background
 * tools of their own.
 */
export const delegationCheck =
  (known: ReadonlySet<string>, inherits: ReadonlySet<string>): Check =>
  (given, where) => {
    const problems = object(delegationChecks(known), delegationRule)(given, where)
    return problems.length === 0 && isIdlePlan(given as Delegation, known, inherits)
      ? [`${where}.background lets no worker work in the background: name workers`]
      : problems
  }

/** The options of delegations to one worker, with what they give it besides the brief. */
export interface WorkerPolicy extends WorkerDelegation {
  readonly grant: LeaderGrant
}

/**
 * The policies of each definition, by the exception that it makes for a worker; undefined: none. Not by name: a team may
 * have ever new workers, and a definition lives as long as its process.
 */
const policies = new WeakMap<Delegation, Map<WorkerDelegation | undefined, WorkerPolicy>>()

/** The policy for delegations to one worker. */
export function policyFor(given: Delegation, worker: string): WorkerPolicy {
  const mine = own(given.workers, worker)
  let known = policies.get(given)
  if (known === undefined) policies.set(given, (known = new Map<WorkerDelegation | undefined, WorkerPolicy>()))
  let policy = known.get(mine)
  if (policy === undefined) known.set(mine, (policy = { ...optionsFor(given, worker), grant: grantIn(given, worker) }))
  return policy
}

/** The options for one worker: its own, then those of the team. */
function optionsFor(given: Delegation, worker: string): WorkerDelegation {
  const { workers, background: _background, several: _several, ...all } = given
  return { ...all, ...own(workers, worker) }
}

/** What crosses to one worker by the options: the bounds of the team and its own both hold. */
function grantIn({ workers, ...team }: Delegation, worker: string): LeaderGrant {
  const mine = own(workers, worker)
  const results = mine?.results ?? team.results
  return present({
    permissions: narrow(team.permissions, mine?.permissions),
    limits: tighter(team.limits, mine?.limits),
    oversight: stricter(team.oversight, mine?.oversight),
    report: results === 'report' || results === 'full' ? (true as const) : undefined,
    place: mine?.place,
  })
}

/** The caps in US dollars that a leader sets on delegations. */
export const delegationCaps = ({ limits, workers }: Delegation, team: readonly Agent[]): readonly UsdCap[] => [
  ...usdCapOf(limits, 'delegation.limits', team),
  ...team.flatMap((worker) =>
    usdCapOf(own(workers, worker.name)?.limits, `delegation.workers.${worker.name}.limits`, [worker]),
  ),
]

/** Delegations of one thread run one at a time, so a hedge with the same memory would never start. */
function hedgeInLine(given: Delegation, worker: string, where: string): readonly string[] {
  const { hedge, memory } = optionsFor(given, worker)
  const beside = hasNames(hedge) ? (hedge.with ?? worker) : undefined
  if (typeof beside !== 'string') return []
  const thread = threadOf(memory, worker)
  if (thread === undefined || thread !== threadOf(optionsFor(given, beside).memory, beside)) return []
  const why = `${where}: hedge would begin "${beside}" beside "${worker}", but delegations that share a memory come one at a time`
  return [`${why}: name another worker in hedge.with, or say memory: "isolated" here`]
}
