/** Lines: whoever has gone without leaving is taken out, and nobody waits for ever. */
import { expect, test } from 'vitest'
import {
  agent,
  delegate,
  activationHasEnded,
  releaseLock,
  acquireLock,
  type LockEntry,
  type FifoLock,
  type LockWait,
} from '@reeve/agent'
import type { ActivationId, Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { code } from './control.ts'
import { eventsOf, fastClock, runtimeOf } from './team.ts'

const line: FifoLock = {
  key: 'line',
  messageType: 'your-turn',
  read: (value) => ({ all: (Array.isArray(value) ? value : []) as readonly Json[] as never }),
  write: ({ all }) => all as unknown as Json,
  isGone: async (ctx, { at }, looks) => looks > 0 && activationHasEnded(ctx, at),
}
const lockEntry = (ctx: Context): LockEntry => ({ id: ctx.place.agent, at: ctx.place.activation, lane: 'x' })

const leaver = code('leaver', async (ctx) => {
  await acquireLock(ctx, line, lockEntry(ctx))
  return 'gone, with the turn'
})
const waiter = code('waiter', async (ctx) => {
  const first = await acquireLock(ctx, line, lockEntry(ctx))
  await releaseLock(ctx, line, lockEntry(ctx), lockEntry(ctx))
  return first?.id ?? null
})

test('a lock that ended with its turn is removed by the next waiter', async () => {
  const root = agent({
    name: 'root',
    workers: [leaver, waiter],
    run: async (ctx) => {
      await delegate(ctx, leaver, 'go')
      const ended = await delegate(ctx, waiter, 'go')
      return [ended.status === 'completed' ? ended.output : ended.status, await ctx.values.get('line')]
    },
  })
  const runtime = await runtimeOf([root], { clock: fastClock() })
  expect(await runtime.run(root, 'go')).toMatchObject({ output: ['waiter', []] })
})

test('one who does not want to wait any more is not in the line', async () => {
  const other = { id: 'other', at: 'act_nobody' as ActivationId, lane: 'x' }
  const root = agent({
    name: 'root',
    run: async (ctx) => {
      await ctx.values.update('line', () => line.write({ all: [other] }))
      const patience: LockWait = { over: false }
      const turn = acquireLock(ctx.scope('wait'), line, lockEntry(ctx), patience)
      await ctx.next(ctx.ask('a while', { until: new Date(ctx.now().getTime() + 100) }))
      patience.over = true
      patience.wake?.()
      return [((await turn) ?? null) as Json, await ctx.values.get('line')]
    },
  })
  expect(await (await runtimeOf([root])).run(root, 'go')).toMatchObject({ output: [null, [other]] })
})

test('one who does not want to wait any more before it has begun to does not wait', async () => {
  const other = { id: 'other', at: 'act_nobody' as ActivationId, lane: 'x' }
  const root = agent({
    name: 'root',
    run: async (ctx) => {
      await ctx.values.update('line', () => line.write({ all: [other] }))
      const turn = await acquireLock(ctx.scope('wait'), line, lockEntry(ctx), { over: true })
      return [(turn ?? null) as Json, await ctx.values.get('line')]
    },
  })
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root, 'go')
  expect(await run.outcome()).toMatchObject({ output: [null, [other]] })
  expect((await eventsOf(run)).filter(({ type }) => type === 'timer.set')).toEqual([])
})
