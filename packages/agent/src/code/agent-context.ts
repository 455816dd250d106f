/**
 * Agent context: the verbs of code agents and orchestration tools, as functions over the context and as
 * its methods.
 *
 * Owns: step, sleep, delegate, the context that code receives. Does not own: interrupt and approve (oversight,
 * code-approval.ts). Each function opens operations under fixed names. Concurrent uses of `step` under one name, and of
 * `sleep`, need their own `ctx.scope(name)`. The methods `interrupt` and `approve` open a scope each time (K4): the
 * scope names `interrupt` and `approve` are persistent format.
 */
import {
  described,
  describeOutcome,
  failed,
  failure,
  FailureError,
  filesProblem,
  functionCheck,
  messageOf,
  optionProblems,
  own,
  present,
  ReeveError,
  refuseProblems,
  unchecked,
  valid,
  type ActivationId,
  type Draft,
  type Checks,
  type Failure,
  type Json,
  type Outcome,
} from '@reeve/core'
import {
  accountLimits,
  briefOf,
  briefValue,
  depthRefusal,
  encodeEdge,
  edgeMessagesProblem,
  limitsCheck,
  oversightCheck,
  permissionsCheck,
  readEdge,
  ownLimits,
  revised,
  turnsOf,
  workerEdge,
  type Brief,
  type Edge,
  type Grant,
  type Infer,
  type LeaderGrant,
  type Receiver,
  type SchemaLike,
} from '@reeve/edge'
import {
  ContextView,
  isLeaving,
  type Context,
  type OnCancelOptions,
  type StartWorkerOptions,
  type StepIO,
  type StepOptions,
} from '@reeve/engine'
import { afterFailures, interrupt, failureCounterOf, type InterruptOptions } from '@reeve/oversight'
import { askApproval, type ApproveAnswer, type ApproveOptions } from './code-approval.ts'
import type { Agent, InputOf, OutputOf } from '../definition.ts'
import { unansweredOf } from './unanswered-work.ts'
import { awaitWorker, type QuestionAnswerer, type Reply } from './leader-question.ts'

/**
 * Runs an effect and records its result once. Returns the recorded value, also when live (K10). Retries as
 * `options` say. Rejects with a FailureError that holds the recorded failure, or with `Cancelled`.
 */
export async function step<T>(
  ctx: Context,
  name: string,
  effect: (io: StepIO) => T | Promise<T>,
  options?: StepOptions,
): Promise<T> {
  const { outcome } = await ctx.next(ctx.begin(name, effect as (io: StepIO) => Json, options))
  if (outcome.status === 'completed') return outcome.output as T
  throw new FailureError(
    outcome.status === 'failed'
      ? outcome.failure
      : failure('agent.failed', `"${name}" ${describeOutcome(outcome)}`, 'internal'),
  )
}

/** Waits for `ms` milliseconds, durably. Rejects only with `Cancelled`. */
export async function sleep(ctx: Context, ms: number): Promise<void> {
  const until = ctx.now().getTime() + Math.max(0, ms)
  if (Number.isNaN(new Date(until).getTime()))
    throw new ReeveError(
      'input.invalid',
      `sleep(): ${described(ms)} milliseconds, expected a time that a date can hold`,
      {
        hint: 'Pass milliseconds, at most some hundred thousand years of them.',
      },
    )
  await ctx.next(ctx.ask('sleep', { until: new Date(until) }))
}

