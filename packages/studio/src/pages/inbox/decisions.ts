/** Deciding several approvals at once: each is recorded by itself, and has a result of its own. */
import { ClientError } from '@reeve/client'
import type { DecisionBody, QuestionView } from '@reeve/server/wire'
import { server } from '../../data/server.ts'
import { aloneReason } from './argument-fields.ts'

export type Decision = DecisionBody['decision']

/** What became of one. `lost`: it was decided before, by this or another person. */
export type DecisionResult =
  | { readonly type: 'decided' }
  | { readonly type: 'lost'; readonly message: string }
  | { readonly type: 'refused'; readonly message: string }

/** Whether a person may make this decision. */
export function mayDecide(question: QuestionView, decision: Decision, name: string | undefined): boolean {
  const { approval, mayAnswer } = question
  return (
    approval !== undefined &&
    mayAnswer === true &&
    (approval.options ?? [decision]).includes(decision) &&
    // who has approved it may still refuse it
    !((decision === 'approve' || decision === 'edit') && name !== undefined && approval.excludes?.includes(name))
  )
}

/** The most that are decided in one call. */
export const mostTogether = 100

/** Decides all of these; the results are in their order. Rejects if the server does not answer. */
export async function decideTogether(
  questions: readonly QuestionView[],
  decision: 'approve' | 'reject',
  comment: string,
): Promise<readonly DecisionResult[]> {
  const results: DecisionResult[] = []
  for (const question of questions) {
    const alone = aloneReason(question)
    if (alone !== undefined) {
      results.push({ type: 'refused', message: alone })
      continue
    }
    try {
      await server.questions.decide({
        decision,
        approvalId: question.id,
        inputHash: question.approval!.inputHash,
        ...(comment === '' ? undefined : { comment }),
      })
      results.push({ type: 'decided' })
    } catch (error) {
      if (!(error instanceof ClientError) || error.code === 'server.unreachable') throw error
      results.push({ type: error.status === 409 || error.status === 404 ? 'lost' : 'refused', message: error.message })
    }
  }
  return results
}
