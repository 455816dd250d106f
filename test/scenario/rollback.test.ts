/**
 * A planned team that is cancelled: what undoes tasks that have ended, and who is still at work. Spec team R-13, C74.
 */
import { describe, expect, test } from 'vitest'
import { agent, type AgentContext } from '@reeve/agent'
import { team, type EndedTask, type TeamOptions } from '@reeve/team'
import { until } from './doors.ts'
import { runtimeOf } from './team.ts'

/** Books; `hotel` waits to be cancelled, `train` fails after its booking. Each undoes its own while it is at work. */
function travel(world: string[]) {
  const booker = agent({
    name: 'booker',
    description: 'Books.',
    run: async (ctx: AgentContext, brief: string) => {
      const what = brief.split('\n')[0]!
      await ctx.step('book', () => void world.push(`${what} booked`))
      ctx.onCancel('unbook', (undo) => undo.step('unbook', () => void world.push(`${what} given back by itself`)))
      if (what === 'hotel') await ctx.sleep(86_400_000)
      if (what === 'train') return { success: false, error: { message: 'late', retryable: false } }
      return `a ${what}`
    },
  })
  const crew = (more: Partial<TeamOptions<'crew'>> = {}) =>
    team({
      name: 'crew',
      roles: { generalist: booker },
      planner: { subtasks: ['flight', 'train', 'car', 'hotel'].map((id) => ({ id, description: id })) },
      concurrency: 1,
      tolerance: 90,
      ...more,
    })
  return { crew }
}
const booked = ['flight booked', 'train booked', 'car booked', 'hotel booked']
async function cancelled(world: string[], root: ReturnType<ReturnType<typeof travel>['crew']>) {
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root, 'Go')
  await until(() => world.includes('hotel booked'))
  await run.control.cancel('no travel')
  return { runtime, run, outcome: await run.outcome() }
}

describe('team C74', () => {
  test('by default only those at work undo what they have done', async () => {
    const world: string[] = []
    const { outcome } = await cancelled(world, travel(world).crew())
    expect(outcome).toMatchObject({ status: 'cancelled', reason: 'no travel' })
    expect(world).toEqual([...booked, 'hotel given back by itself'])
  })

  test('`undo`: ended tasks are undone too, after working ones, last ended first, once each, with results', async () => {
    const world: string[] = []
    const ends: EndedTask[] = []
    const undo = async (ctx: AgentContext, end: EndedTask): Promise<void> => {
      await ctx.step('undo', () => void (world.push(`${end.task} given back`), ends.push(end)))
    }
    const { run, outcome } = await cancelled(world, travel(world).crew({ undo }))
    expect(outcome).toMatchObject({ status: 'cancelled' })
    expect(world).toEqual([
      ...booked,
      'hotel given back by itself',
      'car given back',
      'train given back',
      'flight given back',
    ])
    expect(ends).toMatchObject([
      { task: 'car', role: 'generalist', description: 'car', status: 'succeeded', output: 'a car' },
      { task: 'train', status: 'failed', failure: { message: 'late' } },
      { task: 'flight', status: 'succeeded', output: 'a flight' },
    ])
    await run.control.cancel('again')
    expect(world).toHaveLength(8)
  })

  test('`undo: false` at the cancel: what was done stays, in tasks that have ended and at work', async () => {
    const world: string[] = []
    const root = travel(world).crew({
      undo: (ctx: AgentContext, { task }: EndedTask) => ctx.step('undo', () => void world.push(`${task} given back`)),
    })
    const run = await (await runtimeOf([root])).start(root, 'Go')
    await until(() => world.includes('hotel booked'))
    await expect(run.control.cancel('no', 'ann', { redo: true } as never)).rejects.toMatchObject({
      code: 'input.invalid',
    })
    await run.control.cancel('no travel', 'ann', { undo: false })
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'no travel' })
    expect(world).toEqual(booked)
    expect(await run.control.state()).toMatchObject({ ops: [{ op: 'cancel', by: 'ann', accepted: true }] })
  })

  test('one that throws is reported and does not stop the others', async () => {
    const world: string[] = []
    const undo = async (ctx: AgentContext, { task }: EndedTask): Promise<void> => {
      if (task === 'train') throw new Error('no trains')
      await ctx.step('undo', () => void world.push(`${task} given back`))
    }
    const { outcome } = await cancelled(world, travel(world).crew({ undo }))
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'orchestration.threw', message: expect.stringContaining('no trains') as string },
    })
    expect(world.slice(4)).toEqual(['hotel given back by itself', 'car given back', 'flight given back'])
  })

  test('a team that ends by itself undoes nothing, also where it is given up; nor one that a human finishes', async () => {
    const undone: string[] = []
    const undo = (_ctx: AgentContext, { task }: EndedTask): void => void undone.push(task)
    const world: string[] = []
    const done = travel(world).crew({ undo, planner: { subtasks: [{ id: 'flight', description: 'flight' }] } })
    const given = travel(world).crew({
      undo,
      tolerance: 0,
      planner: { subtasks: ['flight', 'train'].map((id) => ({ id, description: id })) },
    })
    expect(await (await runtimeOf([done])).run(done, 'Go')).toMatchObject({ status: 'completed' })
    expect(await (await runtimeOf([given])).run(given, 'Go')).toMatchObject({
      status: 'failed',
      failure: { code: 'team.too-many-failures' },
    })
    const taken = travel(world).crew({ undo })
    const run = await (await runtimeOf([taken])).start(taken, 'Go')
    await until(() => world.includes('hotel booked'))
    await run.control.takeOver({ by: 'ann', at: 'now' })
    await run.control.finish({ output: 'by hand', by: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', by: 'ann' })
    expect(undone).toEqual([])
  })

  test('a member that ends during the cancel is undone once, by itself or by the team', async () => {
    for (let ticks = 0; ticks < 12; ticks++) {
      const world: string[] = []
      const { promise: gate, resolve: open } = Promise.withResolvers<void>()
      const booker = agent({
        name: 'booker',
        description: 'Books.',
        run: async (ctx: AgentContext, brief: string) => {
          ctx.onCancel('unbook', (undo) => undo.step('unbook', () => void world.push('given back')))
          await ctx.step('book', () => void world.push('booked'))
          await ctx.step('wait', () => gate)
          return brief.split('\n')[0]! // not the same twice, so that somebody has to make an answer of it
        },
      })
      const root = team({
        name: 'crew',
        roles: { generalist: booker },
        planner: { subtasks: ['Rome by sea', 'Oslo on foot'].map((description, i) => ({ id: 'ab'[i]!, description })) },
        synthesize: () => new Promise<string>(() => undefined),
        undo: (ctx: AgentContext) => ctx.step('unbook', () => void world.push('given back')),
      })
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'Go')
      await until(() => world.length === 2)
      const cancel = run.control.cancel('enough')
      for (let i = 0; i < ticks; i++)
        await new Promise((resolve) => (i % 2 === 0 ? setImmediate(resolve) : queueMicrotask(() => resolve(undefined))))
      open()
      await cancel
      expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
      expect(world).toEqual(['booked', 'booked', 'given back', 'given back'])
    }
  })
})
