/**
 * Interrupt: a run asks outside for a value and waits, for as long as it takes, in memory or on disk. There is no
 * resume code path: it is an await.
 *
 * Owns: how the question is put, who is told of it, what its end means. Does not own: how an answer gets here
 * (runtime), yes/no questions (approval.ts), channels (notice.ts).
 */
import {
  asText,
  describeOutcome,
  failure,
  FailureError,
  present,
  ReeveError,
  unknownNames,
  type Json,
} from '../core/index.ts'
import type { NamesOf } from '../core/index.ts'
import {
  compileSchema,
  recordedOversight,
  type ApprovalRules,
  type Checked,
  type Infer,
  type SchemaLike,
} from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import { announce, whileTelling, type Notice } from './notice.ts'
import { withoutSlot } from './approval/concurrency-slot.ts'

/** How a value is asked for. */
export interface InterruptOptions<S extends SchemaLike | undefined = undefined> {
  /** When to stop waiting. Default: never. */
  readonly until?: Date
  /**
   * The same as milliseconds from now; 0 or less: the deadline has passed at once. With both, the earlier one counts.
   */
  readonly timeoutMs?: number
  /**
   * What the answer must look like; a wrong one is asked for again, under a new id, with the problem in the question.
   * Default: any JSON value.
   */
  readonly schema?: S
  /** Taken if the deadline passes. Default: the interrupt fails with `effect.timed-out`. */
  readonly otherwise?: Json
  /**
   * Channels by name over which people are told that an answer is wanted. Default: those of
   * `oversight.approval.notify`.
   */
  readonly notify?: readonly string[]
}

const names: NamesOf<InterruptOptions> = { until: true, timeoutMs: true, schema: true, otherwise: true, notify: true }

/**
 * Asks outside for a value and waits. Whatever is answered is returned as it is, also `false`, `0`, `''` and `null`.
 *
 * `question` is JSON for whoever answers; it is recorded. Rejects with `Cancelled`, with a FailureError
 * (`effect.timed-out`) if the deadline passes and there is no `otherwise`, and with `input.invalid` for invalid
 * options. In one scope one at a time; concurrent ones need `ctx.scope(name)`, or `ctx.interrupt`, which has a scope of
 * its own.
 */
export async function interrupt<S extends SchemaLike | undefined = undefined>(
  ctx: Context,
  question: Json,
  options: InterruptOptions<S> = {},
): Promise<S extends undefined ? Json : Infer<S>> {
  const problems = unknownNames(options, names, 'interrupt')
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '))
  const schema = options.schema === undefined ? undefined : compileSchema(options.schema, 'interrupt')
  const check = schema === undefined ? undefined : (answer: Json): Checked<unknown> => schema.check(answer)
  return (await inquire(ctx, question, { ...options, ...(check === undefined ? undefined : { check }) })).value as never
}

/** How a question is put whose answer is looked at by code. */
export interface Inquiry extends Omit<InterruptOptions, 'schema'> {
  /** Pure. What does not pass is asked for again, with the problem in the question. */
  readonly check?: (answer: Json) => Checked<unknown>
}

/** What somebody has answered. */
export interface Answered {
  readonly value: unknown
  /** The name under which it was answered, if one was given; absent also where nobody has answered in time. */
  readonly by?: string
}

/** Asks and waits as `interrupt` does, and says who has answered. */
export async function inquire(ctx: Context, question: Json, options: Inquiry): Promise<Answered> {
  const until = deadlineOf(ctx, options)
  let put = question
  for (;;) {
    const interruptId = ctx.id('int')
    const id = ctx.ask('interrupt', {
      ...(until === undefined ? undefined : { until }),
      as: { type: 'interrupt.raised', id: interruptId, question: put, path: ctx.place.path },
    })
    const channels = options.notify ?? rulesOf(ctx)?.notify ?? []
    const telling = announce(ctx, channels, noticeOf(ctx, interruptId, put, until))
    const outcome = await withoutSlot(ctx, () => whileTelling(ctx, id, interruptId, telling))
    if (outcome.status !== 'completed') {
      if (outcome.status === 'timed-out' && options.otherwise !== undefined) return { value: options.otherwise }
      throw new FailureError(
        failure('effect.timed-out', `nobody answered: ${describeOutcome(outcome)}`, 'timeout', { retryable: false }),
      )
    }
    const checked = options.check?.(outcome.output) ?? { ok: true, value: outcome.output }
    if (checked.ok) return { value: checked.value, ...(outcome.by === undefined ? undefined : { by: outcome.by }) }
    put = { question, problem: `the last answer does not fit: ${checked.problem}` }
  }
}

/** When to stop waiting. Asked again, it is the same. */
function deadlineOf(ctx: Context, { until, timeoutMs }: Inquiry): Date | undefined {
  if (timeoutMs === undefined) return until
  const at = new Date(ctx.now().getTime() + (timeoutMs > 0 ? timeoutMs : -1))
  return until !== undefined && until < at ? until : at
}

/** How humans are asked here, as the edge says; undefined where it says nothing. */
export const rulesOf = ({ input }: Context): ApprovalRules | undefined => recordedOversight(input)?.approval

function noticeOf(ctx: Context, id: string, question: Json, until: Date | undefined): Notice {
  const { run, path } = ctx.place
  return {
    type: 'interrupt',
    id,
    run,
    path: [...path],
    title: `${path.join(' > ')} asks for an answer`,
    text: asText(question),
    input: question,
    askedAt: ctx.now().getTime(),
    ...present({ until: until?.getTime() }),
  }
}
