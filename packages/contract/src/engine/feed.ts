/**
 * Contract: what observers see. Gapless per activation, ordered per run, one end each, and nothing depends on who looks
 * (K1, K7, K9).
 */
import assert from 'node:assert/strict'
import { completed, rootActivation, type ActivationId, type Json } from '@reeve/core'
import { isDelta, type FeedEvent, type LivePart } from '@reeve/engine'
import { checkJournal } from '@reeve/testing'
import { ended, gate, question, step, until, type Play, type Stage } from './stage.ts'

function team(stage: Stage): void {
  stage.agent('worker', async (ctx, n) => {
    ctx.emit({ type: 'fact.noted', name: 'worker', data: n })
    return step(ctx, 's', stage.does(`w${n as number}`))
  })
  stage.agent('lead', async (ctx) => {
    const workers = [1, 2, 3].map((n) => ctx.scope('call').start('worker', n))
    const got: Json[] = []
    for (const worker of workers)
      got.push(await ended(ctx, worker).then((o) => (o.status === 'completed' ? o.output : o.status)))
    await ctx.next(ctx.ask('q', question('int_1')))
    return got
  })
}

export const feedCases: readonly Play[] = [
  {
    invariant: 'K1',
    name: 'a worker whose name is empty is in the feed like any other, and leaves with its run',
    async play(stage) {
      stage.agent('worker', async (ctx) => step(ctx, 's', stage.does('work')))
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('worker', null, { name: '' })))
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(await stage.outcome(run), completed('work'))
      const worker = `${rootActivation(run)}>`
      assert.deepEqual(
        (await stage.events(run)).filter(({ activation }) => activation === worker).map(({ event }) => event.type),
        ['activation.started', 'step.begun', 'step.settled', 'activation.settled'],
      )
      await stage.engine.remove(run)
      assert.deepEqual(await stage.engine.read(run), [])
      assert.equal(
        await stage.post({ type: 'message', activation: worker as ActivationId, id: 'm', body: 1 }),
        'unknown',
      )
    },
  },
  {
    invariant: 'K1',
    name: 'the feed is gapless per activation, ordered by position, and says one end each',
    async play(stage) {
      team(stage)
      await stage.drive()
      const run = await stage.start('lead')
      await stage.answer(await stage.question(run), 1)
      await stage.outcome(run)
      const events = await stage.events(run)
      assert.deepEqual(checkJournal(events), [])
      assert.equal(new Set(events.map(({ activation }) => activation)).size, 4)
      assert.ok(events.every((event) => event.run === run && event.at === stage.clock.now()))
      const last = events.at(-1)!
      assert.equal(last.event.type, 'activation.settled')
      const half = events[Math.floor(events.length / 2)]!.position
      assert.deepEqual(
        await stage.engine.read(run, half),
        events.filter(({ position }) => position > half),
      )
      assert.deepEqual(await stage.engine.read(run, last.position), [])
    },
  },
  {
    invariant: 'K1',
    name: 'who follows the feed misses nothing and sees nothing twice',
    async play(stage) {
      team(stage)
      await stage.drive()
      const run = await stage.start('lead')
      const seen: unknown[] = []
      const follow = async (): Promise<void> => {
        for (let from = 0; ;) {
          const more = await stage.engine.read(run, from)
          seen.push(...more)
          from = more.at(-1)?.position ?? from
          if (
            (await stage.engine.summary(run))?.endedAt !== undefined &&
            (await stage.engine.read(run, from)).length === 0
          )
            return
          await stage.engine.changed(run, from)
        }
      }
      const following = follow()
      await stage.answer(await stage.question(run), 1)
      await following
      assert.deepEqual(seen, await stage.events(run))
    },
  },
  {
    invariant: 'K1',
    name: 'who follows all runs misses nothing and sees nothing twice, also over a process that dies',
    restarts: true,
    async play(stage) {
      team(stage)
      await stage.drive()
      const seen: FeedEvent[] = []
      let last = 0
      const follow = async (enough: () => boolean): Promise<void> => {
        while (!enough()) {
          const { events, upTo } = await stage.engine.feed(last, 3)
          seen.push(...events)
          if (upTo === last) await stage.engine.feedChanged(last)
          last = upTo
        }
      }
      const ends = (): number =>
        seen.filter(({ run, activation, event }) => event.type === 'activation.settled' && activation === `act_${run}`)
          .length
      const one = await stage.start('lead')
      await stage.question(one)
      await follow(() => seen.some(({ event }) => event.type === 'interrupt.raised'))
      await stage.restart('kill')
      const [two, three] = [await stage.start('worker', 8), await stage.start('worker', 9)]
      const following = follow(() => ends() === 3)
      await stage.answer(await stage.question(one), 1)
      for (const run of [one, two, three]) await stage.outcome(run)
      await following
      for (const run of [one, two, three])
        assert.deepEqual(
          seen.filter((event) => event.run === run).map(({ id: _, ...recorded }) => recorded),
          await stage.events(run),
        )
      assert.deepEqual(
        seen.map(({ id }) => id),
        [...new Set(seen.map(({ id }) => id))].sort((a, b) => a - b),
      )
      assert.deepEqual(await stage.engine.feed(last, 3), { events: [], upTo: last })
    },
  },
  {
    invariant: 'K9',
    name: 'waiting for news of any run ends when the signal is aborted',
    async play(stage) {
      await stage.drive()
      const controller = new AbortController()
      const waiting = stage.engine.feedChanged((await stage.engine.feed('now', 1)).upTo, controller.signal)
      controller.abort()
      await waiting
    },
  },
  {
    invariant: 'K9',
    name: 'waiting for news ends when the signal is aborted',
    async play(stage) {
      team(stage)
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      const controller = new AbortController()
      const waiting = stage.engine.changed(run, (await stage.events(run)).at(-1)!.position, controller.signal)
      controller.abort()
      await waiting
    },
  },
  {
    invariant: 'K9',
    name: 'parts carry their place and attempt, are not journaled, and end for who leaves',
    async play(stage) {
      const wait = gate()
      const heard: LivePart[] = []
      stage.agent('a', async (ctx) =>
        step(ctx, 's', async (io) => {
          io.emit('one')
          await wait.effect(io)
          io.emit('two')
          return 'done'
        }),
      )
      await stage.drive()
      const run = await stage.start('a')
      const leave = stage.engine.listen(run, (part) => heard.push(part))
      await until('it is out', () => wait.waiting === 1)
      const others: LivePart[] = []
      stage.engine.listen(run, (part) => others.push(part))
      leave()
      wait.open()
      assert.deepEqual(await stage.outcome(run), completed('done'))
      assert.deepEqual(
        others.map(({ address, attempt, part }) => [address, attempt, part]),
        [['s', 1, 'two']],
      )
      assert.ok(heard.every(({ part }) => part === 'one'))
      assert.ok(!JSON.stringify(await stage.events(run)).includes('"two"'))
    },
  },
  {
    invariant: 'K9',
    name: 'a listener in another process hears each attempt’s parts before the recorded event',
    beside: true,
    async play(stage) {
      const wait = gate()
      let show: (part: Json) => void = () => undefined
      stage.agent('a', async (ctx) =>
        step(
          ctx,
          's',
          (io) => {
            show = (part) => io.emit(part)
            return wait.effect(io)
          },
          { retry: { attempts: 2, backoffMs: 0 } },
        ),
      )
      await stage.drive()
      const elsewhere = stage.bench.beside!()
      const heard: LivePart[] = []
      const run = await stage.start('a')
      elsewhere.listen(run, (part) => heard.push(part))
      await until('it is out', () => wait.waiting === 1)
      await until('it is known who listens', () => {
        show('anybody?')
        return heard.length > 0
      })
      const words = Array.from({ length: 500 }, (_, i) => `${i} `)
      const textOf = (attempt: number): string =>
        heard.flatMap(({ attempt: each, part }) => (each === attempt && isDelta(part) ? [part.text] : [])).join('')
      for (const attempt of [1, 2]) {
        await until('it is out', () => wait.attempts.length === attempt && wait.waiting === 1)
        const { position } = (await elsewhere.read(run)).at(-1)!
        for (const text of words) show({ type: 'text.delta', id: '0', text })
        if (attempt === 1) wait.fail(new Error('once more'))
        else wait.open('done')
        await elsewhere.changed(run, position)
        assert.equal(textOf(attempt), words.join(''))
      }
      assert.deepEqual(await stage.outcome(run), completed('done'))
      assert.ok(heard.every(({ activation, address }) => activation === rootActivation(run) && address === 's'))
      assert.ok(heard.findIndex(({ attempt }) => attempt === 2) > heard.findLastIndex(({ attempt }) => attempt === 1))
    },
  },
  {
    invariant: 'K11',
    name: 'usage rolls up by agent and model; what is not known stays unknown',
    async play(stage) {
      const used = (
        agent: string,
        input: number | undefined,
      ): { usage: { agent: string; model: string; used: { input: number; output: number } | undefined } } => ({
        usage: { agent, model: 'm', used: input === undefined ? undefined : { input, output: 1 } },
      })
      stage.agent('worker', async (ctx, input) =>
        step(ctx, 's', () => 1, {
          effect: 'model',
          settle: () => used('worker', (input as number | null) ?? undefined),
        }),
      )
      stage.agent('lead', async (ctx) => {
        await step(ctx, 's', () => 1, { effect: 'model', settle: () => used('lead', 100) })
        for (const input of [10, 5, null]) await ctx.next(ctx.scope('w').start('worker', input))
        return 'done'
      })
      await stage.drive()
      const { usage } = await stage.play('lead')
      const rows = usage.map(({ agent, calls, input, output, unknown, unpriced }) => [
        agent,
        calls,
        input,
        output,
        unknown,
        unpriced,
      ])
      assert.deepEqual(rows, [
        ['lead', 1, 100, 1, 0, 1],
        ['worker', 3, 15, 2, 1, 3],
      ])
    },
  },
]
