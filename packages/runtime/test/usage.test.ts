/** Usage of a whole tree: what the outcome says, what the view folds and what the handle says are the same (K11). */
import { expect, test } from 'vitest'
import { agent, supervisor } from '@reeve/public'
import { totalUsage } from '@reeve/public/views'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

const writer = agent({
  name: 'writer',
  description: 'Writes.',
  model: () => ({ text: 'a text', usage: { input: 10, output: 4, usd: 0.01 } }),
})
const mystery = agent({
  name: 'mystery',
  description: 'Says no usage.',
  model: () => ({ text: 'a riddle', usage: 'unknown' }),
})
const lead = supervisor({
  name: 'lead',
  model: ({ messages }) =>
    messages.some((message) => message.role === 'tool')
      ? { text: 'done', usage: { input: 7, output: 1, usd: 0.02 } }
      : {
          calls: ['writer', 'mystery', 'writer'].map((worker) => ({
            name: 'delegate',
            input: { worker, instructions: 'go' },
          })),
          usage: { input: 5, output: 2, usd: 0.02 },
        },
  workers: [writer, mystery],
})

test('adds up by agent and model, and keeps the unknown unknown', async () => {
  await using runtime = await createRuntime({ agents: [lead], strict: true })
  const outcome = await runtime.run(lead, 'go')
  expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
  const run = runtime.handle(outcome.run)
  const byAgent = [...outcome.usage].sort((a, b) => a.agent.localeCompare(b.agent))
  expect(
    byAgent.map(({ agent: name, calls, input, output, unknown }) => [name, calls, input, output, unknown]),
  ).toEqual([
    ['lead', 2, 12, 3, 0],
    ['mystery', 1, 0, 0, 1],
    ['writer', 2, 20, 8, 0],
  ])
  const view = await run.view()
  expect([...view.usage].sort((a, b) => a.agent.localeCompare(b.agent))).toEqual(byAgent)
  expect(totalUsage(await run.usage())).toEqual(totalUsage(outcome.usage))
  expect(view.activations.map(({ agent: name, usage }) => [name, usage.length])).toEqual([
    ['lead', 3],
    ['writer', 1],
    ['mystery', 1],
    ['writer', 1],
  ])
})
