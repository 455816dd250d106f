/** What `reeve serve` and `reeve dev` run: the store and the agents. */
import { modelOr, modelUsed } from './model.ts'
import { refundsWith, rules } from './team.ts'

console.error(`model: ${modelUsed}`)

export const store = './reeve.db'
export const agents = [
  refundsWith(modelOr(rules), async ({ order, usd }) => {
    console.error(`paid ${usd} dollars for order ${order}`)
    return 'paid'
  }),
]
