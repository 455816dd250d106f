/**
 * Metrics: the runs of a time in numbers, hour by hour or day by day: how they ended, what they cost, how long they took
 * and waited; by agent, version, model and tenant; and the codes of those that ended badly.
 */
import type { FiguresQuery } from '@reeve/client'
import type { FiguresGroup, RunFigures, TotalsAnswer, TotalsBy } from '@reeve/server/wire'
import { useMe } from '../../data/me.ts'
import { useWatched } from '../../data/polled.ts'
import { server } from '../../data/server.ts'
import { Link, useParams } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { Button } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import { Figure } from '../../ui/figure.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Panel } from '../../ui/panel.tsx'
import { Empty, ErrorState, Loading, Notice, sentences } from '../../ui/states.tsx'
import { durationText, serverNow } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { runsPath, type FilterName } from '../runs/run-filter.ts'
import { Behind } from '../runs/totals-bar.tsx'
import { Chart } from './chart.tsx'
import { badEnds, costOf, openRuns, shareText, tokensOf } from './figures.ts'
import './metrics.css'
import { Amount } from './partly-known.tsx'
import { bucketsOf, chartsOf, metricSpans, type ChartData, type MetricSpan } from './series.ts'

const groupings = { agent: 'Agent', version: 'Version', model: 'Model', tenant: 'Tenant' } as const
type Grouping = keyof typeof groupings

/** So many groups are drawn. */
const drawnGroups = 100
/** Read again after a change at most so often. Milliseconds. */
const everyMs = 5_000

interface Metrics {
  readonly since: number
  readonly totals: TotalsAnswer
  readonly groups: TotalsAnswer
  readonly codes: TotalsAnswer
}

export function MetricsPage() {
  const [params, setParams] = useParams()
  const tenant = useMe()?.tenant
  const span = own(metricSpans, params.get('span')) ?? 'week'
  const by = own(groupings, params.get('by')) ?? 'agent'
  const chosen = {
    agent: params.get('agent') ?? '',
    version: params.get('version') ?? '',
    tenant: params.get('tenant') ?? '',
  }
  const { bucket } = metricSpans[span]
  const { data, error, reload } = useWatched(
    (signal) => readMetrics(span, by, chosen, signal),
    ['runs'],
    JSON.stringify([span, by, chosen]),
    undefined,
    everyMs,
  )
  const set = Object.entries(chosen).filter(([, value]) => value !== '')
  return (
    <div className="page metrics">
      <header>
        <h1>Metrics</h1>
        <Select
          aria-label="Time"
          value={span}
          onChange={({ target }) => setParams({ span: target.value === 'week' ? '' : target.value })}
        >
          {Object.entries(metricSpans).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
        {set.map(([name, value]) => (
          <Button key={name} icon="cross" onClick={() => setParams({ [name]: '' })} aria-label={`All ${name}s again`}>
            {name} <VisibleText>{value}</VisibleText>
          </Button>
        ))}
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="metrics" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : (
        <>
          {error !== undefined && <Notice tone="wait">{sentences(error).message} This is what it said last.</Notice>}
          {data.totals.all.runs === 0 ? (
            <Empty icon="metrics" title="No run began in this time">
              <p>
                Here stand how many runs began, how they ended, what they cost, and how long they took and waited, over
                time and by agent.
              </p>
              <p>
                <Link to="/runs">Start a run</Link>, or choose a longer time. For a dashboard of your own, Prometheus
                reads <code>/api/metrics</code>.
              </p>
            </Empty>
          ) : (
            <Shown metrics={data} span={span} bucket={bucket} by={by} chosen={chosen} tenant={tenant} />
          )}
        </>
      )}
    </div>
  )
}

const own = <K extends string>(table: Readonly<Record<K, unknown>>, key: string | null): K | undefined =>
  key !== null && Object.hasOwn(table, key) ? (key as K) : undefined

async function readMetrics(
  span: MetricSpan,
  by: TotalsBy,
  chosen: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Metrics> {
  const since = bucketsOf(span, serverNow())[0]!
  const query: FiguresQuery & { readonly signal: AbortSignal } = {
    ...Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== '')),
    since,
    signal,
  }
  const [totals, groups, codes] = await Promise.all([
    server.totals({ ...query, bucket: metricSpans[span].bucket }),
    server.totals({ ...query, by }),
    server.totals({ ...query, by: 'code' }),
  ])
  return { since, totals, groups, codes }
}

type Chosen = Readonly<Partial<Record<FilterName, string>>>

