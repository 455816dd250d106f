/**
 * Refusal: the sentence and the failure for a proposal that was not approved.
 *
 * Owns: the sentences, one set for each kind of proposal. Pure. Does not own: the consequences of a refusal (agent,
 * team). Code decides by `how`, never by a sentence.
 */
import { failure, present, type Failure } from '@reeve/core'
import type { RefusedVerdict } from './decision.ts'
import { shownComment } from './review-note.ts'

/** A proposal. `why`: why approval was needed. */
export type Proposal =
  | { readonly kind: 'call' | 'action' | 'work'; readonly name: string }
  | { readonly kind: 'result'; readonly name: string; readonly why: string }
  | { readonly kind: 'plan'; readonly why: string }
  | { readonly kind: 'wish' | 'mail' }

/** The sentence for a refused proposal, with the approver's comment. Never empty. Pure. */
export function refusalOf(proposal: Proposal, refusal: RefusedVerdict): string {
  const { how, approver, comment } = refusal
  switch (proposal.kind) {
    case 'call': {
      const call = `this call of "${proposal.name}"`
      return {
        rejected: `a human rejected ${call}${commentSuffix(comment)}`,
        retry: `a human asks you to change ${call} and try again${commentSuffix(comment)}`,
        'timed-out': `nobody approved ${call} in time${commentSuffix(comment)}`,
        cancelled: `the approval of ${call} was withdrawn`,
        unreadable: `the decision on ${call} could not be read`,
      }[how]
    }
    case 'action': {
      if (comment !== undefined && comment.trim() !== '') return comment
      return {
        rejected: `a human rejected "${proposal.name}"`,
        retry: `a human asks for something else than this "${proposal.name}"`,
        'timed-out': `nobody approved "${proposal.name}" in time`,
        cancelled: `the approval of "${proposal.name}" was withdrawn`,
        unreadable: `the decision on "${proposal.name}" could not be read`,
      }[how]
    }
    case 'work':
      return refusedWork(`to let "${proposal.name}" begin this`, refusal)
    case 'result':
      return refusedWork(
        `to take the result of "${proposal.name}"${proposal.why === '' ? '' : ` (${proposal.why})`}`,
        refusal,
      )
    case 'plan': {
      const ended = {
        rejected: `the plan was rejected${approver === undefined ? '' : ` by ${shownComment(approver)}`}`,
        retry: 'another plan is wanted',
        'timed-out': 'nobody approved the plan before its deadline',
        cancelled: 'the question whether the plan may be carried out was withdrawn',
        unreadable: 'the decision on the plan could not be read',
      }[how]
      return `${ended}${commentSuffix(comment)} (asked because: ${proposal.why})`
    }
    case 'wish': {
      const ended =
        how === 'timed-out' ? 'nobody decided in time' : how === 'cancelled' ? 'nobody decided' : 'it was not approved'
      return `${ended}${commentSuffix(comment)}`
    }
    case 'mail':
      return comment === undefined ? `not approved (${how})` : shownComment(comment)
  }
}

/** `what` continues "a human refused …", for the leader who gave the work. */
const refusedWork = (what: string, { how, comment }: RefusedVerdict): string =>
  ({
    rejected: `a human refused ${what}${commentSuffix(comment)}`,
    retry: `a human refused ${what}, and asks you to change it and try again${commentSuffix(comment)}`,
    'timed-out': `nobody agreed in time ${what}${commentSuffix(comment)}`,
    cancelled: `the question whether ${what} was withdrawn`,
    unreadable: `the decision ${what} could not be read`,
  })[how]

const commentSuffix = (comment: string | undefined): string =>
  comment === undefined || comment === '' ? '' : `: ${shownComment(comment)}`

/** The failure of a refused proposal. `details.how` tells a rejection from an expired deadline. Pure. */
export const refusalFailure = (message: string, { how, approver, comment }: RefusedVerdict): Failure =>
  failure('work.rejected', message, how === 'timed-out' ? 'timeout' : 'rejected', {
    retryable: false,
    details: { how, ...present({ approver, comment }) },
  })

/** The beginning of the message for a call that was approved but is no longer valid. Pure. */
export const approvedBefore = (approver: string | undefined): string =>
  approver === undefined ? 'this call was approved' : `${shownComment(approver)} approved this call`
