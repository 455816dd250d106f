/**
 * Decisions: what an approver may decide, and the verdict that follows.
 *
 * Owns: the shapes and their parsing. Pure. Does not own: requests (approval.ts), who may decide (approver-policy.ts),
 * how a decision arrives (runtime), the sentences of a refusal (refusal.ts).
 */
import { isObject, present, type Json, type Outcome } from '@reeve/core'
import type { ApprovalResolved } from '@reeve/journal'
import type { Capability } from './capability.ts'
import { readGranting, type SessionGrant } from './grants.ts'

/** The decisions of an approver. */
export type DecisionOption = 'approve' | 'reject' | 'edit' | 'retry'

/** The result of an approval. `input`: the approved arguments, which an approver may have edited. */
export type Verdict =
  | {
      readonly approved: true
      readonly input: Json
      readonly edited: boolean
      readonly by: 'human' | 'deadline' | 'grant'
      readonly approver?: string
      readonly comment?: string
      /** Covers later calls, too. */
      readonly grant?: SessionGrant
      /** The permission for one use. */
      readonly capability?: Capability
      /** The document shown to the approver. Absent: the decision named none. */
      readonly on?: DecidedOn
    }
  | {
      readonly approved: false
      readonly how: 'rejected' | 'retry' | 'timed-out' | 'cancelled' | 'unreadable'
      readonly approver?: string
      readonly comment?: string
      /** Of `retry`: the ids of the effects that are to be made once more. */
      readonly repeat?: readonly string[]
      /** Not rejected by an approver: too many edits were invalid; `comment` has the problem of the last one. */
      readonly misfit?: true
    }

/** An approval. */
export type ApprovedVerdict = Extract<Verdict, { readonly approved: true }>

/** A rejection, an expired deadline, or a withdrawn request. */
export type RefusedVerdict = Extract<Verdict, { readonly approved: false }>

/** The document on which the approver decided. */
export interface DecidedOn {
  readonly tool: string
  readonly toolVersion: string
  readonly inputHash: string
  /** Whether two approvers were asked for. */
  readonly fourEyes: boolean
}

/** A decision as it arrives. */
export type Decided = {
  readonly approver?: string
  readonly comment?: string
  readonly on?: DecidedOn
} & (
  | { readonly decision: 'approve'; readonly grant?: SessionGrant }
  | { readonly decision: 'reject' | 'retry'; readonly repeat?: readonly string[] }
  | { readonly decision: 'edit'; readonly input: Json }
)

const text = (given: Json | undefined): string | undefined => (typeof given === 'string' ? given : undefined)

/** Parses a decision; undefined if it is invalid. Ignores unknown fields. Pure. */
export function readDecision(given: Json): Decided | undefined {
  if (!isObject(given)) return undefined
  const { decision, input, approver, comment, grant: granting, on, repeat } = given
  const by = present({ approver: text(approver), comment: text(comment), on: readOn(on) })
  if (decision === 'edit') return input === undefined ? undefined : { decision, input, ...by }
  if (decision === 'approve') return { decision, ...by, ...present({ grant: readGranting(granting) }) }
  if (decision === 'retry') return { decision, ...by, ...present({ repeat: readRepeat(repeat) }) }
  return decision === 'reject' ? { decision, ...by } : undefined
}

function readRepeat(given: Json | undefined): readonly string[] | undefined {
  if (!Array.isArray(given)) return undefined
  return (given as readonly Json[]).filter((id) => typeof id === 'string')
}

function readOn(given: Json | undefined): DecidedOn | undefined {
  if (!isObject(given)) return undefined
  const { tool, toolVersion, inputHash, fourEyes } = given
  if (typeof tool !== 'string' || typeof toolVersion !== 'string' || typeof inputHash !== 'string') return undefined
  return typeof fourEyes === 'boolean' ? { tool, toolVersion, inputHash, fourEyes } : undefined
}

/** The verdict for the outcome of a request. Pure. */
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
  return {
    approved: false,
    how: decided.decision === 'retry' ? 'retry' : 'rejected',
    ...by,
    ...present({ repeat: decided.repeat }),
  }
}

/** The expiry of an approval of work that has not begun. One that an approver saw no document of never expires. Pure. */
export const goodUntil = ({ capability, on }: ApprovedVerdict): { readonly until?: number } =>
  capability === undefined || on === undefined ? {} : { until: capability.expiresAt }

/** The approver's decision; undefined if a deadline or a cancel ended the request. Pure. */
export function decisionIn(verdict: Verdict): DecisionOption | undefined {
  if (verdict.approved) return verdict.by !== 'human' ? undefined : verdict.edited ? 'edit' : 'approve'
  return verdict.how === 'rejected' ? 'reject' : verdict.how === 'retry' ? 'retry' : undefined
}

/** The resolution to record. Pure. */
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
