/**
 * Spend: tokens and money of usage rows, and budgets as parts of a bar.
 *
 * Owns: sums, what is not known, how much of a limit is spent, reserved and left. Pure.
 */
import type { RunHead, Span } from '@reeve/server/wire'
import { countText } from '../../ui/count-text.ts'
import { moneyText } from '../../ui/money-text.ts'

export type Usage = RunHead['usage']

/** The sum of usage rows. Calls of unknown usage and without a price are counted, never taken as 0. */
export interface Spend {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly tokens: number
  readonly usd: number
  readonly unknown: number
  readonly unpriced: number
  /** Of the output. Undefined: no provider told any. */
  readonly reasoning: number | undefined
  /** Of the input, written to caches. Undefined: nothing, or not said. */
  readonly cacheWrite: number | undefined
}

/** Undefined if neither is known. */
const added = (sum: number | undefined, more: number | undefined): number | undefined =>
  more === undefined ? sum : (sum ?? 0) + more

export function spendOf(usage: Usage): Spend {
  const sum: { -readonly [Member in keyof Spend]: Spend[Member] } = {
    calls: 0,
    input: 0,
    output: 0,
    cached: 0,
    tokens: 0,
    usd: 0,
    unknown: 0,
    unpriced: 0,
    reasoning: undefined,
    cacheWrite: undefined,
  }
  for (const row of usage) {
    sum.calls += row.calls
    sum.input += row.input
    sum.output += row.output
    sum.cached += row.cached
    sum.tokens += row.input + row.output
    sum.usd += row.usd
    sum.unknown += row.unknown
    sum.unpriced += row.unpriced
    sum.reasoning = added(sum.reasoning, row.reasoning)
    sum.cacheWrite = added(sum.cacheWrite, row.cacheWrite)
  }
  return sum
}

/** A limit and its use. Shares are fractions of the bar, which is as wide as the limit, or as all that is used. */
export interface Budget {
  readonly of: 'tokens' | 'usd'
  readonly limit: number
  readonly spent: number
  readonly reserved: number
  /** Negative: so much more than the limit was spent or is reserved. */
  readonly left: number
  readonly spentShare: number
  readonly reservedShare: number
  readonly leftShare: number
  /** Where the limit stands on the bar, from 0 to 1. */
  readonly limitAt: number
}

interface Amounts {
  readonly tokens?: number
  readonly usd?: number
}

/** One bar for each limit there is. */
export function budgetsOf(
  limits: Amounts | undefined,
  spent: Amounts,
  reserved: Amounts | undefined,
): readonly Budget[] {
  return (['tokens', 'usd'] as const).flatMap((of) => {
    const limit = limits?.[of]
    return limit === undefined ? [] : [budgetOf(of, limit, spent[of] ?? 0, reserved?.[of] ?? 0)]
  })
}

function budgetOf(of: Budget['of'], limit: number, spent: number, reserved: number): Budget {
  const whole = Math.max(limit, spent + reserved)
  const share = (part: number): number => (whole <= 0 ? 0 : part / whole)
  const left = limit - spent - reserved
  return {
    of,
    limit,
    spent,
    reserved,
    left,
    spentShare: share(spent),
    reservedShare: share(reserved),
    leftShare: share(Math.max(0, left)),
    limitAt: share(limit),
  }
}

/** US dollars; undefined: no call has a known price. */
export const knownUsd = ({ usd, unpriced }: Pick<Spend, 'usd' | 'unpriced'>): number | undefined =>
  usd === 0 && unpriced > 0 ? undefined : usd

const calls = (count: number): string => `${countText(count)} ${count === 1 ? 'call' : 'calls'}`

/** What is not known, in words; undefined if all is known. */
export function unknownText({ unknown, unpriced }: Pick<Spend, 'unknown' | 'unpriced'>): string | undefined {
  const parts = [
    ...(unknown === 0 ? [] : [`${calls(unknown)} with unknown usage`]),
    ...(unpriced === 0 ? [] : [`${calls(unpriced)} without a price`]),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

/** The same at length, with what to do about it. */
export function unknownNotice({ unknown, unpriced }: Pick<Spend, 'unknown' | 'unpriced'>): string {
  const parts = [
    ...(unknown === 0
      ? []
      : [
          `The provider did not say what ${calls(unknown)} used: they are not in these sums. They used at most what was reserved for them.`,
        ]),
    ...(unpriced === 0
      ? []
      : [
          `For ${calls(unpriced)} the price of the model is not known: the tokens are counted, the money is not. Give the model a price with the option prices.`,
        ]),
  ]
  return parts.join(' ')
}

/** Cost and tokens in one line. */
export function spendText(spend: Spend): string {
  if (spend.calls === 0) return 'no model was called'
  const usd = knownUsd(spend)
  const unknown = unknownText(spend)
  const cost = usd === undefined ? 'cost not known' : moneyText(usd)
  return `${cost} · ${countText(spend.tokens)} tokens${unknown === undefined ? '' : ` · ${unknown}`}`
}

/** A point of the curve of what was spent: everything up to this moment. */
export interface SpendPoint {
  readonly at: number
  readonly usd: number
  readonly tokens: number
}

/** What model calls had used by when, by the moment of their end; at most so many points, the last one included. */
export function spendOverTime(spans: Iterable<Span>, most = 400): readonly SpendPoint[] {
  const ended = [...spans]
    .flatMap((span) => (span.kind === 'model' && span.to !== undefined ? [{ ...span, to: span.to }] : []))
    .sort((one, other) => one.to - other.to)
  let [usd, tokens] = [0, 0]
  const points = ended.map((span) => {
    usd += span.usd ?? 0
    tokens += (span.input ?? 0) + (span.output ?? 0)
    return { at: span.to, usd, tokens }
  })
  if (points.length <= most) return points
  const step = points.length / most
  return Array.from({ length: most }, (_, i) => points[Math.min(points.length - 1, Math.ceil((i + 1) * step) - 1)]!)
}
