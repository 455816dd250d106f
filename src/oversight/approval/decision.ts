/**
 * Decisions: what an approver may decide, and what the end of an approval means.
 *
 * Owns: the shapes and their reading. Pure. Does not own: asking (approval.ts), who may decide (approver-policy.ts),
 * how a decision gets here (runtime), the sentences of a refusal (refusal.ts).
 */
import { isObject, present, type Json, type Outcome } from '../../core/index.ts'
import type { ApprovalResolved } from '../../journal/index.ts'
import type { Capability } from './capability.ts'
import { readGranting, type SessionGrant } from './grants.ts'

/** What may be decided. */
export type DecisionOption = 'approve' | 'reject' | 'edit' | 'retry'

/** How an approval came out. `approved` with the arguments that hold now: a human may have edited them. */
export type Verdict =
  | {
      readonly approved: true
      readonly input: Json
      readonly edited: boolean
      readonly by: 'human' | 'deadline' | 'grant'
      readonly approver?: string
      readonly comment?: string
      /** It holds for later calls, too. */
      readonly grant?: SessionGrant
      /** What it is good for: one use. */
      readonly capability?: Capability
      /** The document shown to the approver. Absent in journals older than this field. */
      readonly on?: DecidedOn
    }
  | {
      readonly approved: false
      readonly how: 'rejected' | 'retry' | 'timed-out' | 'cancelled' | 'unreadable'
      readonly approver?: string
      readonly comment?: string
      /** No approver has said no: as many edits as may did not fit, and `comment` says why the last one did not. */
      readonly misfit?: true
    }

/** A yes. */
export type ApprovedVerdict = Extract<Verdict, { readonly approved: true }>

/** A no, an expired deadline, or a question that was withdrawn. */
export type RefusedVerdict = Extract<Verdict, { readonly approved: false }>

/** The document on which the approver decided. */
export interface DecidedOn {
  readonly tool: string
  readonly toolVersion: string
  readonly inputHash: string
  /** Whether two approvers were asked for. Absent in journals older than this field. */
  readonly fourEyes?: boolean
}

/** A decision, as it arrives. */
export type Decided = {
  readonly approver?: string
  readonly comment?: string
  readonly on?: DecidedOn
} & (
  | { readonly decision: 'approve'; readonly grant?: SessionGrant }
  | { readonly decision: 'reject' | 'retry' }
  | { readonly decision: 'edit'; readonly input: Json }
)

const text = (given: Json | undefined): string | undefined => (typeof given === 'string' ? given : undefined)

/** Reads a decision; undefined if it is not one. Unknown fields are ignored. Pure. */
export function readDecision(given: Json): Decided | undefined {
  if (!isObject(given)) return undefined
  const { decision, input, approver, comment, grant: granting, on } = given
  const by = present({ approver: text(approver), comment: text(comment), on: readOn(on) })
  if (decision === 'edit') return input === undefined ? undefined : { decision, input, ...by }
  if (decision === 'approve') return { decision, ...by, ...present({ grant: readGranting(granting) }) }
  return decision === 'reject' || decision === 'retry' ? { decision, ...by } : undefined
}

function readOn(given: Json | undefined): DecidedOn | undefined {
  if (!isObject(given)) return undefined
  const { tool, toolVersion, inputHash, fourEyes } = given
  if (typeof tool !== 'string' || typeof toolVersion !== 'string' || typeof inputHash !== 'string') return undefined
  return { tool, toolVersion, inputHash, ...(typeof fourEyes === 'boolean' ? { fourEyes } : undefined) }
}

/** What the end of the question means. Pure. */
export function verdictOf(outcome: Outcome, input: Json, onTimeout: 'reject' | 'approve'): Verdict {
  if (outcome.status === 'timed-out')
    return onTimeout === 'approve'
      ? { approved: true, input, edited: false, by: 'deadline' }
      : { approved: false, how: 'timed-out' }
  if (outcome.status !== 'completed') return { approved: false, how: 'cancelled' }
  const decided = readDecision(outcome.output)
  if (decided === undefined) return { approved: false, how: 'unreadable' }
  const by = present({ approver: decided.approver, comment: decided.comment })
  if (decided.decision === 'edit') return { approved: true, input: decided.input, edited: true, by: 'human', ...by }
  if (decided.decision === 'approve')
    return { approved: true, input, edited: false, by: 'human', ...by, ...present({ grant: decided.grant }) }
  return { approved: false, how: decided.decision === 'retry' ? 'retry' : 'rejected', ...by }
}

/**
 * Until when a yes to work that has not begun is good. Decisions of journals older than `fourEyes` do not expire. Pure.
 */
export const goodUntil = ({ capability, on }: ApprovedVerdict): { readonly until?: number } =>
  capability === undefined || on?.fourEyes === undefined ? {} : { until: capability.expiresAt }

/** The approver's decision; undefined where a deadline or a cancel has ended the question. Pure. */
export function decisionIn(verdict: Verdict): DecisionOption | undefined {
  if (verdict.approved) return verdict.by !== 'human' ? undefined : verdict.edited ? 'edit' : 'approve'
  return verdict.how === 'rejected' ? 'reject' : verdict.how === 'retry' ? 'retry' : undefined
}

/** How it is recorded. Pure. */
export function resolutionOf(verdict: Verdict): ApprovalResolved['resolution'] {
  if (verdict.approved) return verdict.by === 'deadline' ? 'timed-out-approved' : verdict.edited ? 'edited' : 'approved'
  const ends = {
    'timed-out': 'timed-out-rejected',
    cancelled: 'cancelled',
    retry: 'retry',
    rejected: 'rejected',
    unreadable: 'rejected',
  } as const
  return ends[verdict.how]
}
