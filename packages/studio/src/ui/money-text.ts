/** Money as a text. Pure. */

/** US dollars; small amounts with as many digits as say something. */
export function moneyText(usd: number): string {
  if (usd === 0) return '$0.00'
  return `$${usd.toFixed(Math.abs(usd) >= 1 ? 2 : Math.abs(usd) >= 0.01 ? 3 : 5)}`
}
