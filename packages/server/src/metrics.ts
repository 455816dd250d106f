/**
 * Metrics as Prometheus reads them: the text format 0.0.4.
 *
 * Owns: names, help and types of the metrics, and how they are written. Does not own: what is counted (engine/figures),
 * how the installation is (runtime/system.ts), traces and metrics that are pushed (otel).
 * Holds: counters only grow, also where runs are removed and processes come and go; the number of series is bounded where
 * they are counted.
 */
import type { RunCounter, SystemView } from '@reeve/runtime'
import type { RequestContext } from './route.ts'

/** The content type of the text. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

/** A metric without its samples. */
interface Metric {
  readonly name: string
  readonly help: string
}

const counted: Readonly<Record<Exclude<RunCounter['name'], 'duration' | 'wait' | 'latency'>, Metric>> = {
  runs: { name: 'reeve_runs_ended_total', help: 'Runs that have ended, by how, and by the code of their failure.' },
  calls: { name: 'reeve_model_calls_total', help: 'Model calls of runs that have ended, by the agent that made them.' },
  tokens: { name: 'reeve_tokens_total', help: 'Tokens of these calls, as far as providers said.' },
  reasoning: {
    name: 'reeve_reasoning_tokens_total',
    help: 'Of the output tokens: reasoning, as far as providers said.',
  },
  cached: {
    name: 'reeve_cached_tokens_total',
    help: 'Of the input tokens: read from caches of providers, and written to them.',
  },
  usd: { name: 'reeve_cost_usd_total', help: 'US dollars of these calls, as far as their prices are known.' },
  unknown: { name: 'reeve_uncounted_calls_total', help: 'Model calls whose tokens are not known.' },
  unpriced: { name: 'reeve_unpriced_calls_total', help: 'Model calls whose price is not known.' },
}

const distributions: Readonly<Record<'duration' | 'wait' | 'latency', Metric>> = {
  duration: { name: 'reeve_run_duration_seconds', help: 'From begin to end of runs that have ended.' },
  wait: { name: 'reeve_run_wait_seconds', help: 'How long something in these runs waited for people.' },
  latency: { name: 'reeve_run_latency_seconds', help: 'Their duration without these waits.' },
}

type Labels = Readonly<Record<string, string>>

const escaped = (text: string): string =>
  text
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)

/** Numbers as Go reads them. */
const numberText = (value: number): string =>
  Number.isNaN(value) ? 'NaN' : value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value)

const sample = (name: string, labels: Labels, value: number): string => {
  const set = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text.toWellFormed())}"`)
  return `${name}${set.length === 0 ? '' : `{${set.join(',')}}`} ${numberText(value)}`
}

const head = ({ name, help }: Metric, type: 'counter' | 'gauge' | 'histogram'): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]

/** Each distribution with cumulative buckets, their sum and their count. */
function histogram(metric: Metric, counters: readonly RunCounter[]): readonly string[] {
  const series = Map.groupBy(counters, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels))
  return [...series].flatMap(([text, parts]) => {
    const labels = JSON.parse(text) as Labels
    const buckets = parts
      .filter(({ labels: { le } }) => le !== 'sum')
      .map(({ labels: { le = '' }, value }) => ({ le, bound: le === '+Inf' ? Infinity : Number(le), value }))
      .toSorted((a, b) => a.bound - b.bound)
    let total = 0
    const lines = buckets.map(({ le, value }) => sample(`${metric.name}_bucket`, { ...labels, le }, (total += value)))
    const sum = parts.find(({ labels: { le } }) => le === 'sum')?.value ?? 0
    return [...lines, sample(`${metric.name}_sum`, labels, sum), sample(`${metric.name}_count`, labels, total)]
  })
}

/** What was counted, as text. Pure. */
export function counterText(counters: readonly RunCounter[]): readonly string[] {
  const of = Map.groupBy(counters, ({ name }) => name)
  return [
    ...Object.entries(counted).flatMap(([name, metric]) => {
      const own = of.get(name as RunCounter['name']) ?? []
      return own.length === 0
        ? []
        : [...head(metric, 'counter'), ...own.map(({ labels, value }) => sample(metric.name, labels, value))]
    }),
    ...Object.entries(distributions).flatMap(([name, metric]) => {
      const own = of.get(name as RunCounter['name']) ?? []
      return own.length === 0 ? [] : [...head(metric, 'histogram'), ...histogram(metric, own)]
    }),
  ]
}

/** How the installation is, as text: what `GET /system` says, too. */
function gauges(
  { runs, installation }: SystemView,
  behind: number,
  delaySeconds: number | undefined,
): readonly string[] {
  const gauge = (name: string, help: string, samples: readonly (readonly [Labels, number | undefined])[]) => {
    const known = samples.flatMap(([labels, value]) => (value === undefined ? [] : [sample(name, labels, value)]))
    return known.length === 0 ? [] : [...head({ name, help }, 'gauge'), ...known]
  }
  const one = (name: string, help: string, value: number | undefined) => gauge(name, help, [[{}, value]])
  return [
    ...gauge(
      'reeve_runs',
      'Runs in the store by status, each counted up to 1,000.',
      Object.entries(runs).map(([status, { count }]) => [{ status }, count]),
    ),
    ...one('reeve_index_behind_runs', 'Runs that are not in the index yet, counted up to 100,000.', behind),
    ...one('reeve_ready_runs', 'Runs that no process has taken up, up to 1,000.', installation?.backlog.ready.count),
    ...one(
      'reeve_unheard_runs',
      'Runs with mail that no process has read, up to 1,000.',
      installation?.backlog.unheard.count,
    ),
    ...one(
      'reeve_stalled_runs',
      'Runs that should move and do not.',
      installation && (installation.stalled?.length ?? 0),
    ),
    ...one(
      'reeve_workers',
      'Processes with a lease in the store that are not known to be dead.',
      installation?.workers.filter(({ isAlive }) => isAlive !== false).length,
    ),
    ...one('reeve_store_bytes', 'What the store takes where it is kept.', installation?.store.bytes),
    ...one(
      'reeve_event_loop_delay_seconds',
      'How late is done what is due in this process: the ninety-ninth percentile.',
      delaySeconds,
    ),
  ]
}

/** All metrics of an installation, and the delay of this process. Rejects with `store.*`. */
export async function metricsText({
  runtime,
  eventLoop,
}: Pick<RequestContext, 'runtime' | 'eventLoop'>): Promise<string> {
  const behind = await runtime.unindexed()
  const [counters, system] = [await runtime.counters(), await runtime.system()]
  const delayMs = eventLoop.read()?.p99Ms
  const lines = [
    ...counterText(counters),
    ...gauges(system, behind, delayMs === undefined ? undefined : delayMs / 1_000),
  ]
  return `${lines.join('\n')}\n`
}
