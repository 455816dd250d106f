/**
 * Code approval: code asks an approver at any point, and continues with the decision as a value.
 *
 * Owns: `ctx.approve`: its options, its answer, the check of edited arguments. Does not own: how an approval is asked
 * and decided (oversight), calls of tools (../approval/tool-gate.ts).
 * Holds: K4: every question has its own scope, so several may be open at once. The scope name `approve` is persistent
 * format.
 */
import type { Context } from '@reeve/engine'
import { optionProblems, present, refuseProblems, unchecked, type Checks, type Json } from '@reeve/core'
import {
  compileSchema,
  recordedOversight,
  type ApprovalRules,
  type Checked,
  type Infer,
  type Schema,
  type SchemaLike,
} from '@reeve/edge'
import { knownHere, type KnownWork } from '../known-work.ts'
import { finalArguments, fitUnderSchema } from '../final-arguments.ts'
import {
  untimedProblems,
  approvalTimeoutCheck,
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
} from '@reeve/oversight'

/**
 * An approval that code asks for. Deadline, approvers, channels and four eyes default to those of `oversight.approval`.
 */
export interface ApproveOptions<S extends SchemaLike | undefined = undefined> {
  /** The exact arguments. The approval holds for these, or for the arguments as a human edited them. Default `{}`. */
  readonly input?: Json
  /** The schema of the arguments. Edited arguments that do not fit are asked for again. Default: any JSON value. */
  readonly schema?: S
  /** The reason shown to the approver. */
  readonly reason?: string
  readonly description?: string
  /** Further material for the approver, such as a plan or a result. Recorded. */
  readonly context?: Json
  /** Default: `high` if sensitive, else `medium`. */
  readonly risk?: Risk
  /** Then a deadline cannot approve it. Default: with oversight, what its rules say about the action's name. */
  readonly sensitive?: boolean
  /** The cost in US dollars. */
  readonly costUsd?: number
  /**
   * Milliseconds until the deadline. 0 or less: the deadline has passed at once. Default, and `'never'`: no deadline of
   * its own, it waits for as long as it takes.
   */
  readonly timeoutMs?: ApprovalTimeout
  /**
   * What the deadline does. Default `reject`. `approve` needs a `timeoutMs`; it is refused if sensitive, and for high and
   * critical risk.
   */
  readonly onTimeout?: ApprovalRules['onTimeout']
}

/** The decision. A rejection is a value too: `feedback` says why, for a model or for code. */
export type ApproveAnswer<I = Json> =
  | {
      readonly approved: true
      /** The approved arguments. */
      readonly input: I
      /** The approver changed the arguments. */
      readonly edited: boolean
      readonly by: 'human' | 'deadline' | 'grant'
      readonly approver?: string
      readonly comment?: string
      /**
       * The capability, good for one use. To let a service verify it, call `signCapability(signer, { ...capability,
       * key: io.key })` in the step that calls the service.
       */
      readonly capability?: Capability
    }
  | {
      readonly approved: false
      /** `retry`: the approver wants to be asked again, with other arguments. */
      readonly how: 'rejected' | 'retry' | 'timed-out' | 'cancelled' | 'unreadable'
      /** The comment of the approver, or one sentence about the end. Never empty. */
      readonly feedback: string
      readonly approver?: string
    }

const checks: Checks<ApproveOptions> = {
  input: unchecked,
  schema: unchecked,
  reason: unchecked,
  description: unchecked,
  context: unchecked,
  risk: unchecked,
  sensitive: unchecked,
  costUsd: unchecked,
  timeoutMs: approvalTimeoutCheck,
  onTimeout: unchecked,
}

/**
 * Asks for approval of an action, in a scope of its own. Rejects with `Cancelled`, and with `input.invalid` for invalid
 * options.
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
    ...present({ description, risk, costUsd, sensitive }),
  }
  const word = gateOf(oversight, subject, mode)
  noteHits(ctx, { subject: 'action', name: action }, word)
  const known = knownHere(ctx)
  const why = reasonOf(word, options.reason ?? `"${ctx.place.agent}" asks for approval of "${action}"`)
  const reason = known === undefined ? why : `${why}; ${known.reason}`
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
      ...present({ timeoutMs: options.timeoutMs, onTimeout: options.onTimeout, description, context: options.context }),
    },
    schema === undefined
      ? {}
      : {
          fits: (edited) => {
            const next = schema.check(edited)
            if (next.ok) checked = next
            return fitUnderSchema(next, edited)
          },
        },
  )
  return answerOf(verdict, action, checked, known) as never
}

function mustBeApproveOptions(action: string, options: ApproveOptions<SchemaLike | undefined>): void {
  const problems = optionProblems<ApproveOptions>(checks, options, 'approve', untimedProblems)
  if (typeof action !== 'string' || action === '') problems.push('approve: the action has no name')
  const misfits =
    problems.length > 0 || options.schema === undefined
      ? undefined
      : schemaProblem(options.input ?? {}, compileSchema(options.schema, 'approve'))
  if (misfits !== undefined) problems.push(`approve: input does not fit its schema: ${misfits}`)
  refuseProblems('input.invalid', problems)
}

function schemaProblem(input: Json, schema: Schema | undefined): string | undefined {
  const checked = schema?.check(input)
  return checked?.ok === false ? checked.problem : undefined
}

function answerOf(
  verdict: Verdict,
  action: string,
  checked: Checked<unknown> | undefined,
  known: KnownWork | undefined,
): ApproveAnswer<unknown> {
  const approver = verdict.approver === undefined ? undefined : { approver: verdict.approver }
  if (!verdict.approved)
    return {
      approved: false,
      how: verdict.how,
      feedback: [
        refusalOf({ kind: 'action', name: action }, verdict),
        ...(known === undefined ? [] : [known.told]),
      ].join('; '),
      ...approver,
    }
  const { input, edited, by, comment, capability } = verdict
  return {
    approved: true,
    input: checked?.ok === true ? checked.value : input,
    edited,
    by,
    ...approver,
    ...present({ comment, capability }),
  }
}
