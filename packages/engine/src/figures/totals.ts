/**
 * Totals: rows of runs, counted.
 *
 * Owns: how runs are put into groups and times, percentiles, how usage is added. Does not own: which runs there are (the
 * stores), of what an index has them (indexed-run.ts). Pure.
 * Holds: K11 (unknown usage stays unknown). However large a group is, an answer has a bounded number of them.
 */
import { present, type Outcome } from '@reeve/core'
import type { Caller } from '@reeve/journal'
import type {
  Causes,
  FailureCause,
  FailureGroup,
  FiguresGroup,
  FiguresOfTime,
  FiguresRow,
  Percentiles,
  RunFigures,
  RunUsage,
  Totals,
  TotalsBy,
  TotalsOptions,
  UsageShare,
} from '../run-figures.ts'
import { runUsage } from '../run-row.ts'

/** So many groups are told. */
const mostGroups = 1_000

const bucketMs = { hour: 3_600_000, day: 86_400_000 } as const

/** Milliseconds, the smallest of which so large a part is not greater. `sorted`: not empty. */
const nearestRank = (sorted: Float64Array, part: number): number =>
  sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)]!

function percentilesOf(values: readonly number[]): Percentiles | undefined {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  return { p50: nearestRank(sorted, 0.5), p95: nearestRank(sorted, 0.95) }
}

/** Usage of runs, added. Undefined members are not known of any. */
class UsageSum {
  #calls = 0
  #tokens = 0
  #usd = 0
  #unknown = 0
  #unpriced = 0

  add({ calls, tokens, usd, unknown = 0, unpriced = 0 }: RunUsage): void {
    this.#calls += calls
    this.#tokens += tokens ?? 0
    this.#usd += usd ?? 0
    this.#unknown += tokens === undefined ? calls : unknown
    this.#unpriced += usd === undefined ? calls : unpriced
  }

  get usd(): number {
    return this.#usd
  }

