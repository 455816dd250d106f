import {
  agent,
  clientTool,
  createRuntime,
  searchable,
  supervisor,
  tool,
  unwrap,
  withFiles,
  type ModelAnswerInput,
} from 'reeve'
import { z } from 'zod'

const log = tool({
  name: 'log',
  description: 'The log of today.',
  effect: 'read',
  execute: () => Array.from({ length: 100_000 }, (_, i) => `${i} ${i === 70_000 ? 'gap' : 'fine'}`).join('\n'),
})
const chart = tool({
  name: 'chart',
  description: 'Draws a chart.',
  effect: 'read',
  execute: () =>
    withFiles('Here.', [{ data: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]), filename: 'chart.png' }]),
})
const tabs = clientTool({
  name: 'tabs',
  description: 'Counts the tabs of the page.',
  output: z.object({ count: z.number() }),
  effect: 'read',
})
const reader = agent({
  name: 'reader',
  description: 'Reads charts.',
  model: ({ messages }) => /[\w-]+\.png/.exec(JSON.stringify(messages))?.[0] ?? 'nothing',
})
const desk = supervisor({
  name: 'desk',
  workers: [reader],
  tools: [searchable([log, chart]), tabs],
  model: ({ messages }) => {
    const said = messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content))
    const result = /result-[0-9a-f]+/.exec(said[1] ?? '')?.[0] ?? ''
    const calls: ModelAnswerInput['calls'] = [
      { name: 'find_tools', input: { query: 'log, chart' } },
      { name: 'log', input: {} },
      { name: 'read_large_result', input: { result, find: 'gap' } },
      { name: 'chart', input: {} },
      { name: 'delegate', input: { worker: 'reader', instructions: 'Read it.', files: ['chart.png'] } },
      { name: 'tabs', input: {} },
    ]
    const call = calls?.[said.length]
    if (call !== undefined) return { calls: [call] }
    const line = /(\d+) gap/.exec(said[2]!)?.[1]
    const { count } = JSON.parse(said[5]!) as { count: number }
    return `gap@${line} ${JSON.parse(said[4]!) as string} ${count} tabs`
  },
})

await using runtime = await createRuntime({ agents: [desk] })
const run = await runtime.start(desk, 'Look at everything.')
await run.until('waiting')
const [question] = await runtime.questions()
await runtime.answer({ interruptId: question!.id, value: { output: { count: 3 } }, by: 'ann' })
console.log(unwrap(await run.outcome()))
