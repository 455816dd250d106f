/** People who approve in the tests of forks. */
import type { Run } from '@reeve/runtime'

/** The tool of a call that the origin has made, as its approver is told. Undefined: it is told of no such call. */
function repeatIn(body: unknown): string | undefined {
  const { tool, callId, reason } = body as Readonly<Record<'tool' | 'callId' | 'reason', string | undefined>>
  if (tool === undefined || callId === undefined) return undefined
  const told = `from which this one was forked, had already done "${tool}" at this point`
  return reason?.includes(told) === true ? tool : undefined
}

/**
 * Approves, but no call that is told as made by the origin. With `repeats` it approves those, too, and notes their
 * tools: each is to be used once more, and no other.
 */
export async function approves(
  run: Run<unknown>,
  { id, body }: { readonly id: string; readonly body: unknown },
  repeats?: string[],
): Promise<void> {
  const repeat = repeatIn(body)
  const decision = repeat === undefined || repeats !== undefined ? 'approve' : 'reject'
  await run.decide({ approvalId: id, decision, approver: 'ann' })
  if (repeat !== undefined) repeats?.push(repeat)
}