/** The context that code receives: everything that orchestration may do, with the verbs as methods. */
export interface AgentContext extends Context {
  /**
   * Asks a person or another system for a value and waits, as `interrupt(ctx, …)` does. Opens its own scope, so several
   * may be open at once. Returns any answer as it is, also `false`, `0`, `''` and `null`. Rejects with `Cancelled`, and
   * with a FailureError (`effect.timed-out`) if the deadline passes without an `otherwise`.
   */
  interrupt<S extends SchemaLike | undefined = undefined>(
    question: Json,
    options?: InterruptOptions<S>,
  ): Promise<S extends undefined ? Json : Infer<S>>
  /**
   * Asks a human to approve an action with these arguments, and waits. A rejection, also by a deadline, is a value with
   * `feedback`; nothing is thrown. Opens its own scope, so several may be open at once. Rejects only with `Cancelled`,
   * and with `input.invalid` for invalid options.
   */
  approve<S extends SchemaLike | undefined = undefined>(
    action: string,
    options?: ApproveOptions<S>,
  ): Promise<ApproveAnswer<S extends undefined ? Json : Infer<S>>>
  /** As `step(ctx, …)`. */
  step<T>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions): Promise<T>
  /** As `sleep(ctx, …)`. */
  sleep(ms: number): Promise<void>
  /** As `delegate(ctx, …)`. */
  delegate<A extends Agent>(worker: A, brief: InputOf<A>, options?: DelegateOptions): Promise<Outcome<OutputOf<A>>>
  scope(name: string): AgentContext
  onCancel(name: string, undo: (ctx: AgentContext, ended: Outcome) => Promise<void>, options?: OnCancelOptions): void
}

/** The context with the verbs as methods. Returns the same context if it has them. */
export const agentContext = (ctx: Context): AgentContext => (ctx instanceof VerbContext ? ctx : new VerbContext(ctx))

class VerbContext extends ContextView implements AgentContext {
  protected of(ctx: Context): AgentContext {
    return agentContext(ctx)
  }

  override scope(name: string): AgentContext {
    return this.of(this.ctx.scope(name))
  }

  override onCancel(
    name: string,
    undo: (ctx: AgentContext, ended: Outcome) => Promise<void>,
    options?: OnCancelOptions,
  ): void {
    this.ctx.onCancel(name, (undoing, ended) => undo(this.of(undoing), ended), options)
  }

  interrupt<S extends SchemaLike | undefined = undefined>(
    question: Json,
    options?: InterruptOptions<S>,
  ): Promise<S extends undefined ? Json : Infer<S>> {
    return interrupt(this.ctx.scope('interrupt'), question, options)
  }

  approve<S extends SchemaLike | undefined = undefined>(
    action: string,
    options: ApproveOptions<S> = {},
  ): Promise<ApproveAnswer<S extends undefined ? Json : Infer<S>>> {
    return askApproval(this.ctx, action, options)
  }

  step<T>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions): Promise<T> {
    return step(this.ctx, name, effect, options)
  }

  sleep(ms: number): Promise<void> {
    return sleep(this.ctx, ms)
  }

  delegate<A extends Agent>(worker: A, brief: InputOf<A>, options?: DelegateOptions): Promise<Outcome<OutputOf<A>>> {
    return delegate(this.ctx, worker, brief, options)
  }
}

/** What a worker gets besides the brief. It never gets more than its leader has. */
export interface DelegateOptions extends Grant {
  /**
   * Answers the worker's questions while it works: `ask_supervisor` of a model agent, `askSupervisor` of code.
   * Orchestration in its own scope: it may run steps, ask a human or delegate. Returning nothing tells the worker that
   * there is no answer; a throw is reported to the worker too. Default: no questions.
   */
  readonly onQuestion?: (
    question: string,
    ctx: AgentContext,
  ) => string | undefined | void | Promise<string | undefined | void>
}

/** The checks of these options. A grant of unknown options only would grant everything. */
export const grantChecks: Checks<DelegateOptions> = {
  limits: limitsCheck,
  permissions: permissionsCheck,
  oversight: oversightCheck,
  context: valid(edgeMessagesProblem),
  entries: unchecked,
  files: valid(filesProblem),
  turns: unchecked,
  added: unchecked,
  metadata: unchecked,
  report: unchecked,
  onQuestion: functionCheck,
}

/**
 * Gives a worker a brief and waits for its outcome. A failed worker is an outcome, not a rejection. The worker must be
 * registered with the runtime. Several may run at once: `Promise.all([delegate(ctx, a, …), delegate(ctx, b, …)])`;
 * their order in the code is their order in the journal. Rejects with `input.invalid` for invalid options.
 */
