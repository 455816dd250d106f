/**
 * What `reeve serve`, `reeve work` and `reeve dev` run, on your machine and where it is deployed: what differs comes from
 * the environment (.env.example). Importing it opens nothing.
 */
import { modelOr, modelUsed } from './model.ts'
import { rules, supportWith } from './team.ts'

console.error(`model: ${modelUsed}`)

const { DATABASE_URL, REEVE_TOKEN, REEVE_HOST } = process.env

/** PostgreSQL where several processes share it, else a file. */
export const store = DATABASE_URL || './reeve.db'

export const agents = [
  supportWith(
    { support: modelOr(rules.support), orders: modelOr(rules.orders), refunds: modelOr(rules.refunds) },
    {
      order: async (id) => (/^\d+$/.test(id) ? { id, item: 'a lamp', usd: 40 } : undefined),
      pay: async ({ order, usd }) => {
        console.error(`paid ${usd} dollars for order ${order}`)
        return `paid ${usd} dollars`
      },
    },
  ),
]

/** How long calls that are under way have to end after SIGTERM. Less than Compose waits. */
export const graceMs = 25_000

/** Who may use the server, and under which name it is reached. Without a token of yours, `reeve serve` makes one. */
export const server = {
  ...(REEVE_HOST ? { hosts: [REEVE_HOST] } : {}),
  ...(REEVE_TOKEN ? { auth: { tokens: { [REEVE_TOKEN]: { name: 'operations', roles: ['admin' as const] } } } } : {}),
}
