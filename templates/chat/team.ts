/** An assistant that remembers its conversation: runs with one session are one conversation. */
import { agent, type ModelFunction, type ModelRef } from 'reeve'

/** What it says without a model. */
export const rules: ModelFunction = ({ messages }) => {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  return said.length === 1
    ? `Hello. You said: ${JSON.stringify(said[0])}. Say something else, and I still know it.`
    : `You said ${said.length} things so far; the first one was ${JSON.stringify(said[0])}.`
}

export const assistantWith = (model: ModelRef) =>
  agent({ name: 'assistant', instructions: 'You are a friendly assistant. Answer in one or two sentences.', model })
