/** Who may decide what, and deciding several approvals in one call: each is recorded by itself, and has its own result. */
import type { DecidedRow, DecisionBody, QuestionView } from '@reeve/server/wire'
import { server } from '../../data/server.ts'

export type Decision = DecisionBody['decision']

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

/** The most that are decided at once: more than a person compares. The server takes more. */
export const mostTogether = 100

/** Decides all of these. What became of each, in their order. */
export const decideTogether = (
  questions: readonly QuestionView[],
  decision: 'approve' | 'reject',
  comment: string,
): Promise<readonly DecidedRow[]> =>
  server.questions.decideAll(
    questions.map(({ id, approval }) => ({
      id,
      inputHash: approval!.inputHash,
      decision,
      ...(comment === '' ? undefined : { comment }),
    })),
  )
