/**
 * Oversight of an edge: how closely approvers look at the work of a worker and of all below it. It only ever gets
 * stricter on the way down (spec team ).
 *
 * Owns: the type, the check of given values, how what is above and what is a worker's own combine. Does not own: what
 * follows from it (../oversight), who is asked (runtime). JSON: it crosses with the edge, so whatever a gate decides by
 * is recorded (K1).
 */
import {
  choice,
  defaultMode,
  either,
  expects,
  flag,
  isSamePerson,
  listOf,
  number,
  object,
  oversightModeRules,
  personName,
  required,
  riskLevels,
  stricterMode,
  wholeNumber,
  choiceIn,
  present,
  type Check,
  type Checks,
  type OversightMode,
  type RiskLevel,
  type Rule,
} from '@reeve/core'

/** What raises a question to an approver. `false` turns a trigger off. */
export interface Escalate {
  /** A result that its agent is less sure of than this, 0 to 1. Exactly this is enough. Default 0.6. */
  readonly confidenceBelow?: number | false
  /** One action that costs more than this, in US dollars. Exactly this is not more. Default 1. */
  readonly costAboveUsd?: number | false
  /**
   * Actions by name that are sensitive, besides the usual: publish, send, send_email, delete, pay, share. `false`: none
   * is, by its name.
   */
  readonly sensitive?: readonly string[] | false
  /** Names that are not sensitive, whatever they contain. */
  readonly exceptions?: readonly string[]
  /**
   * `substring` (default): an action whose name contains one of the words. `word`: one that has it as a word:
   * `market_share` has share, `payload` has no pay.
   */
  readonly match?: 'substring' | 'word'
  /** The description of an action is looked at, too. Default false. */
  readonly scanDescription?: boolean
  /** So many failures of a leader's workers in a row. Default 3. */
  readonly consecutiveFailures?: number | false
  /** A piece of work that took longer than so many milliseconds. Default: off. */
  readonly decisionMs?: number | false
  /** Work that no agent here can do: there is no tool for it, or its agent says so. Default true. */
  readonly outOfScope?: boolean
}

/** The approvers that are asked next, and for how long. */
export interface ApproverTier {
  /** Names of approvers that may decide. Empty: every approver. */
  readonly who: readonly string[]
  /** Milliseconds. Default: those of all questions. */
  readonly timeoutMs?: number
}

/** How approvers are asked. What a tool or a task says of its own approval goes before it, where that is stricter. */
export interface ApprovalRules {
  /**
   * Milliseconds; 0 or less: the deadline has passed at once. Default: no deadline; 30 minutes for the approvals of a
   * planned team (plan, tasks, recruits, mail), and where `onTimeout` escalates or approves.
   */
  readonly timeoutMs?: number
  /**
   * What a deadline does. Default `reject`. `approve` is never obeyed for what is sensitive, always requires an
   * approval, or has high or critical risk. `escalate`: the next of `approvers` is asked; the last one's rejects.
   */
  readonly onTimeout?: 'reject' | 'approve' | 'escalate'
  /** Tiers of approvers, asked one after the other. Default: every approver. */
  readonly approvers?: readonly ApproverTier[]
  /** From which risk on two different people must approve. Default `critical`; `false`: never. */
  readonly fourEyes?: RiskLevel | false
  /** Names of the channels that tell approvers of a question. Default: none. */
  readonly notify?: readonly string[]
  /** How often an approver may send something back to be changed and tried again. Default 3. */
  readonly rounds?: number
}

/** How closely approvers look. */
export interface Oversight {
  /**
   * Default `in-the-loop`; where `trust` is named, what its level says, and the stricter of both where both are given.
   */
  readonly mode?: OversightMode
  /**
   * The name under which trust is kept: its level sets the mode of later runs, and an incident that of this one. More
   * than one: the strictest counts.
   */
  readonly trust?: string | readonly string[]
  readonly escalate?: Escalate
  readonly approval?: ApprovalRules
}

/** Under which trust may be kept: it becomes the name of a stream. */
export const isTrustName = (given: unknown): boolean =>
  typeof given === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,119}$/.test(given)
/** What such a name is, in a sentence. */
export const trustNameForm = 'a name: 1 to 120 letters, digits, ".", "_", ":", "@" or "-"'

