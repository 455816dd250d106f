/**
 * Weather or chat, by handoff: the desk hands a question to whoever can answer it, and that answer is the answer. What
 * nobody can answer it answers itself. In a session it is sticky: the next question goes straight to whoever answered
 * the last one, who may hand control on.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, router, tool, type ModelAnswerInput, type ModelFunction } from 'reeve'
import { z } from 'zod'

/** The last thing that came from outside: what others said begins with "For context". */
const questionOf = ({ messages }: Parameters<ModelFunction>[0]): string =>
  messages
    .flatMap(({ role, content }) =>
      role === 'user' && typeof content === 'string' && !content.startsWith('For context:') ? [content] : [],
    )
    .at(-1)!
const handTo = (agent_name: string): ModelAnswerInput => ({
  calls: [{ name: 'transfer_to_agent', input: { agent_name } }],
})
const isWeather = (question: string): boolean => /weather|and in/i.test(question)
const isChat = (question: string): boolean => /joke|hello/i.test(question)

// #region team
const weather = agent({
  name: 'weather',
  description: 'Knows the current weather of a city.',
  tools: [
    tool({
      name: 'get_weather',
      input: z.object({ city: z.string() }),
      effect: 'read',
      execute: ({ city }) => `25 degrees in ${city}`,
    }),
  ],
  model: (prompt) => {
    const last = prompt.messages.at(-1)
    if (last?.role === 'tool') return `It is ${last.content as string}.`
    const question = questionOf(prompt)
    return isWeather(question)
      ? { calls: [{ name: 'get_weather', input: { city: /in (\w+)/.exec(question)?.[1] ?? 'Beijing' } }] }
      : handTo('desk')
  },
})
const chat = agent({
  name: 'chat',
  description: 'Chats about this and that.',
  model: () => 'A raven walks into a bar and remembers your face.',
})
const desk = router({
  name: 'desk',
  model: (prompt) => {
    const question = questionOf(prompt)
    return isWeather(question) ? handTo('weather') : isChat(question) ? handTo('chat') : 'Nobody here can do that.'
  },
  workers: [weather, chat],
  transfer: { returns: 'never' }, // handoff: the last agent with control answers
  routes: { weather: ['desk'], chat: ['desk'] }, // to whom they may hand control by choice
  sticky: true, // the next run of a session begins with the last agent in control
})
// #endregion

await using runtime = await createRuntime({ agents: [desk] })
/** Asks; returns who spoke, in order, and what the last one answered. */
async function ask(question: string, session?: string): Promise<{ spoke: string; answer: unknown }> {
  const run = await runtime.start(desk, question, session === undefined ? {} : { session })
  const agents: string[] = []
  for await (const { agent: who } of run.messages()) if (agents.at(-1) !== who) agents.push(who)
  const outcome = await run.outcome()
  const answer = outcome.status === 'completed' ? outcome.output : outcome.status
  console.log(`${question}\n  ${agents.join(' > ')}:`, answer)
  return { spoke: agents.join(' > '), answer }
}

assert.deepEqual(await ask('What is the weather in Beijing?'), {
  spoke: 'desk > weather',
  answer: 'It is 25 degrees in Beijing.',
})
assert.deepEqual(await ask('Book me a flight to London.'), { spoke: 'desk', answer: 'Nobody here can do that.' })

// #region sticky
await ask('What is the weather in Beijing?', 'ann-1')
const again = await ask('And in Riga?', 'ann-1') // straight to weather: the desk's model is not asked
const other = await ask('Tell me a joke.', 'ann-1') // weather hands control back, the desk hands it to chat
// #endregion
assert.deepEqual(again, { spoke: 'weather', answer: 'It is 25 degrees in Riga.' })
assert.equal(other.spoke, 'weather > desk > chat')
