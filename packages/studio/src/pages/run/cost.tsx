/** Cost: tokens and money by agent and model, against every limit, with what is reserved; over time. */
import { useMemo, useState } from 'react'
import type { LiveActivation, RunHead } from '@reeve/server/wire'
import { countText, moneyText } from '../../ui/amounts.tsx'
import { Button } from '../../ui/button.tsx'
import { Figure } from '../../ui/figure.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { durationText, serverNow } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { BudgetBar } from './budget-bar.tsx'
import { useRun } from './run-context.tsx'
import {
  budgetsOf,
  knownUsd,
  spendOf,
  spendOverTime,
  unknownNotice,
  unknownText,
  type Spend,
  type SpendPoint,
} from './spend.ts'
import { useTimeline } from './timeline-source.ts'

type UsageRow = RunHead['usage'][number]

export function Cost() {
  const { live } = useRun()
  const total = useMemo(() => spendOf(live.head.usage), [live.head.usage])
  const limited = useMemo(() => tightest(Object.values(live.activations)), [live.activations])
  const [shown, setShown] = useState(shownLimits)
  const teams = Object.values(live.teams).filter(({ budget }) => Object.keys(budget.limits).length > 0)
  const unknown = unknownText(total)
  const rows = useMemo(
    () => [...live.head.usage].sort((one, other) => other.usd - one.usd || other.input - one.input),
    [live.head.usage],
  )
  if (total.calls === 0)
    return live.head.endedAt === undefined ? (
      <Empty title="No model was called yet" icon="clock">
        Tokens and money of each agent and model are shown here once a model has answered.
      </Empty>
    ) : (
      <Empty title="No model was called" icon="check">
        This run is the work of code alone: it used no tokens, and cost nothing that Reeve knows of.
      </Empty>
    )
  return (
    <div className="stack run-scroll" role="region" aria-label="Cost" tabIndex={0}>
      <div className="figures">
        <Figure label="Cost" value={knownUsd(total) === undefined ? 'not known' : moneyText(total.usd)} />
        <Figure label="Tokens" value={countText(total.tokens)} />
        <Figure label="Input" value={countText(total.input)} />
        <Figure label="Output" value={countText(total.output)} />
        {total.reasoning !== undefined && <Figure label="Reasoning" value={countText(total.reasoning)} />}
        <Figure label="Cached input" value={countText(total.cached)} />
        {total.cacheWrite !== undefined && <Figure label="Written to caches" value={countText(total.cacheWrite)} />}
        <Figure label="Model calls" value={countText(total.calls)} />
      </div>
      {unknown !== undefined && <Notice tone="wait">{unknownNotice(total)}</Notice>}
      {(limited.length > 0 || teams.length > 0) && (
        <Panel title="Limits">
          <div className="stack">
            {limited.slice(0, shown).map((view) => (
              <section key={view.activation}>
                <h3>
                  <VisibleText>{view.path.join(' › ')}</VisibleText>
                </h3>
                {budgetsOf(view.limits, spendOf(view.usage), view.reserved).map((budget) => (
                  <BudgetBar key={budget.of} budget={budget} />
                ))}
              </section>
            ))}
            {limited.length > shown && (
              <div>
                <Button small onClick={() => setShown(shown + 50)}>
                  Show more ({limited.length - shown} left)
                </Button>
              </div>
            )}
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
                  Input
                </th>
                <th scope="col" className="num">
                  Cached
                </th>
                {total.cacheWrite !== undefined && (
                  <th scope="col" className="num">
                    Written
                  </th>
                )}
                <th scope="col" className="num">
                  Output
                </th>
                {total.reasoning !== undefined && (
                  <th scope="col" className="num">
                    Reasoning
                  </th>
                )}
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
                  spend={total}
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

/** Limits are handed down, so thousands of agents may have some: those that are shown first. */
const shownLimits = 10

/** Agents with limits: the root, then those who have used most of theirs. */
function tightest(views: readonly LiveActivation[]): readonly LiveActivation[] {
  const used = ({ limits, usage, reserved }: LiveActivation): number =>
    Math.max(0, ...budgetsOf(limits, spendOf(usage), reserved).map(({ limit, left }) => (limit - left) / limit))
  return views
    .filter(({ limits }) => limits?.tokens !== undefined || limits?.usd !== undefined)
    .map((view) => ({ view, used: view.parent === undefined ? Infinity : used(view) }))
    .sort((one, other) => other.used - one.used)
    .map(({ view }) => view)
}

interface RowProps {
  readonly row: UsageRow
  /** Of all rows: what none of them knows has no column. */
  readonly spend: Spend
  readonly total: number
  readonly byUsd: boolean
}

/** A count that a provider may not have told. */
const knownText = (count: number | undefined): string => (count === undefined ? '–' : countText(count))

function Row({ row, spend, total, byUsd }: RowProps) {
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
      {spend.cacheWrite !== undefined && <td className="num">{knownText(row.cacheWrite)}</td>}
      <td className="num">{countText(row.output)}</td>
      {spend.reasoning !== undefined && <td className="num">{knownText(row.reasoning)}</td>}
      <td className="num">
        {knownUsd(row) === undefined ? <span className="muted">not known</span> : moneyText(row.usd)}
        {unknown !== undefined && <div className="muted">{unknown}</div>}
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
  const { head } = useRun().live
  const points = useMemo(
    () => spendOverTime(timeline.spans()),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [timeline, version],
  )
  if (points.length < 2) return null
  return (
    <Panel title="Over time">
      <Curve points={points} begin={head.startedAt} end={head.endedAt ?? serverNow()} />
    </Panel>
  )
}

function Curve(props: { readonly points: readonly SpendPoint[]; readonly begin: number; readonly end: number }) {
  const { points, begin, end } = props
  const [width, height] = [800, 120]
  const last = points.at(-1)!
  const byUsd = last.usd > 0
  const amount = ({ usd, tokens }: SpendPoint): number => (byUsd ? usd : tokens)
  const [span, most] = [Math.max(1, end - begin), Math.max(1e-9, amount(last))]
  const x = (at: number): number => ((at - begin) / span) * width
  const y = (value: number): number => height - (value / most) * (height - 8)
  const steps = points.flatMap((point, i) => {
    const before = points[i - 1]
    return [`${x(point.at)},${y(before === undefined ? 0 : amount(before))}`, `${x(point.at)},${y(amount(point))}`]
  })
  // nothing was spent between the last call and the end
  const line = [`0,${height}`, ...steps, `${width},${y(amount(last))}`].join(' ')
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
