/**
 * Escalation: which of all that happens a human is to look at, why, and whether one is asked or only told (spec team
 *
 *
 * Owns: the triggers, their order, the gate of the three modes. Pure. Does not own: asking (review.ts), which mode
 * holds (trust.ts and the edge), where confidence and cost come from (agent).
 */
import { present } from '../../core/index.ts'
import {
  defaultMode,
  escalateDefaults,
  type Escalate,
  type Oversight,
  type OversightMode,
  type RiskLevel,
} from '../../edge/index.ts'
import type { EscalationHit } from '../../journal/index.ts'
import { sensitiveWord, worse } from './sensitive-words.ts'

/** What may be escalated, as far as anybody knows. What is absent is not looked at: it is unknown, and not 0. */
export interface Subject {
  /** What is done, by its identifier: the tool, or the task's action. */
  readonly action?: string
  readonly description?: string
  readonly risk?: RiskLevel
  /** It is sensitive, whatever its name. */
  readonly sensitive?: boolean
  /** It needs an approval in every mode. */
  readonly always?: boolean
  /** What it costs, or will. */
  readonly costUsd?: number
  /** How sure its agent is of it, 0 to 1. */
  readonly confidence?: number
  /** How many failed in a row before it. */
  readonly failures?: number
  /** How long it took. */
  readonly tookMs?: number
  /** Why nobody here can do it. */
  readonly outOfScope?: string
  /**
   * Why what is said of it could not be used: a reason to ask by itself, because nothing is known then. No hit of a
   * rule, so no rule turns it off.
   */
  readonly unusable?: string
}

/** What has come of looking. */
export interface Escalation {
  readonly escalate: boolean
  /** The weightiest. */
  readonly primary?: EscalationHit
  /** All, the weightiest first. */
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

/** All that speaks for a human to look, in the rule's order; never only the first. */
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
        : `"${action ?? description ?? ''}" is sensitive: ${word}`,
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
  return { escalate: primary !== undefined, ...(primary === undefined ? undefined : { primary }), all }
}

/** Whether a human is asked before something goes on, and what they are told. */
export interface GateWord {
  readonly asks: boolean
  readonly mode: OversightMode
  readonly hits: readonly EscalationHit[]
  /** Raised by what is sensitive, never lowered. */
  readonly risk: RiskLevel
  readonly sensitive: boolean
}

/**
 * The gate (spec team R-15): in command everything, in the loop whatever is escalated, on the loop only what always
 * requires an approval. Without oversight only that, too. A mode that nobody knows is in command.
 */
export function gateOf(
  oversight: Oversight | undefined,
  subject: Subject,
  mode: OversightMode = oversight?.mode ?? defaultMode,
): GateWord {
  const { all: hits } = oversight === undefined ? { all: [] } : evaluateEscalation(subject, oversight.escalate)
  const sensitive = subject.sensitive === true || hits.some(({ code }) => code === 'sensitive_action')
  const asked =
    oversight !== undefined &&
    mode !== 'on-the-loop' &&
    (mode !== 'in-the-loop' || hits.length > 0 || subject.unusable !== undefined)
  return {
    asks: asked || subject.always === true,
    mode,
    hits,
    sensitive,
    risk: sensitive ? worse(subject.risk ?? 'high', 'high') : (subject.risk ?? 'medium'),
  }
}
