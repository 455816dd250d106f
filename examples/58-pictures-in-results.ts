/** A tool shows a chart, and the leader hands it to the worker that reads charts. A planner does so with its tasks. */
import assert from 'node:assert/strict'
import {
  agent,
  createRuntime,
  supervisor,
  team,
  tool,
  unwrap,
  withFiles,
  type Message,
  type ModelAnswerInput,
} from 'reeve'

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

// #region team
const crew = team({
  name: 'crew',
  roles: { reader, writer: agent({ name: 'writer', description: 'Writes.', model: () => 'Sales report:' }) },
  planner: {
    subtasks: [
      { id: 'read', role: 'reader', description: 'What does the chart say?', files: ['sales.png'] },
      { id: 'head', role: 'writer', description: 'Write a heading.' },
    ],
  },
})
// #endregion
await using third = await createRuntime({ agents: [crew] })
const sent: Message = {
  role: 'user',
  content: [{ type: 'file', mediaType: 'image/png', filename: 'sales.png', data: png }],
}
const report = await third.run(crew, 'Report on sales.', { messages: [sent] })
assert.match(JSON.stringify(report), /sales\.png shows that sales doubled.*Sales report:/)
