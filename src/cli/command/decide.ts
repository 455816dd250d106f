/** `reeve approve` and `reeve reject`: decide an approval without running anything. Own: who is recorded as the approver. The first decision counts. */
import { thisUser, whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { goesOnWith, look } from '../store.ts'

/** Says yes. */
export function approve(
  context: CommandContext,
  approvalId: string,
  options: { readonly comment?: string; readonly approver?: string },
): Promise<Exit> {
  return decide(context, approvalId, 'approve', options.comment, options.approver)
}

/** Says no. */
export function reject(
  context: CommandContext,
  approvalId: string,
  options: { readonly reason?: string; readonly approver?: string },
): Promise<Exit> {
  return decide(context, approvalId, 'reject', options.reason, options.approver)
}

async function decide(
  { terminal, options, cwd }: CommandContext,
  approvalId: string,
  decision: 'approve' | 'reject',
  comment: string | undefined,
  approver: string | undefined,
): Promise<Exit> {
  return look(options, cwd, async (runtime, place) => {
    const run = (await runtime.approvals()).find((each) => each.id === approvalId)?.run
    await runtime.decide({ approvalId, decision, approver: approver ?? thisUser(), ...(comment === undefined ? {} : { comment }) })
    terminal.line(`${terminal.style('green', '✓')} ${decision === 'approve' ? 'Approved' : 'Rejected'} ${approvalId}.`)
    if (run !== undefined) terminal.line(goesOnWith(place, run, whereOf(options)))
    return exits.done
  })
}
