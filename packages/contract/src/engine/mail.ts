/** Contract: messages between activations and from outside. */
import assert from 'node:assert/strict'
import { completed, rootActivation, type ActivationId, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { ended, gate, question, until, type Play } from './stage.ts'

/** Waits for n messages and returns their bodies. */
async function take(ctx: Context, n: number): Promise<Json[]> {
  const bodies: Json[] = []
  while (bodies.length < n) {
    const message = await ctx.next((arrival) => arrival.type === 'message')
    if (message.type === 'message') bodies.push(message.body)
  }
  return bodies
}

export const mailCases: readonly Play[] = [
  {
    invariant: 'K2',
    name: 'a message never replaces an answer or deadline, whatever its id or the question’s address',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const until = new Date(ctx.now().getTime() + 1_000)
        const answered = ctx.ask('msg:1', question('int_1'))
        const late = ctx.ask('msg:2', { ...question('int_2'), until })
        return [(await ended(ctx, answered)).status, (await ended(ctx, late)).status, ...(await take(ctx, 3))]
      })
      await stage.drive()
      const run = await stage.start('a')
      await stage.question(run)
      const activation = rootActivation(run)
      for (const id of ['1', '2', 'ask:msg:1'])
        assert.equal(await stage.post({ type: 'message', activation, id, body: id }), 'accepted')
      assert.equal(
        await stage.post({ type: 'answer', activation, address: 'msg:1', outcome: completed('yes') }),
        'accepted',
      )
      await until('the answer is read', async () => (await stage.all(run, 'ask.settled')).length === 1)
      stage.clock.advance(1_001)
      assert.deepEqual(await stage.outcome(run), completed(['completed', 'timed-out', '1', '2', 'ask:msg:1']))
    },
  },
  {
    invariant: 'K2',
    name: 'messages from outside come once each and in order',
    async play(stage) {
      stage.agent('a', async (ctx) => take(ctx, 5))
      await stage.drive()
      const run = await stage.start('a')
      const activation = rootActivation(run)
      for (const n of [1, 2, 3, 3, 2, 1, 4, 5])
        assert.equal(await stage.post({ type: 'message', activation, id: `m${n}`, body: n }), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed([1, 2, 3, 4, 5]))
      assert.deepEqual(
        (await stage.all(run, 'message.received')).map(({ id }) => id),
        ['m1', 'm2', 'm3', 'm4', 'm5'],
      )
    },
  },
  {
    invariant: 'K2',
    name: 'a message to an unknown activation is unknown, to an ended one closed',
    async play(stage) {
      stage.agent('a', async () => 1)
      await stage.drive()
      const run = await stage.start('a')
      await stage.outcome(run)
      assert.equal(await stage.post({ type: 'message', activation: rootActivation(run), id: 'm', body: 1 }), 'closed')
      assert.equal(
        await stage.post({ type: 'message', activation: 'act_nobody' as ActivationId, id: 'm', body: 1 }),
        'unknown',
      )
    },
  },
  {
    invariant: 'K2',
    name: 'leader and worker write to each other; a thousand messages keep their order',
    async play(stage) {
      const many = 1_000
      stage.agent('worker', async (ctx, leader) => {
        const got = await take(ctx, many)
        for (const body of got) ctx.send(leader as ActivationId, (body as number) * 2)
        return got.length
      })
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('worker', ctx.place.activation)
        for (let n = 0; n < many; n++) ctx.send(worker, n)
        const back = await take(ctx, many)
        return [
          back.every((body, n) => body === n * 2),
          await ended(ctx, worker).then((o) => o.status === 'completed' && o.output),
        ]
      })
      await stage.drive()
      assert.deepEqual((await stage.play('lead')).outcome, completed([true, many]))
    },
  },
  {
    invariant: 'K2',
    name: 'an unread message comes back as a refusal',
    async play(stage) {
      stage.agent('quick', async () => 1)
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('quick', null)
        await ctx.next(worker)
        const late = ctx.send(worker, 'late')
        const lost = ctx.send('act_nobody' as ActivationId, 'lost')
        const refusals = [await ctx.next(late), await ctx.next(lost)]
        return refusals.map((refusal) => (refusal.type === 'message.refused' ? refusal.reason : refusal.type))
      })
      await stage.drive()
      assert.deepEqual((await stage.play('lead')).outcome, completed(['closed', 'unknown']))
    },
  },
  {
    invariant: 'K5',
    name: 'a refusal is not lost by a crash before it is read',
    restarts: true,
    async play(stage) {
      const wait = gate()
      stage.agent('lead', async (ctx) => {
        const lost = ctx.send('act_nobody' as ActivationId, 'lost')
        const hold = ctx.begin('hold', wait.effect)
        await ctx.next(hold)
        const refusal = await ctx.next(lost)
        return refusal.type
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('it is held', () => wait.waiting === 1)
      await stage.restart('kill')
      await until('it is held again', () => wait.waiting === 2)
      wait.open()
      assert.deepEqual(await stage.outcome(run), completed('message.refused'))
      assert.equal((await stage.all(run, 'message.sent')).length, 1)
      assert.equal((await stage.all(run, 'message.refused')).length, 1)
    },
  },
  {
    invariant: 'K2',
    name: 'messages accepted without a driving process are read after a restart, each once',
    restarts: true,
    async play(stage) {
      stage.agent('worker', async (ctx) => [
        ...(await take(ctx, 2)),
        await ended(ctx, ctx.ask('q', question('int_1'))).then((o) => o.status),
        ...(await take(ctx, 2)),
      ])
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('worker', null)))
      await stage.drive()
      const run = await stage.start('lead')
      await until('the worker is there', async () => (await stage.all(run, 'activation.started')).length === 2)
      const activation = `${rootActivation(run)}>worker` as ActivationId
      for (const n of [1, 2]) await stage.post({ type: 'message', activation, id: `m${n}`, body: n })
      const asked = await stage.question(run)
      await stage.restart('kill', false)
      for (const n of [2, 3, 4])
        assert.equal(await stage.post({ type: 'message', activation, id: `m${n}`, body: n }), 'accepted')
      await stage.drive()
      await until('they are read', async () => (await stage.all(run, 'message.received')).length === 4)
      await stage.restart('kill')
      await stage.answer(asked, 'go')
      assert.deepEqual(await stage.outcome(run), completed([1, 2, 'completed', 3, 4]))
      assert.equal((await stage.all(run, 'message.received')).length, 4)
    },
  },
]
