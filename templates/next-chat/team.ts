/** Refunds: a desk answers customers, its worker pays, and a person approves each payment. */
import { agent, supervisor, tool, type ModelFunction, type ModelRef } from 'reeve'
import { z } from 'zod'

/** Makes a payment. Replace it by a call of your payment provider. */
export type Pay = (payment: { readonly order: string; readonly usd: number }) => Promise<string>

const orderIn = (text: unknown): string | undefined =>
  typeof text === 'string' ? /order (\w+)/i.exec(text)?.[1] : undefined

/** What the desk decides without a model. */
export const deskRules: ModelFunction = ({ messages }) => {
  const [last, asked] = [messages.at(-1), messages.findLast(({ role }) => role === 'user')?.content]
  if (last?.role === 'tool') return `The payer says: ${JSON.stringify(last.content)}`
  const order = orderIn(asked)
  return order === undefined
    ? 'Which order is it about?'
    : {
        calls: [
          { name: 'delegate', input: { worker: 'payer', instructions: `Refund 40 dollars for order ${order}.` } },
        ],
      }
}

/** What its worker decides without a model. */
export const payerRules: ModelFunction = ({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `The refund: ${JSON.stringify(last.content)}`
  return { calls: [{ name: 'pay', input: { order: orderIn(JSON.stringify(last?.content)) ?? 'unknown', usd: 40 } }] }
}

export function deskWith(models: { readonly desk: ModelRef; readonly payer: ModelRef }, pay: Pay) {
  const payer = agent({
    name: 'payer',
    description: 'Pays one refund. Give it the order and the amount; it returns whether it was paid.',
    model: models.payer,
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
  return supervisor({
    name: 'desk',
    instructions:
      'Customers write to you about orders. Delegate a refund of 40 dollars for what arrived broken to the payer. Then answer in one sentence.',
    workers: [payer],
    model: models.desk,
  })
}
