/** A tool shows a chart, and the leader hands it to the worker that reads charts. */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor, tool, unwrap, withFiles, type Message, type ModelAnswerInput } from 'reeve'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

// #region tool
const chart = tool({
  name: 'sales_chart',
  effect: 'read',
  execute: () => withFiles('Sales of 2026:', [{ data: png, mediaType: 'image/png', filename: 'sales.png' }]),
})
// #endregion

/** The pictures that a model is shown with a brief. */
const pictures = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ role, content }) =>
    role === 'user' && typeof content !== 'string'
      ? content.flatMap((part) => (part.type === 'file' ? [part.filename ?? part.mediaType] : []))
      : [],
  )

const reader = agent({
  name: 'reader',
  description: 'Reads charts.',
  model: ({ messages }) => `${pictures(messages).join()} shows that sales doubled.`,
})
/** What a real model does: it asks for the chart, and gives it to the reader by its name. */
function lead({ messages }: { readonly messages: readonly Message[] }): ModelAnswerInput | string {
  const results = messages.filter(({ role }) => role === 'tool')
  if (results.length === 0) return { calls: [{ name: 'sales_chart', input: {} }] }
  if (results.length > 1) return `Done: ${results[1]!.content as string}`
  const brief = { worker: 'reader', instructions: 'What does the chart say?', files: ['sales.png'] }
  return { calls: [{ name: 'delegate', input: brief }] }
}
const analyst = supervisor({ name: 'analyst', model: lead, tools: [chart], workers: [reader] })

await using runtime = await createRuntime({ agents: [analyst] })
const outcome = await runtime.run(analyst, 'How were sales?')
console.log(outcome.status === 'completed' ? outcome.output : outcome)
assert.equal(outcome.status === 'completed' && outcome.output, 'Done: sales.png shows that sales doubled.')

// #region code
const review = agent({
  name: 'review',
  workers: [reader],
  run: async (ctx) => {
    const files = [{ type: 'file', mediaType: 'image/png', filename: 'sales.png', data: png }] as const
    return unwrap(await ctx.delegate(reader, 'What does the chart say?', { files }))
  },
})
// #endregion
await using second = await createRuntime({ agents: [review] })
assert.equal((await second.run(review, 'go')).status, 'completed')
