/** A support team: a lead, somebody who looks orders up, and somebody who pays money back once a person has approved. */
import { agent, supervisor, tool, type ModelFunction, type ModelRef } from 'reeve'
import { z } from 'zod'

/** An order, as your shop knows it. */
export interface Order {
  readonly id: string
  readonly item: string
  readonly usd: number
}

/** What the team does in the world. Replace it by calls of your shop. */
export interface Shop {
  readonly order: (id: string) => Promise<Order | undefined>
  readonly pay: (payment: { readonly order: string; readonly usd: number }) => Promise<string>
}

const customer: (messages: Parameters<ModelFunction>[0]['messages']) => string = (messages) => {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  return typeof content === 'string' ? content : JSON.stringify(content)
}
const orderIn = (text: string): string | undefined => /order (\w+)/i.exec(text)?.[1]
const shown = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content))

/** What they decide without a model: the order is looked up, and what was paid for it is paid back. */
export const rules = {
  support: ({ messages }) => {
    const text = customer(messages)
    if (orderIn(text) === undefined) return 'Which order is it about?'
    const results = messages.filter(({ role }) => role === 'tool')
    const delegate = (worker: string, instructions: string) => ({
      calls: [{ name: 'delegate', input: { worker, instructions } }],
    })
    if (results.length === 0) return delegate('orders', `Look up order ${orderIn(text)}.`)
    const found = shown(results[0]!.content)
    if (results.length === 1 && found.includes(' costs ')) return delegate('refunds', found)
    return shown(results.at(-1)!.content)
  },
  orders: ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'tool')
      return { calls: [{ name: 'look_up', input: { order: orderIn(customer(messages)) ?? '' } }] }
    return shown(last.content)
  },
  refunds: ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return `The refund: ${shown(last.content)}`
    const text = customer(messages)
    const usd = Number(/costs (\d+)/.exec(text)?.[1] ?? 0)
    return { calls: [{ name: 'pay', input: { order: orderIn(text) ?? '', usd } }] }
  },
} satisfies Record<string, ModelFunction>

export const supportWith = (models: Readonly<Record<keyof typeof rules, ModelRef>>, shop: Shop) =>
  supervisor({
    name: 'support',
    instructions:
      'Customers write to you about orders. Have the order looked up first. If it arrived broken, have its price paid back. Then answer in one sentence.',
    model: models.support,
    workers: [
      agent({
        name: 'orders',
        description: 'Looks an order up.',
        instructions: 'Look the order up, and say what was ordered and what it costs.',
        model: models.orders,
        tools: [
          tool({
            name: 'look_up',
            description: 'Finds an order.',
            input: z.object({ order: z.string() }),
            effect: 'read',
            execute: async ({ order }) => {
              const found = await shop.order(order)
              return found === undefined
                ? `There is no order ${order}.`
                : `Order ${found.id}: ${found.item} costs ${found.usd} dollars.`
            },
          }),
        ],
      }),
      agent({
        name: 'refunds',
        description: 'Pays back what an order has cost.',
        instructions: 'Pay back with the tool pay exactly what the order has cost.',
        model: models.refunds,
        tools: [
          tool({
            name: 'pay',
            description: 'Pays money back.',
            input: z.object({ order: z.string(), usd: z.number().positive().max(500) }),
            effect: 'once', // a crash in the middle of it is a question for a person, never a second payment
            approval: { risk: 'high' }, // nothing is paid before a person has approved exactly these arguments
            execute: (payment) => shop.pay(payment),
          }),
        ],
      }),
    ],
    limits: { usd: 0.5, minutes: 24 * 60 }, // for the whole tree
  })
