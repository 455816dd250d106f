/** `retry` of agents and supervisors: how often their models are asked again. */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Middleware } from '@reeve/agent'
import { sequential } from '@reeve/flow'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { calls, runtimeOf, scripted } from './team.ts'

const flaky = (failures: number) => scripted(...Array.from({ length: failures }, () => new Error('not now')), 'done')
const quick = { backoffMs: 1, jitter: false } as const

describe('retry', () => {
  test.each(['agent', 'supervisor'] as const)('says how often the model of an %s is asked', async (kind) => {
    const make = (attempts: number | undefined, model: ReturnType<typeof scripted>) => {
      const retry = { ...quick, ...(attempts === undefined ? {} : { attempts }) }
      const worker = agent({ name: 'w', description: 'Works.', model: 'openai/gpt-5' })
      return kind === 'agent'
        ? agent({ name: 'root', model, retry })
        : supervisor({ name: 'root', model, retry, workers: [worker] })
    }
    const cases = [
      [undefined, 2, 'completed', 3],
      [undefined, 3, 'failed', 3],
      [1, 1, 'failed', 1],
      [5, 4, 'completed', 5],
    ] as const
    for (const [attempts, failures, status, asked] of cases) {
      const model = flaky(failures)
      const root = make(attempts, model)
      const outcome = await (await runtimeOf([root])).run('root', 'go')
      expect([outcome.status, model.prompts.length], `attempts ${String(attempts)}, ${failures} failures`).toEqual([
        status,
        asked,
      ])
    }
  })

  test('waits as it says, doubling up to its bound', async () => {
    const root = agent({
      name: 'root',
      model: flaky(4),
      retry: { attempts: 5, backoffMs: 4, maxBackoffMs: 10, jitter: false },
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await run.outcome()
    expect((await run.view()).failedAttempts.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [1, 4],
      [2, 8],
      [3, 10],
      [4, 10],
    ])
  })

  test('is no part of the version: changing it moves no run', () => {
    const version = (attempts: number) => agent({ name: 'root', model: 'openai/gpt-5', retry: { attempts } }).version
    expect(version(1)).toBe(version(5))
  })

  test.each([
    { attempts: 0 },
    { attempts: 1.5 },
    { attempts: Number.NaN },
    { backoffMs: -1 },
    { backoffMs: Number.NaN },
  ])('%j is refused', async (retry) => {
    const root = agent({ name: 'root', model: 'openai/gpt-5', retry })
    await expect(createRuntime({ agents: [root] })).rejects.toMatchObject({
      code: 'team.invalid',
      message: expect.stringContaining('retry') as string,
    })
    const worker = agent({ name: 'w', description: 'Works.', model: 'openai/gpt-5' })
    expect(() => supervisor({ name: 'root', model: 'openai/gpt-5', retry, workers: [worker] })).toThrow(/retry/)
  })

  describe('what a stream said before it failed', () => {
    const say = (
      emit: ((part: { type: 'text.delta'; id: string; text: string }) => void) | undefined,
      text: string,
    ): string => {
      emit?.({ type: 'text.delta', id: '0', text })
      return text
    }

    /** A flow whose first agent's streams fail twice; what live parts show of it, and what is told of it. */
    async function seen(middleware: readonly Middleware[]) {
      const watched = Promise.withResolvers<void>()
      const model = scripted(
        async ({ emit }) => {
          await watched.promise
          say(emit, 'half of')
          throw new Error('the connection is gone')
        },
        ({ emit }) => ({ ...calls(['note', {}]), text: say(emit, 'I look') }),
        ({ emit }) => {
          say(emit, 'the wrong')
          throw new Error('gone again')
        },
        ({ emit }) => say(emit, 'the answer'),
      )
      const next = scripted(({ emit }) => say(emit, 'final'))
      const note = tool({ name: 'note', execute: () => 'noted' })
      const A = agent({ name: 'A', model, retry: quick, tools: [note], middleware, outputKey: 'k' })
      const B = agent({ name: 'B', model: next })
      const flow = sequential({ name: 'flow', agents: [A, B] })
      const run = await (await runtimeOf([flow])).start(flow, 'go')
      const shown: (readonly [attempt: number, text: string])[] = []
      const parts = run.parts()
      watched.resolve()
      for await (const { attempt, part } of parts) {
        if (part.type === 'text.delta') shown.push([attempt, part.text])
      }
      await run.outcome()
      const spoken: string[] = []
      for await (const message of run.messages()) if (message.type === 'assistant') spoken.push(message.text)
      return { shown, spoken, first: model.prompts, next: next.prompts }
    }

    test('is in no prompt, no message and no answer, and its parts say which attempt they are of', async () => {
      const { shown, spoken, first, next } = await seen([])
      expect(shown).toEqual([
        [1, 'half of'],
        [2, 'I look'],
        [1, 'the wrong'],
        [2, 'the answer'],
        [1, 'final'],
      ])
      expect(spoken).toEqual(['I look', 'the answer', 'final'])
      expect(JSON.stringify([first, next])).not.toMatch(/half of|the wrong/)
      expect(JSON.stringify(next)).toContain('the answer')
    })

    test('reaches no hook; where a hook may change an answer no part is shown', async () => {
      const heard: string[] = []
      const { shown, spoken, first, next } = await seen([
        { name: 'hears', afterModel: ({ text }) => void heard.push(text) },
      ])
      expect(heard).toEqual(['I look', 'the answer']) // a hook is asked about answers, not about attempts
      expect(shown).toEqual([[1, 'final']])
      expect(spoken).toEqual(['I look', 'the answer', 'final'])
      expect(JSON.stringify([first, next])).not.toMatch(/half of|the wrong/)
      expect(JSON.stringify(next)).toContain('the answer')
    })
  })
})
