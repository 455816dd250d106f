/**
 * Verbs for code agents and orchestration tools: small functions over the context (DESIGN §3.2).
 *
 * Owns: step, sleep, delegate. Does not own: interrupt and approve (oversight).
 * Each of them opens operations under fixed names; concurrent uses of `step` under one name, and of `sleep`, need `ctx.scope(name)` of their own.
 */
import {
  described,
  describeOutcome,
  failed,
  failure,
  FailureError,
  messageOf,
  ReeveError,
  unknownNames,
  type ActivationId,
  type Failure,
  type Json,
  type NamesOf,
  type Outcome,
} from '../core/index.ts'
import {
  accountLimits,
  briefOf,
  depthRefusal,
  limitProblems,
  oversightProblems,
  permissionProblems,
  readEdge,
  ownLimits,
  revised,
  workerEdge,
  type Brief,
  type Edge,
  type Grant,
  type PermitGrant,
  type Receiver,
} from '../edge/index.ts'
import { isLeaving, type Context, type StartOptions, type StepIO, type StepOptions } from '../engine/index.ts'
import type { Agent, InputOf, OutputOf } from './definition.ts'
import { endOf, type Heard, type Reply } from './question.ts'

/**
 * Does something with the world and records it once. Returns the recorded value, also live (K10). Retried as `options` say.
 * Rejects with a FailureError that holds the recorded failure, or with `Cancelled`.
 */
export async function step<T>(ctx: Context, name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions): Promise<T> {
  const { outcome } = await ctx.next(ctx.begin(name, effect as (io: StepIO) => Json, options))
  if (outcome.status === 'completed') return outcome.output as T
  throw new FailureError(
    outcome.status === 'failed' ? outcome.failure : failure('agent.failed', `"${name}" ${describeOutcome(outcome)}`, 'internal'),
  )
}

/** Waits for so many milliseconds, in memory or on disk. Rejects only with `Cancelled`. */
export async function sleep(ctx: Context, ms: number): Promise<void> {
  await ctx.next(ctx.ask('sleep', { until: new Date(ctx.now().getTime() + Math.max(0, ms)) }))
}

/** What a worker is given besides the brief. It never gets more than the leader has. */
export interface DelegateOptions extends Grant {
  /**
   * Answers what the worker asks while it works: `ask_supervisor` of a mind, `askSupervisor` of code. Orchestration, in a scope of its own: it may do steps, ask a human, delegate. Nothing:
   * the worker is told that there is no answer. What it throws is told as well. Default: no questions.
   */
  readonly onQuestion?: (question: string, ctx: Context) => string | undefined | void | Promise<string | undefined | void>
}

/** The names of these options. */
export const grantNames: NamesOf<DelegateOptions> = {
  limits: true,
  permissions: true,
  oversight: true,
  context: true,
  entries: true,
  turns: true,
  added: true,
  metadata: true,
  report: true,
  onQuestion: true,
}

/** What is wrong with these options, one sentence each. */
export function grantProblems(given: DelegateOptions, where: string): string[] {
  const problems = unknownNames(given, grantNames, where)
  if (problems.length === 0 && given.limits !== undefined) problems.push(...limitProblems(given.limits, where))
  if (problems.length === 0 && given.permissions !== undefined) problems.push(...permissionProblems(given.permissions, where))
  if (problems.length === 0) problems.push(...oversightProblems(given.oversight, where))
  if (problems.length === 0 && given.onQuestion !== undefined && typeof given.onQuestion !== 'function')
    problems.push(`${where}: onQuestion is ${described(given.onQuestion)}, expected a function`)
  return problems
}

/** A grant that says nothing it is understood by would give everything. */
function mustBeGrant(given: DelegateOptions): void {
  const problems = grantProblems(given, 'delegate')
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '))
}

/**
 * Gives a worker a brief and waits for its end, whatever it is: a failed worker is an outcome, not a rejection. The worker must be registered with the runtime.
 * Several at once are fine: `Promise.all([delegate(ctx, a, …), delegate(ctx, b, …)])`; their order in the code is their order in the journal.
 * Rejects with `input.invalid` for options that are none.
 */
export async function delegate<A extends Agent>(
  ctx: Context,
  worker: A,
  brief: InputOf<A>,
  options?: DelegateOptions,
): Promise<Outcome<OutputOf<A>>> {
  if (options !== undefined) mustBeGrant(options)
  const scope = ctx.scope(worker.name)
  const { grant, answer } = takingQuestions(scope, options)
  const started = startWorker(scope, readEdge(ctx.input), worker, briefOf(brief as Json), grant)
  if (typeof started !== 'string') {
    scope.emit({ type: 'delegation.refused', worker: worker.name, failure: started })
    return failed(started)
  }
  return (await endOf(scope, started, answer)).outcome as Outcome<OutputOf<A>>
}

/** What a worker is given so that it may ask, and how its questions are answered; nothing of both where they are not taken. */
export function takingQuestions(
  ctx: Context,
  options: DelegateOptions | undefined,
): { readonly grant: PermitGrant | undefined; readonly answer?: (question: Heard) => Promise<Reply> } {
  const { onQuestion } = options ?? {}
  if (onQuestion === undefined) return { grant: options }
  const grant = { ...options, asks: { leader: ctx.place.activation } }
  return { grant, answer: ({ text }) => answered(ctx.scope('question'), text, onQuestion) }
}

/** What the leader's code says to a question. */
async function answered(ctx: Context, question: string, answer: NonNullable<DelegateOptions['onQuestion']>): Promise<Reply> {
  try {
    const text = await answer(question, ctx)
    return typeof text === 'string' ? { answered: true, text } : { answered: false, text: 'whoever gave this work has no answer to that' }
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return { answered: false, text: `whoever gave this work could not answer: ${messageOf(thrown)}` }
  }
}

/** Starts a worker under the edge that its leader works under; a failure says why it may not be started. */
export function startWorker(
  ctx: Context,
  above: Edge,
  worker: Receiver,
  brief: Brief,
  grant: PermitGrant | undefined,
  callId?: string,
  purpose?: StartOptions['purpose'],
): ActivationId | Failure {
  if (above.depth >= above.maxDepth) return depthRefusal(above, worker.name, ctx.place.path)
  const receiver = revised(above.versions, worker)
  const edge = workerEdge(above, receiver, brief, grant)
  const account = accountLimits(ownLimits(receiver, grant))
  const version = above.versions?.[worker.name]?.base
  return ctx.start(worker.name, edge as unknown as Json, {
    ...(callId === undefined ? undefined : { callId }),
    ...(purpose === undefined ? undefined : { purpose }),
    ...(account === undefined ? undefined : { limits: account }),
    ...(version === undefined ? undefined : { version }),
  })
}
