/**
 * `reeve approve`, `reject`, `edit` and `retry`: decide an approval without running anything. Owns: who is recorded as
 * the approver. The first decision counts.
 */
import { thisUser, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { goesOnWith } from '../going-on.ts'
import { look } from '../store.ts'
import type { Decision } from '../../runtime/index.ts'

/** Who decides, and what they say. */
export interface DecidingOptions {
  readonly comment?: string
  /** The same, as `reject` calls it. */
  readonly reason?: string
  readonly approver?: string
  /** The same, as other commands call it. */
  readonly by?: string
}

type Said = Decision extends infer D
  ? D extends Decision
    ? Omit<D, 'approvalId' | 'comment' | 'approver'>
    : never
  : never

/** Says yes. */
export const approve = (context: CommandContext, approvalId: string, options: DecidingOptions): Promise<Exit> =>
  decide(context, approvalId, { decision: 'approve' }, options)

/** Says no. */
export const reject = (context: CommandContext, approvalId: string, options: DecidingOptions): Promise<Exit> =>
  decide(context, approvalId, { decision: 'reject' }, options)

/** Sends it back: to be changed and tried again. */
export const retry = (context: CommandContext, approvalId: string, options: DecidingOptions): Promise<Exit> =>
  decide(context, approvalId, { decision: 'retry' }, options)

/** Says yes to other arguments. */
export async function edit(
  context: CommandContext,
  approvalId: string,
  given: string,
  options: DecidingOptions,
): Promise<Exit> {
  const input = readArguments(given)
  if (input === undefined)
    throw usage(
      'the edited arguments are not JSON',
      `All of them, for example: reeve edit ${approvalId} '{"amount": 5}'`,
    )
  return decide(context, approvalId, { decision: 'edit', input: input.value }, options)
}

function readArguments(given: string): { readonly value: (Decision & { decision: 'edit' })['input'] } | undefined {
  try {
    return { value: JSON.parse(given) as (Decision & { decision: 'edit' })['input'] }
  } catch {
    return undefined
  }
}

const done = {
  approve: 'Approved',
  reject: 'Rejected',
  edit: 'Approved with other arguments',
  retry: 'Sent back',
} as const

async function decide(context: CommandContext, approvalId: string, said: Said, more: DecidingOptions): Promise<Exit> {
  const { terminal, options, cwd } = context
  const comment = more.comment ?? more.reason
  return look(options, cwd, async (runtime, place) => {
    const open = (await runtime.approvals()).find((each) => each.id === approvalId)
    const by = { approver: more.approver ?? more.by ?? thisUser(), ...(comment === undefined ? {} : { comment }) }
    await runtime.decide({ approvalId, ...said, ...by })
    terminal.line(`${terminal.style('green', '✓')} ${done[said.decision]} ${approvalId}.`)
    if (
      open?.fourEyes === true &&
      open.excludes === undefined &&
      (said.decision === 'approve' || said.decision === 'edit')
    )
      terminal.line('Somebody else has to approve it, too: it is asked again under a new id.')
    if (open !== undefined) terminal.line(await goesOnWith({ context, runtime, place, run: open.run }))
    return exits.done
  })
}
