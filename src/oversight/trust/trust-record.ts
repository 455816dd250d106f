/**
 * Trust records: how much an agent, a team or a kind of work has earned to do unasked (spec team R-18).
 *
 * Owns: the levels, the rules by which they rise and fall, the record, the mode that follows from a level, and saying
 * why in words. Pure: the time is given. Does not own: where a record is kept and who reads it (trust.ts), who may
 * change it (runtime/operator/trust.ts). Counts are integers: a success rate is reckoned from them whenever it is
 * needed. K4: the form of a record is persistent, it stands on streams.
 */
import {
  described,
  hasNames,
  isObject,
  present,
  ReeveError,
  unknownNames,
  type Json,
  type NamesOf,
} from '../../core/index.ts'
import type { OversightMode } from '../../edge/index.ts'

/** From the least to the most. */
export const trustLevels = ['novice', 'proficient', 'expert'] as const
/** How much is trusted. */
export type TrustLevel = (typeof trustLevels)[number]

/**
 * `serious`: back to novice, and everything is counted anew. `minor`: the level stays, and does not rise for a while.
 */
export type IncidentSeverity = 'serious' | 'minor'

/** What must be there to rise to a level. Exactly so much is enough. */
export interface TrustRule {
  /** Finished runs since everything was last counted anew. */
  readonly tasks: number
  /** Of them succeeded, 0 to 1. */
  readonly rate: number
  /** Whole days of 24 hours since then. */
  readonly days: number
  /** Whole days of 24 hours since the last incident. */
  readonly incidentDays: number
}

/** What must be there to rise to each level. */
export interface TrustRules {
  readonly proficient: TrustRule
  readonly expert: TrustRule
}

/** Something that became of trust: what, when, by whom. */
export interface TrustEntry {
  /** Milliseconds since 1970. */
  readonly at: number
  /** `opened`: counted for the first time. `risen`: by the rules. `set`: an operator's word. */
  readonly what: 'opened' | 'risen' | 'incident' | 'set'
  readonly from?: TrustLevel
  readonly to: TrustLevel
  readonly severity?: IncidentSeverity
  readonly by?: string
  /** Why, in the words of whoever says so. */
  readonly note?: string
  /** The run with which it was reckoned, or of which the incident is told. */
  readonly run?: string
  /** Of the command. */
  readonly id?: string
  /** What had been counted until then. */
  readonly completed: number
  readonly succeeded: number
}

/** How much is trusted, and what that rests on. */
export interface TrustRecord {
  readonly level: TrustLevel
  /** Finished runs since `startedAt`; what a human rejected and what was cancelled is not among them. */
  readonly completed: number
  readonly succeeded: number
  /** Since when is counted. Milliseconds since 1970. */
  readonly startedAt: number
  readonly lastIncident?: number
  /** By which rules it rises; those of the last run. */
  readonly rules?: TrustRules
  /** The newest 100, oldest first. */
  readonly history: readonly TrustEntry[]
  /** The newest runs that were counted: none is counted twice. */
  readonly runs?: readonly string[]
}

const day = 24 * 60 * 60 * 1000
const mostEntries = 100
const mostRuns = 100

/** Ready rules. `conservative`: nobody works on the loop before 99 % over 90 days. */
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

/** Rules by name, or one's own. */
export type TrustPreset = keyof typeof trustPresets | TrustRules

/** The rules that are meant. Default `standard`. */
export const trustRules = (preset: TrustPreset = 'standard'): TrustRules =>
  typeof preset === 'string' ? trustPresets[preset] : preset

/** What is wrong with given rules, one sentence each; empty if nothing. */
export function trustRuleProblems(given: unknown, where: string): string[] {
  if (typeof given === 'string')
    return Object.hasOwn(trustPresets, given)
      ? []
      : [`${where} is ${described(given)}, expected ${Object.keys(trustPresets).join(', ')} or rules of your own`]
  const problems = unknownNames(given, rulesNames, where)
  if (!hasNames(given)) return problems
  for (const level of ['proficient', 'expert'] as const) {
    const rule = (given as { readonly [name: string]: unknown })[level]
    if (rule === undefined) problems.push(`${where}.${level} is missing`)
    else problems.push(...ruleProblems(rule, `${where}.${level}`))
  }
  return problems
}

const rulesNames: NamesOf<TrustRules> = { proficient: true, expert: true }
const ruleNames: NamesOf<TrustRule> = { tasks: true, rate: true, days: true, incidentDays: true }

function ruleProblems(given: unknown, where: string): string[] {
  const problems = unknownNames(given, ruleNames, where)
  if (!hasNames(given)) return problems
  const { tasks, rate, days, incidentDays } = given as { readonly [name: string]: unknown }
  const isWhole = (value: unknown, least: number): boolean => Number.isInteger(value) && (value as number) >= least
  if (!isWhole(tasks, 1)) problems.push(`${where}.tasks is ${described(tasks)}, expected a whole number of at least 1`)
  for (const [name, value] of Object.entries({ days, incidentDays }))
    if (!isWhole(value, 0)) problems.push(`${where}.${name} is ${described(value)}, expected whole days, 0 or more`)
  if (!(typeof rate === 'number' && rate >= 0 && rate <= 1))
    problems.push(`${where}.rate is ${described(rate)}, expected 0 to 1`)
  return problems
}

/** The record of whoever has done nothing yet. */
export const newTrust = (now: number): TrustRecord => ({
  level: 'novice',
  completed: 0,
  succeeded: 0,
  startedAt: now,
  history: [],
})

