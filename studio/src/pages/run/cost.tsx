/** Cost: tokens and money by agent and model, against every limit, with what is reserved; over time. */
import { useMemo } from 'react'
import type { RunHead } from '../../../../src/server/wire.ts'
import { countText, moneyText } from '../../ui/amounts.tsx'
import { Figure } from '../../ui/figure.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { durationText } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { BudgetBar } from './budget-bar.tsx'
import { useRun } from './run-context.tsx'
import { budgetsOf, spendOf, spendOverTime, unknownText, type SpendPoint } from './spend.ts'
import { useTimeline } from './timeline-source.ts'

type UsageRow = RunHead['usage'][number]

export function Cost() {
  const { live } = useRun()
  const total = useMemo(() => spendOf(live.head.usage), [live.head.usage])
  const limited = Object.values(live.activations).filter(({ limits }) => limits !== undefined)
  const teams = Object.values(live.teams).filter(({ budget }) => Object.keys(budget.limits).length > 0)
  const unknown = unknownText(total)
  const rows = useMemo(
    () => [...live.head.usage].sort((one, other) => other.usd - one.usd || other.input - one.input),
    [live.head.usage],
  )
  if (total.calls === 0) return <Empty title="No model was called yet" icon="clock" />
  return (
    <div className="stack run-scroll" role="region" aria-label="Cost" tabIndex={0}>
      <div className="figures">
        <Figure word="Spent" value={moneyText(total.usd)} />
        <Figure word="Tokens" value={countText(total.tokens)} />
        <Figure word="Of these read" value={countText(total.input)} />
        <Figure word="Written" value={countText(total.output)} />
        <Figure word="From the cache" value={countText(total.cached)} />
        <Figure word="Model calls" value={countText(total.calls)} />
      </div>
      {unknown !== undefined && (
        <Notice tone="wait">
          {unknown}: they are not in these sums. What they cost is at most what was reserved for them.
        </Notice>
      )}
      {(limited.length > 0 || teams.length > 0) && (
        <Panel title="Limits">
          <div className="stack">
            {limited.map((view) => (
              <section key={view.activation}>
                <h3>
                  <VisibleText>{view.path.join(' › ')}</VisibleText>
                </h3>
                {budgetsOf(view.limits, spendOf(view.usage), view.reserved).map((budget) => (
                  <BudgetBar key={budget.of} budget={budget} />
                ))}
              </section>
            ))}
            {teams.map(({ activation, path, budget }) => (
              <section key={`team ${activation}`}>
                <h3>
                  Team of <VisibleText>{path.join(' › ')}</VisibleText>
                  {budget.mode === 'soft' ? ', soft' : ''}
                </h3>
                {budgetsOf(budget.limits, budget.spent, budget.reserved).map((each) => (
                  <BudgetBar key={each.of} budget={each} />
                ))}
                {budget.waiting.length > 0 && (
                  <p className="muted">
                    Wait for room: <VisibleText>{budget.waiting.join(', ')}</VisibleText>
                  </p>
                )}
              </section>
            ))}
          </div>
        </Panel>
      )}
      <OverTime />
      <Panel title="By agent and model" flush>
        <div className="table-scroll" role="region" aria-label="Usage of each agent and model" tabIndex={0}>
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">Agent</th>
                <th scope="col">Model</th>
                <th scope="col" className="num">
                  Calls
                </th>
                <th scope="col" className="num">
                  Read
                </th>
                <th scope="col" className="num">
                  Cached
                </th>
                <th scope="col" className="num">
                  Written
                </th>
                <th scope="col" className="num">
                  Cost
                </th>
                <th scope="col">Share</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Row
                  key={`${row.agent}\n${row.model}`}
                  row={row}
                  total={total.usd > 0 ? total.usd : total.tokens}
                  byUsd={total.usd > 0}
                />
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
    </div>
  )
}

function Row({ row, total, byUsd }: { readonly row: UsageRow; readonly total: number; readonly byUsd: boolean }) {
  const share = total === 0 ? 0 : (byUsd ? row.usd : row.input + row.output) / total
  const unknown = unknownText(row)
  return (
    <tr>
      <td>
        <VisibleText>{row.agent}</VisibleText>
      </td>
      <td>
        <VisibleText>{row.model}</VisibleText>
      </td>
      <td className="num">{countText(row.calls)}</td>
      <td className="num">{countText(row.input)}</td>
      <td className="num">{countText(row.cached)}</td>
      <td className="num">{countText(row.output)}</td>
      <td className="num">
        {row.unpriced === row.calls ? <span className="muted">no price</span> : moneyText(row.usd)}
        {unknown !== undefined && row.unpriced !== row.calls && <div className="muted">{unknown}</div>}
      </td>
      <td className="run-share">
        <span aria-hidden="true">
          <i style={{ width: `${(share * 100).toFixed(1)}%` }} />
        </span>
        {Math.round(share * 100)}%
      </td>
    </tr>
  )
}

function OverTime() {
  const { timeline, version } = useTimeline()
  const points = useMemo(
    () => spendOverTime(timeline.spans()),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [timeline, version],
  )
  if (points.length < 2) return null
  return (
    <Panel title="Over time">
      <Curve points={points} begin={timeline.bounds(undefined).from} />
    </Panel>
  )
}

function Curve({ points, begin }: { readonly points: readonly SpendPoint[]; readonly begin: number }) {
  const [width, height] = [800, 120]
  const last = points.at(-1)!
  const byUsd = last.usd > 0
  const amount = ({ usd, tokens }: SpendPoint): number => (byUsd ? usd : tokens)
  const [span, most] = [Math.max(1, last.at - begin), Math.max(1e-9, amount(last))]
  const x = (at: number): number => ((at - begin) / span) * width
  const y = (value: number): number => height - (value / most) * (height - 8)
  const steps = points.flatMap((point, i) => {
    const before = points[i - 1]
    return [`${x(point.at)},${y(before === undefined ? 0 : amount(before))}`, `${x(point.at)},${y(amount(point))}`]
  })
  const line = [`0,${height}`, ...steps].join(' ')
  const text = byUsd ? moneyText(last.usd) : `${countText(last.tokens)} tokens`
  return (
    <figure className="run-curve">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${text} within ${durationText(span)}`}
      >
        <polygon points={`${line} ${width},${height}`} />
        <polyline points={line} />
      </svg>
      <figcaption>
        <span>0</span>
        <span>
          {text} after {durationText(span)}
        </span>
      </figcaption>
    </figure>
  )
}
