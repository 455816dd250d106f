/**
 * A chart over time, as SVG: stacked bars, or lines.
 *
 * Holds: nothing is said by colour alone: every number stands in the table below, and is read out and shown for the
 * hour or day that is pointed at or chosen with the arrow keys.
 */
import { useId, useState, type KeyboardEvent, type PointerEvent } from 'react'
import { countText, moneyText } from '../../ui/amounts.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Panel } from '../../ui/panel.tsx'
import { durationText } from '../../ui/time.tsx'
import { highest, ticksOf, timeTicks, type Bucket, type ChartData, type Point } from './series.ts'

/** Of the drawing, in units of its view box, which are pixels or a little more. */
const [height, left, top, bottom] = [180, 52, 8, 22] as const
const [usualWidth, narrowWidth] = [560, 330] as const
const plotHeight = height - top - bottom

const texts: Readonly<Record<ChartData['unit'], (value: number) => string>> = {
  runs: countText,
  tokens: (value) => countText(Math.round(value)),
  usd: moneyText,
  ms: durationText,
  share: (value) => `${(value * 100).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`,
}
const shortCount = new Intl.NumberFormat('en-US', { notation: 'compact' })
const shortMoney = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 4 })
/** On the scale, where there is little room. */
const scaleTexts: typeof texts = {
  ...texts,
  runs: (value) => shortCount.format(value),
  tokens: (value) => shortCount.format(value),
  usd: (value) => `$${shortMoney.format(value)}`,
}

const hourText = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const dayText = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })
const hourOfDay = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})

/** An hour in the time of the reader; a day as it is counted, in UTC. */
const shortTime = (at: number, bucket: Bucket): string => (bucket === 'hour' ? hourText : dayText).format(at)
const wholeTime = (at: number, bucket: Bucket): string =>
  bucket === 'hour' ? hourOfDay.format(at) : `${dayText.format(at)} (UTC)`

