/**
 * Oversight of an edge: how closely humans look at the work of a worker and of everybody below it. It only ever gets stricter on the way down (spec team R-14, R-15).
 *
 * Owns: the type, the check of given values, how what is above and what is a worker's own combine. Does not own: what follows from it (../oversight), who is asked (runtime).
 * JSON: it crosses with the edge, so whatever a gate decides by is recorded (K1).
 */
import { described, hasNames, isSamePerson, nearest, personName, unknownNames, type NamesOf } from '../core/index.ts'

/**
 * How much is asked. `in-command`: every action. `in-the-loop`: what is sensitive, costs too much or is otherwise escalated. `on-the-loop`: nothing, hits are only noted. What always requires an
 * approval is asked in every mode.
 */
export type OversightMode = 'in-command' | 'in-the-loop' | 'on-the-loop'

/** What raises a question to a human. `false` turns a trigger off. */
export interface Escalate {
  /** A result that its agent is less sure of than this, 0 to 1. Exactly this is enough. Default 0.6. */
  readonly confidenceBelow?: number | false
  /** One action that costs more than this, in US dollars. Exactly this is not more. Default 1. */
  readonly costAboveUsd?: number | false
  /** Actions by name that are sensitive, besides the usual: publish, send, send_email, delete, pay, share. `false`: none is, by its name. */
  readonly sensitive?: readonly string[] | false
  /** Names that are not sensitive, whatever they contain. */
  readonly exceptions?: readonly string[]
  /** `substring` (default): an action whose name contains one of the words. `word`: one that has it as a word: `market_share` has share, `payload` has no pay. */
  readonly match?: 'substring' | 'word'
  /** The description of an action is looked at, too. Default false. */
  readonly scanDescription?: boolean
  /** So many failures of a leader's workers in a row. Default 3. */
  readonly consecutiveFailures?: number | false
  /** A piece of work that took longer than so many milliseconds. Default: off. */
  readonly decisionMs?: number | false
  /** Work that nobody can do: no tool for it, or its agent says so. Default true. */
  readonly outOfScope?: boolean
}

/** Who is asked next, and for how long. */
export interface ApproverTier {
  /** Who may decide, by the name that they decide under. Empty: anybody. */
  readonly who: readonly string[]
  /** Milliseconds. Default: those of all questions. */
  readonly timeoutMs?: number
}

/** How bad it is if something should not have been done. */
export type RiskLevel = 'low' | 'medium' | 'high' | 'critical'

/** How humans are asked. What a tool or a task says of its own approval goes before it, where that is stricter. */
export interface ApprovalRules {
  /** Milliseconds. Default 30 minutes; 0 or less: the deadline has passed at once. */
  readonly timeoutMs?: number
  /** What a deadline does. Default `reject`. `approve` is never obeyed for what is sensitive, always requires an approval, or has high or critical risk. `escalate`: the next of `approvers` is asked; the last one's rejects. */
  readonly onTimeout?: 'reject' | 'approve' | 'escalate'
  /** Who may decide, one after the other. Default: anybody. */
  readonly approvers?: readonly ApproverTier[]
  /** From which risk on two different people must approve. Default `critical`; `false`: never. */
  readonly fourEyes?: RiskLevel | false
  /** Channels by name over which it is told that somebody is asked. Default: none. */
  readonly notify?: readonly string[]
  /** How often something may be changed and tried again by the word of whoever decides. Default 3. */
  readonly rounds?: number
}

/** How closely humans look. */
export interface Oversight {
  /** Default `in-the-loop`; where `trust` is named, what its level says, and the stricter of both where both are given. */
  readonly mode?: OversightMode
  /** The name under which trust is kept: its level sets the mode of later runs, and an incident that of this one. More than one: the strictest counts. */
  readonly trust?: string | readonly string[]
  readonly escalate?: Escalate
  readonly approval?: ApprovalRules
}

const names: NamesOf<Oversight> = { mode: true, trust: true, escalate: true, approval: true }
const escalateNames: NamesOf<Escalate> = {
  confidenceBelow: true,
  costAboveUsd: true,
  sensitive: true,
  exceptions: true,
  match: true,
  scanDescription: true,
  consecutiveFailures: true,
  decisionMs: true,
  outOfScope: true,
}
const approvalNames: NamesOf<ApprovalRules> = {
  timeoutMs: true,
  onTimeout: true,
  approvers: true,
  fourEyes: true,
  notify: true,
  rounds: true,
}
const tierNames: NamesOf<ApproverTier> = { who: true, timeoutMs: true }

/** From the loosest to the strictest. */
export const oversightModes: readonly OversightMode[] = ['on-the-loop', 'in-the-loop', 'in-command']
/** From the least to the worst. */
export const riskLevels: readonly RiskLevel[] = ['low', 'medium', 'high', 'critical']

