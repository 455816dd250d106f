/**
 * Typed output beside tools, and teams of many tools, with models of real vendors: the turns, the corrections and the
 * replay are the same, whatever form a vendor takes.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, judge, tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { resolveModel } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { strictProvider, type ProviderRequest } from '../../packages/testing/src/providers/index.ts'
import { eventsOf, runtimeOf } from './team.ts'

const output = z.object({ verdict: z.enum(['ship', 'hold']), notes: z.array(z.string()) })
const verdict = { verdict: 'ship', notes: ['ready'] }

/** Whether the conversation holds this text already. */
const holds = (request: ProviderRequest, text: string): boolean => request.text.includes(text)

/** The answer by the tool that is there for it, else as a text. */
const answering = (request: ProviderRequest, value: Json) => {
  const name = /"name":"(final_answer|json)"/.exec(request.text)?.[1]
  return name === undefined ? JSON.stringify(value) : { calls: [{ name, input: value }] }
}

const lookup = tool({
  name: 'lookup',
  description: 'Looks a release up.',
  effect: 'read',
  input: z.object({ id: z.number() }),
  execute: () => 'found: all tests pass',
})

const vendors = [
  ['openai', undefined],
  ['openai-chat', undefined],
  ['anthropic', undefined],
  ['anthropic', 'claude-3-5-haiku-latest'],
  ['google', undefined],
  ['google', 'gemini-2.5-flash'],
  ['groq', undefined],
  ['openrouter', undefined],
  ['vllm', undefined],
  ['llamacpp', undefined],
  ['ollama', undefined],
] as const

describe.each(vendors)('%s %s', (preset, name) => {
  test('looks something up, is corrected once, and gives its typed answer', async () => {
    await using provider = await strictProvider({
      preset,
      answer: (request) =>
        !holds(request, 'all tests pass')
          ? { calls: [{ name: 'lookup', input: { id: 4 } }] }
          : answering(
              request,
              holds(request, 'does not have the required form') ? verdict : { verdict: 'perhaps', notes: [] },
            ),
    })
    const model = resolveModel(name === undefined ? provider.model : `${preset}/${name}`, provider.options)
    const reviewer = agent({ name: 'reviewer', instructions: 'Judge the release.', model, tools: [lookup], output })
    const runtime = await runtimeOf([reviewer])
    const run = await runtime.start(reviewer, 'Release 4')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: verdict })
    expect(provider.refused.map(({ why }) => why)).toEqual([])
    expect(provider.requests).toHaveLength(3)
    // the journal knows nothing of the form
    expect(JSON.stringify(await eventsOf(run))).not.toMatch(/final_answer|"name":"json"/)
  })
})

test('a judge scores on a vendor that takes no format beside tools, and none in a stream', async () => {
  await using provider = await strictProvider({
    preset: 'groq',
    answer: (request) =>
      holds(request, 'score')
        ? answering(request, { score: holds(request, 'a second draft') ? 1 : 0, reason: 'too short' })
        : holds(request, 'too short')
          ? 'a second draft'
          : 'a draft',
  })
  const model = resolveModel(provider.model, provider.options)
  const critic = judge({ name: 'critic', model, criteria: 'It is long.', tools: [lookup] })
  const writer = agent({
    name: 'writer',
    model,
    isComplete: { scorers: [critic] },
  })
  const runtime = await runtimeOf([writer])
  const outcome = await runtime.run(writer, 'Write.')
  expect(outcome).toMatchObject({ status: 'completed', output: 'a second draft' })
  expect(provider.refused).toEqual([])
})

describe('more tools than the provider takes', () => {
  const model = 'openai-chat/gpt-4.1'
  const worker = (i: number) =>
    agent({ name: `w${i}`, description: 'Works.', input: z.object({ x: z.string() }), model: () => 'x' })
  const workers = (count: number) => Array.from({ length: count }, (_, i) => worker(i))

  test('are said when the team is made, with Reeve’s own counted', async () => {
    const leader = supervisor({ name: 'leader', model, workers: workers(128) })
    await expect(runtimeOf([leader])).rejects.toThrow(
      'agent "leader": 129 tools are offered, counting Reeve\'s own, and "openai-chat/gpt-4.1" takes at most 128',
    )
    const fits = supervisor({ name: 'leader', model, workers: workers(127) })
    await expect(runtimeOf([fits])).resolves.toBeDefined()
  })

  test('are said of an agent, and of no model without such a limit', async () => {
    const tools = Array.from({ length: 130 }, (_, i) => tool({ name: `t${i}`, effect: 'read', execute: () => 1 }))
    await expect(runtimeOf([agent({ name: 'a', model, tools })])).rejects.toThrow('130 tools are offered')
    await expect(runtimeOf([agent({ name: 'a', model: 'anthropic/claude-sonnet-5', tools })])).resolves.toBeDefined()
    await expect(runtimeOf([agent({ name: 'a', model: () => 'x', tools })])).resolves.toBeDefined()
  })
})
