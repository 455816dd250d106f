/** Agents to talk to: one that pays by its instructions, one that is asked by a form, one whose answer does not fit. */
import { agent, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { ModelFunction } from '@reeve/model'

/** What was paid, for the tests to look at. */
export const paid: Json[] = []

const payOut = tool({
  name: 'pay_out',
  description: 'Pays a customer.',
  effect: 'once',
  input: {
    type: 'object',
    properties: { to: { type: 'string' }, amount: { type: 'number' } },
    required: ['to', 'amount'],
  },
  execute: (input: Json) => (paid.push(input), `paid (${paid.length} so far)`),
} as never)

/** Pays what it is asked for, once; ends with its instructions and what it was told. */
const pays: ModelFunction = ({ messages }) => {
  const last = messages.at(-1)!
  const usage = { input: 1_200, output: 40 }
  if (last.role !== 'tool') {
    const asked = messages.findLast(({ role }) => role === 'user')?.content
    const before = messages.filter(({ role }) => role === 'user').length - 1
    if (typeof asked === 'string' && asked.startsWith('Hello'))
      return { text: `**Hello** to you; ${before} messages before this one.`, usage }
    return { calls: [{ name: 'pay_out', input: { to: 'mia', amount: 25 } }], usage }
  }
  const system = messages.find(({ role }) => role === 'system')?.content
  return { text: `By "${typeof system === 'string' ? system : 'none'}": ${JSON.stringify(last.content)}`, usage }
}

export const chatAgents: readonly Agent[] = [
  agent({
    name: 'teller',
    description: 'Pays customers what they are owed.',
    instructions: 'Pay at once.',
    tools: [payOut] as never,
    model: pays,
  }),
  agent({
    name: 'booker',
    description: 'Books a table.',
    input: {
      type: 'object',
      properties: { guests: { type: 'number', description: 'How many come.' }, name: { type: 'string' } },
      required: ['guests', 'name'],
    },
    run: (_ctx: unknown, given: Json) => Promise.resolve(`booked ${JSON.stringify(given)}`),
  } as never),
]
