/** `retry` of agents and supervisors: how often their models are asked again. */
import { describe, expect, test } from 'vitest'
import { agent } from '../../src/agent/index.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import { supervisor } from '../../src/supervisor/index.ts'
import { runtimeOf, scripted } from './team.ts'

const flaky = (failures: number) => scripted(...Array.from({ length: failures }, () => new Error('not now')), 'done')
const quick = { backoffMs: 1, jitter: false } as const

describe('retry', () => {
  test.each(['agent', 'supervisor'] as const)('says how often the model of an %s is asked', async (kind) => {
    const make = (attempts: number | undefined, model: ReturnType<typeof scripted>) => {
      const retry = { ...quick, ...(attempts === undefined ? {} : { attempts }) }
      const worker = agent({ name: 'w', description: 'Works.', model: 'openai/gpt-5' })
      return kind === 'agent' ? agent({ name: 'root', model, retry }) : supervisor({ name: 'root', model, retry, workers: [worker] })
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
      expect([outcome.status, model.prompts.length], `attempts ${String(attempts)}, ${failures} failures`).toEqual([status, asked])
    }
  })

  test('waits as it says, doubling up to its bound', async () => {
    const root = agent({ name: 'root', model: flaky(4), retry: { attempts: 5, backoffMs: 4, maxBackoffMs: 10, jitter: false } })
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

  test.each([{ attempts: 0 }, { attempts: 1.5 }, { attempts: Number.NaN }, { backoffMs: -1 }, { backoffMs: Number.NaN }])(
    '%j is refused',
    async (retry) => {
      const root = agent({ name: 'root', model: 'openai/gpt-5', retry })
      await expect(createRuntime({ agents: [root] })).rejects.toMatchObject({
        code: 'team.invalid',
        message: expect.stringContaining('retry') as string,
      })
      const worker = agent({ name: 'w', description: 'Works.', model: 'openai/gpt-5' })
      expect(() => supervisor({ name: 'root', model: 'openai/gpt-5', retry, workers: [worker] })).toThrow(/retry/)
    },
  )
})
