/**
 * Open approvals, as those who may decide them see them.
 *
 * Owns: the picture of an open approval. Does not own: deciding (decide.ts), what was decided in the past (journal views).
 */
import { copy, present, type ActivationId, type Json, type RunId } from '../core/index.ts'
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
  /** What it is about, if not a call of a tool. */
  readonly kind?: NonNullable<ApprovalRequested['kind']>
  /** Of a planned team: the task that it is about. */
  readonly task?: string
  readonly description?: string
  /** All that speaks for asking, the weightiest first. */
  readonly hits?: NonNullable<ApprovalRequested['hits']>
  /** What whoever decides may want to see: a result, a report. */
  readonly context?: Json
  /** What may be decided. Absent: all of it. */
  readonly options?: NonNullable<ApprovalRequested['options']>
  /** Who may decide. Absent: anybody. */
  readonly approvers?: readonly string[]
  /** Who may not approve it: they have already, and somebody else is to look. */
  readonly excludes?: readonly string[]
  /** Two different people have to approve it: whoever does has to give a name. */
  readonly fourEyes?: true
  /** The approval before this one: its deadline has passed (`tier`), it was given and a second one is needed, or whoever decided might not. */
  readonly follows?: string
  /** Which of those who are asked one after the other, from 1; absent: the first. */
  readonly tier?: number
}

/** What an approval says besides the exact action. */
const detailsOf = (asked: ApprovalRequested): ApprovalDetails => {
  const { kind, task, description, hits, context, options, approvers, excludes, fourEyes, follows, tier } = asked
  return copy(present({ kind, task, description, hits, context, options, approvers, excludes, fourEyes, follows, tier }) as never)
}
type ApprovalDetails = Pick<
  Approval,
  'kind' | 'task' | 'description' | 'hits' | 'context' | 'options' | 'approvers' | 'excludes' | 'fourEyes' | 'follows' | 'tier'
>

/** The approvals among open questions, in their order. Copies. */
export function approvalsAmong(questions: readonly Question[]): readonly Approval[] {
  return questions.flatMap((question) => {
    if (question.kind !== 'approval') return []
    const asked = question.body as ApprovalRequested
    const { path, tool, toolVersion, input, inputHash, reason, risk, onTimeout, grantable = false } = asked
    const { id, run, activation, askedAt, until } = question
    const given = { path: [...path], tool, toolVersion, input: copy(input), inputHash, reason, risk, onTimeout, grantable }
    return [{ id, run, activation, askedAt, ...given, ...(until === undefined ? {} : { until }), ...detailsOf(asked) }]
  })
}
