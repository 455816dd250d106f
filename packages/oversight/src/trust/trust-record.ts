/**
 * Trust records: how closely an agent, a team or a kind of work must be overseen (spec team R-18).
 *
 * Owns: the levels, the rules of promotion and demotion, the record, the mode of a level, the reasons in words. Pure:
 * the time is given. Does not own: storing records (trust.ts), changes by operators (runtime/operator/trust.ts).
 * Holds: counts are integers; rates are computed from them when needed. K4: the form of a record is persistent.
 */
import {
  choiceOr,
  described,
  isObject,
  levelModes,
  number,
  object,
  present,
  ReeveError,
  required,
  wholeNumber,
  type Check,
  type Json,
  type OversightMode,
} from '@reeve/core'

/** From the lowest to the highest. */
export const trustLevels = Object.keys(levelModes) as readonly TrustLevel[]
/** A trust level. */
export type TrustLevel = keyof typeof levelModes

/** `serious`: back to novice, and all counts restart. `minor`: the level stays, without a promotion for a while. */
export type IncidentSeverity = 'serious' | 'minor'

/** The requirements of a level; exact values suffice. */
export interface TrustRule {
  /** Finished runs since the counts were last reset. */
  readonly tasks: number
  /** The success rate of these runs, 0 to 1. */
  readonly rate: number
  /** Whole days of 24 hours since then. */
  readonly days: number
  /** Whole days of 24 hours since the last incident. */
  readonly incidentDays: number
}

/** The requirements of each level. */
export interface TrustRules {
  readonly proficient: TrustRule
  readonly expert: TrustRule
}

/** A change of a trust record. */
export interface TrustEntry {
  /** Milliseconds since 1970. */
  readonly at: number
  /** `opened`: the first count. `risen`: a promotion by the rules. `set`: by an operator. */
  readonly what: 'opened' | 'risen' | 'incident' | 'set'
  readonly from?: TrustLevel
  readonly to: TrustLevel
  readonly severity?: IncidentSeverity
  readonly by?: string
  /** The reason given by its author. */
  readonly note?: string
  /** The run that caused the change, or in which the incident happened. */
  readonly run?: string
  /** The id of the command. */
  readonly id?: string
  /** The counts until then. */
  readonly completed: number
  readonly succeeded: number
}

/** A trust record: the level and its evidence. */
export interface TrustRecord {
  readonly level: TrustLevel
  /** Finished runs since `startedAt`, without rejected and cancelled ones. */
  readonly completed: number
  readonly succeeded: number
  /** The start of the counts, in milliseconds since 1970. */
  readonly startedAt: number
  readonly lastIncident?: number
  /** The rules of the last run. */
  readonly rules?: TrustRules
  /** The newest 100, oldest first. */
  readonly history: readonly TrustEntry[]
  /** The newest counted runs, so that none is counted twice. */
  readonly runs?: readonly string[]
}

const day = 24 * 60 * 60 * 1000
const mostEntries = 100
const mostRuns = 100

/** Preset rules. `conservative`: on the loop only after a success rate of 99 % over 90 days. */
export const trustPresets = {
  standard: {
    proficient: { tasks: 50, rate: 0.9, days: 7, incidentDays: 7 },
    expert: { tasks: 200, rate: 0.98, days: 30, incidentDays: 30 },
  },
  conservative: {
    proficient: { tasks: 50, rate: 0.9, days: 7, incidentDays: 7 },
    expert: { tasks: 200, rate: 0.99, days: 90, incidentDays: 30 },
  },
} as const satisfies Record<string, TrustRules>

/** The name of preset rules, or custom rules. */
export type TrustPreset = keyof typeof trustPresets | TrustRules

/** The rules. Default `standard`. */
export const trustRules = (preset: TrustPreset = 'standard'): TrustRules =>
  typeof preset === 'string' ? trustPresets[preset] : preset

const days = number((given) => Number.isInteger(given) && given >= 0, 'whole days, 0 or more')
const ruleCheck = required(
  object<TrustRule>({
    tasks: required(wholeNumber(1)),
    rate: required(number((given) => given >= 0 && given <= 1, '0 to 1')),
    days: required(days),
    incidentDays: required(days),
  }),
)

