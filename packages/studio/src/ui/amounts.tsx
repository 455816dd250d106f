/** Money and tokens. */
import { countText } from './count-text.ts'
import { moneyText } from './money-text.ts'

export { countText } from './count-text.ts'
export { moneyText } from './money-text.ts'

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
