/**
 * Who may run a tool for a run as its client: the user of the run, and administrators.
 *
 * Owns: that rule, for every door through which a question is answered. Does not own: which question is such a call
 * (oversight), the role that answering needs (doors.ts). Pure.
 */
import { ReeveError, type Json } from '@reeve/core'
import { clientCallIn, type Question, type RunSummary } from '@reeve/runtime'
import type { Principal } from '../wire.ts'
import { allows } from './principal.ts'

/**
 * Why this principal may not answer this question, where it is a call of the client. Undefined: the rule allows it. An
 * approver decides for others; what a client says was done is said by the one whose client it is.
 */
export function notItsClient(
  { body }: Pick<Question, 'body'>,
  { caller }: Pick<RunSummary, 'caller'>,
  principal: Principal,
): string | undefined {
  const call = clientCallIn(body as Json)
  if (call === undefined || caller.user === undefined || caller.user === principal.name) return undefined
  return allows(principal, 'admin') ? undefined : 'only the user of the run runs the tools of its client'
}

/** Throws `request.forbidden` as `notItsClient` says. */
export function mustBeItsClient(question: Question, summary: RunSummary, principal: Principal): void {
  const why = notItsClient(question, summary, principal)
  if (why === undefined) return
  throw new ReeveError('request.forbidden', `the question ${JSON.stringify(question.id)}: ${why}`, {
    hint: 'It is still open. Nothing was changed.',
  })
}
