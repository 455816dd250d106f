/**
 * Oversight of an edge: how closely approvers look at the work of a worker and of all below it. It only ever gets
 * stricter on the way down (spec team R-14, R-15).
 *
 * Owns: the type, the check of given values, how what is above and what is a worker's own combine. Does not own: what
 * follows from it (../oversight), who is asked (runtime). JSON: it crosses with the edge, so whatever a gate decides by
 * is recorded (K1).
 */
import {
  described,
  expects,
  flag,
  hasNames,
  isSamePerson,
  nearest,
  object,
  personName,
  required,
  type Check,
} from '../core/index.ts'

/**
 * How much is asked. `in-command`: every action. `in-the-loop`: what is sensitive, costs too much or is otherwise
 * escalated. `on-the-loop`: nothing, hits are only noted. What always requires an approval is asked in every mode.
 */
export type OversightMode = 'in-command' | 'in-the-loop' | 'on-the-loop'

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

/** How bad it is if something should not have been done. */
export type RiskLevel = 'low' | 'medium' | 'high' | 'critical'

/** How approvers are asked. What a tool or a task says of its own approval goes before it, where that is stricter. */
export interface ApprovalRules {
  /** Milliseconds. Default 30 minutes; 0 or less: the deadline has passed at once. */
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

/** From the loosest to the strictest. */
export const oversightModes: readonly OversightMode[] = ['on-the-loop', 'in-the-loop', 'in-command']
/** From the least to the worst. */
export const riskLevels: readonly RiskLevel[] = ['low', 'medium', 'high', 'critical']

/** A list of names, each element by itself. */
const listOf =
  (of: string): Check =>
  (given, where) =>
    Array.isArray(given)
      ? given.flatMap((each: unknown, i) =>
          typeof each === 'string' && each !== ''
            ? []
            : [`${where}[${i}] is ${each instanceof RegExp ? 'a RegExp' : described(each)}, expected a name`],
        )
      : [`${where} is ${described(given)}, expected a list of ${of}`]

/** Names without a visible character: no approver could decide under one. */
const unseenProblems = (who: unknown, where: string): string[] =>
  (Array.isArray(who) ? (who as readonly unknown[]) : []).flatMap((each, i) =>
    typeof each === 'string' && each !== '' && personName(each) === ''
      ? [`${where}[${i}] has no visible character, expected a name`]
      : [],
  )

/** Under which trust may be kept: it becomes the name of a stream. */
export const isTrustName = (given: unknown): boolean =>
  typeof given === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,119}$/.test(given)
const isAmount = (given: unknown): boolean => typeof given === 'number' && Number.isFinite(given) && given >= 0

/** The known word that an unknown one was probably meant to be. */
function slip(given: unknown, words: readonly string[]): string {
  const meant = typeof given === 'string' ? nearest(given, words) : undefined
  return meant === undefined ? '' : `: did you mean "${meant}"?`
}

const modeCheck: Check = (given, where) =>
  oversightModes.includes(given as OversightMode)
    ? []
    : [
        `${where} is ${described(given)}, expected "in-command", "in-the-loop" or "on-the-loop"${slip(given, oversightModes)}`,
      ]

const orOff =
  (check: Check): Check =>
  (given, where) =>
    given === false ? [] : check(given, where)
const amountOrOff = orOff(expects(isAmount, 'a number of at least 0, or false'))
const escalateCheck = object<Escalate>({
  confidenceBelow: orOff((given, where) =>
    (isAmount(given) ? expects((of) => (of as number) <= 1, '0 to 1') : amountOrOff)(given, where),
  ),
  costAboveUsd: amountOrOff,
  sensitive: orOff(listOf('names')),
  exceptions: listOf('names'),
  match: expects((given) => given === 'substring' || given === 'word', '"substring" or "word"'),
  scanDescription: flag,
  consecutiveFailures: orOff(
    expects((given) => Number.isInteger(given) && (given as number) >= 1, 'a whole number of at least 1, or false'),
  ),
  decisionMs: amountOrOff,
  outOfScope: flag,
})

const finiteMs = expects(Number.isFinite, 'milliseconds')
const tierCheck = object<ApproverTier>({
  who: required((given, where) => [...listOf('names')(given, where), ...unseenProblems(given, where)]),
  timeoutMs: finiteMs,
})
const approvalOptions = object<ApprovalRules>({
  timeoutMs: finiteMs,
  onTimeout: expects(
    (given) => given === 'reject' || given === 'approve' || given === 'escalate',
    '"reject", "approve" or "escalate"',
  ),
  approvers: (given, where) =>
    Array.isArray(given)
      ? given.flatMap((tier: unknown, i) => tierCheck(tier, `${where}[${i}]`))
      : [`${where} is ${described(given)}, expected a list`],
  fourEyes: orOff(
    expects(
      (given) => riskLevels.includes(given as RiskLevel),
      `${riskLevels.map((each) => `"${each}"`).join(', ')} or false`,
    ),
  ),
  notify: listOf('names of channels'),
  rounds: expects((given) => Number.isInteger(given) && (given as number) >= 0, 'a whole number of at least 0'),
})

/** The rules of approvals, each by itself, and what one of them needs of another. */
const approvalCheck: Check = (given, where) => {
  const problems = approvalOptions(given, where)
  const { onTimeout, approvers, fourEyes } = (hasNames(given) ? given : {}) as ApprovalRules
  if (onTimeout === 'escalate' && (approvers?.length ?? 0) < 2)
    return [
      ...problems,
      `${where}.onTimeout is "escalate", and there is no one to escalate to: give at least two tiers of approvers`,
    ]
  if (problems.length > 0 || approvers === undefined || fourEyes === undefined || fourEyes === false) return problems
  const people = approvers.flatMap(({ who }) => who)
  return people.length > 0 &&
    approvers.every(({ who }) => who.length > 0) &&
    people.every((each) => isSamePerson(each, people[0]!))
    ? [`${where}: fourEyes needs two different people, and approvers names only "${people[0]!}"`]
    : []
}

const oversightCheck = object<Oversight>({
  mode: modeCheck,
  trust: expects(
    (given) => isTrustName(given) || (Array.isArray(given) && given.every(isTrustName)),
    'a name: 1 to 120 letters, digits, ".", "_", ":", "@" or "-"',
  ),
  escalate: escalateCheck,
  approval: approvalCheck,
})

/** What is wrong with given oversight, one sentence each; empty if nothing. */
export const oversightProblems = (given: unknown, where: string): readonly string[] =>
  given === undefined ? [] : oversightCheck(given, `${where}: oversight`)

/** How strict a mode is. An unknown one is the strictest. */
const strictness = (mode: OversightMode): number =>
  oversightModes.includes(mode) ? oversightModes.indexOf(mode) : oversightModes.length

/** The stricter of two modes. Pure. */
export const stricterMode = (one: OversightMode, other: OversightMode): OversightMode =>
  strictness(one) >= strictness(other) ? one : other

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
    ...(mode === undefined ? undefined : { mode }),
    ...(trust.length === 0 ? undefined : { trust }),
    ...(Object.keys(escalate).length === 0 ? undefined : { escalate }),
    ...(Object.keys(approval).length === 0 ? undefined : { approval }),
  }
}

/** The mode of oversight that names none. */
export const defaultMode: OversightMode = 'in-the-loop'

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

/** Half an hour, as R-16 says. For a wait of days say so: `timeoutMs: 3 * 24 * 3_600_000`. */
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
