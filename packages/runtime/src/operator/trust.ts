/**
 * Trust for operators: reading trust records, recording incidents, setting levels.
 *
 * Owns: the view of a record, the check that every change names its author and reason. Does not own: the rules and the
 * record (oversight/trust/trust-record.ts), their effect in a run (oversight/trust/trust.ts).
 * Holds: K1: records outlive runs. K2: any process may change them; compare-and-set loses no change.
 */
import {
  described,
  expects,
  flag,
  meantInstead,
  nearest,
  optionProblems,
  own,
  recordOf,
  ReeveError,
  refuseProblems,
  required,
  string,
  text,
  unchecked,
  underName,
  type Checks,
  type Json,
  type OversightMode,
} from '@reeve/core'
import { isTrustName } from '@reeve/edge'
import type { Engine } from '@reeve/engine'
import {
  canUpgrade,
  modeOfLevel,
  newTrust,
  opened,
  readableTrust,
  readTrust,
  recordIncident,
  setLevel,
  trustKey,
  trustNames,
  trustRules,
  trustRulesCheck,
  trustStream,
  withName,
  type IncidentSeverity,
  type TrustEntry,
  type TrustLevel,
  type TrustPresets,
  type TrustRecord,
  type TrustRules,
  type UpgradeCheck,
} from '@reeve/oversight'

/** The trust record of a name, with what it lacks for the next level. */
export interface TrustView {
  readonly name: string
  readonly level: TrustLevel
  /** The oversight mode of runs that begin now and name only this record. */
  readonly mode: OversightMode
  /** Finished runs since the counts were last reset. */
  readonly completed: number
  readonly succeeded: number
  /** The start of the counts, in milliseconds since 1970. Absent: no run was counted yet. */
  readonly startedAt?: number
  readonly lastIncident?: number
  readonly rules: TrustRules
  /** Whether the level would rise now, and what is missing. A level rises only when a run has ended. */
  readonly next: UpgradeCheck
  /** Changes of the record, oldest first. */
  readonly history: readonly TrustEntry[]
}

/** An incident caused by the agents of a trust record. */
export interface Incident {
  readonly trust: string
  /**
   * `serious`: back to novice at once, and all counts restart. `minor`: no promotion for a while. Both take effect in
   * running runs at their next gate.
   */
  readonly severity: IncidentSeverity
  readonly note?: string
  readonly by?: string
  /** The run in which it happened. */
  readonly run?: string
  /** Makes the call idempotent: repeating an id records no second incident. Default: a new id. */
  readonly id?: string
  /** Allows a name that no registered agent uses and that has no record. Default false, as it may be a typing error. */
  readonly create?: boolean
}

/** A level set by an operator. */
export interface TrustSetting {
  readonly trust: string
  readonly level: TrustLevel
  readonly by: string
  readonly reason: string
  readonly id?: string
  /** As for an incident. */
  readonly create?: boolean
}

/** The check of the rules that a runtime is given. */
export const trustPresetsCheck = recordOf(trustRulesCheck, 'an object: { name: rules }', (name, where) =>
  isTrustName(name) ? undefined : `${where}: "${name}" is no name for trust`,
)

const trustNameCheck = required(expects(isTrustName, 'a name'))
const saysWhy = required(text)
const incidentChecks: Checks<Incident> = {
  trust: trustNameCheck,
  severity: unchecked, // where it is recorded
  note: string,
  by: string,
  run: string,
  id: string,
  create: flag,
}
const settingChecks: Checks<TrustSetting> = {
  trust: trustNameCheck,
  level: unchecked, // where it is recorded
  by: saysWhy,
  reason: saysWhy,
  id: string,
  create: flag,
}

/** What reading and changing records needs. */
export interface TrustAccess {
  readonly engine: Engine
  readonly now: number
  readonly presets: TrustPresets | undefined
  /** The trust names of the registered agents. */
  readonly named?: readonly string[]
}

/** Reads and changes trust records. */
export interface RuntimeTrust {
  /** The trust record of a name, what it lacks for the next level, and its history. */
  of(name: string): Promise<TrustView>
  /** All trust records. */
  all(): Promise<readonly TrustView[]>
  /**
   * Records an incident; it takes effect in running runs at their next gate. Throws `input.invalid`, `trust.invalid`.
   */
  incident(incident: Incident): Promise<TrustView>
  /** Sets a level, with a name and a reason. Throws as `incident` does. */
  set(setting: TrustSetting): Promise<TrustView>
}