/** What is wrong with a list of names, each element by itself. */
function listProblems(given: unknown, where: string, of: string): string[] {
  if (!Array.isArray(given)) return [`${where} is ${described(given)}, expected a list of ${of}`]
  return (given as readonly unknown[]).flatMap((each, i) =>
    typeof each === 'string' && each !== ''
      ? []
      : [`${where}[${i}] is ${each instanceof RegExp ? 'a RegExp' : described(each)}, expected a name`],
  )
}
/** A name that nobody could decide under, because nothing of it can be seen. */
const unseenProblems = (who: unknown, where: string): string[] =>
  (Array.isArray(who) ? (who as readonly unknown[]) : []).flatMap((each, i) =>
    typeof each === 'string' && each !== '' && personName(each) === '' ? [`${where}[${i}] has no visible character, expected a name`] : [],
  )

/** Under which trust may be kept: it becomes the name of a stream. */
export const isTrustName = (given: unknown): boolean => typeof given === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,119}$/.test(given)
const isAmount = (given: unknown): boolean => typeof given === 'number' && Number.isFinite(given) && given >= 0

/** What a word that is none of these was meant to be, if it is a slip away. */
function slip(given: unknown, words: readonly string[]): string {
  const meant = typeof given === 'string' ? nearest(given, words) : undefined
  return meant === undefined ? '' : `: did you mean "${meant}"?`
}

/** What is wrong with given oversight, one sentence each; empty if nothing. */
export function oversightProblems(given: unknown, where: string): string[] {
  if (given === undefined) return []
  const problems = unknownNames(given, names, `${where}: oversight`)
  if (!hasNames(given)) return problems
  const { mode, trust, escalate, approval } = given as { readonly [name: string]: unknown }
  if (mode !== undefined && !oversightModes.includes(mode as OversightMode))
    problems.push(
      `${where}: oversight.mode is ${described(mode)}, expected "in-command", "in-the-loop" or "on-the-loop"${slip(mode, oversightModes)}`,
    )
  if (trust !== undefined && !isTrustName(trust) && !(Array.isArray(trust) && trust.every(isTrustName)))
    problems.push(`${where}: oversight.trust is ${described(trust)}, expected a name: 1 to 120 letters, digits, ".", "_", ":", "@" or "-"`)
  if (escalate !== undefined) problems.push(...escalateProblems(escalate, `${where}: oversight.escalate`))
  if (approval !== undefined) problems.push(...approvalRuleProblems(approval, `${where}: oversight.approval`))
  return problems
}

function escalateProblems(given: unknown, where: string): string[] {
  const problems = unknownNames(given, escalateNames, where)
  if (!hasNames(given)) return problems
  const { sensitive, exceptions, match, scanDescription, outOfScope, ...numbers } = given as { readonly [name: string]: unknown }
  for (const [name, list] of Object.entries({ sensitive, exceptions }))
    if (list !== undefined && !(name === 'sensitive' && list === false)) problems.push(...listProblems(list, `${where}.${name}`, 'names'))
  if (match !== undefined && match !== 'substring' && match !== 'word')
    problems.push(`${where}.match is ${described(match)}, expected "substring" or "word"`)
  for (const [name, flag] of Object.entries({ scanDescription, outOfScope }))
    if (flag !== undefined && typeof flag !== 'boolean') problems.push(`${where}.${name} is ${described(flag)}, expected true or false`)
  for (const name of ['confidenceBelow', 'costAboveUsd', 'consecutiveFailures', 'decisionMs']) {
    const value = numbers[name]
    if (value === undefined || value === false) continue
    const whole = name === 'consecutiveFailures'
    if (!isAmount(value) || (whole && !(Number.isInteger(value) && (value as number) >= 1)))
      problems.push(
        `${where}.${name} is ${described(value)}, expected ${whole ? 'a whole number of at least 1' : 'a number of at least 0'}, or false`,
      )
    else if (name === 'confidenceBelow' && (value as number) > 1) problems.push(`${where}.${name} is ${described(value)}, expected 0 to 1`)
  }
  return problems
}