/** The check of rules. */
export const trustRulesCheck: Check = (given, where) =>
  typeof given === 'string' ? presetName(given, where) : rulesCheck(given, where)
const presetName = choiceOr(() => false, 'rules of your own', ...Object.keys(trustPresets))
const rulesCheck = object<TrustRules>({ proficient: ruleCheck, expert: ruleCheck })

/** The record before any run. */
export const newTrust = (now: number): TrustRecord => ({
  level: 'novice',
  completed: 0,
  succeeded: 0,
  startedAt: now,
  history: [],
})

/**
 * Parses a stored record; undefined if there is none. Throws `trust.invalid` for an invalid record, such as one with an
 * unknown level.
 */
export function readTrust(value: Json): TrustRecord | undefined {
  if (value === null) return undefined
  const { level, completed, succeeded, startedAt, history } = isObject(value) ? value : {}
  mustBeLevel(level)
  if (![completed, succeeded, startedAt].every(Number.isInteger) || !Array.isArray(history))
    throw new ReeveError('trust.invalid', 'the stored trust record is invalid', {
      hint: 'Only Reeve may write trust records. Set the level again: reeve trust <name> set.',
    })
  return value as unknown as TrustRecord
}

function mustBeLevel(level: unknown): asserts level is TrustLevel {
  if (trustLevels.includes(level as TrustLevel)) return
  throw new ReeveError('trust.invalid', `unknown trust level ${described(level)}, expected ${trustLevels.join(', ')}`, {
    hint: 'Nothing was changed.',
  })
}

/**
 * The oversight mode of a level: novice, every action needs approval; proficient, escalated ones; expert, only those
 * that always need it. Throws `trust.invalid` for an unknown level.
 */
export function modeOfLevel(level: TrustLevel): OversightMode {
  mustBeLevel(level)
  return levelModes[level]
}

/** Why there is no promotion: the actual and the required value. */
export interface UpgradeMiss {
  readonly code: 'tasks' | 'success_rate' | 'days' | 'incident' | 'already_at_highest'
  readonly have: number
  readonly need: number
  /** In words. */
  readonly message: string
}

/** Whether a promotion is due, to which level, and otherwise the first unmet requirement. */
export type UpgradeCheck =
  | { readonly ok: true; readonly target: TrustLevel }
  | { readonly ok: false; readonly target?: TrustLevel; readonly reason: UpgradeMiss }

/** The evidence for a promotion. */
export type TrustState = Pick<TrustRecord, 'level' | 'completed' | 'succeeded' | 'startedAt' | 'lastIncident'>

/**
 * Whether a promotion by one level is due. Checks tasks, success rate, days and incidents in this order; the first
 * unmet requirement is the reason. Exact values suffice; days are whole. Throws `trust.invalid` for an unknown level.
 */
export function canUpgrade(trust: TrustState, now: number, preset: TrustPreset = 'standard'): UpgradeCheck {
  const { level, completed, succeeded, startedAt, lastIncident } = trust
  mustBeLevel(level)
  const target = trustLevels[trustLevels.indexOf(level) + 1]
  if (target === undefined || target === 'novice')
    return {
      ok: false,
      reason: { code: 'already_at_highest', have: 2, need: 2, message: `${level} is the highest level` },
    }
  const need = trustRules(preset)[target]
  const miss = (code: UpgradeMiss['code'], have: number, wanted: number, message: string): UpgradeCheck => ({
    ok: false,
    target,
    reason: { code, have, need: wanted, message },
  })
  if (completed < need.tasks) return miss('tasks', completed, need.tasks, `${completed} of ${need.tasks} tasks`)
  const rate = succeeded / completed
  if (rate < need.rate) {
    const [have, wanted] = percents(rate, need.rate)
    return miss(
      'success_rate',
      rate,
      need.rate,
      `${have} succeeded (${succeeded} of ${completed}), ${wanted} are needed`,
    )
  }
  const days = wholeDays(startedAt, now)
  if (days < need.days) return miss('days', days, need.days, `${days} of ${need.days} days`)
  const since = lastIncident === undefined ? Infinity : wholeDays(lastIncident, now)
  if (since < need.incidentDays)
    return miss('incident', since, need.incidentDays, `${since} of ${need.incidentDays} days since the last incident`)
  return { ok: true, target }
}

