/**
 * Code approval: code asks an approver, at any point, and goes on with a value whatever the decision is.
 *
 * Owns: `ctx.approve`: its options, its answer, that edited arguments are checked. Does not own: how it is asked and
 * decided (oversight), calls of tools (tool-gate.ts).
 * Holds: K4: every question has a scope of its own, so several may be open at once. `approve` as the name of that scope
 * is persistent format.
 */
import { ReeveError, unknownNames, type Json, type NamesOf } from '../../core/index.ts'
import {
  compileSchema,
  recordedOversight,
  type ApprovalRules,
  type Checked,
  type Infer,
  type Schema,
  type SchemaLike,
} from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { finalArguments, fitUnderSchema } from '../tool/final-arguments.ts'
import {
  approvalProblems,
  currentMode,
  gateOf,
  noteHits,
  reasonOf,
  refusalOf,
  reviewRequest,
  type ApprovalTimeout,
  type Capability,
  type Risk,
  type Verdict,
} from '../../oversight/index.ts'

/**
 * What code wants approved, and how. Deadline, approvers, channels and four eyes are those of `oversight.approval`
 * where nothing is said here.
 */
export interface ApproveOptions<S extends SchemaLike | undefined = undefined> {
  /** The exact arguments: the approval holds for these, or for what a human makes of them. Default `{}`. */
  readonly input?: Json
  /** What the arguments must look like. Edited ones that do not fit are asked for again. Default: any JSON value. */
  readonly schema?: S
  /** Why it is asked, for the approver. */
  readonly reason?: string
  readonly description?: string
  /** What the approver may want to see: a plan, a result. Recorded. */
  readonly context?: Json
  /** Default `high` for what is sensitive, else `medium`. */
  readonly risk?: Risk
  /** No deadline may approve it. Default: where there is oversight, what its rules say of the name of the action. */
  readonly sensitive?: boolean
  /** What it costs in US dollars. */
  readonly costUsd?: number
  /** Milliseconds. Default 30 minutes; 0 or less: the deadline has passed at once; `'never'` only for critical risk. */
  readonly timeoutMs?: ApprovalTimeout
  /**
   * What a deadline does. Default `reject`. `approve` is refused for what is sensitive and for high and critical risk.
   */
  readonly onTimeout?: ApprovalRules['onTimeout']
}

/** The decision. A no is a value too: `feedback` says why not, for a model or for code. */
export type ApproveAnswer<I = Json> =
  | {
      readonly approved: true
      /** The arguments that hold now. */
      readonly input: I
      /** The approver has changed them. */
      readonly edited: boolean
      readonly by: 'human' | 'deadline' | 'grant'
      readonly approver?: string
      readonly comment?: string
      /**
       * What it is good for: one use. For a service that checks it: `signCapability(signer, { ...capability, key:
       * io.key })` in the step that calls it.
       */
      readonly capability?: Capability
    }
  | {
      readonly approved: false
      /** `retry`: they want to be asked again, for something else. */
      readonly how: 'rejected' | 'retry' | 'timed-out' | 'cancelled' | 'unreadable'
      /** The comment, or one sentence that says how it ended. Never empty. */
      readonly feedback: string
      readonly approver?: string
    }

const names: NamesOf<ApproveOptions> = {
  input: true,
  schema: true,
  reason: true,
  description: true,
  context: true,
  risk: true,
  sensitive: true,
  costUsd: true,
  timeoutMs: true,
  onTimeout: true,
}

/**
 * Asks for approval of an action, in a scope of its own. Rejects with `Cancelled`, and with `input.invalid` for options
 * that make no sense.
 */
export async function askApproval<S extends SchemaLike | undefined>(
  above: Context,
  action: string,
  options: ApproveOptions<S>,
): Promise<ApproveAnswer<S extends undefined ? Json : Infer<S>>> {
  mustBeApproveOptions(action, options)
  const ctx = above.scope('approve')
  const oversight = recordedOversight(ctx.input)
  const { input = {}, description, risk, costUsd, sensitive } = options
  const schema = options.schema === undefined ? undefined : compileSchema(options.schema, 'approve')
  const mode = oversight === undefined ? undefined : await currentMode(ctx, oversight)
  const subject = {
    action,
    always: true,
    ...(description === undefined ? undefined : { description }),
    ...(risk === undefined ? undefined : { risk }),
    ...(costUsd === undefined ? undefined : { costUsd }),
    ...(sensitive === undefined ? undefined : { sensitive }),
  }
  const word = gateOf(oversight, subject, mode)
  noteHits(ctx, { subject: 'action', name: action }, word)
  const reason = reasonOf(word, options.reason ?? `"${ctx.place.agent}" asks for approval of "${action}"`)
  let checked = schema?.check(input)
  const verdict = await reviewRequest(
    ctx,
    {
      tool: action,
      toolVersion: ctx.place.version,
      input: checked?.ok === true ? finalArguments(checked.value, input) : input,
      reason,
      risk: word.risk,
      sensitive: word.sensitive,
      ...(word.hits.length === 0 ? undefined : { hits: word.hits }),
      ...(oversight?.approval === undefined ? undefined : { rules: oversight.approval }),
      ...(options.timeoutMs === undefined ? undefined : { timeoutMs: options.timeoutMs }),
      ...(options.onTimeout === undefined ? undefined : { onTimeout: options.onTimeout }),
      ...(description === undefined ? undefined : { description }),
      ...(options.context === undefined ? undefined : { context: options.context }),
    },
    schema === undefined
      ? undefined
      : (edited) => {
          const next = schema.check(edited)
          if (next.ok) checked = next
          return fitUnderSchema(next, edited)
        },
  )
  return answerOf(verdict, action, checked) as never
}

function mustBeApproveOptions(action: string, options: ApproveOptions<SchemaLike | undefined>): void {
  const problems = unknownNames(options, names, 'approve')
  if (typeof action !== 'string' || action === '') problems.push('approve: the action has no name')
  if (problems.length === 0) problems.push(...approvalProblems(options, 'approve'))
  const misfits =
    problems.length > 0 || options.schema === undefined
      ? undefined
      : schemaProblem(options.input ?? {}, compileSchema(options.schema, 'approve'))
  if (misfits !== undefined) problems.push(`approve: input does not fit its schema: ${misfits}`)
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '))
}

function schemaProblem(input: Json, schema: Schema | undefined): string | undefined {
  const checked = schema?.check(input)
  return checked?.ok === false ? checked.problem : undefined
}

function answerOf(verdict: Verdict, action: string, checked: Checked<unknown> | undefined): ApproveAnswer<unknown> {
  const approver = verdict.approver === undefined ? undefined : { approver: verdict.approver }
  if (!verdict.approved)
    return {
      approved: false,
      how: verdict.how,
      feedback: refusalOf({ kind: 'action', name: action }, verdict),
      ...approver,
    }
  const { input, edited, by, comment, capability } = verdict
  return {
    approved: true,
    input: checked?.ok === true ? checked.value : input,
    edited,
    by,
    ...approver,
    ...(comment === undefined ? undefined : { comment }),
    ...(capability === undefined ? undefined : { capability }),
  }
}