function Shown(props: {
  readonly metrics: Metrics
  readonly span: MetricSpan
  readonly bucket: 'hour' | 'day'
  readonly by: Grouping
  readonly chosen: Chosen
  readonly tenant: string | undefined
}) {
  const { metrics, span, bucket, by, chosen, tenant } = props
  const { totals, groups, codes, since } = metrics
  const [, setParams] = useParams()
  const { all } = totals
  const buckets = bucketsOf(span, serverNow())
  const from = { ...chosen, since: new Date(since).toISOString() }
  const offered = Object.entries(groupings).filter(([name]) => name !== 'tenant' || tenant === undefined)
  return (
    <>
      {totals.behind > 0 && <Behind count={totals.behind} />}
      <div className="figures" role="group" aria-label="All runs of this time">
        <Figure label="Runs" value={<Link to={runsPath(from)}>{countText(all.runs)}</Link>} />
        <Figure
          label="Ended badly"
          value={
            <Link to={runsPath({ ...from, status: 'bad' })}>
              {countText(badEnds(all))} ({shareText(badEnds(all), all.runs - openRuns(all))})
            </Link>
          }
        />
        <Figure label="Not ended" value={countText(openRuns(all))} />
        <Figure label="Model calls" value={countText(all.usage.calls)} />
        <Figure label="Cost" value={<Amount of={costOf(all)} />} />
        <Figure label="Tokens" value={<Amount of={tokensOf(all)} />} />
      </div>
      <div className="charts">
        {chartsOf(buckets, totals.overTime ?? []).map((chart) => (
          <Chart key={chart.id} chart={chart} buckets={buckets} bucket={bucket} total={totalOf(chart, all)} />
        ))}
      </div>
      <Panel
        title={`By ${groupings[by].toLowerCase()}`}
        flush
        actions={
          <Select aria-label="Group by" value={by} onChange={({ target }) => setParams({ by: target.value })}>
            {offered.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        }
      >
        <Groups groups={groups} by={by} from={from} />
      </Panel>
      <Codes codes={codes} from={from} />
    </>
  )
}

/** What a chart comes to over the whole time. */
function totalOf({ id }: ChartData, all: RunFigures): string {
  const times = id === 'duration' ? all.durationMs : all.waitMs
  if (id === 'runs') return countText(all.runs)
  if (id === 'rate') return shareText(badEnds(all), all.runs - openRuns(all))
  if (id === 'cost') return costOf(all).text
  if (id === 'tokens') return tokensOf(all).text
  return times === undefined ? '–' : `p50 ${durationText(times.p50)} · p95 ${durationText(times.p95)}`
}

const time = (ms: number | undefined): string => (ms === undefined ? '–' : durationText(ms))

function Groups(props: { readonly groups: TotalsAnswer; readonly by: Grouping; readonly from: Chosen }) {
  const { groups, by, from } = props
  const narrow = useNarrow()
  const all = groups.groups ?? []
  const left = all.length - drawnGroups + (groups.more ?? 0)
  return (
    <div className="table-scroll" role="region" aria-label={`Runs by ${groupings[by].toLowerCase()}`} tabIndex={0}>
      <table className={`plain-table${narrow ? ' cards' : ''}`}>
        <thead>
          <tr>
            <th scope="col">{groupings[by]}</th>
            {['Runs', 'Ended badly', 'Cost', 'Tokens', 'Took p50', 'Took p95', 'Waited p95'].map((head) => (
              <th key={head} scope="col" className="num">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.slice(0, drawnGroups).map((group) => (
            <tr key={`${group.agent ?? ''} ${group.key}`}>
              <th scope="row">
                <GroupName group={group} by={by} from={from} />
              </th>
              <td className="num" data-label="Runs">
                {countText(group.runs)}
              </td>
              <td className="num" data-label="Ended badly">
                {countText(badEnds(group))}{' '}
                <span className="muted">{shareText(badEnds(group), group.runs - openRuns(group))}</span>
              </td>
              <td className="num" data-label="Cost">
                <Amount of={costOf(group)} brief />
              </td>
              <td className="num" data-label="Tokens">
                <Amount of={tokensOf(group)} brief />
              </td>
              <td className="num" data-label="Took p50">
                {time(group.durationMs?.p50)}
              </td>
              <td className="num" data-label="Took p95">
                {time(group.durationMs?.p95)}
              </td>
              <td className="num" data-label="Waited p95">
                {time(group.waitMs?.p95)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && <p className="muted rest">{countText(left)} more are left out.</p>}
    </div>
  )
}

function GroupName(props: { readonly group: FiguresGroup; readonly by: Grouping; readonly from: Chosen }) {
  const { group, by, from } = props
  const { key, agent } = group
  if (key === null) return <span className="muted">none</span>
  const name = <VisibleText>{key}</VisibleText>
  // the list of runs has no filter by model
  if (by === 'model') return name
  return (
    <>
      <Link to={runsPath({ ...from, [by]: key, ...(agent === undefined ? undefined : { agent }) })}>{name}</Link>
      {agent !== undefined && (
        <span className="muted">
          {' '}
          of <VisibleText>{agent}</VisibleText>
        </span>
      )}
    </>
  )
}

/** Why runs ended badly, by the codes of their failures. */
function Codes({ codes, from }: { readonly codes: TotalsAnswer; readonly from: Chosen }) {
  const all = (codes.groups ?? [])
    .flatMap(({ key, runs }) => (key === null ? [] : [{ key, runs }]))
    .toSorted((a, b) => b.runs - a.runs)
  return (
    <Panel title="Ended badly, by code" flush>
      {all.length === 0 ? (
        <Empty icon="check" title="No run of this time has failed" />
      ) : (
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col" className="num">
                Runs
              </th>
            </tr>
          </thead>
          <tbody>
            {all.slice(0, drawnGroups).map(({ key, runs }) => (
              <tr key={key}>
                <th scope="row">
                  <CodeLink code={key} from={from} />
                </th>
                <td className="num">{countText(runs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

const CodeLink = ({ code, from }: { readonly code: string; readonly from: Chosen }) => (
  <Link to={runsPath({ ...from, code, view: 'causes' })} className="mono">
    <VisibleText>{code}</VisibleText>
  </Link>
)
