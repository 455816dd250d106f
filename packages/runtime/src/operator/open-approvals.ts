/**
 * Open approvals as approvers see them.
 *
 * Owns: the view of an open approval. Does not own: deciding (decisions.ts), past decisions (journal views).
 */
import { copy, present, type ActivationId, type Json, type RunId } from '@reeve/core'
import type { Question } from '@reeve/engine'
import { approvalAsked, type ApprovalAsked, type ApprovalRequested } from '@reeve/journal'
import { aloneReason, type AloneReason } from '@reeve/oversight'

/** An open request to approve one exact action, with the fields of `approval.requested`. */
export interface Approval extends ApprovalAsked {
  readonly run: RunId
  readonly activation: ActivationId
  /** An approval may cover later calls, too: `decide({ …, grant: 'session' })`. */
  readonly grantable: boolean
  readonly askedAt: number
  readonly until?: number
  /** Why it must be decided by itself. Absent: it may be decided together with others, by `decideAll`. */
  readonly alone?: AloneReason
}

/** The open approvals among these questions. */
export const unanswered = (questions: readonly Question[]): readonly Question[] =>
  questions.filter(({ answered }) => answered !== true)

/** The approvals among open questions, in their order. Copies. */
export function approvalsAmong(questions: readonly Question[]): readonly Approval[] {
  return questions.flatMap((question) => {
    if (question.kind !== 'approval') return []
    const body = question.body as ApprovalRequested
    const asked = copy(approvalAsked(body) as unknown as Json) as unknown as ApprovalAsked
    const { run, activation, askedAt, until } = question
    const grantable = body.grantable ?? false
    return [{ ...asked, run, activation, askedAt, grantable, ...present({ until, alone: aloneReason(body) }) }]
  })
}
