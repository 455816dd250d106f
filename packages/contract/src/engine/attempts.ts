/** Contract: another attempt at the same work: what an earlier one did to the world is known to it (K6). */
import assert from 'node:assert/strict'
import { completed, type ActivationId, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { ended, gate, step, until, type Play } from './stage.ts'

/** Starts a worker, and once more if it has not completed. */
async function twice(ctx: Context, worker: string): Promise<Json> {
  const first = ctx.start(worker, null)
  const end = await ended(ctx, first)
  if (end.status === 'completed') return end.output
  return anotherAttempt(ctx, worker, first)
}

/** Starts a worker, stops it after a second, and starts it once more. */
async function againAfterTimeout(ctx: Context, worker: string): Promise<Json> {
  const first = ctx.start(worker, null)
  await ctx.next(ctx.ask('time', { until: new Date(ctx.now().getTime() + 1_000) }))
  ctx.stop(first, 'out of time')
  await ended(ctx, first)
  return anotherAttempt(ctx, worker, first)
}

async function anotherAttempt(ctx: Context, worker: string, after: ActivationId): Promise<Json> {
  const { outcome } = await ctx.next(ctx.start(worker, null, { after }))
  return outcome.status === 'completed' ? outcome.output : outcome.status
}

const first = (id: ActivationId): boolean => !id.endsWith('#1')

export const attemptingCases: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'the next attempt takes over a made `once` effect’s result and keeps the key of an `idempotent` one',
    async play(stage) {
      const keys: string[] = []
      stage.agent('w', async (ctx) => {
        const paid = await step(ctx, 'pay', stage.does('pay', 'receipt 1'), { effect: 'once' })
        await step(ctx, 'tell', ({ key }) => (keys.push(key), null))
        if (first(ctx.place.activation)) throw new Error('a slip')
        return paid
      })
      stage.agent('lead', (ctx) => twice(ctx, 'w'))
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(await stage.outcome(run), completed('receipt 1'))
      assert.equal(stage.count('pay'), 1)
      assert.equal(keys.length, 2)
      assert.equal(new Set(keys).size, 1)
      const settled = (await stage.log(run, 'w#1')).flatMap((event) =>
        event.type === 'step.settled' ? [event.madeBy] : [],
      )
      assert.deepEqual(settled, [`act_${run}>w`, undefined])
    },
  },
  {
    invariant: 'K6',
    name: 'a `once` effect in flight at the stop of an attempt is in doubt in the next, for an operator',
    async play(stage) {
      const paying = gate()
      stage.agent('w', async (ctx) => {
        const effect = first(ctx.place.activation) ? paying.effect : stage.does('pay', 'receipt 2')
        return step(ctx, 'pay', effect, { effect: 'once' })
      })
      stage.agent('lead', (ctx) => againAfterTimeout(ctx, 'w'))
      await stage.drive()
      const run = await stage.start('lead')
      await until('it is being paid', () => paying.waiting === 1)
      stage.clock.advance(1_000)
      const asked = await stage.question(run, 'in-doubt')
      assert.equal(asked.activation, `act_${run}>w#1`)
      assert.equal(stage.count('pay'), 0)
      const [doubt] = await stage.all(run, 'effect.in-doubt')
      assert.equal(doubt?.madeBy, `act_${run}>w`)
      const word = {
        type: 'settle-doubt',
        activation: asked.activation,
        address: asked.address,
        happened: false,
      } as const
      assert.equal(await stage.post(word), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed('receipt 2'))
      assert.equal(stage.count('pay'), 1)
    },
  },
  {
    invariant: 'K6',
    name: 'what an earlier attempt has made is known over a crash, and below a worker of the attempt',
    restarts: true,
    async play(stage) {
      const stop = gate()
      stage.agent('below', (ctx) => step(ctx, 'pay', stage.does('pay', 'receipt 3'), { effect: 'once' }))
      stage.agent('w', async (ctx) => {
        const paid = await ended(ctx, ctx.start('below', null))
        if (first(ctx.place.activation)) throw new Error('a slip')
        await step(ctx, 'more', stop.effect)
        return paid.status === 'completed' ? paid.output : paid.status
      })
      stage.agent('lead', (ctx) => twice(ctx, 'w'))
      await stage.drive()
      const run = await stage.start('lead')
      await until('the second attempt is at work', () => stop.waiting === 1)
      await stage.restart('kill')
      await until('it is at work again', () => stop.keys.length === 2)
      stop.open()
      assert.deepEqual(await stage.outcome(run), completed('receipt 3'))
      assert.equal(stage.count('pay'), 1)
    },
  },
  {
    invariant: 'K8',
    name: 'what an attempt that was cancelled has undone is in doubt in the next one',
    async play(stage) {
      const stop = gate()
      stage.agent('w', async (ctx) => {
        ctx.onCancel('refund', async (undo) => {
          await step(undo, 'refund', stage.does('refund'), { effect: 'once' })
        })
        const paid = await step(ctx, 'pay', stage.does('pay', 'receipt 4'), { effect: 'once' })
        if (first(ctx.place.activation)) await step(ctx, 'more', stop.effect)
        return paid
      })
      stage.agent('lead', (ctx) => againAfterTimeout(ctx, 'w'))
      await stage.drive()
      const run = await stage.start('lead')
      await until('more is done', () => stop.waiting === 1)
      stage.clock.advance(1_000)
      const asked = await stage.question(run, 'in-doubt')
      assert.deepEqual([stage.count('pay'), stage.count('refund')], [1, 1])
      await stage.post({ type: 'settle-doubt', activation: asked.activation, address: asked.address, happened: false })
      assert.deepEqual(await stage.outcome(run), completed('receipt 4'))
      assert.equal(stage.count('pay'), 2)
    },
  },
]