const isFalse = (given: unknown): boolean => given === false
const named = expects((given) => typeof given === 'string' && given !== '', 'a name')
/** Whether a text can name an approver: at least one of its characters is visible. */
const person: Check = (given, where) =>
  typeof given === 'string' && given !== '' && personName(given) === ''
    ? [`${where} has no visible character, expected a name`]
    : named(given, where)
const amountOrOff = either(
  isFalse,
  number((given) => Number.isFinite(given) && given >= 0, 'a number of at least 0, or false'),
)
const escalateChecks: Checks<Escalate> = {
  confidenceBelow: either(
    isFalse,
    number((given) => given >= 0 && given <= 1, '0 to 1, or false'),
  ),
  costAboveUsd: amountOrOff,
  sensitive: either(isFalse, listOf(named, 'names')),
  exceptions: listOf(named, 'names'),
  match: choice('substring', 'word'),
  scanDescription: flag,
  consecutiveFailures: either(
    isFalse,
    number((given) => Number.isInteger(given) && given >= 1, 'a whole number of at least 1, or false'),
  ),
  decisionMs: amountOrOff,
  outOfScope: flag,
}
const finiteMs = number(Number.isFinite, 'milliseconds')
const approvalChecks: Checks<ApprovalRules> = {
  timeoutMs: finiteMs,
  onTimeout: choice('reject', 'approve', 'escalate'),
  approvers: listOf(
    object<ApproverTier>({ who: required(listOf(person, 'names')), timeoutMs: finiteMs }),
    'approvers: { who, … }',
  ),
  fourEyes: either(isFalse, choice(...riskLevels)),
  notify: listOf(named, 'names of channels'),
  rounds: wholeNumber(0),
}

/** Who approves, and what a deadline of one means. */
const approvalRule: Rule<ApprovalRules> = ({ onTimeout, approvers, fourEyes }, where) => {
  const tiers = Array.isArray(approvers) ? (approvers as readonly (Partial<ApproverTier> | null)[]) : []
  const people = tiers.flatMap((tier) =>
    Array.isArray(tier?.who) && tier.who.length > 0 ? (tier.who as readonly unknown[]) : [undefined],
  )
  const [first] = people
  return [
    onTimeout === 'escalate' &&
      tiers.length < 2 &&
      `${where}.onTimeout is "escalate", but no second approver is named; give approvers, at least two`,
    (fourEyes ?? false) !== false &&
      typeof first === 'string' &&
      people.every((each) => typeof each === 'string' && isSamePerson(each, first)) &&
      `${where}: fourEyes needs two different people, and approvers names only "${first}"`,
  ]
}

/** The check of oversight. */
export const oversightCheck = object<Oversight>({
  mode: choiceIn(oversightModeRules),
  trust: expects((given) => [given].flat().every(isTrustName), trustNameForm),
  escalate: object(escalateChecks),
  approval: object(approvalChecks, approvalRule),
})

/** The trust records of an oversight. Pure. */
export const trustsOf = ({ trust }: Oversight): readonly string[] =>
  trust === undefined ? [] : typeof trust === 'string' ? [trust] : trust

/**
 * What holds for a worker: what holds for its leader and what is its own, the stricter of each. Pure; never looser than
 * either.
 */
export function stricter(above: Oversight | undefined, own: Oversight | undefined): Oversight | undefined {
  if (above === undefined || own === undefined) return above ?? own
  const trust = [...new Set([...trustsOf(above), ...trustsOf(own)])]
  const modes = [above, own].flatMap((each) => each.mode ?? (trustsOf(each).length === 0 ? [defaultMode] : []))
  // where both name trust and no mode, what its level says decides alone
  const mode = modes.length === 0 ? undefined : modes.reduce(stricterMode)
  const escalate = stricterEscalate(above.escalate ?? {}, own.escalate ?? {})
  const approval = stricterApproval(above.approval ?? {}, own.approval ?? {})
  return {
    ...present({ mode }),
    ...(trust.length === 0 ? undefined : { trust }),
    ...(Object.keys(escalate).length === 0 ? undefined : { escalate }),
    ...(Object.keys(approval).length === 0 ? undefined : { approval }),
  }
}

