/**
 * Client run: a call of a tool that the client runs. The call is put to the client as an interrupt; its answer is
 * recorded as the result of the tool.
 *
 * Owns: asking for one call, what the model is told of the answer. Does not own: the document of the question
 * (oversight/client-call.ts), approval before it (tool-gate.ts), who may answer (the doors of the server).
 * Holds: K6: what the client has answered is recorded as the effect of the tool, so another attempt at the same work
 * does not ask for it again where the tool is `once`.
 */
import { failure, FailureError, plainCopy, present, wholeResult, type Failure, type Json, type OpId } from '@reeve/core'
import { formatToolResult, type Checked } from '@reeve/edge'
import { isLeaving, type Context, type StepOptions } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import { clientAnswer, clientAnswerSchema, clientQuestion, inquire } from '@reeve/oversight'
import type { CallResult } from '../conversation/call-result.ts'
import { finalArguments } from '../final-arguments.ts'
import { withModelOutput } from '../tool/model-output.ts'
import { withinBound, type ResultBound } from '../tool/result-bound.ts'
import type { ClientWork } from '../tool/tool.ts'

/** What is run, and how it is recorded. */
export interface ClientRun {
  readonly tool: string
  readonly work: ClientWork
  readonly call: ToolCall
  /** The validated arguments. */
  readonly input: unknown
  /** An earlier attempt at this work has the result: the client is not asked. */
  readonly isMade: boolean
  readonly bound: ResultBound
  /** How the call is recorded as an effect: its event, its content, what makes two calls equal. */
  readonly recorded: Pick<StepOptions, 'as' | 'content' | 'equalBy' | 'isApproved'>
}

/** The end of a question to the client. */
type Answered = { readonly output: Json } | { readonly failed: Failure }

/** Asks the client to run a call, waits for its answer, and records it. */
export async function runOnClient(ctx: Context, run: ClientRun): Promise<CallResult> {
  const { tool, work, isMade, recorded } = run
  const answered = isMade ? undefined : await askClient(ctx, run)
  const id: OpId = ctx.begin(tool, async (io) => withinBound(io, run.bound, await resultOf(run, answered)), {
    ...recorded,
    effect: work.effect,
    retry: { attempts: 1 },
    ...(isMade ? undefined : { isAnswered: true }),
  })
  return formatToolResult(tool, (await ctx.next(id)).outcome)
}

function resultOf({ tool, work, call, input }: ClientRun, answered: Answered | undefined): Json | Promise<Json> {
  if (answered === undefined || 'failed' in answered)
    throw new FailureError(answered?.failed ?? failure('tool.unanswered', notAnswered(tool, work), 'timeout'))
  const { output } = answered
  const { toModelOutput } = work
  return toModelOutput === undefined
    ? wholeResult(output)
    : withModelOutput(tool, toModelOutput, { toolCallId: call.id, input: plainCopy(input) ?? input, output })
}

async function askClient(ctx: Context, { tool, work, call, input }: ClientRun): Promise<Answered> {
  const { timeoutMs, effect, output } = work
  const question = clientQuestion({
    tool,
    callId: call.id,
    input: finalArguments(input, call.input),
    effect,
    ...present({ output: output?.json }),
  })
  const check = (answer: Json): Checked<unknown> =>
    clientAnswer(answer, output === undefined ? undefined : (value) => output.check(value))
  try {
    const { value } = await inquire(ctx, question, {
      check,
      answerSchema: clientAnswerSchema(output?.json),
      // it is put to the client, and no channel of people tells of it
      notify: [],
      call: { tool, callId: call.id },
      ...present({ timeoutMs }),
    })
    const said = value as { readonly output: unknown } | { readonly error: string }
    return 'error' in said
      ? { failed: failure('tool.failed', said.error, 'internal', { retryable: false }) }
      : { output: finalArguments(said.output, null) }
  } catch (thrown) {
    if (isLeaving(thrown) || !(thrown instanceof FailureError)) throw thrown
    return { failed: failure('tool.unanswered', notAnswered(tool, work), 'timeout', { retryable: false }) }
  }
}

/** What the model is told of a call that nobody has answered. It may have been run all the same. */
function notAnswered(tool: string, { timeoutMs, effect }: ClientWork): string {
  const within = timeoutMs === undefined ? '' : ` within ${timeoutMs / 1_000} s`
  const said = `the client did not run "${tool}"${within}`
  return effect === 'once' ? `${said}, or did not say so: whether it was done is not known` : said
}
