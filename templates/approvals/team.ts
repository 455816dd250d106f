/** Refunds: an agent decides that one is due, a person approves the payment, and it is made once. */
import { agent, tool, type ModelFunction, type ModelRef } from 'reeve'
import { z } from 'zod'

/** Makes a payment. Replace it by a call of your payment provider. */
export type Pay = (payment: { readonly order: string; readonly usd: number }) => Promise<string>

/** What it decides without a model: 40 dollars for the order that is named. */
export const rules: ModelFunction = ({ messages }) => {
  const [last, asked] = [messages.at(-1), messages.findLast(({ role }) => role === 'user')?.content]
  if (last?.role === 'tool') return `The refund: ${JSON.stringify(last.content)}`
  const order = typeof asked === 'string' ? /order (\w+)/i.exec(asked)?.[1] : undefined
  return order === undefined ? 'Which order is it about?' : { calls: [{ name: 'pay', input: { order, usd: 40 } }] }
}

export const refundsWith = (model: ModelRef, pay: Pay) =>
  agent({
    name: 'refunds',
    instructions:
      'Customers write to you about orders. Refund what arrived broken with the tool pay, 40 dollars an order. Then answer in one sentence.',
    model,
    tools: [
      tool({
        name: 'pay',
        description: 'Pays money back.',
        input: z.object({ order: z.string(), usd: z.number().positive().max(500) }),
        effect: 'once', // a crash in the middle of it is a question for a person, never a second payment
        approval: { risk: 'high' }, // nothing is paid before a person has approved exactly these arguments
        execute: (payment) => pay(payment),
      }),
    ],
  })
