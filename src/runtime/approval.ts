/**
 * Open approvals, as those who may decide them see them.
 *
 * Owns: the picture of an open approval. Does not own: deciding (decide.ts), what was decided in the past (journal views).
 */
import { copy, type ActivationId, type Json, type RunId } from '../core/index.ts'
import type { Question } from '../engine/index.ts'
import type { ApprovalRequested } from '../journal/index.ts'

/** An open yes/no question about one exact action. */
export interface Approval {
  readonly id: string
  readonly run: RunId
  readonly activation: ActivationId
  /** Agents' names from the root to the one that asks. */
  readonly path: readonly string[]
  readonly tool: string
  readonly toolVersion: string
  readonly input: Json
  /** SHA-256 of the canonical arguments: the approval holds for exactly these. */
  readonly inputHash: string
  readonly reason: string
  readonly risk: ApprovalRequested['risk']
  readonly onTimeout: ApprovalRequested['onTimeout']
  /** A yes may hold for later calls, too: `decide({ …, grant: 'session' })`. */
  readonly grantable: boolean
  readonly askedAt: number
  readonly until?: number
}

/** The approvals among open questions, in their order. Copies. */
export function approvalsAmong(questions: readonly Question[]): readonly Approval[] {
  return questions.flatMap((question) => {
    if (question.kind !== 'approval') return []
    const { path, tool, toolVersion, input, inputHash, reason, risk, onTimeout, grantable = false } = question.body as ApprovalRequested
    const { id, run, activation, askedAt, until } = question
    const given = { path: [...path], tool, toolVersion, input: copy(input), inputHash, reason, risk, onTimeout, grantable }
    return [{ id, run, activation, askedAt, ...given, ...(until === undefined ? {} : { until }) }]
  })
}
