/**
 * Contract: questions and timers. The store names the winner of a decision at once; a deadline competes for the same
 * row (K2).
 */
import assert from 'node:assert/strict'
import { completed, rootActivation, type OpId } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { ended, question, step, until, type Play } from './stage.ts'

const in_ = (ctx: Context, ms: number): Date => new Date(ctx.now().getTime() + ms)

const deadlines: readonly Play[] = [
  {
    invariant: 'K2',
    name: 'at its deadline an answer still wins, and the deadline is forgotten',
    async play(stage) {
      stage.agent('a', async (ctx) => ended(ctx, ctx.ask('q', { ...question('int_1'), until: in_(ctx, 1_000) })))
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      assert.equal(asked.until, stage.clock.now() + 1_000)
      stage.clock.advance(1_000)
      await stage.fence()
      assert.equal(await stage.answer(asked, 'in time'), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed('in time'))
      stage.clock.advance(10_000)
      await stage.fence()
      assert.equal((await stage.all(run, 'ask.settled')).length, 1)
    },
  },
  {
    invariant: 'K2',
    name: 'when its deadline has passed the clock answers, and a later answer has lost',
    async play(stage) {
      stage.agent(
        'a',
        async (ctx) => (await ended(ctx, ctx.ask('q', { ...question('int_1'), until: in_(ctx, 1_000) }))).status,
      )
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      stage.clock.advance(1_001)
      assert.deepEqual(await stage.outcome(run), completed('timed-out'))
      assert.ok(['lost', 'closed'].includes(await stage.answer(asked, 'too late')))
    },
  },
  {
    invariant: 'K2',
    name: 'an answer after the deadline loses, even if no process drove when it passed',
    restarts: true,
    async play(stage) {
      stage.agent(
        'a',
        async (ctx) => (await ended(ctx, ctx.ask('q', { ...question('int_1'), until: in_(ctx, 1_000) }))).status,
      )
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      await stage.restart('close', false)
      stage.clock.advance(1_001)
      assert.equal(await stage.answer(asked, 'too late'), 'lost')
      await stage.drive()
      assert.deepEqual(await stage.outcome(run), completed('timed-out'))
    },
  },
  {
    invariant: 'K2',
    name: 'a deadline that has passed when the question is put answers it at once',
    async play(stage) {
      stage.agent(
        'a',
        async (ctx) => (await ended(ctx, ctx.ask('q', { ...question('int_1'), until: in_(ctx, -5) }))).status,
      )
      await stage.drive()
      assert.deepEqual((await stage.play('a')).outcome, completed('timed-out'))
    },
  },
]

const timers: readonly Play[] = [
  {
    invariant: 'K2',
    name: 'timers end in the order of their time, and only the clock ends them',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const ids = new Map(
          [300, 100, 200].map((ms) => [ctx.scope('t').ask('timer', { until: in_(ctx, ms) }), ms] as const),
        )
        const order: number[] = []
        while (order.length < 3) order.push(ids.get((await ctx.next()).id as OpId)!)
        return order
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('all timers are set', async () => (await stage.all(run, 'timer.set')).length === 3)
      assert.deepEqual(await stage.engine.questions({ run }), [])
      assert.notEqual(
        await stage.post({
          type: 'answer',
          activation: rootActivation(run),
          address: 't/timer',
          outcome: completed(1),
        }),
        'accepted',
      )
      for (const n of [1, 2, 3]) {
        stage.clock.advance(100)
        await until(`${n} have ended`, async () => (await stage.all(run, 'ask.settled')).length === n)
      }
      assert.deepEqual(await stage.outcome(run), completed([100, 200, 300]))
    },
  },
  {
    invariant: 'K2',
    name: 'a clock that has moved past several deadlines at once and then stands still ends them all',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const ids = new Map<OpId, number>(
          [150, 100, 200, 201].map((ms) => [ctx.scope('t').ask('timer', { until: in_(ctx, ms) }), ms]),
        )
        ids.set(ctx.ask('q', { ...question('int_1'), until: in_(ctx, 149) }), 149)
        const over = new Set<number>()
        while (over.size < 4) over.add(ids.get((await ctx.next()).id as OpId)!)
        // What is late is late: in which order is the engine's affair.
        return [...over].toSorted((a, b) => a - b)
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('all are set', async () => (await stage.all(run, 'timer.set')).length === 4)
      stage.clock.advance(200)
      assert.deepEqual(await stage.outcome(run), completed([100, 149, 150, 200]))
    },
  },
  {
    invariant: 'K2',
    name: 'timers that came due without a driving process end after the restart',
    restarts: true,
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const first = ctx.scope('t').ask('timer', { until: in_(ctx, 100) })
        const second = ctx.scope('t').ask('timer', { until: in_(ctx, 5_000) })
        await ctx.next(first)
        const at = ctx.now().getTime()
        await ctx.next(second)
        return ctx.now().getTime() - at
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('timers are set', async () => (await stage.all(run, 'timer.set')).length === 2)
      await stage.restart('kill', false)
      stage.clock.advance(1_000)
      await stage.drive()
      await until('one has ended', async () => stage.has(run, 'ask.settled'))
      await stage.restart('close')
      stage.clock.advance(4_000)
      assert.deepEqual(await stage.outcome(run), completed(4_000))
    },
  },
  {
    invariant: 'K2',
    name: 'a run whose waiting was for the clock goes on after a long time',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const before = await step(ctx, 'before', stage.does('before'))
        await ctx.next(ctx.ask('sleep', { until: in_(ctx, 3 * 24 * 3_600_000) }))
        return [before, await step(ctx, 'after', stage.does('after'))]
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it sleeps', async () => stage.has(run, 'timer.set'))
      stage.clock.advance(24 * 3_600_000)
      await stage.fence()
      stage.clock.advance(2 * 24 * 3_600_000)
      assert.deepEqual(await stage.outcome(run), completed(['before', 'after']))
      assert.deepEqual(
        stage.ran.filter((name) => name !== 'fence'),
        ['before', 'after'],
      )
    },
  },
]