/** The trust of one runtime. */
export function runtimeTrust(access: () => TrustAccess): RuntimeTrust {
  return {
    of: (name) => trustOf(access(), name),
    all: () => allTrust(access()),
    incident: (incident) => noteIncident(access(), underName(incident)),
    set: (setting) => setTrust(access(), underName(setting)),
  }
}

/** The trust record of a name; without a record, a novice. */
async function trustOf({ engine, now, presets }: TrustAccess, name: string): Promise<TrustView> {
  mustBeName(name)
  const kept = readTrust(await engine.stream(trustStream(name)).get(trustKey))
  return viewOf(name, kept, now, presets)
}

function viewOf(
  name: string,
  kept: TrustRecord | undefined,
  now: number,
  presets: TrustPresets | undefined,
): TrustView {
  const record = kept ?? newTrust(now)
  const { level, completed, succeeded, startedAt, lastIncident, history } = record
  const rules = trustRules(own(presets, name) ?? record.rules)
  return {
    name,
    level,
    mode: modeOfLevel(level),
    completed,
    succeeded,
    ...(kept === undefined ? undefined : { startedAt }),
    ...(lastIncident === undefined ? undefined : { lastIncident }),
    rules,
    next: canUpgrade(record, now, rules),
    history,
  }
}

/** All trust records, by name. */
async function allTrust(access: TrustAccess): Promise<readonly TrustView[]> {
  const names = await access.engine.stream(trustNames.stream).get(trustNames.key)
  return Promise.all((Array.isArray(names) ? (names as readonly string[]) : []).map((name) => trustOf(access, name)))
}

/** Records an incident, effective at once. */
async function noteIncident(access: TrustAccess, given: Incident): Promise<TrustView> {
  refuseProblems('input.invalid', optionProblems(incidentChecks, given, 'trust.incident()'), nothing)
  const { trust, severity, create, ...word } = given
  await mustBeKnown(access, trust, create)
  return change(access, trust, readTrust, (record) => recordIncident(record, severity, access.now, word))
}

/** Sets a level. The counts stay; an unreadable record is replaced. */
async function setTrust(access: TrustAccess, given: TrustSetting): Promise<TrustView> {
  refuseProblems('input.invalid', optionProblems(settingChecks, given, 'trust.set()'), nothing)
  const { trust, level, by, reason, id, create } = given
  await mustBeKnown(access, trust, create)
  return change(access, trust, readableTrust, (record) =>
    setLevel(record, level, access.now, { by, note: reason, ...(id === undefined ? undefined : { id }) }),
  )
}

/** Refuses a name without agents and records: the change would have no effect and go unnoticed. */
async function mustBeKnown(
  { engine, presets = {}, named = [] }: TrustAccess,
  name: string,
  create = false,
): Promise<void> {
  const here = [...new Set([...named, ...Object.keys(presets)])]
  if (create || here.includes(name) || (await engine.stream(trustStream(name)).get(trustKey)) !== null) return
  const kept = await engine.stream(trustNames.stream).get(trustNames.key)
  const all = [...new Set([...here, ...(Array.isArray(kept) ? (kept as readonly string[]) : [])])].sort()
  throw new ReeveError('trust.invalid', `unknown trust name "${name}"${meantInstead(name, all, 'known:')}`, {
    hint: 'No registered agent uses this name, and it has no record. To create one: create: true. Nothing was changed.',
  })
}

/** Problems of rules for names that no agent uses, but that resemble one in use, one sentence each. */
export function strangeRules(presets: TrustPresets | undefined, named: readonly string[]): readonly string[] {
  const rules = Object.keys(presets ?? {})
  const without = named.filter((name) => !rules.includes(name))
  return rules.flatMap((name) => {
    const meant = named.includes(name) ? undefined : nearest(name, without)
    return meant === undefined
      ? []
      : [`createRuntime: trust has rules for "${name}", and no agent names it: did you mean "${meant}"?`]
  })
}

async function change(
  access: TrustAccess,
  name: string,
  read: (value: Json) => TrustRecord | undefined,
  next: (record: TrustRecord) => TrustRecord,
): Promise<TrustView> {
  const { engine, now, presets } = access
  const kept = await engine
    .stream(trustStream(name))
    .update(trustKey, (value) => next(read(value) ?? opened(newTrust(now))) as unknown as Json)
  await engine.stream(trustNames.stream).update(trustNames.key, (value) => withName(value, name))
  return viewOf(name, kept as unknown as TrustRecord, now, presets)
}

const nothing = 'Nothing was changed.'

function mustBeName(name: unknown): void {
  if (!isTrustName(name)) throw new ReeveError('input.invalid', `trust(): ${described(name)} is no name for trust`)
}
