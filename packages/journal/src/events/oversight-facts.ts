/**
 * Facts of oversight: why a human must decide, how an agent assesses its own result, which notices were
 * sent, how trust changed.
 *
 * Owns: these events. Does not own: who emits them (../../oversight, ../../agent), approvals themselves (facts.ts,
 * events.ts). Spec team 1.14 to 1.18.
 */
import type { Failure, Json, OversightMode, JsonObject } from '@reeve/core'
import type { FactCommand } from './fact-command.ts'

/** One reason why a human must decide (spec team R-14). */
export interface EscalationHit {
  readonly code:
    'sensitive_action' | 'cost_limit' | 'low_confidence' | 'consecutive_failures' | 'decision_timeout' | 'out_of_scope'
  readonly priority: 'highest' | 'high' | 'medium' | 'low'
  readonly detail: string
}

/**
 * An action, a task or a result was escalated: all reasons, the weightiest first. `asks`: a human is asked, so an
 * approval follows; otherwise it is only noted.
 */
export interface EscalationRaised extends FactCommand {
  readonly type: 'escalation.raised'
  readonly subject: 'action' | 'task' | 'result' | 'work'
  /** The tool, the task, or the agent whose result or work it is. */
  readonly name: string
  readonly mode: OversightMode
  readonly hits: readonly EscalationHit[]
  readonly asks: boolean
  readonly callId?: string
}
/** How an agent assesses its own result. */
export interface ResultAssessed extends FactCommand {
  readonly type: 'result.assessed'
  /** 0 to 1. */
  readonly confidence?: number
  readonly costUsd?: number
  readonly proposedAction?: { readonly name: string; readonly input?: Json; readonly costUsd?: number }
  /** Why it cannot be done here. */
  readonly cannotDo?: string
}
/** A notice was sent over a channel: an approval or an answer is wanted. */
export interface NoticeSent extends FactCommand {
  readonly type: 'notice.sent'
  readonly channel: string
  /** Of the approval or the interrupt. */
  readonly id: string
  /** By what the channel knows its message, such as its place in Slack. Absent: it said nothing. */
  readonly message?: JsonObject
}
/** A channel failed to send a notice. The question stays open. */
export interface NoticeFailed extends FactCommand {
  readonly type: 'notice.failed'
  readonly channel: string
  readonly id: string
  readonly failure: Failure
}
/** Trust was computed again after some work, or after an incident. */
export interface TrustUpdated extends FactCommand {
  readonly type: 'trust.updated'
  readonly trust: string
  readonly level: string
  readonly tasks: number
  readonly succeeded: number
  /** Why the level rose or did not. */
  readonly reason?: string
}

/** All of them. */
export type OversightFactEvent = EscalationRaised | ResultAssessed | NoticeSent | NoticeFailed | TrustUpdated
