/**
 * Trust layer: the current oversight mode by trust, and counting runs in the trust records (spec team R-18).
 *
 * Owns: the layer, storing records, reading them when work begins and at every gate, counting a run when it has ended.
 * Does not own: the rules (trust-record.ts), changes by operators (runtime/operator/trust.ts), the oversight of an
 * edge.
 * Holds: a record is on the stream `trust_<name>` and outlives runs. The initial mode goes into the edge of the work,
 * so oversight never gets looser while it runs; every gate reads again, so an incident takes effect at the next gate.
 * K1, K4: `record`, `names` and the steps `trust` are persistent format. K10: every read is recorded.
 */
import {
  defaultMode,
  isObject,
  oversightModes,
  ReeveError,
  stricterMode,
  type ErrorCode,
  type Json,
  type Outcome,
  type OversightMode,
} from '@reeve/core'
import { trustsOf, type Edge, type Layer, type Oversight, type ActivationWork } from '@reeve/edge'
import { Cancelled, type Context } from '@reeve/engine'
import {
  modeOfLevel,
  readTrust,
  recordRun,
  trustLevels,
  type TrustLevel,
  type TrustPreset,
  type TrustRecord,
} from './trust-record.ts'

/** The stream of a record. */
export const trustStream = (name: string): string => `trust_${name}`
/** The key of the record. */
export const trustKey = 'record'
/** The stream with the names of all records. No trust name begins with a dot, so no record uses it. */
export const trustNames = { stream: 'trust_.names', key: 'names' } as const

/** The names with one more, sorted. Pure. */
export function withName(value: Json, name: string): readonly string[] {
  const names = (Array.isArray(value) ? value : []) as readonly string[]
  return names.includes(name) ? names : [...names, name].sort()
}

/** The rules of the records of a runtime, by name. Default: the rules of their last run, else `standard`. */
export type TrustPresets = { readonly [name: string]: TrustPreset }

const loosest = oversightModes[0]!
const strictest = oversightModes.at(-1)!

/** The mode of the edge. With trust and without a mode, the level decides. */
const modeOfEdge = (oversight: Oversight): OversightMode =>
  oversight.mode ?? (trustsOf(oversight).length === 0 ? defaultMode : loosest)

/** The current mode: the stricter of the edge's and the trust level's. One call at a time in a scope. */
export async function currentMode(ctx: Context, oversight: Oversight): Promise<OversightMode> {
  const mode = modeOfEdge(oversight)
  const names = trustsOf(oversight)
  if (names.length === 0 || mode === strictest) return mode
  return strictestOf(mode, await levelsOf(ctx.scope('trust'), names))
}

/** A trust name and its level; undefined if the record is unreadable. */
type TrustStanding = { readonly name: string; readonly level: TrustLevel | undefined }

async function levelsOf(ctx: Context, names: readonly string[]): Promise<readonly TrustStanding[]> {
  const all: TrustStanding[] = []
  for (const name of names) all.push({ name, level: levelIn(await ctx.stream(trustStream(name)).get(trustKey)) })
  return all
}

/** The level of a stored record; without one, novice. */
function levelIn(value: Json): TrustLevel | undefined {
  const level = value === null ? 'novice' : isObject(value) ? value['level'] : undefined
  return trustLevels.find((each) => each === level)
}

/** An unreadable record counts as no trust. */
const modeOfStanding = ({ level }: TrustStanding): OversightMode =>
  level === undefined ? strictest : modeOfLevel(level)

const strictestOf = (mode: OversightMode, all: readonly TrustStanding[]): OversightMode =>
  all.reduce((strict, each) => stricterMode(strict, modeOfStanding(each)), mode)

/**
 * The layer: work whose edge names trust begins in the current mode. `presetsOf`: undefined for a worker; a root is
 * counted when its run has ended.
 */
