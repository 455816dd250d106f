/**
 * Counters: what is counted of a run when it has ended, once and for good.
 *
 * Owns: which counters a run adds to, the bounds of distributions, how many series there are at most. Does not own:
 * keeping them (the stores), how they are written for a reader of metrics (server/metrics.ts). Pure.
 * Holds: labels are cut and bounded in number, since agents, tenants and models are named from outside: what is beyond
 * counts under `other`. K11: what is not known is counted as such, and not as 0.
 */
import type { Caller } from '@reeve/journal'
import type { RunCounter, IndexedRun } from '../run-figures.ts'
import { callerIn } from '../run-row.ts'
import type { StoredRun } from '../store.ts'

/** So many series a counter has at most; a distribution counts as one. */
export const mostSeries = 1_000
const longestLabel = 120

/** Upper bounds of distributions, in seconds. */
const bounds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600, 14_400, 86_400] as const

type Labels = Readonly<Record<string, string>>

const label = (text: string): string => text.slice(0, longestLabel).toWellFormed()

function distribution(name: 'duration' | 'wait' | 'latency', labels: Labels, ms: number): readonly RunCounter[] {
  const seconds = ms / 1_000
  const le = bounds.find((bound) => seconds <= bound)
  return [
    { name, labels: { ...labels, le: le === undefined ? '+Inf' : String(le) }, value: 1 },
    { name, labels: { ...labels, le: 'sum' }, value: seconds },
  ]
}

/** What a run that has ended adds. */
export function countersOf(
  row: Pick<StoredRun, 'agent' | 'version' | 'status' | 'created' | 'ended' | 'caller'>,
  { failure, waitMs = 0, shares }: IndexedRun,
): readonly RunCounter[] {
  const { tenant = '' }: Caller = callerIn(row)
  const [agent, version, of] = [label(row.agent), label(row.version), label(tenant)]
  const labels = { agent, version, tenant: of }
  const durationMs = Math.max(0, (row.ended ?? row.created) - row.created)
  const ended: RunCounter = {
    name: 'runs',
    labels: { ...labels, status: row.status, code: label(failure?.code ?? '') },
    value: 1,
  }
  return [
    ended,
    ...distribution('duration', labels, durationMs),
    ...distribution('wait', labels, waitMs),
    ...distribution('latency', labels, Math.max(0, durationMs - waitMs)),
    ...shares.flatMap((share): readonly RunCounter[] => {
      const by = {
        agent: label(share.agent),
        version: label(share.version ?? ''),
        model: label(share.model),
        tenant: of,
      }
      const counter = (name: RunCounter['name'], value: number, more: Labels = {}): readonly RunCounter[] =>
        value > 0 ? [{ name, labels: { ...by, ...more }, value }] : []
      return [
        ...counter('calls', share.calls),
        ...counter('tokens', share.input, { direction: 'input' }),
        ...counter('tokens', share.output, { direction: 'output' }),
        ...counter('reasoning', share.reasoning ?? 0),
        ...counter('cached', share.cached, { access: 'read' }),
        ...counter('cached', share.cacheWrite ?? 0, { access: 'write' }),
        ...counter('usd', share.usd),
        ...counter('unknown', share.unknown),
        ...counter('unpriced', share.unpriced),
      ]
    }),
  ]
}

/** Counters of the same series, added. The same order for the same series: two processes do not wait for each other. */
export function addedCounters(counters: readonly RunCounter[]): readonly RunCounter[] {
  const sums = new Map<string, RunCounter>()
  for (const each of counters) {
    const id = JSON.stringify([each.name, each.labels])
    sums.set(id, { ...each, value: (sums.get(id)?.value ?? 0) + each.value })
  }
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, counter]) => counter)
}

const distributions: ReadonlySet<RunCounter['name']> = new Set(['duration', 'wait', 'latency'])

/** The same counters, those of distributions with all their bounds: what was not counted is 0. */
export function withAllBounds(counters: readonly RunCounter[]): readonly RunCounter[] {
  const has = new Set(counters.map(({ name, labels }) => JSON.stringify([name, labels])))
  const series = new Map(
    counters.flatMap((each) => (distributions.has(each.name) ? [[seriesOf(each), each] as const] : [])),
  )
  const missing = [...series.values()].flatMap(({ name, labels: { le: _le, ...labels } }) =>
    [...bounds.map(String), '+Inf'].flatMap((le): readonly RunCounter[] => {
      const empty = { name, labels: { ...labels, le }, value: 0 }
      return has.has(JSON.stringify([name, empty.labels])) ? [] : [empty]
    }),
  )
  return [...counters, ...missing]
}

const seriesOf = ({ name, labels: { le: _le, ...labels } }: RunCounter): string => JSON.stringify([name, labels])

/** The series that there are, so that no more of a counter are begun than it may have. */
export class SeriesBound {
  readonly #known = new Map<RunCounter['name'], Set<string>>()

  /** These are there. */
  note(counters: readonly RunCounter[]): void {
    for (const each of counters) {
      const known = this.#known.get(each.name) ?? new Set()
      this.#known.set(each.name, known)
      known.add(seriesOf(each))
    }
  }

  /** Whether all of these are there. */
  knows(counters: readonly RunCounter[]): boolean {
    return counters.every((each) => this.#known.get(each.name)?.has(seriesOf(each)) === true)
  }

  /** The same counters; those of a series that is one too many count under `other`. */
  bounded(counters: readonly RunCounter[]): readonly RunCounter[] {
    return counters.map((each) => {
      const known = this.#known.get(each.name)
      if (known?.has(seriesOf(each)) !== true && (known?.size ?? 0) >= mostSeries) return otherOf(each)
      this.note([each])
      return each
    })
  }
}

/** How a run ended, and the direction of tokens, have a few values: they stay. */
const otherOf = ({ labels, ...counter }: RunCounter): RunCounter => ({
  ...counter,
  labels: Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [
      name,
      name === 'le' || name === 'status' || name === 'direction' ? value : 'other',
    ]),
  ),
})