export async function delegate<A extends Agent>(
  ctx: Context,
  worker: A,
  brief: InputOf<A>,
  options?: DelegateOptions,
): Promise<Outcome<OutputOf<A>>> {
  mustBeAgent(worker)
  if (options !== undefined) refuseProblems('input.invalid', optionProblems(grantChecks, options, 'delegate'))
  const scope = ctx.scope(worker.name)
  const { grant, answer } = questionGrant(scope, options)
  const above = readEdge(ctx.input)
  const unanswered = unansweredOf(scope)
  const follows = unanswered.follows(worker.name, brief as Json)
  const started = startWorker(scope, above, worker, briefOf(brief as Json), { ...grant, ...present({ follows }) })
  if (typeof started !== 'string') {
    scope.emit({ type: 'delegation.refused', worker: worker.name, failure: started })
    return failed(started)
  }
  const { outcome } = await awaitWorker(scope, started, answer)
  failureCounterOf(scope).note(outcome)
  unanswered.ended(worker.name, { activation: started, brief: brief as Json }, outcome.status === 'completed')
  return outcome as Outcome<OutputOf<A>>
}

/** A name instead of an agent would start nothing, and the run would wait for ever. */
function mustBeAgent(worker: unknown): void {
  if (typeof worker === 'object' && worker !== null && 'orchestrate' in worker) return
  throw new ReeveError('agent.invalid', `delegate: the worker is ${described(worker)}, expected an agent`)
}

/** The grant of a worker that may ask questions, and how they are answered. Without `onQuestion`: only the options. */
export function questionGrant(
  ctx: Context,
  options: DelegateOptions | undefined,
): { readonly grant: LeaderGrant | undefined; readonly answer?: QuestionAnswerer } {
  const { onQuestion } = options ?? {}
  if (onQuestion === undefined) return { grant: options }
  const grant = { ...options, questionsTo: ctx.place.activation }
  return { grant, answer: ({ text }) => replyByCode(ctx.scope('question'), text, onQuestion) }
}

/** The reply of the leader's code to a question. */
async function replyByCode(
  ctx: Context,
  question: string,
  answer: NonNullable<DelegateOptions['onQuestion']>,
): Promise<Reply> {
  try {
    const text = await answer(question, agentContext(ctx))
    return typeof text === 'string'
      ? { answered: true, text }
      : { answered: false, text: 'the supervisor of this work has no answer to that' }
  } catch (thrown) {
    if (isLeaving(thrown)) throw thrown
    return { answered: false, text: `the supervisor of this work could not answer: ${messageOf(thrown)}` }
  }
}

/** Starts a worker under the edge of its leader. A failure says why it may not start. */
export function startWorker(
  ctx: Context,
  above: Edge,
  worker: Receiver,
  brief: Brief,
  grant: LeaderGrant | undefined,
  callId?: string,
  purpose?: StartWorkerOptions['purpose'],
  toldBy?: StartWorkerOptions['toldBy'],
): ActivationId | Failure {
  const { versions } = above.run
  if (above.bounds.depth >= above.bounds.maxDepth) return depthRefusal(above, worker.name, ctx.place.path)
  const receiver = revised(versions, worker)
  const begun = workerEdge(above, receiver, brief, purpose === undefined ? grant : { ...grant, admitted: true })
  const edge = begun.oversight?.admitted === true ? begun : afterFailures(ctx, above, begun)
  const account = accountLimits(ownLimits(receiver, grant), receiver.lastAnswer)
  const isApart = grant?.place === 'apart'
  const version = own(versions, worker.name)?.base
  const options: Draft<StartWorkerOptions> = {}
  if (callId !== undefined) {
    options.callId = callId
    options.equalBy = briefValue(brief)
  }
  if (grant?.after !== undefined) options.after = grant.after
  if (grant?.follows !== undefined && grant.follows.length > 0) options.follows = grant.follows
  if (grant?.sentBack !== undefined) options.sentBack = grant.sentBack
  if (isApart) {
    options.place = 'apart'
    const turns = grant.turns ?? turnsOf(receiver.limits)
    if (turns !== undefined) options.turns = turns
  }
  if (purpose !== undefined) options.purpose = purpose
  if (toldBy !== undefined) options.toldBy = toldBy
  // the share of turns of a worker apart is a limit of its tree, too
  if (isApart && receiver.lastAnswer === true) options.limits = { ...account, keepsLast: true }
  else if (account !== undefined) options.limits = account
  if (version !== undefined) options.version = version
  return ctx.start(worker.name, encodeEdge(edge), options)
}
