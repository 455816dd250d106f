/** Budgets as bars: what is spent, what is reserved for calls under way, what is left. */
import { countText, moneyText } from '../../ui/amounts.tsx'
import type { Budget } from './spend.ts'

const amountText = (of: Budget['of'], amount: number): string =>
  of === 'usd' ? moneyText(amount) : countText(Math.round(amount))

export function BudgetBar({ budget }: { readonly budget: Budget }) {
  const { of, limit, spent, reserved, left, spentShare, reservedShare, limitAt } = budget
  const whole = of === 'usd' ? moneyText(limit) : `${countText(limit)} tokens`
  const percent = (share: number): string => `${(share * 100).toFixed(2)}%`
  const said = [
    `${amountText(of, spent)} of ${whole} spent`,
    ...(reserved > 0 ? [`${amountText(of, reserved)} reserved`] : []),
    left < 0 ? `${amountText(of, -left)} over` : `${amountText(of, left)} left`,
  ].join(', ')
  return (
    <div className="run-budget">
      <div className={`run-budget-bar${left < 0 ? ' over' : ''}`} role="img" aria-label={said}>
        <span className="spent" style={{ width: percent(spentShare) }} />
        <span className="reserved" style={{ width: percent(reservedShare) }} />
        {limitAt < 1 && <span className="limit" style={{ left: percent(limitAt) }} />}
      </div>
      <div className="run-budget-text">
        <span>
          <b>{amountText(of, spent)}</b> of {whole}
        </span>
        {reserved > 0 && <span className="run-reserved">{amountText(of, reserved)} reserved</span>}
        <span className={left < 0 ? 'run-over' : 'muted'}>
          {left < 0 ? `${amountText(of, -left)} over` : `${amountText(of, left)} left`}
        </span>
      </div>
    </div>
  )
}
