/**
 * Open approvals, as those who may decide them see them.
 *
 * Owns: the picture of an open approval. Does not own: deciding (decisions.ts), what was decided in the past (journal
 * views).
 */
import { copy, present, type ActivationId, type Json, type RunId } from '../../core/index.ts'
import type { Question } from '../../engine/index.ts'
import { approvalAsked, type ApprovalAsked, type ApprovalRequested } from '../../journal/index.ts'

/** An open yes/no question about one exact action: what it asks for is what `approval.requested` says. */
export interface Approval extends ApprovalAsked {
  readonly run: RunId
  readonly activation: ActivationId
  /** A yes may hold for later calls, too: `decide({ …, grant: 'session' })`. */
  readonly grantable: boolean
  readonly askedAt: number
  readonly until?: number
}

/** What still needs an answer of these questions. */
export const unanswered = (questions: readonly Question[]): readonly Question[] =>
  questions.filter(({ answered }) => answered !== true)

/** The approvals among open questions, in their order. Copies. */
export function approvalsAmong(questions: readonly Question[]): readonly Approval[] {
  return questions.flatMap((question) => {
    if (question.kind !== 'approval') return []
    const body = question.body as ApprovalRequested
    const asked = copy(approvalAsked(body) as unknown as Json) as unknown as ApprovalAsked
    const { run, activation, askedAt, until } = question
    return [{ ...asked, run, activation, askedAt, grantable: body.grantable ?? false, ...present({ until }) }]
  })
}
