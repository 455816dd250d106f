/** A team that works in parallel, streams, asks for an approval deep inside, and a code agent that asks a question. */
import { agent, supervisor, tool, type ModelFunction } from 'reeve'
import { z } from 'zod'

/** What the tool has published, in this process. */
export const published: string[] = []
/** A model call of the writer waits for this before it answers. Default: it does not. */
export const gate: { until: Promise<unknown> } = { until: Promise.resolve() }

const publish = tool({
  name: 'publish',
  description: 'Publishes a text.',
  input: z.object({ text: z.string() }),
  sensitive: true,
  execute: ({ text }) => {
    published.push(text)
    return { published: text }
  },
})

const pieces =
  (text: string): ModelFunction =>
  ({ emit }) => {
    emit?.({ type: 'text.start', id: '0' })
    for (const word of text.split(/(?<= )/)) emit?.({ type: 'text.delta', id: '0', text: word })
    emit?.({ type: 'text.end', id: '0' })
    return text
  }

const researcher = agent({ name: 'researcher', description: 'Finds facts.', model: pieces('Ravens can plan ahead.') })
export const writer = agent({
  name: 'writer',
  description: 'Writes and publishes.',
  tools: [publish],
  model: async (request) => {
    await gate.until
    const last = request.messages.at(-1)
    if (last?.role !== 'tool') return { calls: [{ name: 'publish', input: { text: 'Ravens plan.' } }] }
    return pieces(`The tool said: ${JSON.stringify(last.content)}`)(request)
  },
})
export const chief = supervisor({
  name: 'chief',
  description: 'Leads a newsroom.',
  workers: [researcher, writer],
  model: (request) =>
    request.messages.at(-1)?.role === 'tool'
      ? pieces('All is done.')(request)
      : {
          text: 'I delegate.',
          calls: [
            { name: 'delegate', input: { worker: 'researcher', instructions: 'A fact.' } },
            { name: 'delegate', input: { worker: 'writer', instructions: 'Publish it.' } },
          ],
        },
})

/** Asks a person for a colour; answers with it. */
export const asker = agent({
  name: 'asker',
  description: 'Asks for a colour.',
  run: async (ctx) => `You said ${JSON.stringify(await ctx.interrupt('Which colour?'))}.`,
})
/** Fails. */
export const failing = agent({
  name: 'failing',
  description: 'Fails.',
  model: () => {
    throw new Error('no luck')
  },
})
