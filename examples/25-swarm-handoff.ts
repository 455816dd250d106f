/**
 * A swarm: agents that hand the conversation to each other. Triage hands a customer to sales or refunds, which may hand
 * on themselves; nobody gives control back by rule, and the next message of a session goes straight to whoever has it.
 * What they know of the customer lies in session values, which all of them share.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, router, sessionValue, tool, type ModelAnswerInput, type ModelFunction } from 'reeve'
import { z } from 'zod'

// #region rules
type Prompt = Parameters<ModelFunction>[0]
const handTo = (agent_name: string): ModelAnswerInput => ({
  calls: [{ name: 'transfer_to_agent', input: { agent_name } }],
})
const call = (name: string, input: Record<string, string> = {}): ModelAnswerInput => ({ calls: [{ name, input }] })
const textOf = (message: Prompt['messages'][number] | undefined): string =>
  typeof message?.content === 'string' ? message.content : ''
/** What the customer said last: what other agents said begins with "For context". */
const asked = ({ messages }: Prompt): string =>
  textOf(messages.findLast((message) => message.role === 'user' && !textOf(message).startsWith('For context:')))
/** The result of the tool that was called last, in this turn at the work. */
const result = ({ messages }: Prompt): string | undefined =>
  messages.at(-1)?.role === 'tool' ? textOf(messages.at(-1)) : undefined
/** What was bought, as the instructions say it. */
const bought = ({ messages }: Prompt): string | undefined => /bought: (\w+)/.exec(textOf(messages[0]))?.[1]

const rules = {
  triage: (prompt) =>
    /buy/.test(asked(prompt))
      ? handTo('sales')
      : /money back/.test(asked(prompt))
        ? handTo('refunds')
        : 'How can we help you?',
  sales: (prompt) =>
    result(prompt) ??
    (/money back/.test(asked(prompt))
      ? call('to_refunds', { why: asked(prompt) })
      : call('sell', { item: /a (\w+)/.exec(asked(prompt))![1]! })),
  refunds: (prompt) =>
    result(prompt) ??
    (/money back/.test(asked(prompt)) ? call('refund', { item: bought(prompt) ?? 'nothing' }) : handTo('triage')),
} satisfies Record<string, ModelFunction>
// #endregion

// #region tools
/** Context that everybody shares. It also fills `{bought}` in instructions. */
const order = sessionValue('bought', { schema: z.string(), initial: 'nothing' })
const sell = tool({
  name: 'sell',
  description: 'Sells an item.',
  input: z.object({ item: z.string() }),
  run: async ({ values }, { item }) => `Here is your ${await order.update({ values }, () => item)}.`,
})
const refund = tool({
  name: 'refund',
  description: 'Pays back the price of an item.',
  input: z.object({ item: z.string() }),
  effect: 'once', // never repeated by itself, not even after a crash
  execute: ({ item }) => `The price of your ${item} is on its way.`,
})
/** A function that returns the next agent: what it does is told, and then control is handed on. */
const toRefunds = tool({
  name: 'to_refunds',
  description: 'Hands a customer who wants money back to refunds.',
  input: z.object({ why: z.string() }),
  effect: 'read',
  execute: ({ why }) => `handed on: ${why}`,
  action: { transfer: 'refunds' },
})
// #endregion

// #region swarm
const sales = agent({ name: 'sales', description: 'Sells things.', model: rules.sales, tools: [sell, toRefunds] })
const refunds = agent({
  name: 'refunds',
  description: 'Pays money back.',
  instructions: 'The customer has bought: {bought}. Refund that, and nothing else.',
  templating: true,
  model: rules.refunds,
  tools: [refund],
})
const triage = router({
  name: 'triage',
  instructions: 'Find out what the customer wants, and hand them to whoever can do it.',
  model: rules.triage,
  workers: [sales, refunds],
  transfer: { returns: 'never' }, // a handoff: the agent in control answers
  routes: { sales: ['refunds', 'triage'], refunds: ['sales', 'triage'] },
  sticky: true, // the next message of the session goes to the last agent in control
})
// #endregion

await using runtime = await createRuntime({ agents: [triage] })
/** One message of a customer; who had control, in order, and the answer. */
async function says(message: string): Promise<{ control: string; answer: unknown }> {
  const run = await runtime.start(triage, message, { session: 'ann-1' })
  const control: string[] = []
  for await (const { agent: who } of run.messages()) if (who !== control.at(-1) && !who.includes('.')) control.push(who)
  const outcome = await run.outcome()
  const answer = outcome.status === 'completed' ? outcome.output : outcome.status
  console.log(`> ${message}\n  [${control.join(' > ')}]`, answer)
  return { control: control.join(' > '), answer }
}

assert.deepEqual(await says('Hello.'), { control: 'triage', answer: 'How can we help you?' })
assert.deepEqual(await says('I want to buy a hat.'), { control: 'triage > sales', answer: 'Here is your hat.' })
// straight to sales, who hands on by a tool; refunds knows from the shared value what was bought
assert.deepEqual(await says('It does not fit, I want my money back.'), {
  control: 'sales > refunds',
  answer: 'The price of your hat is on its way.',
})
assert.deepEqual(await says('Now I want to buy a scarf.'), {
  control: 'refunds > triage > sales',
  answer: 'Here is your scarf.',
})
