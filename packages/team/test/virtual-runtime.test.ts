/**
 * Virtual time: it goes on when nothing else does, and stands still where only somebody outside can help. Embedded
 * engine only.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { agent, sleep, step, tool, type Agent } from '@reeve/agent'
import { completed } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { parallel } from '@reeve/flow'
import { manualStart, scripted, virtualRuntime, type VirtualRuntime } from '@reeve/testing'
import { hand } from '../../runtime/test/hand.ts'

const day = 24 * 3_600_000
const open: VirtualRuntime[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
})
async function virtual(...agents: readonly Agent[]): Promise<VirtualRuntime> {
  const made = await virtualRuntime({ agents })
  open.push(made)
  return made
}

const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })
const payer = agent({ name: 'payer', model: scripted({ calls: [{ name: 'pay', input: {} }] }, 'done'), tools: [pay] })
const asker = agent({ name: 'asker', run: async (ctx) => (await interrupt(ctx, 'well?')) as string })
const sleeper = (ms: number): Agent => agent({ name: 'sleeper', run: async (ctx) => (await sleep(ctx, ms), 'awake') })

describe('runUntilIdle', () => {
  test('goes from timer to timer to the end of every run', async () => {
    const { runtime, clock, runUntilIdle } = await virtual(sleeper(3 * day))
    const runs = await Promise.all([runtime.start('sleeper', null), runtime.start('sleeper', null)])
    expect(await runUntilIdle()).toEqual({ now: manualStart + 3 * day, isIdle: true, waiting: [] })
    expect(clock.now()).toBe(manualStart + 3 * day)
    expect(await Promise.all(runs.map((run) => run.outcome()))).toMatchObject([
      { output: 'awake' },
      { output: 'awake' },
    ])
  })

  test('stops where a human is asked, before the deadline, and says what is asked', async () => {
    const { runtime, clock, runUntilIdle } = await virtual(payer)
    const run = await runtime.start(payer, 'go')
    const { waiting, isIdle } = await runUntilIdle()
    expect(isIdle).toBe(true)
    expect(waiting).toMatchObject([
      { run: run.id, agent: 'payer', status: 'waiting', questions: [{ kind: 'approval' }] },
    ])
    expect(waiting[0]!.activations).toMatchObject([{ agent: 'payer', open: [{ kind: 'approval' }] }])
    expect(clock.now()).toBe(manualStart)
    await run.decide({ approvalId: waiting[0]!.questions[0]!.id, decision: 'approve' })
    expect((await runUntilIdle()).waiting).toEqual([])
    expect(await run.outcome()).toMatchObject({ output: 'done' })
  })

  test('passes deadlines on request, unanswered', async () => {
    const hasty = agent({
      name: 'hasty',
      model: scripted({ calls: [{ name: 'pay', input: {} }] }, 'done'),
      tools: [tool({ name: 'pay', sensitive: true, approval: { timeoutMs: 30 * 60_000 }, execute: () => 'paid' })],
    })
    const { runtime, clock, runUntilIdle } = await virtual(hasty)
    const run = await runtime.start(hasty, 'go')
    expect((await runUntilIdle({ pastDeadlines: true })).waiting).toEqual([])
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(clock.now()).toBeGreaterThan(manualStart + 29 * 60_000)
  })

  test('a sleeper beside an asked human goes on', async () => {
    const both = parallel({ name: 'both', agents: [asker, sleeper(day)] })
    const { runtime, clock, runUntilIdle } = await virtual(both)
    await runtime.start(both, 'go')
    const { waiting } = await runUntilIdle()
    expect(waiting[0]!.activations.map((each) => each.agent)).toEqual(['asker'])
    expect(clock.now()).toBe(manualStart + day)
  })

  test('time passes for failing attempts and clock sleeps; real work is awaited', async () => {
    const { runtime, clock, runUntilIdle } = await virtual(
      agent({
        name: 'worker',
        run: async (ctx) => [
          await step(ctx, 'flaky', ({ attempt }) => (attempt < 3 ? Promise.reject(new Error('not yet')) : attempt), {
            retry: { jitter: false },
          }),
          await step(ctx, 'slow', async ({ signal }) => (await clock.sleep(60_000, signal), 'slept'), {
            timeoutMs: 90_000,
          }),
          await step(ctx, 'late', async ({ signal }) => (await clock.sleep(60_000, signal), 'slept'), {
            timeoutMs: 30_000,
            retry: { attempts: 1 },
          }).catch(() => 'timed out'),
          await step(ctx, 'real', async () => (await turns(200), 'worked'), { timeoutMs: 1 }),
        ],
      }),
    )
    const run = await runtime.start('worker', null)
    expect((await runUntilIdle()).waiting).toEqual([])
    expect(await run.outcome()).toMatchObject({ output: [3, 'slept', 'timed out', 'worked'] })
    expect(clock.now()).toBe(manualStart + 1_000 + 2_000 + 60_000 + 30_000)
  })

  test('a run that waits for a message, and one that waits for its turn in a session, move no time', async () => {
    const listener = hand('listener', async (ctx) =>
      completed((await ctx.next((each) => each.type === 'message')).type),
    )
    const { runtime, clock, runUntilIdle } = await virtual(listener, asker)
    const heard = await runtime.start(listener, 'go', { runId: 'heard' })
    await runtime.start(asker, 'one', { session: 's', runId: 'r1' })
    await runUntilIdle()
    await runtime.start(asker, 'two', { session: 's', runId: 'r2' })
    const { waiting } = await runUntilIdle()
    expect(waiting).toMatchObject([
      { run: 'heard', activations: [{ agent: 'listener', open: [] }], questions: [] },
      { run: 'r1', status: 'waiting', questions: [{ kind: 'interrupt' }] },
      { run: 'r2', status: 'queued', queued: { behind: 'r1' }, questions: [] },
    ])
    expect(clock.now()).toBe(manualStart)
    await heard.post('act_heard' as never, 'hello')
    await runtime.answer({ interruptId: waiting[1]!.questions[0]!.id, value: 'yes' })
    expect((await runUntilIdle()).waiting).toMatchObject([{ run: 'r2', status: 'waiting' }])
    expect(await heard.outcome()).toMatchObject({ output: 'message' })
  })

  test('ends after a set time without another end', async () => {
    const ticker = agent({
      name: 'ticker',
      run: async (ctx) => {
        for (;;) await sleep(ctx, 60_000)
      },
    })
    const { runtime, clock, runUntilIdle } = await virtual(ticker)
    await runtime.start(ticker, 'go')
    expect(await runUntilIdle({ withinMs: 3_600_000 })).toMatchObject({
      isIdle: false,
      waiting: [{ agent: 'ticker', status: 'running' }],
    })
    expect(clock.now()).toBe(manualStart + 3_600_000)
  })
})

/** So many turns of the event loop: real work, of which the clock knows nothing. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}
