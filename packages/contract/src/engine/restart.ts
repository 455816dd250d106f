/** Contract: closing and opening again, and `restart(state)`: a new segment of the same log. */
import assert from 'node:assert/strict'
import { completed, rootActivation, type Json } from '@reeve/core'
import type { Arrival, Context } from '@reeve/engine'
import { ended, gate, question, step, until, type Play } from './stage.ts'

const next = async (ctx: Context): Promise<string> => {
  const arrival: Arrival = await ctx.next()
  return arrival.type === 'message'
    ? (arrival.body as string)
    : arrival.type === 'message.refused'
      ? arrival.reason
      : `${arrival.type} ${JSON.stringify(arrival.outcome)}`
}

const inOrder = (items: readonly string[]): string[] => items.toSorted((a, b) => (a < b ? -1 : 1))

const segments: readonly Play[] = [
  {
    invariant: 'K4',
    name: 'restart(state) begins a segment with its state; names count from the beginning again',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const state = (ctx.carried ?? { n: 0, seen: [] }) as { n: number; seen: Json[] }
        const seen = [...state.seen, await step(ctx, 's', stage.does(`s${state.n}`))]
        if (state.n === 3) return seen
        return ctx.restart({ n: state.n + 1, seen })
      })
      await stage.drive()
      const run = await stage.start('a')
      assert.deepEqual(await stage.outcome(run), completed(['s0', 's1', 's2', 's3']))
      assert.deepEqual(
        (await stage.all(run, 'activation.restarted')).map(({ segment }) => segment),
        [1, 2, 3],
      )
    },
  },
  {
    invariant: 'K4',
    name: 'open workers and questions, and unread arrivals, go on in the new segment; open steps do not',
    async play(stage) {
      const work = gate()
      const dropped = gate()
      stage.agent('worker', async (ctx) => step(ctx, 'work', work.effect))
      stage.agent('quick', async () => 'quick')
      stage.agent('a', async (ctx) => {
        if (ctx.carried !== undefined)
          return inOrder([await next(ctx), await next(ctx), await next(ctx), await next(ctx)])
        ctx.start('worker', null)
        ctx.start('quick', null)
        ctx.begin('dropped', dropped.effect)
        await ctx.next(ctx.ask('go', question('int_go')))
        ctx.ask('open', question('int_open'))
        return ctx.restart('second')
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('the quick one has ended', async () => stage.has(run, 'worker.settled'))
      await stage.post({ type: 'message', activation: rootActivation(run), id: 'm1', body: 'hello' })
      await until('the message is there', async () => stage.has(run, 'message.received'))
      await stage.answer(await stage.question(run), 'go')
      await until('it has restarted', async () => stage.has(run, 'activation.restarted'))
      await stage.answer(
        (await stage.engine.questions({ run })).find(({ id }) => id === 'int_open')!,
        'yes',
      )
      await until('the worker is at work', () => work.waiting === 1)
      work.open('worked')
      assert.deepEqual(
        await stage.outcome(run),
        completed([
          'ask.settled {"status":"completed","output":"yes"}',
          'hello',
          'worker.settled {"status":"completed","output":"quick"}',
          'worker.settled {"status":"completed","output":"worked"}',
        ]),
      )
      assert.equal(dropped.aborted, 1)
      assert.ok(!(await stage.all(run, 'step.settled')).some(({ address }) => address === 'dropped'))
    },
  },
  {
    invariant: 'K4',
    name: 'a segment’s open workers, unread arrivals and earlier usage survive crashes',
    restarts: true,
    async play(stage) {
      const work = gate()
      stage.agent('worker', async (ctx) => step(ctx, 'work', work.effect))
      stage.agent('a', async (ctx) => {
        if (ctx.carried !== undefined) {
          const first = await next(ctx)
          await step(ctx, 'mark', stage.does('mark'))
          return [first, await next(ctx), ctx.carried]
        }
        await step(ctx, 'paid', () => 1, {
          effect: 'model',
          settle: () => ({ usage: { agent: 'a', model: 'm', used: { input: 7, output: 1, usd: 1 } } }),
        })
        ctx.start('worker', null)
        await ctx.next(ctx.ask('go', question('int_go')))
        return ctx.restart('second')
      })
      await stage.drive()
      const run = await stage.start('a')
      await stage.post({ type: 'message', activation: rootActivation(run), id: 'm1', body: 'hello' })
      await until('the message is there', async () => stage.has(run, 'message.received'))
      await stage.answer(await stage.question(run), 'go')
      await until('the worker is at work', () => work.attempts.length === 1)
      await until('the second segment is at work', async () => (await stage.all(run, 'step.settled')).length === 2)
      for (let n = 1; n <= 2; n++) {
        await stage.restart('kill')
        await until('the worker is at work again', () => work.attempts.length === n + 1)
      }
      work.open('worked')
      const end = await stage.engine.outcome(run)
      assert.deepEqual(
        end.outcome,
        completed(['hello', 'worker.settled {"status":"completed","output":"worked"}', 'second']),
      )
      assert.deepEqual(
        end.usage.map(({ calls, input, usd }) => [calls, input, usd]),
        [[1, 7, 1]],
      )
      assert.equal(stage.count('mark'), 1)
    },
  },
]

export const restartCases: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'an orderly close and reopen goes on at any point',
    restarts: true,
    async play(stage) {
      stage.agent('worker', async (ctx, n) => step(ctx, 's', stage.does(`w${n as number}`)))
      stage.agent('lead', async (ctx) => {
        const got: Json[] = []
        for (let n = 0; n < 20; n++) {
          const turn = ctx.scope('turn')
          got.push(await step(turn, 'model', stage.does(`m${n}`), { effect: 'model' }))
          got.push(
            await ended(ctx, turn.start('worker', n)).then((o) => (o.status === 'completed' ? o.output : o.status)),
          )
        }
        return got
      })
      await stage.drive()
      const run = await stage.start('lead')
      for (let n = 0; n < 5; n++) await stage.restart('close')
      const names = Array.from({ length: 20 }, (_, n) => [`m${n}`, `w${n}`]).flat()
      assert.deepEqual(await stage.outcome(run), completed(names))
      assert.deepEqual([...new Set(stage.ran)], names)
    },
  },
  {
    invariant: 'K6',
    name: 'closing waits for a once effect and records its end; later steps wait for the next process',
    restarts: true,
    async play(stage) {
      const paying = gate(true)
      stage.agent('worker', async (ctx) => step(ctx, 's', stage.does('worker')))
      stage.agent('a', async (ctx) => [
        await step(ctx, 'pay', paying.effect, { effect: 'once' }),
        (await ended(ctx, ctx.start('worker', null))) as never,
        await step(ctx, 'after', stage.does('after')),
      ])
      await stage.drive()
      const run = await stage.start('a')
      await until('it is being paid', () => paying.waiting === 1)
      const closing = stage.restart('close', false)
      paying.open('paid')
      await closing
      assert.deepEqual(stage.ran, [])
      await stage.drive()
      assert.deepEqual(await stage.outcome(run), completed(['paid', completed('worker'), 'after']))
      assert.equal(paying.attempts.length, 1)
    },
  },
  ...segments,
]