  sum(): RunUsage {
    const [calls, unknown, unpriced] = [this.#calls, this.#unknown, this.#unpriced]
    return {
      calls,
      ...(calls > 0 && unknown === calls ? {} : { tokens: this.#tokens }),
      ...(calls > 0 && unpriced === calls ? {} : { usd: this.#usd }),
      ...(unknown === 0 ? {} : { unknown }),
      ...(unpriced === 0 ? {} : { unpriced }),
    }
  }
}

/** A run as it is counted. */
interface MeasuredRun {
  readonly status: Outcome['status'] | undefined
  readonly usage: RunUsage | undefined
  readonly durationMs: number | undefined
  readonly waitMs: number | undefined
}

/** Some runs. */
class FiguresFold {
  runs = 0
  readonly #ends: Partial<Record<Outcome['status'], number>> = {}
  readonly #usage = new UsageSum()
  readonly #durations: number[] = []
  readonly #waits: number[] = []

  add({ status, usage, durationMs, waitMs }: MeasuredRun): void {
    this.runs++
    if (status !== undefined) this.#ends[status] = (this.#ends[status] ?? 0) + 1
    if (usage !== undefined) this.#usage.add(usage)
    if (durationMs !== undefined) this.#durations.push(durationMs)
    if (waitMs !== undefined) this.#waits.push(waitMs)
  }

  get usd(): number {
    return this.#usage.usd
  }

  figures(): RunFigures {
    return {
      runs: this.runs,
      ends: { ...this.#ends },
      usage: this.#usage.sum(),
      ...present({ durationMs: percentilesOf(this.#durations), waitMs: percentilesOf(this.#waits) }),
    }
  }
}

/** Some runs, and by time. */
class TimedFold {
  readonly all = new FiguresFold()
  readonly #times = new Map<number, FiguresFold>()
  readonly #bucketMs: number | undefined

  constructor(bucket: TotalsOptions['bucket']) {
    this.#bucketMs = bucket && bucketMs[bucket]
  }

  add(run: MeasuredRun, createdAt: number): void {
    this.all.add(run)
    if (this.#bucketMs === undefined) return
    const at = Math.floor(createdAt / this.#bucketMs) * this.#bucketMs
    const time = this.#times.get(at) ?? new FiguresFold()
    this.#times.set(at, time)
    time.add(run)
  }

  overTime(): { readonly overTime?: readonly FiguresOfTime[] } {
    if (this.#bucketMs === undefined) return {}
    const times = [...this.#times].toSorted(([a], [b]) => a - b)
    return { overTime: times.map(([at, fold]) => ({ at, ...fold.figures() })) }
  }
}

interface GroupFold {
  readonly key: string | null
  readonly agent?: string
  readonly fold: TimedFold
}

/** Counts rows, in any order. */
export class TotalsFold {
  readonly #by: TotalsBy | undefined
  readonly #bucket: TotalsOptions['bucket']
  readonly #all: TimedFold
  readonly #groups = new Map<string, GroupFold>()

  constructor({ by, bucket }: TotalsOptions) {
    this.#by = by
    this.#bucket = bucket
    this.#all = new TimedFold(bucket)
  }

  take(row: FiguresRow): void {
    const run: MeasuredRun = {
      status: row.endedAt === null ? undefined : (row.status as Outcome['status']),
      usage: row.usage === null ? undefined : (JSON.parse(row.usage) as RunUsage),
      durationMs: row.endedAt === null ? undefined : Math.max(0, row.endedAt - row.createdAt),
      waitMs: row.waitMs ?? undefined,
    }
    this.#all.add(run, row.createdAt)
    if (this.#by === 'model') {
      const shares = row.shares === null ? [] : (JSON.parse(row.shares) as readonly UsageShare[])
      for (const [model, of] of Map.groupBy(shares, (share) => share.model))
        this.#group(model).add({ ...run, usage: runUsage(of) }, row.createdAt)
      if (shares.length === 0) this.#group(null).add(run, row.createdAt)
      return
    }
    if (this.#by === 'version') this.#group(row.version, row.agent).add(run, row.createdAt)
    else if (this.#by !== undefined) this.#group(keyOf(row, this.#by)).add(run, row.createdAt)
  }

  #group(key: string | null, agent?: string): TimedFold {
    const id = JSON.stringify([key, agent])
    const group = this.#groups.get(id) ?? { key, ...present({ agent }), fold: new TimedFold(this.#bucket) }
    this.#groups.set(id, group)
    return group.fold
  }

  totals(behind: number): Totals {
    const all = { behind, all: this.#all.all.figures(), ...this.#all.overTime() }
    if (this.#by === undefined) return all
    const groups = [...this.#groups.values()].toSorted(
      (a, b) => b.fold.all.usd - a.fold.all.usd || b.fold.all.runs - a.fold.all.runs || byName(a.key, b.key),
    )
    return {
      ...all,
      groups: groups.slice(0, mostGroups).map(({ key, agent, fold }): FiguresGroup => ({
        key,
        ...present({ agent }),
        ...fold.all.figures(),
        ...fold.overTime(),
      })),
      ...leftOut(groups.length),
    }
  }
}

const byName = (a: string | null, b: string | null): number => ((a ?? '') < (b ?? '') ? -1 : 1)
const leftOut = (groups: number): { readonly more?: number } =>
  groups > mostGroups ? { more: groups - mostGroups } : {}

function keyOf(row: FiguresRow, by: Exclude<TotalsBy, 'model' | 'version'>): string | null {
  switch (by) {
    case 'agent':
      return row.agent
    case 'code':
      return row.failure === null ? null : (JSON.parse(row.failure) as FailureCause).code
    case 'tenant':
    case 'user':
    case 'session':
      return row.caller === null ? null : ((JSON.parse(row.caller) as Caller)[by] ?? null)
  }
}

/** Counts failures, in any order. */
export class CausesFold {
  readonly #causes = new Map<string, { -readonly [Name in keyof FailureGroup]: FailureGroup[Name] }>()

  take({ run, endedAt, failure }: FiguresRow): void {
    if (failure === null || endedAt === null) return
    const { code, cause, agent, message } = JSON.parse(failure) as FailureCause
    const known = this.#causes.get(cause)
    if (known === undefined) {
      this.#causes.set(cause, { cause, code, agent, message, runs: 1, newest: run, firstAt: endedAt, lastAt: endedAt })
      return
    }
    known.runs++
    known.firstAt = Math.min(known.firstAt, endedAt)
    if (endedAt < known.lastAt) return
    Object.assign(known, { lastAt: endedAt, newest: run, message })
  }

  causes(behind: number): Causes {
    const groups = [...this.#causes.values()].toSorted((a, b) => b.runs - a.runs || b.lastAt - a.lastAt)
    return { behind, causes: groups.slice(0, mostGroups), ...leftOut(groups.length) }
  }
}