/** Default thresholds (spec team 1.22). */
export const escalateDefaults = { confidenceBelow: 0.6, costAboveUsd: 1, consecutiveFailures: 3 } as const

type Writable<T> = { -readonly [K in keyof T]: T[K] }
type Threshold = number | false | undefined

/** Both thresholds, each with its default; one that is off says nothing. */
function threshold(
  one: Threshold,
  other: Threshold,
  usual: number | undefined,
  pick: (...both: number[]) => number,
): Threshold {
  if (one === undefined && other === undefined) return undefined
  const on = [one ?? usual ?? false, other ?? usual ?? false].filter((each) => each !== false)
  return on.length === 0 ? false : pick(...on)
}

function stricterEscalate(one: Escalate, other: Escalate): Escalate {
  const both: Writable<Escalate> = {}
  const { confidenceBelow, costAboveUsd, consecutiveFailures } = escalateDefaults
  const numbers = {
    confidenceBelow: threshold(one.confidenceBelow, other.confidenceBelow, confidenceBelow, Math.max),
    costAboveUsd: threshold(one.costAboveUsd, other.costAboveUsd, costAboveUsd, Math.min),
    consecutiveFailures: threshold(one.consecutiveFailures, other.consecutiveFailures, consecutiveFailures, Math.min),
    decisionMs: threshold(one.decisionMs, other.decisionMs, undefined, Math.min),
  }
  for (const [name, value] of Object.entries(numbers)) if (value !== undefined) Object.assign(both, { [name]: value })
  if (one.sensitive !== undefined || other.sensitive !== undefined)
    both.sensitive =
      one.sensitive === false && other.sensitive === false
        ? false
        : [
            ...new Set([
              ...(one.sensitive === false ? [] : (one.sensitive ?? [])),
              ...(other.sensitive === false ? [] : (other.sensitive ?? [])),
            ]),
          ]
  // what only one of them excepts is not excepted
  const exceptions = (one.exceptions ?? []).filter((each) => (other.exceptions ?? []).includes(each))
  if (exceptions.length > 0) both.exceptions = exceptions
  if (one.match === 'word' && other.match === 'word') both.match = 'word'
  if (one.scanDescription === true || other.scanDescription === true) both.scanDescription = true
  if (one.outOfScope === false && other.outOfScope === false) both.outOfScope = false
  return both
}

/** The default of a planned team's approvals, and of a deadline that escalates or approves. */
export const defaultApprovalTimeoutMs = 30 * 60_000

const latest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined && other === undefined
    ? undefined
    : Math.max(one ?? defaultApprovalTimeoutMs, other ?? defaultApprovalTimeoutMs)

function stricterApproval(one: ApprovalRules, other: ApprovalRules): ApprovalRules {
  const both: Writable<ApprovalRules> = {}
  const least = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined ? b : b === undefined ? a : Math.min(a, b)
  const rounds = least(one.rounds, other.rounds)
  if (rounds !== undefined) both.rounds = rounds
  // the leader's approvers go before the worker's own
  const approvers = one.approvers ?? other.approvers
  if (approvers !== undefined) both.approvers = approvers
  const onTimeout =
    one.onTimeout === undefined || other.onTimeout === undefined
      ? undefined
      : one.onTimeout === other.onTimeout
        ? one.onTimeout
        : 'reject'
  if (onTimeout !== undefined) both.onTimeout = onTimeout
  else if ((one.onTimeout ?? other.onTimeout) === 'escalate' && approvers !== undefined) both.onTimeout = 'escalate'
  // a deadline that approves is the stricter, the later it is
  const timeoutMs =
    both.onTimeout === 'approve' ? latest(one.timeoutMs, other.timeoutMs) : least(one.timeoutMs, other.timeoutMs)
  if (timeoutMs !== undefined) both.timeoutMs = timeoutMs
  const eyes = [one.fourEyes ?? 'critical', other.fourEyes ?? 'critical'].filter((each) => each !== false)
  if (one.fourEyes !== undefined || other.fourEyes !== undefined)
    both.fourEyes = eyes.length === 0 ? false : riskLevels.find((each) => eyes.includes(each))!
  const notify = [...new Set([...(one.notify ?? []), ...(other.notify ?? [])])]
  if (notify.length > 0) both.notify = notify
  return both
}
