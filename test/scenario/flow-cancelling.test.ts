/** Spec collaboration, section J, where control is handed on: a cancel reaches every depth and is final. */
import { describe, expect, test } from 'vitest'
import { agent, step, transferTo } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import { asTool, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { modelAgent } from './asking.ts'
import { counted, hanging, heldAlone, shapes } from './held.ts'
import { calls, eventsOf, runtimeOf, scripted } from './team.ts'

describe('a cancel', () => {
  test.each(shapes)(
    'collaboration 109: %s: it reaches the working agent, is final, and no other is asked',
    async (_what, make) => {
      const held = hanging('held answers')
      const { root, others } = make(held)
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await heldAlone(run, held)
      const before = counted(others)
      await run.control.cancel('enough', 'ann')
      expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
      expect(held.seen).toEqual({ times: 1, aborts: 1 })
      expect(counted(others)).toEqual(before)
      const { activations } = await run.view()
      expect(activations.filter(({ outcome }) => outcome === undefined)).toEqual([])
      expect(activations.findLast(({ agent: name }) => name === 'held')).toMatchObject({ state: 'cancelled' })
      await expect(run.control.resume()).rejects.toMatchObject({ code: 'run.ended' })
      expect((await eventsOf(run)).filter(({ type }) => type === 'activation.settled')).toHaveLength(activations.length)
    },
  )

  test.each(shapes)(
    'collaboration 109: %s: paused, then cancelled: it ends at once and does no more',
    async (_what, make) => {
      const held = hanging('held answers')
      const { root, others } = make(held)
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await heldAlone(run, held)
      await run.control.pause({ at: 'now' })
      await run.until('waiting')
      const before = counted(others)
      await run.control.cancel('enough')
      expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
      expect([held.seen.times, ...counted(others)]).toEqual([1, ...before])
    },
  )

  test('collaboration 109: what was done at any depth is undone, the innermost first', async () => {
    const undone: string[] = []
    const books = (ctx: Context, name: string): void =>
      ctx.onCancel(name, async (undo) => {
        await step(undo, 'undo', () => void undone.push(name))
      })
    const w = agent({ name: 'w', run: (ctx) => (books(ctx, 'w'), interrupt(ctx, 'well?')) })
    const line = sequential({ name: 'line', description: 'L', agents: [w] })
    const outer = modelAgent('outer', scripted(calls(['line', { request: 'x' }])), { tools: [asTool(line)] })
    const root = router({ name: 'lead', run: (ctx) => (books(ctx, 'lead'), transferTo('outer')), workers: [outer] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await expect.poll(async () => (await runtime.questions({ run: run.id })).length).toBe(1)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(undone).toEqual(['w', 'lead'])
    expect(await runtime.questions({ run: run.id })).toEqual([])
  })
})
