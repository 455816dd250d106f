/**
 * Interrupt: a run asks for a value from outside and waits as long as needed, in memory or on disk. Resuming needs no
 * code of its own: the wait is an await.
 *
 * Owns: the question, its notices, the result. Does not own: how an answer arrives (runtime), approvals (approval.ts),
 * channels (notice.ts).
 */
import type { Context } from '@reeve/engine'
import {
  asText,
  describeOutcome,
  failure,
  FailureError,
  optionProblems,
  present,
  refuseProblems,
  unchecked,
  type Checks,
  type Json,
} from '@reeve/core'
import {
  compileSchema,
  recordedOversight,
  type ApprovalRules,
  type Checked,
  type Infer,
  type JsonSchema,
  type SchemaLike,
} from '@reeve/edge'
import { announce, settledWithNotices, type Notice } from './notice.ts'
import { withoutSlot } from './approval/concurrency-slot.ts'

export interface InterruptOptions<S extends SchemaLike | undefined = undefined> {
  /** When to stop waiting. Default: never. */
  readonly until?: Date
  /**
   * Milliseconds from now until the deadline; with 0 or less it has passed at once. With `until`, the earlier one
   * counts.
   */
  readonly timeoutMs?: number
  /**
   * The schema of the answer. After an invalid answer the run asks again under a new id, with the problem in the
   * question. Default: any JSON value.
   */
  readonly schema?: S
  /** The value if the deadline passes. Default: the interrupt fails with `effect.timed-out`. */
  readonly otherwise?: Json
  /** The names of the channels that notify people. Default: those of `oversight.approval.notify`. */
  readonly notify?: readonly string[]
}

const checks: Checks<InterruptOptions> = {
  until: unchecked,
  timeoutMs: unchecked,
  schema: unchecked,
  otherwise: unchecked,
  notify: unchecked,
}

/**
 * Asks for a value from outside and waits. Returns the answer unchanged, also `false`, `0`, `''` and `null`.
 *
 * `question` is JSON for the person who answers; it is recorded. Rejects with `Cancelled`; with a FailureError
 * (`effect.timed-out`) if the deadline passes without `otherwise`; with `input.invalid` for invalid options. One
 * interrupt at a time in a scope; concurrent ones need `ctx.scope(name)`, or `ctx.interrupt`, which opens its own
 * scope.
 */
export async function interrupt<S extends SchemaLike | undefined = undefined>(
  ctx: Context,
  question: Json,
  options: InterruptOptions<S> = {},
): Promise<S extends undefined ? Json : Infer<S>> {
  refuseProblems('input.invalid', optionProblems<InterruptOptions>(checks, options, 'interrupt'))
  const schema = options.schema === undefined ? undefined : compileSchema(options.schema, 'interrupt')
  const check = schema === undefined ? undefined : (answer: Json): Checked<unknown> => schema.check(answer)
  const asked = { ...options, ...present({ check, answerSchema: schema?.json }) }
  return (await inquire(ctx, question, asked)).value as never
}

/** The options of a question whose answer is checked by code. */
export interface Inquiry extends Omit<InterruptOptions, 'schema'> {
  /** Checks an answer. Pure. After an invalid answer the run asks again, with the problem in the question. */
  readonly check?: (answer: Json) => Checked<unknown>
  /** The JSON Schema of an answer. Recorded with the question, for the form in which a person answers. */
  readonly answerSchema?: JsonSchema
  /** The call that the client is to run, where the question is about one (client-call.ts). */
  readonly call?: { readonly tool: string; readonly callId: string }
}

/** An answer. */
export interface Answered {
  readonly value: unknown
  /** The name of the user who answered, if given; absent if the deadline passed. */
  readonly by?: string
}

/** The name of the question of `inquire`, in the scope of whoever asks. It is persistent format. */
export const inquiryQuestion = 'interrupt'

/** As `interrupt`, with the name of the user who answered. */
export async function inquire(ctx: Context, question: Json, options: Inquiry): Promise<Answered> {
  const until = deadlineOf(ctx, options)
  let put = question
  for (;;) {
    const interruptId = ctx.id('int')
    const raised = { type: 'interrupt.raised', id: interruptId, question: put, path: ctx.place.path } as const
    const id = ctx.ask(inquiryQuestion, {
      ...present({ until }),
      as: { ...raised, ...options.call, ...present({ schema: options.answerSchema }) },
    })
    const channels = options.notify ?? rulesOf(ctx)?.notify ?? []
    const telling = announce(ctx, channels, noticeOf(ctx, interruptId, put, until))
    const outcome = await withoutSlot(ctx, () => settledWithNotices(ctx, id, interruptId, telling))
    if (outcome.status !== 'completed') {
      if (outcome.status === 'timed-out' && options.otherwise !== undefined) return { value: options.otherwise }
      throw new FailureError(
        failure('effect.timed-out', `nobody answered: ${describeOutcome(outcome)}`, 'timeout', { retryable: false }),
      )
    }
    const checked = options.check?.(outcome.output) ?? { ok: true, value: outcome.output }
    if (checked.ok) return { value: checked.value, ...present({ by: outcome.by }) }
    put = { question, problem: `the last answer does not fit: ${checked.problem}` }
  }
}

/** The deadline; the same when the question is asked again. */
function deadlineOf(ctx: Context, { until, timeoutMs }: Inquiry): Date | undefined {
  if (timeoutMs === undefined) return until
  const at = new Date(ctx.now().getTime() + (timeoutMs > 0 ? timeoutMs : -1))
  return until !== undefined && until < at ? until : at
}

/** The approval rules of the edge; undefined without oversight. */
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
