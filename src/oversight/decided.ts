/**
 * Decisions: what somebody outside may say to an approval, and what the end of one means.
 *
 * Owns: the shapes and their reading. Pure. Does not own: asking (approval.ts), who may decide (permitted.ts), how a decision gets here (runtime).
 */
import { failure, isObject, present, type Failure, type Json, type Outcome } from '../core/index.ts'
import type { ApprovalResolved } from '../journal/index.ts'
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
      /** What a human has seen who decided it; no journal has it from before that was recorded. */
      readonly on?: DecidedOn
    }
  | {
      readonly approved: false
      readonly how: 'rejected' | 'retry' | 'timed-out' | 'cancelled' | 'unreadable'
      readonly approver?: string
      readonly comment?: string
    }

/** What was decided about: what whoever decided has seen. */
export interface DecidedOn {
  readonly tool: string
  readonly toolVersion: string
  readonly inputHash: string
  /** Whether two people were asked for. Absent in decisions from before that was recorded. */
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

/** Reads a decision; undefined if it is none. Pure. Fields that a decision does not have are ignored. */
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
    return onTimeout === 'approve' ? { approved: true, input, edited: false, by: 'deadline' } : { approved: false, how: 'timed-out' }
  if (outcome.status !== 'completed') return { approved: false, how: 'cancelled' }
  const decided = readDecision(outcome.output)
  if (decided === undefined) return { approved: false, how: 'unreadable' }
  const by = present({ approver: decided.approver, comment: decided.comment })
  if (decided.decision === 'edit') return { approved: true, input: decided.input, edited: true, by: 'human', ...by }
  if (decided.decision === 'approve')
    return { approved: true, input, edited: false, by: 'human', ...by, ...present({ grant: decided.grant }) }
  return { approved: false, how: decided.decision === 'retry' ? 'retry' : 'rejected', ...by }
}

/** Until when a yes to work that nobody has begun yet is good, as a yes to a tool is. Decisions from before that was looked at hold as they did. Pure. */
export const goodUntil = ({ capability, on }: Extract<Verdict, { readonly approved: true }>): { readonly until?: number } =>
  capability === undefined || on?.fourEyes === undefined ? {} : { until: capability.expiresAt }

/** What was decided, of those things that may be; undefined where nobody has decided. Pure. */
export function decisionIn(verdict: Verdict): DecisionOption | undefined {
  if (verdict.approved) return verdict.by !== 'human' ? undefined : verdict.edited ? 'edit' : 'approve'
  return verdict.how === 'rejected' ? 'reject' : verdict.how === 'retry' ? 'retry' : undefined
}

/** The failure of what was not approved, in these words; `details.how` tells a human's no from a deadline, which is nobody's. Pure. */
export const notApprovedAs = (message: string, { how, approver, comment }: Extract<Verdict, { readonly approved: false }>): Failure =>
  failure('work.rejected', message, how === 'timed-out' ? 'timeout' : 'rejected', {
    retryable: false,
    details: { how, ...present({ approver, comment }) },
  })

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
