/** What the runs of a session have cost together, and what of it is not known. Pure. */
import type { RunRow } from '@reeve/server/wire'

export interface SessionCost {
  /** Absent: not known of any run. */
  readonly tokens?: number
  readonly usd?: number
  /** Runs of which the tokens, or the price, are not known, or not wholly. */
  readonly withoutTokens: number
  readonly withoutPrice: number
}

export function sessionCost(runs: readonly Pick<RunRow, 'usage'>[]): SessionCost {
  const sum = (known: readonly (number | undefined)[]): number | undefined => {
    const those = known.filter((each) => each !== undefined)
    return those.length === 0 ? undefined : those.reduce((all, each) => all + each, 0)
  }
  const tokens = sum(runs.map(({ usage }) => usage?.tokens))
  const usd = sum(runs.map(({ usage }) => usage?.usd))
  const withoutPrice = runs.filter(({ usage }) => isPart(usage?.calls, usage?.usd, usage?.unpriced)).length
  return {
    ...(tokens === undefined ? {} : { tokens }),
    // nothing, of runs without a model, is no cost while that of the others is not known
    ...(usd === undefined || (usd === 0 && withoutPrice > 0) ? {} : { usd }),
    withoutTokens: runs.filter(({ usage }) => isPart(usage?.calls, usage?.tokens, usage?.unknown)).length,
    withoutPrice,
  }
}

/** A run that has called no model has cost nothing, and that is known. */
const isPart = (calls: number | undefined, value: number | undefined, unknown = 0): boolean =>
  calls !== 0 && (value === undefined || unknown > 0)

/** A sentence about what is not in the sums; undefined if everything is. */
export function unknownCost({ usd, withoutTokens, withoutPrice }: SessionCost): string | undefined {
  const runs = (count: number): string => (count === 1 ? 'one run' : `${count} runs`)
  if (withoutTokens > 0 && withoutPrice > 0)
    return `The sums are at least so much: of ${runs(withoutTokens)} not all tokens are known, of ${runs(withoutPrice)} not the whole price.`
  if (withoutPrice > 0 && usd === undefined) return `The price of ${runs(withoutPrice)} is not known.`
  if (withoutPrice > 0) return `The cost is at least so much: of ${runs(withoutPrice)} the whole price is not known.`
  if (withoutTokens > 0) return `The tokens are at least so many: of ${runs(withoutTokens)} not all are known.`
  return undefined
}
