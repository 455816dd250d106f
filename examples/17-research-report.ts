/**
 * A research report by transfer: the supervisor hands control to a researcher, gets it back by rule, hands it to a
 * writer, gets it back, and answers. The agent in control sees the conversation so far. Prints what the agents said, in
 * the order in which they said it.
 *
 * They think by rules. With `--model openai/gpt-5-mini`, or any other id, the same three agents think with that model.
 */
import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { agent, createRuntime, router, tool, type ModelFunction, type ModelRef } from 'reeve'
import { describeOutcome, type Spoken } from 'reeve/views'
import { z } from 'zod'

// #region rules
type Prompt = Parameters<ModelFunction>[0]
/** Whether an agent is shown something that another has said. */
const heard = (name: string, { messages }: Prompt): boolean =>
  messages.some(({ content }) => typeof content === 'string' && content.startsWith(`For context: [${name}] said:`))

const rules = {
  supervisor: (prompt) =>
    heard('writer', prompt)
      ? 'The report on the history of large language models is written: three parts, from 2017 to today.'
      : heard('researcher', prompt)
        ? {
            calls: [
              { name: 'transfer_to_agent', input: { agent_name: 'writer', task: 'Write the report from this plan.' } },
            ],
          }
        : { calls: [{ name: 'transfer_to_agent', input: { agent_name: 'researcher' } }] },
  researcher: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? '1. The transformer (2017). 2. Scaling (2018-2020). 3. Assistants (2022 to today).'
      : { calls: [{ name: 'search', input: { query: 'history of large language models' } }] },
  writer: (prompt) =>
    heard('researcher', prompt)
      ? '# A history of large language models\nFirst the transformer, then scale, then assistants.'
      : 'I have no plan.',
} satisfies Record<string, ModelFunction>
// #endregion

const { model } = parseArgs({ options: { model: { type: 'string' } } }).values
const brain = (rule: ModelFunction): ModelRef => model ?? rule

// #region team
const search = tool({
  name: 'search',
  description: 'Searches the archive.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }) => `Three eras are told apart in everything on "${query}".`,
})
const researcher = agent({
  name: 'researcher',
  description: 'Makes a research plan for a topic.',
  instructions: 'Search once, then answer with a plan of a few stages. Only the plan.',
  model: brain(rules.researcher),
  tools: [search],
})
const writer = agent({
  name: 'writer',
  description: 'Writes a report from a research plan.',
  instructions: 'Write a short report from the plan you are shown. Only the report.',
  model: brain(rules.writer),
})
const supervisor = router({
  name: 'supervisor',
  instructions:
    'Transfer a topic to the researcher; when there is a plan, transfer to the writer; when there is a report, say in one sentence what it says.',
  model: brain(rules.supervisor),
  workers: [researcher, writer],
  transfer: { returns: 'always' }, // the default: a worker that ends gives control back, whatever its model says
})
// #endregion

await using runtime = await createRuntime({ agents: [supervisor] })
console.log(`brain: ${model ?? 'rules (no model)'}`)
// #region watch
const run = await runtime.start(supervisor, 'Write a report on the history of large language models.')
const order: string[] = []
for await (const message of run.messages()) {
  console.log(`[${message.path.join(' > ')}] ${lineOf(message)}`)
  order.push(`${message.agent} ${'action' in message ? `-> ${nextOf(message)}` : message.type}`)
}
const outcome = await run.outcome()
// #endregion
assert.equal(outcome.status, 'completed', describeOutcome(outcome))
if (model === undefined)
  assert.deepEqual(order, [
    'supervisor assistant', // calls transfer_to_agent
    'supervisor -> researcher',
    'researcher assistant', // calls search
    'researcher tool',
    'researcher assistant', // the plan
    'researcher assistant', // the pair that stands for the return by rule
    'researcher -> supervisor',
    'supervisor assistant',
    'supervisor -> writer',
    'writer assistant', // the report
    'writer assistant',
    'writer -> supervisor',
    'supervisor assistant', // the answer
  ])

function nextOf({ action }: Extract<Spoken, { action?: unknown }>): string {
  return action?.type === 'transfer' ? action.to : (action?.type ?? '')
}

function lineOf(message: Spoken): string {
  switch (message.type) {
    case 'assistant': {
      const calls = message.calls?.map(({ name, input }) => `calls ${name} ${JSON.stringify(input)}`) ?? []
      return [...(message.text === '' ? [] : [`says: ${message.text}`]), ...calls].join('; ')
    }
    case 'tool':
      return `${message.tool}: ${typeof message.content === 'string' ? message.content : JSON.stringify(message.content)}`
    case 'error':
      return `fails: ${message.failure.message}`
    default:
      return message.type
  }
}
