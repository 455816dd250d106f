/**
 * Figures over time, as charts draw them: a value for each hour or day, also for those without a run.
 *
 * Owns: the buckets of a span, the series of each chart, scales with round numbers. Pure. Does not own: drawing
 * (chart.tsx).
 */
import type { FiguresOfTime, RunFigures } from '@reeve/server/wire'
import { badEnds, openRuns } from './figures.ts'

export type Bucket = 'hour' | 'day'

const bucketMs: Readonly<Record<Bucket, number>> = { hour: 3_600_000, day: 86_400_000 }

/** Spans that the page shows, each in buckets that fit it. */
export const metricSpans = {
  day: { label: 'Last 24 hours', bucket: 'hour', count: 24 },
  week: { label: 'Last 7 days', bucket: 'day', count: 7 },
  month: { label: 'Last 30 days', bucket: 'day', count: 30 },
  quarter: { label: 'Last 90 days', bucket: 'day', count: 90 },
} as const
export type MetricSpan = keyof typeof metricSpans

/** The beginnings of the buckets of a span, oldest first; the last one has not ended. UTC, as the server counts. */
export function bucketsOf(span: MetricSpan, now: number): readonly number[] {
  const { bucket, count } = metricSpans[span]
  const ms = bucketMs[bucket]
  const last = Math.floor(now / ms) * ms
  return Array.from({ length: count }, (_, i) => last - (count - 1 - i) * ms)
}

/** The value of one bucket. Undefined: there is none, as of a duration where no run has ended. */
export type Point = number | undefined

export interface Series {
  readonly name: string
  /** The class of its colour. */
  readonly tone: 'ok' | 'bad' | 'idle' | 'wait' | 'info' | 'held' | 'accent'
  readonly points: readonly Point[]
}

/** What each chart shows. `stack`: bars on each other; `lines`: values of their own. */
export interface ChartData {
  readonly id: string
  readonly title: string
  readonly form: 'stack' | 'lines'
  readonly unit: 'runs' | 'share' | 'usd' | 'tokens' | 'ms'
  readonly series: readonly Series[]
}

/** The charts of figures over time. */
export function chartsOf(buckets: readonly number[], overTime: readonly FiguresOfTime[]): readonly ChartData[] {
  const byTime = new Map(overTime.map((each) => [each.at, each]))
  const of = (read: (figures: RunFigures) => Point, without: Point): readonly Point[] =>
    buckets.map((at) => {
      const figures = byTime.get(at)
      return figures === undefined ? without : read(figures)
    })
  const other = ({ ends }: RunFigures): number => (ends.cancelled ?? 0) + (ends.bailed ?? 0)
  return [
    {
      id: 'runs',
      title: 'Runs by their end',
      form: 'stack',
      unit: 'runs',
      series: [
        { name: 'Completed', tone: 'ok', points: of(({ ends }) => ends.completed ?? 0, 0) },
        { name: 'Ended badly', tone: 'bad', points: of(badEnds, 0) },
        { name: 'Cancelled, bailed out', tone: 'wait', points: of(other, 0) },
        { name: 'Not ended', tone: 'info', points: of(openRuns, 0) },
      ],
    },
    {
      id: 'rate',
      title: 'Share that ended badly',
      form: 'lines',
      unit: 'share',
      series: [
        {
          name: 'Of the runs that have ended',
          tone: 'bad',
          points: of((figures) => {
            const ended = figures.runs - openRuns(figures)
            return ended === 0 ? undefined : badEnds(figures) / ended
          }, undefined),
        },
      ],
    },
    {
      id: 'cost',
      title: 'Cost',
      form: 'stack',
      unit: 'usd',
      series: [{ name: 'US dollars', tone: 'accent', points: of(({ usage }) => usage.usd, 0) }],
    },
    {
      id: 'tokens',
      title: 'Tokens',
      form: 'stack',
      unit: 'tokens',
      series: [{ name: 'Input and output', tone: 'accent', points: of(({ usage }) => usage.tokens, 0) }],
    },
    percentiles('duration', 'From begin to end', (figures) => figures.durationMs, of),
    percentiles('wait', 'Waiting for people', (figures) => figures.waitMs, of),
  ]
}

const percentiles = (
  id: string,
  title: string,
  read: (figures: RunFigures) => RunFigures['durationMs'],
  of: (read: (figures: RunFigures) => Point, without: Point) => readonly Point[],
): ChartData => ({
  id,
  title,
  form: 'lines',
  unit: 'ms',
  series: [
    { name: '95 % of the runs (p95)', tone: 'held', points: of((figures) => read(figures)?.p95, undefined) },
    { name: 'Half of the runs (p50)', tone: 'info', points: of((figures) => read(figures)?.p50, undefined) },
  ],
})

/** The highest value that a chart has to show. */
export function highest({ form, series }: Pick<ChartData, 'form' | 'series'>): number {
  const length = series[0]?.points.length ?? 0
  let most = 0
  for (let i = 0; i < length; i++) {
    const values = series.map(({ points }) => points[i] ?? 0)
    most = Math.max(most, form === 'stack' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values))
  }
  return most
}

/** The lines of a scale from 0 to above `most`: two to five round steps. `whole`: no fractions. */
export function ticksOf(most: number, whole: boolean): readonly number[] {
  if (most <= 0) return [0, 1]
  const rough = most / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const found = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? 10 * power
  const step = whole ? Math.max(1, Math.ceil(found)) : found
  const count = Math.ceil(most / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, i) => i * step)
}

const steps = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 4 * 3_600_000, 86_400_000] as const

/** The same of a duration, in steps that a clock has. Milliseconds. */
export function timeTicks(most: number): readonly number[] {
  const step = steps.find((each) => most / each <= 5)
  if (most < 1_000 || step === undefined) return ticksOf(most, false)
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => i * step)
}
