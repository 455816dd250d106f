/** What rules, tools and steps are given is theirs to look at and to change: no run, record or later attempt has it (K10). */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, step, supervisor, tool, type ModelRequest } from '@reeve/public'
import { runtimeUnderTest as createRuntime } from '../engine-under-test.ts'

test.each<[string, (request: ModelRequest) => ModelRequest]>([
  ['as it is', (request) => request],
  ['copied', (request) => ({ ...request })],
  ['through a proxy', (request) => new Proxy(request, {})],
  ['inherited', (request) => Object.create(request) as ModelRequest],
])('a request has its signal %s', async (_how, view) => {
  const rule = agent({ name: 'rule', model: (request) => `aborted: ${view(request).signal.aborted}` })
  await using runtime = await createRuntime({ agents: [rule] })
  expect(await runtime.run(rule, 'go')).toMatchObject({ status: 'completed', output: 'aborted: false' })
})

test('a rule cannot change what the next run is offered', async () => {
  const shown: string[] = []
  const worker = agent({ name: 'w', description: 'Works.', model: () => 'ok' })
  const lead = supervisor({
    name: 'lead',
    workers: [worker],
    model: ({ tools }) => {
      const [first] = tools as unknown as { description: string }[]
      shown.push(JSON.stringify(tools))
      expect(() => (first!.description = 'changed')).toThrow(TypeError)
      return 'done'
    },
  })
  await using runtime = await createRuntime({ agents: [lead] })
  for (const input of ['one', 'two']) expect(await runtime.run(lead, input)).toMatchObject({ status: 'completed' })
  expect(shown).toEqual([shown[0], shown[0]])
})

test('each attempt of a tool is given the arguments anew, and the conversation keeps its own', async () => {
  const given: string[] = []
  const shown: unknown[] = []
  const empty = tool({
    name: 'empty',
    input: z.object({ items: z.array(z.number()) }),
    retry: { backoffMs: 1 },
    execute: ({ items }) => {
      given.push(JSON.stringify(items))
      items.pop()
      if (given.length === 1) throw new Error('again')
      return 'done'
    },
  })
  const root = agent({
    name: 'root',
    tools: [empty],
    model: ({ messages }) => {
      const call = messages.find(({ role }) => role === 'assistant')
      if (call === undefined) return { calls: [{ name: 'empty', input: { items: [1, 2, 3] } }] }
      shown.push(call)
      return 'done'
    },
  })
  await using runtime = await createRuntime({ agents: [root] })
  expect(await runtime.run(root, 'go')).toMatchObject({ status: 'completed' })
  expect(given).toEqual(['[1,2,3]', '[1,2,3]'])
  expect(shown).toMatchObject([{ calls: [{ input: { items: [1, 2, 3] } }] }])
})

test('what a step is given can be copied, and shows nothing of the engine when it is written down', async () => {
  const seen: { copied: boolean; traceparent: boolean; written: string[] }[] = []
  const root = agent({
    name: 'root',
    run: (ctx) =>
      step(ctx, 'look', (io) => {
        const copy = { ...io }
        seen.push({
          copied: copy.signal instanceof AbortSignal,
          traceparent: copy.traceparent.startsWith('00-'),
          written: Object.keys(JSON.parse(JSON.stringify(io)) as object).sort(),
        })
        return 'done'
      }),
  })
  await using runtime = await createRuntime({ agents: [root] })
  expect(await runtime.run(root, 'go')).toMatchObject({ output: 'done' })
  const written = ['attempt', 'contents', 'epoch', 'key', 'now', 'signal', 'traceparent']
  expect(seen).toEqual([{ copied: true, traceparent: true, written }])
})