export const askingCases: readonly Play[] = [
  {
    invariant: 'K2',
    name: 'of many answers the first is accepted and all others have lost',
    async play(stage) {
      stage.agent('a', async (ctx) => ended(ctx, ctx.ask('q', question('int_1'))))
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      assert.deepEqual([asked.id, asked.kind, asked.run], ['int_1', 'interrupt', run])
      await stage.status(run, 'waiting')
      const words = await Promise.all(Array.from({ length: 10 }, (_, n) => stage.answer(asked, n)))
      assert.equal(words.filter((word) => word === 'accepted').length, 1)
      assert.equal(words.filter((word) => word === 'lost').length, 9)
      assert.deepEqual(await stage.outcome(run), completed(words.indexOf('accepted')))
      assert.ok(['lost', 'closed'].includes(await stage.answer(asked, 'late')))
      assert.deepEqual(await stage.engine.questions({ run }), [])
    },
  },
  {
    invariant: 'K2',
    name: 'an answer to an unknown activation is unknown, to a question never asked closed',
    async play(stage) {
      stage.agent('a', async (ctx) => ended(ctx, ctx.ask('q', question('int_1'))))
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      assert.equal(
        await stage.answer({ ...asked, activation: `${asked.activation}>nobody` as typeof asked.activation }, 1),
        'unknown',
      )
      assert.equal(await stage.answer({ ...asked, address: 'other' }, 1), 'closed')
      assert.equal(await stage.answer(asked, 1), 'accepted')
    },
  },
  {
    invariant: 'K2',
    name: 'an accepted answer survives a crash, even if no process drove when it was given',
    restarts: true,
    async play(stage) {
      stage.agent('worker', async (ctx) => ended(ctx, ctx.ask('q', question('int_1'))))
      stage.agent('lead', async (ctx) => [
        await step(ctx, 's', stage.does('s')),
        (await ended(ctx, ctx.start('worker', null))) as never,
      ])
      await stage.drive()
      const run = await stage.start('lead')
      const asked = await stage.question(run)
      await stage.restart('kill', false)
      assert.equal(await stage.answer(asked, 'yes'), 'accepted')
      assert.deepEqual(await stage.engine.questions({ run }), [{ ...asked, answered: true }])
      await stage.restart('kill')
      assert.deepEqual(await stage.outcome(run), completed(['s', completed('yes')]))
      assert.equal(stage.count('s'), 1)
    },
  },
  {
    invariant: 'K7',
    name: 'questions of an activation that has ended are closed',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        ctx.ask('q', question('int_1'))
        return step(ctx, 's', stage.does('s'))
      })
      await stage.drive()
      const run = await stage.start('a')
      assert.deepEqual(await stage.outcome(run), completed('s'))
      assert.deepEqual(await stage.engine.questions({ run }), [])
      assert.equal(
        await stage.post({ type: 'answer', activation: rootActivation(run), address: 'q', outcome: completed(1) }),
        'closed',
      )
      const settled = (await stage.all(run, 'activation.settled'))[0]!
      assert.deepEqual(settled.open, ['q'])
    },
  },
  ...deadlines,
  ...timers,
]