function approvalRuleProblems(given: unknown, where: string): string[] {
  const problems = unknownNames(given, approvalNames, where)
  if (!hasNames(given)) return problems
  const { timeoutMs, onTimeout, approvers, fourEyes, notify, rounds } = given as { readonly [name: string]: unknown }
  if (timeoutMs !== undefined && !Number.isFinite(timeoutMs))
    problems.push(`${where}.timeoutMs is ${described(timeoutMs)}, expected milliseconds`)
  if (onTimeout !== undefined && onTimeout !== 'reject' && onTimeout !== 'approve' && onTimeout !== 'escalate')
    problems.push(`${where}.onTimeout is ${described(onTimeout)}, expected "reject", "approve" or "escalate"`)
  if (onTimeout === 'escalate' && !(Array.isArray(approvers) && approvers.length > 1))
    problems.push(`${where}.onTimeout is "escalate", and there is nobody to escalate to: give approvers, at least two`)
  if (fourEyes !== undefined && fourEyes !== false && !riskLevels.includes(fourEyes as RiskLevel))
    problems.push(`${where}.fourEyes is ${described(fourEyes)}, expected ${riskLevels.map((each) => `"${each}"`).join(', ')} or false`)
  if (notify !== undefined) problems.push(...listProblems(notify, `${where}.notify`, 'names of channels'))
  if (rounds !== undefined && !(Number.isInteger(rounds) && (rounds as number) >= 0))
    problems.push(`${where}.rounds is ${described(rounds)}, expected a whole number of at least 0`)
  if (approvers === undefined) return problems
  if (!Array.isArray(approvers)) return [...problems, `${where}.approvers is ${described(approvers)}, expected a list`]
  for (const [i, tier] of (approvers as readonly unknown[]).entries()) {
    const unknown = unknownNames(tier, tierNames, `${where}.approvers[${i}]`)
    problems.push(...unknown)
    if (unknown.length > 0) continue
    const { who, timeoutMs: ms } = tier as { readonly who?: unknown; readonly timeoutMs?: unknown }
    problems.push(...listProblems(who, `${where}.approvers[${i}].who`, 'names'), ...unseenProblems(who, `${where}.approvers[${i}].who`))
    if (ms !== undefined && !Number.isFinite(ms))
      problems.push(`${where}.approvers[${i}].timeoutMs is ${described(ms)}, expected milliseconds`)
  }
  if (problems.length > 0 || fourEyes === undefined || fourEyes === false) return problems
  const tiers = approvers as readonly ApproverTier[]
  const people = tiers.flatMap(({ who }) => who)
  if (people.length > 0 && tiers.every(({ who }) => who.length > 0) && people.every((each) => isSamePerson(each, people[0]!)))
    problems.push(`${where}: fourEyes needs two different people, and approvers names only "${people[0]!}"`)
  return problems
}

/** How strict a mode is. One that nobody knows is the strictest. */
const strictness = (mode: OversightMode): number => (oversightModes.includes(mode) ? oversightModes.indexOf(mode) : oversightModes.length)

/** The stricter of two modes. Pure. */
export const stricterMode = (one: OversightMode, other: OversightMode): OversightMode =>
  strictness(one) >= strictness(other) ? one : other

/** The trust records of an oversight. Pure. */
export const trustsOf = ({ trust }: Oversight): readonly string[] =>
  trust === undefined ? [] : typeof trust === 'string' ? [trust] : trust

/** What holds for a worker: what holds for its leader and what is its own, the stricter of each. Pure; never looser than either. */
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

/** Thresholds where nobody says (spec team 1.22). */
export const escalateDefaults = { confidenceBelow: 0.6, costAboveUsd: 1, consecutiveFailures: 3 } as const

type Draft<T> = { -readonly [K in keyof T]: T[K] }
type Threshold = number | false | undefined

/** Both thresholds, each with its default; one that is off says nothing. */
function threshold(one: Threshold, other: Threshold, usual: number | undefined, pick: (...both: number[]) => number): Threshold {
  if (one === undefined && other === undefined) return undefined
  const on = [one ?? usual ?? false, other ?? usual ?? false].filter((each) => each !== false)
  return on.length === 0 ? false : pick(...on)
}

function stricterEscalate(one: Escalate, other: Escalate): Escalate {
  const both: Draft<Escalate> = {}
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
  one === undefined && other === undefined ? undefined : Math.max(one ?? defaultApprovalTimeoutMs, other ?? defaultApprovalTimeoutMs)

function stricterApproval(one: ApprovalRules, other: ApprovalRules): ApprovalRules {
  const both: Draft<ApprovalRules> = {}
  const least = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined ? b : b === undefined ? a : Math.min(a, b)
  const rounds = least(one.rounds, other.rounds)
  if (rounds !== undefined) both.rounds = rounds
  // whoever is above says who decides
  const approvers = one.approvers ?? other.approvers
  if (approvers !== undefined) both.approvers = approvers
  const onTimeout =
    one.onTimeout === undefined || other.onTimeout === undefined ? undefined : one.onTimeout === other.onTimeout ? one.onTimeout : 'reject'
  if (onTimeout !== undefined) both.onTimeout = onTimeout
  else if ((one.onTimeout ?? other.onTimeout) === 'escalate' && approvers !== undefined) both.onTimeout = 'escalate'
  // a deadline that approves is the stricter, the later it is
  const timeoutMs = both.onTimeout === 'approve' ? latest(one.timeoutMs, other.timeoutMs) : least(one.timeoutMs, other.timeoutMs)
  if (timeoutMs !== undefined) both.timeoutMs = timeoutMs
  const eyes = [one.fourEyes ?? 'critical', other.fourEyes ?? 'critical'].filter((each) => each !== false)
  if (one.fourEyes !== undefined || other.fourEyes !== undefined)
    both.fourEyes = eyes.length === 0 ? false : riskLevels.find((each) => eyes.includes(each))!
  const notify = [...new Set([...(one.notify ?? []), ...(other.notify ?? [])])]
  if (notify.length > 0) both.notify = notify
  return both
}
