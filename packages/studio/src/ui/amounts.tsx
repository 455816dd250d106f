/** Money and tokens. */
import { countText } from './count-text.ts'

export { countText } from './count-text.ts'

/** US dollars; small amounts with as many digits as say something. */
export function moneyText(usd: number): string {
  if (usd === 0) return '$0.00'
  return `$${usd.toFixed(Math.abs(usd) >= 1 ? 2 : Math.abs(usd) >= 0.01 ? 3 : 5)}`
}

export function Money({ usd }: { readonly usd: number | undefined }) {
  return usd === undefined ? <span className="muted">no price</span> : <span title={`$${usd}`}>{moneyText(usd)}</span>
}

export function Tokens({ tokens }: { readonly tokens: number }) {
  return (
    <span title={`${countText(tokens)} tokens`}>
      {tokens < 10_000 ? countText(tokens) : `${(tokens / 1_000).toFixed(tokens < 100_000 ? 1 : 0)}k`}
    </span>
  )
}
