/**
 * Contract: how a run ends that is paused, or about to be: nothing follows its last word (K7), and what was held back
 * is never done (K8).
 */
import assert from 'node:assert/strict'
import { cancelled, completed } from '@reeve/core'
import { ended, gate, step, until, type Play } from './stage.ts'

export const pauseEndCases: readonly Play[] = [
  {
    invariant: 'K7',
    name: 'a run whose last effect ends during a pause has ended: nothing follows, and its outcome stays',
    restarts: true,
    async play(stage) {
      const last = gate()
      stage.agent('worker', async (ctx) => step(ctx, 'last', last.effect, { effect: 'model' }))
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('worker', null)))
      await stage.drive()
      const run = await stage.start('lead')
      await until('it is out', () => last.waiting === 1)
      await stage.post({ type: 'pause', run, at: 'after-model' })
      await stage.status(run, 'pausing')
      last.open('done')
      assert.deepEqual(await stage.outcome(run), completed('done'))
      assert.equal((await stage.log(run)).at(-1)!.type, 'activation.settled')
      assert.equal(await stage.has(run, 'run.paused'), false)
      await stage.restart('close')
      assert.deepEqual(await stage.outcome(run), completed('done'))
      assert.equal(await stage.post({ type: 'resume', run }), 'closed')
    },
  },
  {
    invariant: 'K8',
    name: 'effects held back by a pause are never made if the run is cancelled; compensations are',
    async play(stage) {
      const first = gate()
      stage.agent('deep', async (ctx) => {
        ctx.onCancel('deep', async (undo) => void (await step(undo, 'undo', stage.does('undo deep'))))
        await step(ctx, 'first', first.effect)
        return step(ctx, 'pay', stage.does('pay'), { effect: 'once' })
      })
      stage.agent('mid', async (ctx) => {
        ctx.onCancel('mid', async (undo) => void (await step(undo, 'undo', stage.does('undo mid'))))
        return ended(ctx, ctx.start('deep', null))
      })
      for (const [name, below] of [
        ['inner', 'mid'],
        ['outer', 'inner'],
      ] as const)
        stage.agent(name, async (ctx) => ended(ctx, ctx.start(below, null)))
      await stage.drive()
      const run = await stage.start('outer')
      await until('it is out', () => first.waiting === 1)
      await stage.post({ type: 'pause', run, at: 'next' })
      await stage.status(run, 'pausing')
      first.open('one')
      await stage.status(run, 'paused')
      await stage.post({ type: 'cancel', run, reason: 'enough' })
      assert.deepEqual(await stage.outcome(run), cancelled('enough'))
      await stage.fence()
      assert.deepEqual(
        stage.ran.filter((name) => name !== 'fence'),
        ['undo deep', 'undo mid'],
      )
    },
  },
]