/**
 * Reads a record as it is kept; undefined if there is none. Throws `trust.invalid` for what is none, an unknown level
 * among it.
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
 * Which mode follows from a level: novices are asked for everything, the proficient for what is escalated, experts for
 * what always requires it. Throws `trust.invalid` for an unknown level.
 */
export function modeOfLevel(level: TrustLevel): OversightMode {
  mustBeLevel(level)
  return ({ novice: 'in-command', proficient: 'in-the-loop', expert: 'on-the-loop' } as const)[level]
}

/** Why trust does not rise: what there is and what there must be. */
export interface UpgradeMiss {
  readonly code: 'tasks' | 'success_rate' | 'days' | 'incident' | 'already_at_highest'
  readonly have: number
  readonly need: number
  /** In words. */
  readonly message: string
}

/** Whether trust may rise, where to, and if not the first thing that is missing. */
export type UpgradeWord =
  | { readonly ok: true; readonly target: TrustLevel }
  | { readonly ok: false; readonly target?: TrustLevel; readonly reason: UpgradeMiss }

/** What the question rests on. */
export type TrustState = Pick<TrustRecord, 'level' | 'completed' | 'succeeded' | 'startedAt' | 'lastIncident'>

/**
 * Whether trust may rise by one level now. Looked at in this order, and the first miss is the reason: tasks, success
 * rate, days, incident. Exactly enough is enough; days are whole. Throws `trust.invalid` for an unknown level.
 */
export function canUpgrade(trust: TrustState, now: number, preset: TrustPreset = 'standard'): UpgradeWord {
  const { level, completed, succeeded, startedAt, lastIncident } = trust
  mustBeLevel(level)
  const target = trustLevels[trustLevels.indexOf(level) + 1]
  if (target === undefined || target === 'novice')
    return {
      ok: false,
      reason: { code: 'already_at_highest', have: 2, need: 2, message: `${level} is the highest level` },
    }
  const need = trustRules(preset)[target]
  const miss = (code: UpgradeMiss['code'], have: number, wanted: number, message: string): UpgradeWord => ({
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

/** Whole days of 24 hours. A clock that went back has let none pass. */
const wholeDays = (from: number, to: number): number => Math.max(0, Math.floor((to - from) / day))

/** Two rates with as many digits as it takes to tell them apart. */
function percents(have: number, need: number): readonly [string, string] {
  for (let digits = 1; digits < 15; digits++) {
    const [one, other] = [have, need].map((rate) => (rate * 100).toFixed(digits)) as [string, string]
    if (one !== other) return [`${one} %`, `${other} %`]
  }
  return [`${have * 100} %`, `${need * 100} %`]
}

const withEntry = (trust: TrustRecord, entry: TrustEntry): readonly TrustEntry[] =>
  [...trust.history, entry].slice(-mostEntries)

/** Who says so, and why. */
export interface TrustWord {
  readonly by?: string
  readonly note?: string
  readonly run?: string
  /** Its idempotency key: the same again changes nothing. */
  readonly id?: string
}

const isKnown = (trust: TrustRecord, id: string | undefined): boolean =>
  id !== undefined && trust.history.some((entry) => entry.id === id)
const wordOf = ({ by, note, run, id }: TrustWord): TrustWord => present({ by, note, run, id })

/**
 * The record after an incident: at once a novice, with everything counted anew, or on the same level without a rise for
 * a while. Throws `trust.invalid` for another severity.
 */
export function recordIncident(
  trust: TrustRecord,
  severity: IncidentSeverity,
  now: number,
  word: TrustWord = {},
): TrustRecord {
  if (severity !== 'serious' && severity !== 'minor')
    throw new ReeveError('trust.invalid', `severity is ${described(severity)}, expected "serious" or "minor"`, {
      hint: 'Nothing was changed.',
    })
  mustBeLevel(trust.level)
  if (isKnown(trust, word.id)) return trust
  const { level, completed, succeeded } = trust
  const to = severity === 'serious' ? 'novice' : level
  const history = withEntry(trust, {
    at: now,
    what: 'incident',
    from: level,
    to,
    severity,
    ...wordOf(word),
    completed,
    succeeded,
  })
  const anew = severity === 'serious' ? { level: to, completed: 0, succeeded: 0, startedAt: now } : undefined
  return { ...trust, ...anew, lastIncident: now, history }
}

/**
 * The record with the level that an operator says. What was counted stays. Throws `trust.invalid` for another level.
 */
export function setLevel(trust: TrustRecord, level: TrustLevel, now: number, word: TrustWord = {}): TrustRecord {
  mustBeLevel(level)
  if (isKnown(trust, word.id)) return trust
  const { level: from, completed, succeeded } = trust
  return {
    ...trust,
    level,
    history: withEntry(trust, { at: now, what: 'set', from, to: level, ...wordOf(word), completed, succeeded }),
  }
}

/** A run that has ended, as far as trust goes. */
export interface CountedRun {
  readonly run: string
  readonly succeeded: boolean
}

/** The record after a run: counted once, and risen by one level if the rules say so. */
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
  const word = canUpgrade(counted, now, rules)
  if (!word.ok) return counted
  const entry: TrustEntry = {
    at: now,
    what: 'risen',
    from: before.level,
    to: word.target,
    run,
    completed: counted.completed,
    succeeded: counted.succeeded,
  }
  return { ...counted, level: word.target, history: withEntry(counted, entry) }
}

/** The record with its first entry: by this run, or by an operator. */
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
