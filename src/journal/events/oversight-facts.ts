/**
 * Facts of oversight: why a human is to look, what an agent says of its own result, who was told, what became of trust.
 *
 * Owns: these events. Does not own: who emits them (../oversight, ../agent), approvals themselves (facts.ts,
 * events.ts). Spec team 1.14 to 1.18.
 */
import type { Failure, Json } from '../../core/index.ts'

interface Fact {
  readonly op: 'fact'
  readonly address: string
}

/** One reason why a human is to look (spec team R-14). */
export interface EscalationHit {
  readonly code:
    'sensitive_action' | 'cost_limit' | 'low_confidence' | 'consecutive_failures' | 'decision_timeout' | 'out_of_scope'
  readonly priority: 'highest' | 'high' | 'medium' | 'low'
  readonly detail: string
}

/**
 * Something is such that a human is to look: all that speaks for it, the weightiest first. `asks`: one is asked, an
 * approval follows; otherwise it is only noted.
 */
export interface EscalationRaised extends Fact {
  readonly type: 'escalation.raised'
  readonly subject: 'action' | 'task' | 'result' | 'work'
  /** The tool, the task, or the agent whose result or work it is. */
  readonly name: string
  readonly mode: 'in-command' | 'in-the-loop' | 'on-the-loop'
  readonly hits: readonly EscalationHit[]
  readonly asks: boolean
  readonly callId?: string
}
/** What an agent says of its own result. */
export interface ResultAssessed extends Fact {
  readonly type: 'result.assessed'
  /** 0 to 1. */
  readonly confidence?: number
  readonly costUsd?: number
  readonly proposedAction?: { readonly name: string; readonly input?: Json; readonly costUsd?: number }
  /** Why it cannot be done here. */
  readonly cannotDo?: string
}
/** Somebody was told over a channel that an approval or an answer is wanted. */
export interface NoticeSent extends Fact {
  readonly type: 'notice.sent'
  readonly channel: string
  /** Of the approval or the interrupt. */
  readonly id: string
}
/** A channel could not tell anybody. Whoever waits goes on waiting. */
export interface NoticeFailed extends Fact {
  readonly type: 'notice.failed'
  readonly channel: string
  readonly id: string
  readonly failure: Failure
}
/** Trust was reckoned anew after some work, or an incident was noted. */
export interface TrustUpdated extends Fact {
  readonly type: 'trust.updated'
  readonly trust: string
  readonly level: string
  readonly tasks: number
  readonly succeeded: number
  /** What came of looking whether it may rise. */
  readonly reason?: string
}

/** All of them. */
export type OversightFactEvent = EscalationRaised | ResultAssessed | NoticeSent | NoticeFailed | TrustUpdated
