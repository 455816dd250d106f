/**
 * Time while a run is paused or a human has it, on the virtual clock: no minutes run out, no attempt is lost, whoever
 * is born then waits. Spec team C65, C66, X42, R-13; K8, K11.
 */
import { describe, expect, test, vi } from 'vitest'
import { agent, sleep, step } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { crew, staged, task, type Staged } from './trace.ts'

async function done<T>(stage: Staged, command: Promise<T>): Promise<T> {
  let end: { value: T } | { thrown: unknown } | undefined
  command.then(
    (value) => (end = { value }),
    (thrown: unknown) => (end = { thrown }),
  )
  await vi.waitUntil(async () => {
    await stage.rests()
    return end !== undefined
  })
  if (end === undefined) throw new Error('it did not end')
  if ('thrown' in end) throw end.thrown
  return end.value
}
const hold = {
  paused: [(run: Staged['run']) => run.control.pause(), (run: Staged['run']) => run.control.resume()],
  'taken over': [(run: Staged['run']) => run.control.takeOver(), (run: Staged['run']) => run.control.handBack()],
} as const

describe.each(Object.keys(hold) as (keyof typeof hold)[])('while a run is %s for an hour', (how) => {
  const [begin, end] = hold[how]
  async function held(root: ReturnType<typeof crew>, from: number): Promise<Awaited<ReturnType<Staged['end']>>> {
    const stage = await staged(root)
    await stage.until(from)
    await done(stage, begin(stage.run) as Promise<unknown>)
    await stage.until(from + 3_600)
    await done(stage, end(stage.run) as Promise<unknown>)
    return stage.end()
  }

  test('team C66: a task that is to be tried again is tried after it, with the attempts that it had', async () => {
    let tries = 0
    const flaky = async (): Promise<string> => {
      if (++tries < 3) throw new FailureError(failure('agent.failed', 'not yet', 'transport'))
      return 'at last'
    }
    const { lines, outcome } = await held(
      crew([task('A')], { A: flaky }, { retry: { attempts: 3, backoffMs: 10_000, maxBackoffMs: 10_000 } }),
      1,
    )
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(tries).toBe(3)
    expect(lines.filter(([second, what]) => what.startsWith('A begins') && second > 1 && second < 3_601)).toEqual([])
  })

  test('K8: a worker of a worker that is born meanwhile does nothing before it is over', async () => {
    const born: string[] = []
    const inner = agent({
      name: 'inner',
      description: 'i',
      run: async (ctx) => step(ctx, 'act', () => (born.push('acted'), 'inner')),
    })
    const spawns = async (ctx: Context): Promise<string> => {
      await sleep(ctx, 10_000)
      const end = await (
        ctx as unknown as { delegate(worker: typeof inner, brief: string): Promise<{ status: string }> }
      ).delegate(inner, 'go')
      return end.status
    }
    const root = crew(
      [task('A')],
      {},
      {
        timeoutMs: 0,
        roles: { generalist: agent({ name: 'worker', description: 'w', workers: [inner], run: spawns }) },
      },
    )
    const stage = await staged(root)
    await stage.until(5)
    await done(stage, begin(stage.run) as Promise<unknown>)
    await stage.until(1_000)
    expect(born).toEqual([])
    await done(stage, end(stage.run) as Promise<unknown>)
    expect((await stage.end()).outcome).toMatchObject({ status: 'completed' })
    expect(born).toEqual(['acted'])
  })

  test('the minutes of a run do not go on', async () => {
    const slow = async (ctx: Context): Promise<string> => {
      await sleep(ctx, 20_000)
      return step(ctx, 'act', () => 'slow')
    }
    const { outcome } = await held(
      crew(
        [task('A'), task('B', { dependencies: ['A'] })],
        { A: slow, B: 5 },
        {
          timeoutMs: 0,
          dependencies: { timeoutMs: 0 },
          limits: { minutes: 1 },
        },
      ),
      5,
    )
    expect(outcome).toMatchObject({ status: 'completed' })
  })
})
