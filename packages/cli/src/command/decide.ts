/**
 * `reeve approve`, `reject`, `edit` and `retry`: decide an approval; drive no run.
 *
 * Owns: the recorded approver. The first decision wins.
 */
import { readJson, ReeveError, shellWord } from '@reeve/core'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { continueHint } from '../next-command.ts'
import { answerCommand, settleCommand } from '../request-text.ts'
import { withRuns } from '../store.ts'
import type { Decision, Runtime } from '@reeve/runtime'
import { reeve } from '../invocation.ts'

/** The approver and their comment. */
export interface DecidingOptions {
  readonly comment?: string
  /** An alias of `comment`, for `reject`. */
  readonly reason?: string
  readonly approver?: string
  /** An alias of `approver`, as in other commands. */
  readonly by?: string
}

type DecisionBody = Decision extends infer D
  ? D extends Decision
    ? Omit<D, 'approvalId' | 'comment' | 'approver'>
    : never
  : never

/** Approves. */
export const approve = (context: CommandContext, approvalId: string, options: DecidingOptions): Promise<Exit> =>
  decide(context, approvalId, { decision: 'approve' }, options)

/** Rejects. */
export const reject = (context: CommandContext, approvalId: string, options: DecidingOptions): Promise<Exit> =>
  decide(context, approvalId, { decision: 'reject' }, options)

/** Sends the request back, to be changed and tried again. */
export const retry = (
  context: CommandContext,
  approvalId: string,
  { repeat, ...options }: DecidingOptions & { readonly repeat?: readonly string[] },
): Promise<Exit> =>
  decide(context, approvalId, { decision: 'retry', ...(repeat === undefined ? {} : { repeat }) }, options)

/** Approves with edited arguments. */
export async function edit(
  context: CommandContext,
  approvalId: string,
  given: string,
  options: DecidingOptions,
): Promise<Exit> {
  const input = readJson(given, { path: 'the edited arguments' })
  if (!input.ok)
    throw usage(
      input.none === true ? 'the edited arguments are not JSON' : input.problem,
      `Give all arguments, for example: ${reeve} edit ${approvalId} '{"amount": 5}'`,
    )
  return decide(context, approvalId, { decision: 'edit', input: input.value }, options)
}

const done = {
  approve: 'Approved',
  reject: 'Rejected',
  edit: 'Approved with edited arguments',
  retry: 'Sent back',
} as const

async function decide(
  context: CommandContext,
  approvalId: string,
  said: DecisionBody,
  more: DecidingOptions,
): Promise<Exit> {
  const { terminal, options, cwd } = context
  const comment = more.comment ?? more.reason
  return withRuns(options, cwd, async (runtime, place) => {
    const open = (await runtime.approvals()).find((each) => each.id === approvalId)
    if (open === undefined) await refuseOther(runtime, approvalId, whereOf(options))
    const by = { approver: more.approver ?? more.by ?? currentUser(), ...(comment === undefined ? {} : { comment }) }
    try {
      await runtime.decide({ approvalId, ...said, ...by })
    } catch (thrown) {
      if (open === undefined || !ReeveError.is(thrown, 'approval.expired')) throw thrown
      const further = await continueHint({ context, runtime, place, run: open.run })
      const then = `The run continues as its onTimeout says (${JSON.stringify(open.onTimeout)}) when it is driven. ${further}`
      throw new ReeveError('approval.expired', thrown.message, { hint: then, cause: thrown })
    }
    terminal.line(`${terminal.style('green', '✓')} ${done[said.decision]} ${approvalId}.`)
    if (
      open?.fourEyes === true &&
      open.excludes === undefined &&
      (said.decision === 'approve' || said.decision === 'edit')
    )
      terminal.line('A second approver must approve it, too: a new request with its own id follows.')
    if (open !== undefined) terminal.line(await continueHint({ context, runtime, place, run: open.run }))
    return exits.done
  })
}

/** Refuses a question that takes no decision, with the command that it takes. Throws `cli.usage`. */
async function refuseOther(runtime: Runtime, id: string, where: string): Promise<void> {
  const question = (await runtime.questions()).find((each) => each.id === id)
  if (question === undefined || question.kind === 'approval') return
  const { kind } = question
  if (kind === 'interrupt')
    throw usage(
      `"${id}" is a question: it needs an answer, not a decision`,
      `Answer with: ${answerCommand(shellWord(id), where)}`,
    )
  throw usage(
    `"${id}" is ${kind === 'in-doubt' ? 'an effect in doubt' : 'a diverged step'}, not an approval`,
    `Settle it with: ${settleCommand(kind, id, where)}`,
  )
}
