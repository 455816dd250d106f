/**
 * Interrupt: a run asks outside for a value and waits, for as long as it takes, in memory or on disk. There is no resume code path: it is an await.
 *
 * Owns: how the question is put and what its end means. Does not own: how an answer gets here (runtime), yes/no questions (approval.ts).
 */
import { describeOutcome, failure, FailureError, type Json } from '../core/index.ts'
import { compileSchema, type Infer, type SchemaLike } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import { withoutPermit } from './permit.ts'

/** How a value is asked for. */
export interface InterruptOptions<S extends SchemaLike | undefined = undefined> {
  /** When to stop waiting. Default: never. */
  readonly until?: Date
  /** What the answer must look like; a wrong one is asked for again, under a new id, with the problem in the question. Default: any JSON value. */
  readonly schema?: S
  /** Taken if the deadline passes. Default: the interrupt fails with `effect.timed-out`. */
  readonly otherwise?: Json
}

/**
 * Asks outside for a value and waits. Whatever is answered is returned as it is, also `false`, `0`, `''` and `null`.
 *
 * `question` is JSON for whoever answers; it is recorded. Rejects with `Cancelled`, or with a FailureError (`effect.timed-out`) if the deadline passes
 * and there is no `otherwise`. In one scope one at a time; concurrent ones need `ctx.scope(name)`.
 */
export async function interrupt<S extends SchemaLike | undefined = undefined>(
  ctx: Context,
  question: Json,
  options: InterruptOptions<S> = {},
): Promise<S extends undefined ? Json : Infer<S>> {
  const schema = options.schema === undefined ? undefined : compileSchema(options.schema, 'interrupt')
  let put = question
  for (;;) {
    const id = ctx.ask('interrupt', {
      ...(options.until === undefined ? undefined : { until: options.until }),
      as: { type: 'interrupt.raised', id: ctx.id('int'), question: put, path: ctx.place.path },
    })
    const { outcome } = await withoutPermit(ctx, () => ctx.next(id))
    if (outcome.status !== 'completed') {
      if (outcome.status === 'timed-out' && options.otherwise !== undefined) return options.otherwise as never
      throw new FailureError(failure('effect.timed-out', `nobody answered: ${describeOutcome(outcome)}`, 'timeout', { retryable: false }))
    }
    const checked = schema?.check(outcome.output)
    if (checked === undefined) return outcome.output as never
    if (checked.ok) return checked.value as never
    put = { question, problem: `the last answer does not fit: ${checked.problem}` }
  }
}
