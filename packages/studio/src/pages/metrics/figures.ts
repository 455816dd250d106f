/** Figures of runs as a page shows them: rates, shares, and amounts that are at least so much. Pure. */
import type { RunFigures } from '@reeve/server/wire'
import { countText } from '../../ui/count-text.ts'
import { moneyText } from '../../ui/money-text.ts'

type Ends = RunFigures['ends']
type EndStatus = keyof Ends

const badStatuses: readonly EndStatus[] = ['failed', 'limited', 'timed-out']

const sum = (ends: Ends, statuses: readonly EndStatus[]): number =>
  statuses.reduce((total, status) => total + (ends[status] ?? 0), 0)

/** How many failed, reached a limit or timed out. */
export const badEnds = ({ ends }: Pick<RunFigures, 'ends'>): number => sum(ends, badStatuses)

/** How many have not ended. */
export const openRuns = ({ runs, ends }: Pick<RunFigures, 'runs' | 'ends'>): number =>
  Math.max(0, runs - sum(ends, Object.keys(ends) as EndStatus[]))

/** `part` of `whole` in percent; small shares with a digit. */
export function shareText(part: number, whole: number): string {
  if (whole === 0) return '–'
  const percent = (part / whole) * 100
  return percent > 0 && percent < 0.1 ? '< 0.1 %' : `${percent.toFixed(percent < 10 && percent > 0 ? 1 : 0)} %`
}

/** An amount of which parts may not be known. K11: what is not known is not 0. `note`: what is not known. */
export interface PartlyKnown {
  readonly text: string
  readonly note?: string
}

function partlyKnown(
  amount: number | undefined,
  unknown: number,
  text: (amount: number) => string,
  what: string,
): PartlyKnown {
  if (unknown === 0) return { text: amount === undefined ? '–' : text(amount) }
  const note = `${countText(unknown)} ${unknown === 1 ? 'call' : 'calls'} without a ${what}`
  return { text: amount === undefined ? 'not known' : `≥ ${text(amount)}`, note }
}

/** What runs have cost. */
export const costOf = ({ usage: { usd, unpriced = 0 } }: Pick<RunFigures, 'usage'>): PartlyKnown =>
  partlyKnown(usd, unpriced, moneyText, 'price')

/** How many tokens they have used. */
export const tokensOf = ({ usage: { tokens, unknown = 0 } }: Pick<RunFigures, 'usage'>): PartlyKnown =>
  partlyKnown(tokens, unknown, countText, 'count')
