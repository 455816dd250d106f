/**
 * Escalation: which actions, work and results an approver must see, and why (spec team ).
 *
 * Owns: the triggers, their order, the gate of the three modes. Pure. Does not own: the review (review.ts), the current
 * mode (trust.ts and the edge), the source of confidence and cost (agent).
 */
import { defaultMode, present, redactedMark, ruleOfMode, type OversightMode, type RiskLevel } from '@reeve/core'
import { escalateDefaults, type Escalate, type Oversight } from '@reeve/edge'
import type { EscalationHit } from '@reeve/journal'
import { sensitiveWord, worse } from './sensitive-words.ts'

/** A subject of escalation. Absent fields are unknown and trigger nothing; they do not count as 0. */
export interface Subject {
  /** The action: the name of the tool, or the action of the task. */
  readonly action?: string
  readonly description?: string
  readonly risk?: RiskLevel
  /** It is sensitive, whatever its name. */
  readonly sensitive?: boolean
  /** It needs an approval in every mode. */
  readonly always?: boolean
  /** The actual or estimated cost. */
  readonly costUsd?: number
  /** The confidence of its agent, 0 to 1. */
  readonly confidence?: number
  /** The number of consecutive failures before it. */
  readonly failures?: number
  /** The duration of the decision. */
  readonly tookMs?: number
  /** Why the agent cannot do it. */
  readonly outOfScope?: string
  /**
   * Why the agent's assessment was unusable. That alone is a reason to ask, as nothing is known then; no rule turns it
   * off.
   */
  readonly unusable?: string
}

/** The result of the triggers. */
export interface Escalation {
  readonly escalate: boolean
  /** The hit with the highest priority. */
  readonly primary?: EscalationHit
  /** All hits, highest priority first. */
  readonly all: readonly EscalationHit[]
}

const priorities = {
  sensitive_action: 'highest',
  cost_limit: 'high',
  low_confidence: 'medium',
  consecutive_failures: 'medium',
  decision_timeout: 'medium',
  out_of_scope: 'low',
} as const satisfies Record<EscalationHit['code'], EscalationHit['priority']>

const usd = (amount: number): string => `$${String(amount)}`

/** Evaluates all triggers, in order of priority. */
export function evaluateEscalation(subject: Subject, rules: Escalate = {}): Escalation {
  const { confidenceBelow, costAboveUsd, consecutiveFailures } = { ...escalateDefaults, ...present(rules) }
  const { decisionMs = false, outOfScope = true } = rules
  const { action, description, costUsd, confidence, failures, tookMs } = subject
  const all: EscalationHit[] = []
  const hit = (code: EscalationHit['code'], detail: string): void =>
    void all.push({ code, priority: priorities[code], detail })
  const word = sensitiveWord(action, rules, description)
  if (subject.sensitive === true || word !== undefined)
    hit(
      'sensitive_action',
      word === undefined
        ? `"${action ?? 'this'}" is sensitive`
        : `"${action ?? description ?? ''}" is sensitive: ${word === redactedMark ? 'redaction has removed a part of it' : word}`,
    )
  if (costAboveUsd !== false && costUsd !== undefined && costUsd > costAboveUsd)
    hit('cost_limit', `it costs ${usd(costUsd)}, and more than ${usd(costAboveUsd)} is to be seen`)
  if (confidenceBelow !== false && confidence !== undefined && confidence < confidenceBelow)
    hit('low_confidence', `confidence is ${confidence}, and below ${confidenceBelow} is to be seen`)
  if (consecutiveFailures !== false && failures !== undefined && failures >= consecutiveFailures)
    hit('consecutive_failures', `${failures} failed in a row, and ${consecutiveFailures} are to be seen`)
  if (decisionMs !== false && tookMs !== undefined && tookMs > decisionMs)
    hit('decision_timeout', `it took ${tookMs} ms, and more than ${decisionMs} is to be seen`)
  if (outOfScope && subject.outOfScope !== undefined) hit('out_of_scope', subject.outOfScope)
  const [primary] = all
  return { escalate: primary !== undefined, ...present({ primary }), all }
}

/** The result of the gate: whether an approver is asked, and with which hits and risk. */
export interface GateDecision {
  readonly asks: boolean
  readonly mode: OversightMode
  readonly hits: readonly EscalationHit[]
  /** Raised for sensitive subjects, never lowered. */
  readonly risk: RiskLevel
  readonly sensitive: boolean
}

/**
 * The gate (spec team R-15). Asks as the rule of the mode says; without oversight only for subjects that always need
 * approval. An unknown mode asks about all.
 */
export function gateOf(
  oversight: Oversight | undefined,
  subject: Subject,
  mode: OversightMode = oversight?.mode ?? defaultMode,
): GateDecision {
  const { all: hits } = oversight === undefined ? { all: [] } : evaluateEscalation(subject, oversight.escalate)
  const sensitive = subject.sensitive === true || hits.some(({ code }) => code === 'sensitive_action')
  const asks = ruleOfMode(mode)?.asks ?? 'all'
  const asked =
    oversight !== undefined && asks !== 'none' && (asks === 'all' || hits.length > 0 || subject.unusable !== undefined)
  return {
    asks: asked || subject.always === true,
    mode,
    hits,
    sensitive,
    risk: sensitive ? worse(subject.risk ?? 'high', 'high') : (subject.risk ?? 'medium'),
  }
}