export function Chart(props: {
  readonly chart: ChartData
  readonly buckets: readonly number[]
  readonly bucket: Bucket
  /** What it all comes to, beside its title. */
  readonly total?: string
}) {
  const { chart, buckets, bucket, total } = props
  const { title, unit, form, series } = chart
  const id = useId()
  const [at, setAt] = useState<number>()
  const narrow = useNarrow()
  const width = narrow ? narrowWidth : usualWidth
  const plotWidth = width - left - 4
  const ticks = (unit === 'ms' ? timeTicks : (most: number) => ticksOf(most, unit === 'runs' || unit === 'tokens'))(
    unit === 'share' ? Math.max(0.01, highest(chart)) : highest(chart),
  )
  const most = ticks.at(-1)!
  const slot = plotWidth / buckets.length
  const x = (i: number): number => left + slot * i
  const y = (value: number): number => top + plotHeight * (1 - value / most)
  const text = (value: Point): string => (value === undefined ? '–' : texts[unit](value))
  const said = (i: number): string =>
    `${wholeTime(buckets[i]!, bucket)}: ${series.map(({ name, points }) => `${name} ${text(points[i])}`).join(', ')}`
  const last = buckets.length - 1
  const press = (event: KeyboardEvent): void => {
    const now = at ?? last
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: now - 1,
      ArrowRight: at === undefined ? last : now + 1,
      Home: 0,
      End: last,
    }
    const next = moves[event.key]
    if (next === undefined) return
    event.preventDefault()
    setAt(Math.max(0, Math.min(last, next)))
  }
  const point = ({ currentTarget, clientX }: PointerEvent<SVGSVGElement>): void => {
    const box = currentTarget.getBoundingClientRect()
    const i = Math.floor((((clientX - box.left) / box.width) * width - left) / slot)
    setAt(i < 0 || i > last ? undefined : i)
  }
  const every = Math.max(1, Math.ceil(buckets.length / (narrow ? 4 : 8)))
  return (
    <Panel title={title} actions={total !== undefined && <b>{total}</b>}>
      <div
        className="chart"
        role="slider"
        aria-label={`${title}, ${bucket === 'hour' ? 'hour by hour' : 'day by day'}`}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at ?? last}
        aria-valuetext={said(at ?? last)}
        aria-describedby={`${id}-reading`}
        tabIndex={0}
        onKeyDown={press}
        onFocus={() => setAt((was) => was ?? last)}
        onBlur={() => setAt(undefined)}
      >
        <svg
          viewBox={`0 0 ${width} ${height}`}
          aria-hidden="true"
          focusable="false"
          onPointerMove={point}
          onPointerLeave={() => setAt(undefined)}
        >
          {ticks.map((tick) => (
            <g key={tick}>
              <line className="grid" x1={left} x2={width - 4} y1={y(tick)} y2={y(tick)} />
              <text className="tick" x={left - 6} y={y(tick) + 3.5} textAnchor="end">
                {scaleTexts[unit](tick)}
              </text>
            </g>
          ))}
          {buckets.map((time, i) =>
            (last - i) % every === 0 ? (
              <text
                key={time}
                className="tick"
                x={i === last ? x(i) + slot : x(i) + slot / 2}
                y={height - 6}
                textAnchor={i === last ? 'end' : 'middle'}
              >
                {shortTime(time, bucket)}
              </text>
            ) : null,
          )}
          {at !== undefined && <rect className="pointed" x={x(at)} y={top} width={slot} height={plotHeight} />}
          {form === 'stack'
            ? buckets.map((time, i) => <Bar key={time} chart={chart} i={i} x={x(i)} slot={slot} y={y} />)
            : series.map(({ name, tone, points }) => (
                <Line key={name} tone={tone} points={points} at={at} x={(i) => x(i) + slot / 2} y={y} />
              ))}
        </svg>
      </div>
      <p className="chart-reading" id={`${id}-reading`}>
        <span className="when">
          {at === undefined ? 'Point at a time to read it.' : wholeTime(buckets[at]!, bucket)}
        </span>
        {series.map(({ name, tone, points }) => (
          <span key={name} className="key">
            <span className={`swatch ${tone}`} aria-hidden="true" /> {name}
            {at !== undefined && <b> {text(points[at])}</b>}
          </span>
        ))}
      </p>
      <details className="chart-table">
        <summary>Numbers of this chart</summary>
        <div className="table-scroll" role="region" aria-label={`Numbers: ${title}`} tabIndex={0}>
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{bucket === 'hour' ? 'Hour' : 'Day (UTC)'}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" className="num">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {buckets.toReversed().map((time, i) => (
                <tr key={time}>
                  <th scope="row">{wholeTime(time, bucket)}</th>
                  {series.map(({ name, points }) => (
                    <td key={name} className="num">
                      {text(points[last - i])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </Panel>
  )
}

function Bar(props: {
  readonly chart: ChartData
  readonly i: number
  readonly x: number
  readonly slot: number
  readonly y: (value: number) => number
}) {
  const { chart, i, x, slot, y } = props
  const gap = Math.min(3, slot * 0.2)
  let below = 0
  return chart.series.map(({ name, tone, points }) => {
    const value = points[i] ?? 0
    if (value <= 0) return null
    const from = y(below)
    below += value
    const to = y(below)
    return (
      <rect
        key={name}
        className={`fill ${tone}`}
        x={x + gap / 2}
        width={slot - gap}
        y={Math.min(to, from - 1)}
        height={Math.max(1, from - to)}
      />
    )
  })
}

/** A line with a dot for each value; it is broken where there is none. */
function Line(props: {
  readonly tone: string
  readonly points: readonly Point[]
  readonly at: number | undefined
  readonly x: (i: number) => number
  readonly y: (value: number) => number
}) {
  const { tone, points, at, x, y } = props
  const path = points
    .map((value, i) =>
      value === undefined ? '' : `${points[i - 1] === undefined ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`,
    )
    .join('')
  return (
    <>
      <path className={`stroke ${tone}`} d={path} />
      {points.map((value, i) =>
        value === undefined ? null : (
          // a chart has no other identity of a value than its place
          // oxlint-disable-next-line react/no-array-index-key
          <circle key={i} className={`fill ${tone}`} cx={x(i)} cy={y(value)} r={i === at ? 4 : 2} />
        ),
      )}
    </>
  )
}
