/** The runs of the filter in numbers, above their list. */
import type { TotalsAnswer } from '@reeve/server/wire'
import { Link } from '../../router.tsx'
import { countText, moneyText } from '../../ui/amounts.tsx'
import { Figure } from '../../ui/figure.tsx'
import { Notice } from '../../ui/states.tsx'
import { durationText } from '../../ui/time.tsx'
import { atLeast, badEnds, openRuns, shareText } from '../metrics/figures.ts'
import { runsPath, type RunParams } from './run-filter.ts'

export function TotalsBar({ totals, given }: { readonly totals: TotalsAnswer | undefined; readonly given: RunParams }) {
  const all = totals?.all
  const open = all === undefined ? 0 : openRuns(all)
  const bad = all === undefined ? 0 : badEnds(all)
  const narrowed = (status: string, text: string) =>
    given.status === '' && text !== '0' ? <Link to={runsPath({ ...given, status })}>{text}</Link> : text
  const times = all?.durationMs
  return (
    <>
      <div className="figures run-totals" role="group" aria-label="These runs in numbers" aria-busy={all === undefined}>
        <Figure label="Runs" value={all === undefined ? '…' : countText(all.runs)} />
        <Figure label="Not ended" value={all === undefined ? '…' : narrowed('open', countText(open))} />
        <Figure
          label="Ended badly"
          value={
            all === undefined ? (
              '…'
            ) : (
              <>
                {narrowed('bad', countText(bad))}
                {bad > 0 && <span className="part"> {shareText(bad, all.runs - open)}</span>}
              </>
            )
          }
        />
        <Figure
          label="Cost"
          value={
            all === undefined ? '…' : atLeast(all.usage.usd, all.usage.unpriced, moneyText, 'calls without a price')
          }
        />
        <Figure
          label="Tokens"
          value={
            all === undefined ? '…' : atLeast(all.usage.tokens, all.usage.unknown, countText, 'calls without a count')
          }
        />
        <Figure label="Took, half (p50)" value={times === undefined ? '–' : durationText(times.p50)} />
        <Figure label="Took, 95 % (p95)" value={times === undefined ? '–' : durationText(times.p95)} />
      </div>
      {totals !== undefined && totals.behind > 0 && <Behind count={totals.behind} />}
    </>
  )
}

/** That the index does not have all runs yet. */
export function Behind({ count }: { readonly count: number }) {
  return (
    <Notice tone="wait">
      {count === 1 ? '1 run is' : `${countText(count)} runs are`} not in the index yet: searches, codes and causes may
      leave {count === 1 ? 'it' : 'them'} out. This page reads again by itself.
    </Notice>
  )
}
