/** What 80 MB from a tool cost: the prompt, the journal, and another process that reads the run again. */
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, readWhole, tool } from '@reeve/agent'
import { asText, type Json } from '@reeve/core'
import { createRuntime } from '@reeve/runtime'
import { calls, scripted, store, told } from '../scenario/team.ts'

const line = 'a line of the log, and what it says: 0123456789 0123456789 0123456789 0123456789 012345\n'
const size = 80_000_000

test('80 MB from a tool cost prompt, entries and a later process nothing beyond the limit, and are kept once', async () => {
  const made: string[] = []
  const fetch = tool({
    name: 'fetch',
    effect: 'read',
    execute: () => {
      const text = line.repeat(Math.ceil(size / line.length)).slice(0, size)
      made.push(text.slice(0, 10))
      return text
    },
  })
  const weigh = tool({
    name: 'weigh',
    effect: 'read',
    input: z.object({ of: z.string() }),
    execute: async ({ of }, io) => ((await readWhole(io, of)) as string).length,
  })
  const nameIn = (said: Json | undefined): string => /result-[0-9a-f]{32}/.exec(asText(said!))![0]
  const modelOf = () =>
    scripted(
      calls(['fetch', {}], ['fetch', { again: true }]),
      ({ messages }) =>
        calls(
          ['weigh', { of: nameIn(told(messages)[0]) }],
          ['read_large_result', { result: nameIn(told(messages)[0]), from: 79_999_900 }],
        ),
      'done',
    )
  const model = modelOf()
  const reader = (by: typeof model) => agent({ name: 'reader', model: by, tools: [fetch, weigh] })
  const at = store()
  const first = await createRuntime({ store: at, agents: [reader(model)] })
  const run = await first.start(reader(model), 'go')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
  await first.close()
  expect(made).toHaveLength(2)
  for (const prompt of model.prompts) expect(JSON.stringify(prompt).length).toBeLessThan(2 * 4 * 25_000 + 5_000)
  expect(told(model.prompts[2])[0]).toBe(size)
  // the journal: no entry has more than the head, and the text is there once
  const database = new DatabaseSync(at, { readOnly: true })
  const { longest } = database.prepare('SELECT max(length(body)) AS longest FROM log').get() as { longest: number }
  expect(longest).toBeLessThan(110_000)
  const { whole } = database.prepare('SELECT sum(length(body)) AS whole FROM blob').get() as { whole: number }
  expect(whole).toBeLessThan(size + 1_000_000)
  database.close()
  // another process reads the run again
  const before = process.memoryUsage().heapUsed
  await using second = await createRuntime({ store: at, agents: [reader(modelOf())] })
  const view = await second.handle(run.id).view()
  expect(view.status).toBe('completed')
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(40_000_000)
}, 120_000)