/** Whole days of 24 hours; 0 if the clock went back. */
const wholeDays = (from: number, to: number): number => Math.max(0, Math.floor((to - from) / day))

/** Two rates with enough digits to differ. */
function percents(have: number, need: number): readonly [string, string] {
  for (let digits = 1; digits < 15; digits++) {
    const [one, other] = [have, need].map((rate) => (rate * 100).toFixed(digits)) as [string, string]
    if (one !== other) return [`${one} %`, `${other} %`]
  }
  return [`${have * 100} %`, `${need * 100} %`]
}

const withEntry = (trust: TrustRecord, entry: TrustEntry): readonly TrustEntry[] =>
  [...trust.history, entry].slice(-mostEntries)

/** The author and the reason. */
export interface TrustReason {
  readonly by?: string
  readonly note?: string
  readonly run?: string
  /** Makes the command idempotent: repeating an id changes nothing. */
  readonly id?: string
}

const isKnown = (trust: TrustRecord, id: string | undefined): boolean =>
  id !== undefined && trust.history.some((entry) => entry.id === id)
const reasonOf = ({ by, note, run, id }: TrustReason): TrustReason => present({ by, note, run, id })

/**
 * The record after an incident: a novice with all counts reset, or the same level without a promotion for a while.
 * Throws `trust.invalid` for an unknown severity.
 */
export function recordIncident(
  trust: TrustRecord,
  severity: IncidentSeverity,
  now: number,
  reason: TrustReason = {},
): TrustRecord {
  if (severity !== 'serious' && severity !== 'minor')
    throw new ReeveError('trust.invalid', `severity is ${described(severity)}, expected "serious" or "minor"`, {
      hint: 'Nothing was changed.',
    })
  mustBeLevel(trust.level)
  if (isKnown(trust, reason.id)) return trust
  const { level, completed, succeeded } = trust
  const to = severity === 'serious' ? 'novice' : level
  const history = withEntry(trust, {
    at: now,
    what: 'incident',
    from: level,
    to,
    severity,
    ...reasonOf(reason),
    completed,
    succeeded,
  })
  const anew = severity === 'serious' ? { level: to, completed: 0, succeeded: 0, startedAt: now } : undefined
  return { ...trust, ...anew, lastIncident: now, history }
}

/** The record with a level set by an operator. The counts stay. Throws `trust.invalid` for an unknown level. */
export function setLevel(trust: TrustRecord, level: TrustLevel, now: number, reason: TrustReason = {}): TrustRecord {
  mustBeLevel(level)
  if (isKnown(trust, reason.id)) return trust
  const { level: from, completed, succeeded } = trust
  return {
    ...trust,
    level,
    history: withEntry(trust, { at: now, what: 'set', from, to: level, ...reasonOf(reason), completed, succeeded }),
  }
}

/** A run that has ended, as trust counts it. */
export interface CountedRun {
  readonly run: string
  readonly succeeded: boolean
}

/** The record after a run, counted once and promoted by one level if due. */
export function recordRun(
  trust: TrustRecord | undefined,
  { run, succeeded }: CountedRun,
  now: number,
  preset?: TrustPreset,
): TrustRecord {
  const before = trust ?? opened(newTrust(now), run)
  if (before.runs?.includes(run) === true) return before
  const rules = trustRules(preset ?? before.rules)
  const counted: TrustRecord = {
    ...before,
    completed: before.completed + 1,
    succeeded: before.succeeded + (succeeded ? 1 : 0),
    rules,
    runs: [...(before.runs ?? []), run].slice(-mostRuns),
  }
  const reason = canUpgrade(counted, now, rules)
  if (!reason.ok) return counted
  const entry: TrustEntry = {
    at: now,
    what: 'risen',
    from: before.level,
    to: reason.target,
    run,
    completed: counted.completed,
    succeeded: counted.succeeded,
  }
  return { ...counted, level: reason.target, history: withEntry(counted, entry) }
}

/** A record with its first change, by a run or an operator. */
export const opened = (trust: TrustRecord, run?: string): TrustRecord => ({
  ...trust,
  history: withEntry(trust, {
    at: trust.startedAt,
    what: 'opened',
    to: trust.level,
    ...present({ run }),
    completed: 0,
    succeeded: 0,
  }),
})