export const trustLayer =
  (presetsOf: (ctx: Context) => TrustPresets | undefined): Layer =>
  (next) =>
  (ctx, edge) =>
    edge.oversight === undefined || trustsOf(edge.oversight.policy).length === 0
      ? next(ctx, edge)
      : trustedWork(ctx, edge, next, presetsOf(ctx))

/**
 * Runs work whose edge names trust, in a mode at least as strict as the current one. With `presets` it is a run,
 * counted under each name when it has ended. Cancelled and rejected runs do not count, nor do forks, as their beginning
 * counts for their origin. Work that throws has failed.
 */
async function trustedWork(
  ctx: Context,
  edge: Edge,
  work: ActivationWork,
  presets: TrustPresets | undefined,
): Promise<Outcome> {
  const policy = edge.oversight?.policy ?? {}
  const names = trustsOf(policy)
  const mode = await modeAtBeginning(ctx, policy, presets !== undefined)
  const begun = { ...edge, oversight: { ...edge.oversight, policy: { ...policy, mode } } }
  if (presets === undefined) return work(ctx, begun)
  let outcome: Outcome
  try {
    outcome = await work(ctx, begun)
  } catch (thrown) {
    if (!(thrown instanceof Cancelled)) await count(ctx, names, presets, false)
    throw thrown
  }
  const succeeded = successOf(outcome)
  if (succeeded !== undefined) await count(ctx, names, presets, succeeded)
  return outcome
}

async function modeAtBeginning(ctx: Context, oversight: Oversight, isRun: boolean): Promise<OversightMode> {
  const given = modeOfEdge(oversight)
  if (given === strictest && !isRun) return given
  const scope = ctx.scope('trust')
  const all = await levelsOf(scope, trustsOf(oversight))
  const mode = strictestOf(given, all)
  // recorded once for a run, and again only if a worker adds names
  if (ctx.carried === undefined && (isRun || mode !== given))
    for (const { name, level } of all)
      scope.emit({ type: 'fact.noted', name: 'trust.level', data: { trust: name, level: level ?? 'unknown', mode } })
  return mode
}

/** Whether a run with this outcome succeeded; undefined: it does not count. Pure. */
export function successOf(outcome: Outcome): boolean | undefined {
  if (outcome.status === 'completed') return true
  if (outcome.status === 'cancelled' || outcome.status === 'bailed') return undefined
  const byHuman =
    outcome.status === 'failed' && outcome.failure.class === 'rejected' && rejections.has(outcome.failure.code)
  return byHuman ? undefined : false
}

/** Failure codes of a rejection by a human: of the work, or of a required task. */
const rejections: ReadonlySet<string> = new Set<ErrorCode>(['work.rejected', 'task.rejected'])

async function count(
  ctx: Context,
  names: readonly string[],
  presets: TrustPresets | undefined,
  succeeded: boolean,
): Promise<void> {
  const scope = ctx.scope('trust')
  const { run, forked, caller } = ctx.place
  if (forked === true || caller.trial === true) return
  const now = scope.now().getTime()
  for (const trust of names) {
    const kept = await scope
      .stream(trustStream(trust))
      .update(
        trustKey,
        (value) => recordRun(readableTrust(value), { run, succeeded }, now, presets?.[trust]) as unknown as Json,
      )
    const record = kept as unknown as TrustRecord
    if (record.history[0]?.what === 'opened' && record.history[0].run === run)
      await scope.stream(trustNames.stream).update(trustNames.key, (value) => withName(value, trust))
    const { level, completed, succeeded: good } = record
    const risen = record.history.findLast(({ what }) => what === 'risen')
    scope.emit({
      type: 'trust.updated',
      trust,
      level,
      tasks: completed,
      succeeded: good,
      ...(risen?.run === run ? { reason: `risen to ${level}` } : undefined),
    })
  }
}

/** The stored record; undefined if it is missing or unreadable: then a new one starts as novice. */
export function readableTrust(value: Json): TrustRecord | undefined {
  try {
    return readTrust(value)
  } catch (thrown) {
    if (ReeveError.is(thrown, 'trust.invalid')) return undefined
    throw thrown
  }
}
