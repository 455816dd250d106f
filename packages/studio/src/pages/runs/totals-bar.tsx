/** The runs of the filter in numbers, above their list. */
import type { TotalsAnswer } from '@reeve/server/wire'
import { Link } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { Figure } from '../../ui/figure.tsx'
import { Notice } from '../../ui/states.tsx'
import { durationText } from '../../ui/time.tsx'
import { badEnds, costOf, openRuns, shareText, tokensOf } from '../metrics/figures.ts'
import { Amount } from '../metrics/partly-known.tsx'
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
        <Figure label="Cost" value={all === undefined ? '…' : <Amount of={costOf(all)} />} />
        <Figure label="Tokens" value={all === undefined ? '…' : <Amount of={tokensOf(all)} />} />
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
