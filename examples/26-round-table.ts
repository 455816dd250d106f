/**
 * Conversation-led teams. First a round table: a model lets a writer and a critic speak until the critic is content.
 * Then the same kind of table led by a ledger: facts, a plan, a look at the progress after every round, and a new plan
 * when the work stands still.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, type ModelFunction } from 'reeve'
import { ledger, roundtable } from 'reeve/team'

type Prompt = Parameters<ModelFunction>[0]
const textOf = (message: Prompt['messages'][number] | undefined): string =>
  typeof message?.content === 'string' ? message.content : ''
/** How often an agent has spoken, as the others see it. */
const heard = (name: string, { messages }: Prompt): number =>
  messages.filter((message) => textOf(message).startsWith(`For context: [${name}] said:`)).length
const own = ({ messages }: Prompt): number => messages.filter(({ role }) => role === 'assistant').length

// #region table
const writer = agent({
  name: 'writer',
  description: 'Writes a slogan, and writes it again when it is criticised.',
  model: (prompt) => (own(prompt) === 0 ? 'Our lamp is a very good lamp.' : 'Light that waits for you.'),
})
const critic = agent({
  name: 'critic',
  description: 'Says in one sentence what is wrong with a slogan, or APPROVED.',
  model: (prompt) => (heard('writer', prompt) < 2 ? 'It says nothing. Promise one thing.' : 'APPROVED'),
})
const panel = roundtable({
  name: 'panel',
  agents: [writer, critic],
  speaker: 'auto', // a model chooses by the descriptions and what was said; also 'round-robin', 'random', a function
  model: (prompt) =>
    JSON.stringify(
      heard('writer', prompt) > heard('critic', prompt)
        ? { speaker: 'critic' }
        : { speaker: 'writer', instruction: 'One slogan.' },
    ),
  until: ({ text }) => text.includes('APPROVED'),
  maxRounds: 8,
  summary: ({ said }) => said.findLast(({ agent: who }) => who === 'writer')?.message.content as string,
})
// #endregion

// #region ledger
/** Looks at the progress; the first way leads nowhere, so there is a new plan. */
const leads: ModelFunction = (prompt) => {
  const question = textOf(prompt.messages.at(-1))
  if (/survey/.test(question)) return '1. Given: a number is asked for. 2. To look up: the number, in the archive.'
  if (/whole list again/.test(question))
    return '1. Given: a number is asked for. 2. To look up: the number. The archive is closed; the web may have it.'
  if (/Answer with the plan only/.test(question))
    return /closed/.test(question) ? '1. surfer looks it up.' : '1. archivist looks it up.'
  if (/Write the answer/.test(question)) return 'There are 42 of them.'
  const isFound = heard('surfer', prompt) > 0
  const next = prompt.messages.some((message) => textOf(message).includes('1. surfer')) ? 'surfer' : 'archivist'
  const said = <T>(answer: T): { reason: string; answer: T } => ({ reason: 'seen', answer })
  return JSON.stringify({
    is_request_satisfied: said(isFound),
    is_in_loop: said(heard('archivist', prompt) > 1),
    is_progress_being_made: said(heard('archivist', prompt) === 0),
    next_speaker: said(next),
    instruction_or_question: said('How many are there?'),
  })
}
const research = roundtable({
  name: 'research',
  agents: [
    agent({ name: 'archivist', description: 'Looks things up in the archive.', model: () => 'The archive is closed.' }),
    agent({ name: 'surfer', description: 'Looks things up on the web.', model: () => 'It says 42.' }),
  ],
  speaker: ledger({ model: leads, maxStalls: 2, maxResets: 1 }),
})
// #endregion

await using runtime = await createRuntime({ agents: [panel, research] })
// #region watch
const run = await runtime.start(panel, 'A slogan for a lamp.')
for await (const { agent: who, ...message } of run.messages())
  if (message.type === 'assistant') console.log(`[${who}] ${message.text}`)
const slogan = await run.outcome()

const search = await runtime.start(research, 'How many are there?')
const order: string[] = []
for await (const { event } of search.events()) {
  if (event.type === 'fact.noted' && event.name === 'ledger.plan') console.log('plan:', event.data)
  if (event.type === 'speaker.chosen') order.push(event.speaker)
}
const found = await search.outcome()
// #endregion
console.log(order.join(', '), found)
assert.deepEqual(slogan.status === 'completed' && slogan.output, 'Light that waits for you.')
assert.deepEqual(order, ['archivist', 'archivist', 'surfer'])
assert.equal(found.status === 'completed' && found.output, 'There are 42 of them.')
