/**
 * Trust at work: the mode that holds now, and what a run adds to the records that its oversight names (spec team R-18).
 *
 * Owns: the trust layer, where records are kept, reading them at the beginning of work and at every gate, counting a
 * run when it has ended. Does not own: the rules (trust-record.ts), changes by people (runtime/operator/trust.ts),
 * which oversight holds where (the edge). A record stands on the stream `trust_<name>` and outlives runs. What work
 * begins with is put into its edge, so that nothing gets looser while it goes on; every gate reads again, so that an
 * incident counts from the next gate on. K1, K4: `record`, `names` and the steps `trust` are persistent format. K10:
 * every read is recorded.
 */
import { isObject, ReeveError, type ErrorCode, type Json, type Outcome } from '../../core/index.ts'
import {
  defaultMode,
  oversightModes,
  stricterMode,
  trustsOf,
  type Edge,
  type Layer,
  type Oversight,
  type OversightMode,
  type Work,
} from '../../edge/index.ts'
import { Cancelled, type Context } from '../../engine/index.ts'
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
/** Where on it the record is. */
export const trustKey = 'record'
/** The stream that knows the names of all records: no record has this name, since none begins with a dot. */
export const trustNames = { stream: 'trust_.names', key: 'names' } as const

/** The names with one more, sorted. Pure. */
export function withName(value: Json, name: string): readonly string[] {
  const names = (Array.isArray(value) ? value : []) as readonly string[]
  return names.includes(name) ? names : [...names, name].sort()
}

/**
 * By which rules the records of a runtime rise. Those that are not here go by the rules of their last run, else by
 * `standard`.
 */
export type TrustPresets = { readonly [name: string]: TrustPreset }

const loosest = oversightModes[0]!
const strictest = oversightModes.at(-1)!

/** What the edge alone says. Where trust is named and no mode, the level decides. */
const modeOfEdge = (oversight: Oversight): OversightMode =>
  oversight.mode ?? (trustsOf(oversight).length === 0 ? defaultMode : loosest)

/**
 * The mode that holds now: what the edge says, and, where trust is kept, what its level says, the stricter. In one
 * scope ask one at a time.
 */
export async function currentMode(ctx: Context, oversight: Oversight): Promise<OversightMode> {
  const mode = modeOfEdge(oversight)
  const names = trustsOf(oversight)
  if (names.length === 0 || mode === strictest) return mode
  return strictestOf(mode, await levelsOf(ctx.scope('trust'), names))
}

/** A name, and the level under it; undefined for what cannot be read as one. */
type Standing = { readonly name: string; readonly level: TrustLevel | undefined }

async function levelsOf(ctx: Context, names: readonly string[]): Promise<readonly Standing[]> {
  const all: Standing[] = []
  for (const name of names) all.push({ name, level: levelIn(await ctx.stream(trustStream(name)).get(trustKey)) })
  return all
}

/** Who has no record yet is a novice. */
function levelIn(value: Json): TrustLevel | undefined {
  const level = value === null ? 'novice' : isObject(value) ? value['level'] : undefined
  return trustLevels.find((each) => each === level)
}

/** What cannot be read is not trusted. */
const modeOfStanding = ({ level }: Standing): OversightMode => (level === undefined ? strictest : modeOfLevel(level))

const strictestOf = (mode: OversightMode, all: readonly Standing[]): OversightMode =>
  all.reduce((strict, each) => stricterMode(strict, modeOfStanding(each)), mode)

/** Whether the work behind an edge is trusted under any name. Pure. */
const namesTrust = ({ oversight }: Edge): boolean => oversight !== undefined && trustsOf(oversight.policy).length > 0

/**
 * Work whose edge names trust begins under what trust says now. `presetsOf`: undefined for a worker; a run counts when
 * it has ended.
 */
export const trustLayer =
  (presetsOf: (ctx: Context) => TrustPresets | undefined): Layer =>
  (next) =>
  (ctx, edge) =>
    namesTrust(edge) ? trustedWork(ctx, edge, next, presetsOf(ctx)) : next(ctx, edge)

/**
 * Does work whose edge names trust. It begins with a mode that is at least what trust says now, whatever becomes of
 * trust later. With `presets` it is a run, and counts when it has ended, under each name: not if it was cancelled or a
 * human has rejected it, nor if it is a fork, whose beginning counts for the run that did it; what threw has failed.
 */
async function trustedWork(ctx: Context, edge: Edge, work: Work, presets: TrustPresets | undefined): Promise<Outcome> {
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
  // told once for a run, and again only where somebody below begins under more
  if (ctx.carried === undefined && (isRun || mode !== given))
    for (const { name, level } of all)
      scope.emit({ type: 'fact.noted', name: 'trust.level', data: { trust: name, level: level ?? 'unknown', mode } })
  return mode
}

/** Whether a run with this end has succeeded; undefined: it does not count. Pure. */
export function successOf(outcome: Outcome): boolean | undefined {
  if (outcome.status === 'completed') return true
  if (outcome.status === 'cancelled' || outcome.status === 'bailed') return undefined
  const byHuman =
    outcome.status === 'failed' && outcome.failure.class === 'rejected' && rejections.has(outcome.failure.code)
  return byHuman ? undefined : false
}

/** Failures of their class that are a human's no to the work, and to a task without which its plan is worth nothing. */
const rejections: ReadonlySet<string> = new Set<ErrorCode>(['work.rejected', 'task.rejected'])

async function count(
  ctx: Context,
  names: readonly string[],
  presets: TrustPresets | undefined,
  succeeded: boolean,
): Promise<void> {
  const scope = ctx.scope('trust')
  const { run, forked } = ctx.place
  if (forked === true) return
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

/**
 * The record as it is kept; undefined if there is none, or none that can be read: then it is begun anew, with a novice.
 */
export function readableTrust(value: Json): TrustRecord | undefined {
  try {
    return readTrust(value)
  } catch (thrown) {
    if (ReeveError.is(thrown, 'trust.invalid')) return undefined
    throw thrown
  }
}
