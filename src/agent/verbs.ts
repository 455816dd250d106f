/**
 * Verbs for code agents and orchestration tools: small functions over the context (DESIGN §3.2).
 *
 * Owns: step, sleep, delegate. Does not own: interrupt and approve (oversight).
 * Each of them opens operations under fixed names; concurrent uses of `step` under one name, and of `sleep`, need `ctx.scope(name)` of their own.
 */
import {
  describeOutcome,
  failed,
  failure,
  FailureError,
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
  permissionProblems,
  readEdge,
  tighter,
  workerEdge,
  type Brief,
  type Edge,
  type Grant,
  type PermitGrant,
  type Receiver,
} from '../edge/index.ts'
import type { Context, StepIO, StepOptions } from '../engine/index.ts'
import type { Agent, InputOf, OutputOf } from './definition.ts'

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
export type DelegateOptions = Grant

const grantNames: NamesOf<Grant> = { limits: true, permissions: true, context: true, entries: true }

/** A grant that says nothing it is understood by would give everything. */
function mustBeGrant(given: DelegateOptions): void {
  const problems = unknownNames(given, grantNames, 'delegate')
  if (problems.length === 0 && given.limits !== undefined) problems.push(...limitProblems(given.limits, 'delegate'))
  if (problems.length === 0 && given.permissions !== undefined) problems.push(...permissionProblems(given.permissions, 'delegate'))
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
  const started = startWorker(scope, readEdge(ctx.input), worker, briefOf(brief as Json), options)
  if (typeof started !== 'string') {
    scope.emit({ type: 'delegation.refused', worker: worker.name, failure: started })
    return failed(started)
  }
  return (await scope.next(started)).outcome as Outcome<OutputOf<A>>
}

/** Starts a worker under the edge that its leader works under; a failure says why it may not be started. */
export function startWorker(
  ctx: Context,
  above: Edge,
  worker: Receiver,
  brief: Brief,
  grant: PermitGrant | undefined,
  callId?: string,
): ActivationId | Failure {
  if (above.depth >= above.maxDepth) return depthRefusal(above, worker.name, ctx.place.path)
  const edge = workerEdge(above, worker, brief, grant)
  const account = accountLimits(tighter(grant?.limits, worker.limits))
  return ctx.start(worker.name, edge as unknown as Json, {
    ...(callId === undefined ? undefined : { callId }),
    ...(account === undefined ? undefined : { limits: account }),
  })
}
