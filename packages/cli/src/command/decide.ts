/**
 * `reeve approve`, `reject`, `edit` and `retry`: decide approvals, one or several; drive no run.
 *
 * Owns: the recorded approver. The first decision wins.
 */
import {
  argumentName,
  digestJson,
  isObject,
  mostArguments,
  own,
  present,
  preview,
  readJson,
  ReeveError,
  shellWord,
  visible,
  visibleLine,
  type Json,
} from '@reeve/core'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { continueHint, workersHint } from '../next-command.ts'
import { answerCommand, settleCommand } from '../request-text.ts'
import { withRuns } from '../store.ts'
import type { Approval, Decision, Runtime } from '@reeve/runtime'
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

/** Approves one request, or several that may be decided together. */
export const approve = (
  context: CommandContext,
  ids: readonly string[],
  options: DecidingOptions & { readonly yes?: boolean },
): Promise<Exit> => decideThese(context, ids, 'approve', options)

/** Rejects one request, or several. */
export const reject = (
  context: CommandContext,
  ids: readonly string[],
  options: DecidingOptions & { readonly yes?: boolean },
): Promise<Exit> => decideThese(context, ids, 'reject', options)

const decideThese = (
  context: CommandContext,
  ids: readonly string[],
  decision: 'approve' | 'reject',
  options: DecidingOptions & { readonly yes?: boolean },
): Promise<Exit> => {
  const [only, ...others] = new Set(ids)
  return only !== undefined && others.length === 0
    ? decide(context, only, { decision }, options)
    : decideSeveral(context, [...new Set(ids)], decision, options)
}

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
  return withRuns(options, cwd, async (runtime, place) => {
    const [open] = await runtime.approvals({ id: approvalId })
    if (open === undefined) await refuseOther(runtime, approvalId, whereOf(options))
    try {
      await runtime.decide({ approvalId, ...said, ...whoDecides(more) })
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

const whoDecides = (more: DecidingOptions): { readonly approver: string; readonly comment?: string } => ({
  approver: more.approver ?? more.by ?? currentUser(),
  ...present({ comment: more.comment ?? more.reason }),
})

/**
 * Decides several requests in one call, each for the arguments that are shown here. At a terminal it asks before.
 */
function decideSeveral(
  context: CommandContext,
  ids: readonly string[],
  decision: 'approve' | 'reject',
  { yes = false, ...more }: DecidingOptions & { readonly yes?: boolean },
): Promise<Exit> {
  const { terminal, options, cwd, interrupted } = context
  return withRuns(options, cwd, async (runtime) => {
    const found = await Promise.all(ids.map((id) => runtime.approvals({ id })))
    const open = new Map(found.flat().map((each) => [each.id, each]))
    const shown = new Map(severalLines([...open.values()]))
    if (terminal.canAsk && !yes && open.size > 0) {
      for (const [id, line] of shown) terminal.line(`${visible(id)}  ${line}`)
      const verb = decision === 'approve' ? 'Approve' : 'Reject'
      const said = await terminal.ask(`${verb} these ${open.size}? y = yes, Enter = no: `, interrupted).catch(() => '')
      if (!/^y(es)?$/i.test(said.trim())) return exits.cancelled
    }
    const results = await runtime.decideAll(
      // one that is not open is refused with the reason, whatever is said of its arguments
      ids.map((id) => ({ approvalId: id, inputHash: open.get(id)?.inputHash ?? '-', decision, ...whoDecides(more) })),
    )
    for (const result of results) {
      const what = shown.get(result.approvalId)
      const about = what === undefined ? '' : `: ${what}`
      if (result.status === 'decided')
        terminal.line(`${terminal.style('green', '✓')} ${done[decision]} ${visible(result.approvalId)}${about}`)
      else terminal.line(`${terminal.style('red', '✗')} ${visibleLine(result.error.message)}`)
    }
    const count = results.filter(({ status }) => status === 'decided').length
    terminal.line(`${count} of ${results.length} decided.`)
    const alone = results.find((each) => each.status !== 'decided' && each.error.code === 'approval.alone')
    if (alone !== undefined)
      terminal.line(`Decide it alone: ${reeve} ${decision} ${shellWord(alone.approvalId)}${whereOf(options)}`)
    if (count > 0) terminal.line(await workersHint(context, runtime))
    return count === results.length ? exits.done : exits.failed
  })
}

/**
 * A line for each approval: who asks, the action, and the arguments. Of several for one action of one agent, those that
 * are the same in all are left out, unless all are.
 */
function severalLines(approvals: readonly Approval[]): readonly (readonly [string, string])[] {
  const kinds = Map.groupBy(approvals, ({ path, tool }) => JSON.stringify([path, tool]))
  return approvals.map((approval) => {
    const { id, path, tool, input } = approval
    const alike = kinds.get(JSON.stringify([path, tool]))!
    const fields = isObject(input) ? Object.entries(input) : [['input', input] as const]
    const differing = fields.filter(([name, value]) => alike.some((each) => !isSame(argument(each, name), value)))
    const shown = differing.length === 0 ? fields : differing
    const told = shown.slice(0, mostArguments).map(([name, value]) => `${argumentName(name)}: ${preview(value)}`)
    const more = shown.length > mostArguments ? ', …' : ''
    return [id, `${path.map(visible).join(' › ')} › ${visible(tool)} (${told.join(', ')}${more})`] as const
  })
}

const argument = ({ input }: Approval, name: string): Json | undefined =>
  isObject(input) ? own(input, name) : name === 'input' ? input : undefined
const isSame = (one: Json | undefined, other: Json): boolean =>
  one !== undefined && digestJson(one) === digestJson(other)

/** Refuses a question that takes no decision, with the command that it takes. Throws `cli.usage`. */
async function refuseOther(runtime: Runtime, id: string, where: string): Promise<void> {
  const question = (await runtime.questions({ id }))[0]
  if (question === undefined || question.kind === 'approval') return
  const { kind } = question
  if (kind === 'interrupt')
    throw usage(
      `"${id}" is a question: it needs an answer, not a decision`,
      `Answer with: ${answerCommand(shellWord(id), where, question.body as Json)}`,
    )
  throw usage(
    `"${id}" is ${kind === 'in-doubt' ? 'an effect in doubt' : 'a diverged step'}, not an approval`,
    `Settle it with: ${settleCommand(kind, id, where)}`,
  )
}
