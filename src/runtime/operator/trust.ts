/**
 * Trust as operators see it: how much is trusted under a name, why no more, incidents, and an operator's own word.
 *
 * Owns: what is shown, what may be said from outside, that every change says who and why. Does not own: the rules and
 * the record (oversight/trust/trust-record.ts), what a run does with it (oversight/trust/trust.ts).
 * K1: records outlive runs. K2: whoever speaks may be any process; the change is compare-and-set, so none is lost.
 */
import {
  described,
  hasNames,
  isObject,
  meantInstead,
  nearest,
  ReeveError,
  underName,
  unknownNames,
  own,
  type Json,
  type NamesOf,
} from '../../core/index.ts'
import { isTrustName, type OversightMode } from '../../edge/index.ts'
import type { Engine } from '../../engine/index.ts'
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
  trustRuleProblems,
  trustRules,
  trustStream,
  withName,
  type IncidentSeverity,
  type TrustEntry,
  type TrustLevel,
  type TrustPresets,
  type TrustRecord,
  type TrustRules,
  type UpgradeWord,
} from '../../oversight/index.ts'

/** How much is trusted under a name, and why no more. */
export interface TrustView {
  readonly name: string
  readonly level: TrustLevel
  /** The mode of runs that begin now and name this trust alone. */
  readonly mode: OversightMode
  /** Finished runs since everything was last counted anew. */
  readonly completed: number
  readonly succeeded: number
  /** Since when is counted; absent: nothing was counted yet. Milliseconds since 1970. */
  readonly startedAt?: number
  readonly lastIncident?: number
  readonly rules: TrustRules
  /** Whether it would rise now, and what is missing. It rises when a run has ended. */
  readonly next: UpgradeWord
  /** What became of it, oldest first. */
  readonly history: readonly TrustEntry[]
}

/** Something went wrong that those who are trusted here answer for. */
export interface Incident {
  readonly trust: string
  /**
   * `serious`: at once a novice, everything is counted anew. `minor`: no rise for a while. Both count in running runs
   * from the next gate on.
   */
  readonly severity: IncidentSeverity
  readonly note?: string
  readonly by?: string
  /** The run in which it happened. */
  readonly run?: string
  /** Its idempotency key: the same again is the same incident. Default: every word is another. */
  readonly id?: string
  /**
   * The name may be new: no agent that is registered here names it, and nothing was counted or said under it. Default
   * false: then it is refused, it may be a slip.
   */
  readonly create?: boolean
}

/** An operator's word on a level. */
export interface TrustSetting {
  readonly trust: string
  readonly level: TrustLevel
  readonly by: string
  readonly reason: string
  readonly id?: string
  /** As of an incident. */
  readonly create?: boolean
}

/** What is wrong with the rules that a runtime is given, one sentence each. */
export function trustPresetProblems(given: unknown, where: string): string[] {
  if (given === undefined) return []
  if (!hasNames(given)) return [`${where} is ${described(given)}, expected an object: { name: rules }`]
  return Object.entries(given).flatMap(([name, rules]) => [
    ...(isTrustName(name) ? [] : [`${where}: "${name}" is no name for trust`]),
    ...trustRuleProblems(rules, `${where}.${name}`),
  ])
}

/** Where records are looked up and changed. */
export interface TrustAccess {
  readonly engine: Engine
  readonly now: number
  readonly presets: TrustPresets | undefined
  /** The names that agents name that are registered here. */
  readonly named?: readonly string[]
}

/** Trust, as an operator reads and sets it. */
export interface RuntimeTrust {
  /** How much is trusted under a name, why no more, and what became of it. */
  of(name: string): Promise<TrustView>
  /** Every trust that has a record. */
  all(): Promise<readonly TrustView[]>
  /**
   * Records an incident: less is trusted at once, in running runs from the next gate on. Throws `input.invalid` and
   * `trust.invalid`.
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

/** The trust under a name. Who has done nothing yet is a novice. */
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

/** Every trust that something was counted or said under, by name. */
async function allTrust(access: TrustAccess): Promise<readonly TrustView[]> {
  const names = await access.engine.stream(trustNames.stream).get(trustNames.key)
  return Promise.all((Array.isArray(names) ? (names as readonly string[]) : []).map((name) => trustOf(access, name)))
}

/** Notes an incident. It holds at once. */
async function noteIncident(access: TrustAccess, given: Incident): Promise<TrustView> {
  const known: NamesOf<Incident> = {
    trust: true,
    severity: true,
    note: true,
    by: true,
    run: true,
    id: true,
    create: true,
  }
  mustBeWord(given, known, 'trust.incident()', ['note', 'by', 'run', 'id'])
  const { trust, severity, create, ...word } = given
  await mustBeKnown(access, trust, create)
  return change(access, trust, readTrust, (record) => recordIncident(record, severity, access.now, word))
}

/** Sets a level by an operator's word. What was counted stays; what cannot be read is begun anew. */
async function setTrust(access: TrustAccess, given: TrustSetting): Promise<TrustView> {
  const known: NamesOf<TrustSetting> = { trust: true, level: true, by: true, reason: true, id: true, create: true }
  mustBeWord(given, known, 'trust.set()', ['id'])
  const { trust, level, by, reason, id, create } = given
  for (const [name, value] of Object.entries({ by, reason }))
    if (typeof value !== 'string' || value === '')
      throw new ReeveError(
        'input.invalid',
        `trust.set(): ${name} is ${described(value)}: a level that is set says who and why`,
        {
          hint: nothing,
        },
      )
  await mustBeKnown(access, trust, create)
  return change(access, trust, readableTrust, (record) =>
    setLevel(record, level, access.now, { by, note: reason, ...(id === undefined ? undefined : { id }) }),
  )
}

/** A word under a name that nobody works under would change nothing, and nobody would see it. */
async function mustBeKnown(
  { engine, presets = {}, named = [] }: TrustAccess,
  name: string,
  create = false,
): Promise<void> {
  const here = [...new Set([...named, ...Object.keys(presets)])]
  if (create || here.includes(name) || (await engine.stream(trustStream(name)).get(trustKey)) !== null) return
  const kept = await engine.stream(trustNames.stream).get(trustNames.key)
  const all = [...new Set([...here, ...(Array.isArray(kept) ? (kept as readonly string[]) : [])])].sort()
  throw new ReeveError(
    'trust.invalid',
    `nothing is trusted under the name "${name}"${meantInstead(name, all, 'there are')}`,
    {
      hint: 'No agent that is registered here names it, and nothing was counted or said under it. If it is meant to be new: create: true. Nothing was changed.',
    },
  )
}

/**
 * Rules for a name that is a slip away from one that agents name, and that nobody names: they would hold for nobody.
 * One sentence each.
 */
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

function mustBeWord(
  given: unknown,
  known: Readonly<Record<string, unknown>>,
  where: string,
  texts: readonly string[],
): void {
  const problems = unknownNames(given, known, where)
  if (isObject(given)) {
    if (!isTrustName(given['trust'])) problems.push(`${where}: trust is ${described(given['trust'])}, expected a name`)
    if (given['create'] !== undefined && typeof given['create'] !== 'boolean')
      problems.push(`${where}: create is ${described(given['create'])}, expected true or false`)
    for (const name of texts)
      if (given[name] !== undefined && typeof given[name] !== 'string')
        problems.push(`${where}: ${name} is ${described(given[name])}, expected a text`)
  }
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '), { hint: nothing })
}

function mustBeName(name: unknown): void {
  if (!isTrustName(name)) throw new ReeveError('input.invalid', `trust(): ${described(name)} is no name for trust`)
}
