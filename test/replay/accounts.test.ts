/** What is counted: charges settle once, clocks stop, and nothing is kept of those who have ended. */
import { afterEach, describe, expect, test } from 'vitest'
import { completed, type Json } from '@reeve/core'
import type { EmbeddedEngine } from '@reeve/sqlite'
import type { Context } from '@reeve/engine'
import { manualClock, verifyReplay } from '@reeve/testing'
import { checkJournal } from '../../packages/testing/src/journal-check.ts'
import { gate, question, step, until } from '../../packages/contract/src/engine/stage.ts'
import { Bench, calm, ended, isMessage, listening, never, registry, root, run, start, types } from './disk-bench.ts'

let bench = new Bench()
afterEach(async () => {
  await bench.dispose()
  bench = new Bench()
})

describe('K11: accounts', () => {
  test('K11: an account is settled with the end that is recorded, however often the process dies before it', async () => {
    const tidy = gate()
    const wait = gate()
    const agents = {
      worker: async (ctx: Context) => {
        ctx.onCancel('tidy', async (undo) => void (await step(undo, 'slow', tidy.effect)))
        return step(ctx, 'x', listening)
      },
      lead: async (ctx: Context) => {
        ctx.begin('m', never, { effect: 'read', reserve: { tokens: 100 } })
        ctx.start('worker', null)
        await step(ctx, 's', wait.effect)
        return 1
      },
    }
    await start(bench.engine(agents), { limits: { tokens: 1_000 } })
    await until('it is at work', () => wait.waiting === 1)
    wait.open()
    for (let turn = 0; turn < 2; turn++) {
      await until('the worker is being undone', () => tidy.attempts.length > turn)
      expect(bench.accounts()[0]).toMatchObject({ spent: { tokens: 0 }, reserved: { tokens: 100 }, unknown: 0 })
      await bench.kill()
      bench.engine(agents)
    }
    await until('the worker is being undone', () => tidy.attempts.length > 2)
    tidy.open()
    await until('it has ended', () => bench.accounts()[0]!.reserved.tokens === 0)
    expect(bench.accounts()[0]).toMatchObject({ spent: { tokens: 100 }, unknown: 1 })
  })

  test('K11: a step that was stopped before it left used nothing', async () => {
    const engine = bench.engine({
      lead: async (ctx) => {
        const id = ctx.begin('m', () => 1, { effect: 'model', reserve: { turns: 1, tokens: 900 } })
        ctx.stop(id, 'changed my mind')
        return (await ended(ctx, id)).status
      },
    })
    await start(engine, { limits: { tokens: 1_000 } })
    expect((await engine.outcome(run)).outcome).toEqual(completed('cancelled'))
    expect(bench.accounts()[0]).toMatchObject({ spent: { tokens: 0 }, reserved: { tokens: 0 }, unknown: 0 })
  })

  test('K11: a reservation for a step that the code no longer asks for is spent, not reserved for ever', async () => {
    const reserve = { tokens: 600 }
    await start(bench.engine({ lead: async (ctx) => step(ctx, 'm', never, { effect: 'model', reserve }) }), {
      limits: { tokens: 1_000 },
    })
    await calm()
    await bench.kill()
    const engine = bench.engine({ lead: async () => 1 })
    await engine.outcome(run)
    expect(bench.accounts()[0]).toMatchObject({ spent: { tokens: 600 }, reserved: { tokens: 0 }, unknown: 1 })
  })

  /** Pays within the budget, and fails; the next attempt finds the budget spent. `hangs`: the payment never answers. */
  const paysTwice = (paid: string[], hangs: boolean) => ({
    worker: async (ctx: Context) => {
      const pay = (): Json => {
        paid.push('paid')
        if (hangs) throw new Error('the line went dead')
        return 'receipt'
      }
      const once = { effect: 'once', reserve: { tokens: 400 }, settle: () => ({ charge: { tokens: 400 } }) } as const
      const receipt = await step(ctx, 'pay', pay, once)
      if (paid.length === 1 && !ctx.place.activation.endsWith('#1')) throw new Error('a slip')
      return receipt
    },
    lead: async (ctx: Context) => {
      const first = ctx.start('worker', null)
      await ended(ctx, first)
      await step(ctx, 'spend', () => 1, {
        effect: 'model',
        reserve: { tokens: 600 },
        settle: () => ({ charge: { tokens: 600 } }),
      })
      const again = await ended(ctx, ctx.start('worker', null, { after: first }))
      return again.status === 'failed' ? again.failure.code : again.status === 'completed' ? again.output : again.status
    },
  })

  test('K6: what an earlier attempt has made is no matter of the budget, and costs nothing again', async () => {
    const paid: string[] = []
    const engine = bench.engine(paysTwice(paid, false))
    await start(engine, { limits: { tokens: 1_000 } })
    expect((await engine.outcome(run)).outcome).toEqual(completed('receipt'))
    expect(paid).toHaveLength(1)
    expect(bench.accounts()[0]).toMatchObject({ spent: { tokens: 1_000 }, reserved: { tokens: 0 }, unknown: 0 })
  })

  test.each([
    [true, 'receipt of the bank'],
    [false, 'orchestration.threw'],
  ])(
    'K6: of what an earlier attempt may have made it is asked before the budget refuses it (it happened: %s)',
    async (happened, answer) => {
      const paid: string[] = []
      const agents = paysTwice(paid, true)
      const engine = bench.engine(agents)
      await start(engine, { limits: { tokens: 1_000 } })
      await until('it is asked', async () => (await engine.questions()).length === 1)
      await bench.kill()
      const next = bench.engine(agents)
      await until('it is still asked', async () => (await next.questions()).length === 1)
      const [doubt] = await next.questions()
      expect(doubt).toMatchObject({ kind: 'in-doubt', address: 'pay' })
      const { activation, address } = doubt!
      await next.post({
        type: 'settle-doubt',
        activation,
        address,
        happened,
        ...(happened && { value: answer }),
      } as never)
      expect((await next.outcome(run)).outcome).toMatchObject({ status: 'completed', output: answer })
      const log = await next.read(run)
      expect(log.some(({ event }) => JSON.stringify(event).includes('"code":"budget.exceeded"'))).toBe(true)
      expect(
        log.some(({ event }) => event.type === 'step.settled' && JSON.stringify(event.outcome).includes('budget')),
      ).toBe(!happened)
      expect(paid).toHaveLength(1)
    },
  )

  test('K8: a clock of working minutes is called off when the work is over', async () => {
    const clock = manualClock()
    const lead = async (ctx: Context): Promise<Json> => {
      for (let i = 0; i < 20; i++) await step(ctx, 's', () => 1)
      return 1
    }
    const engine = bench.engine({ lead }, { clock })
    await start(engine, { limits: { minutes: 30 } })
    await engine.outcome(run)
    expect(clock.pending).toBe(0)
  })

  test('K11: workers with limits of their own leave no account in memory when they have ended', async () => {
    let most = 0
    const engine: EmbeddedEngine = bench.engine({
      worker: async (ctx) => step(ctx, 's', () => 1),
      lead: async (ctx) => {
        for (let i = 0; i < 50; i++) {
          await ctx.next(ctx.start('worker', i, { name: `w${i}`, limits: { turns: 9 } }))
          most = Math.max(most, engine.driver.runs.get(run)!.accounts.size)
        }
        return 1
      },
    })
    await start(engine, { limits: { tokens: 1_000 } })
    await engine.outcome(run)
    expect(most).toBeLessThan(3)
  })
})

describe('K2', () => {
  test('K2: after waking, a run knows how many questions it has open', async () => {
    const hold = gate()
    const agents = {
      lead: async (ctx: Context) => {
        for (let i = 0; i < 3; i++) await ctx.next(ctx.ask('q', question(`q${i}`)))
        for (const name of ['open1', 'open2']) ctx.ask(name, question(name))
        await ctx.next(isMessage)
        return step(ctx, 's', hold.effect)
      },
    }
    const engine = bench.engine(agents)
    await start(engine)
    for (let i = 0; i < 3; i++) {
      await until('it asks', async () => (await engine.questions()).some(({ id }) => id === `q${i}`))
      const asked = (await engine.questions()).find(({ id }) => id === `q${i}`)!
      await engine.post({ type: 'answer', activation: root, address: asked.address, outcome: completed(1) })
    }
    await until('it asks twice', async () => (await engine.questions()).length === 2)
    await engine.post({ type: 'message', activation: root, id: 'm', body: 1 })
    await until('it has woken', () => hold.waiting === 1)
    expect(engine.driver.runs.get(run)?.questions).toBe(2)
    hold.open()
    await engine.outcome(run)
  })
})

describe('K8: the time of compensations', () => {
  test('K8: time without a process does not count for a compensation; working time does, also in a replay', async () => {
    const clock = manualClock()
    const hang = gate(true)
    const agents = {
      lead: async (ctx: Context) => {
        ctx.onCancel('hangs', async (undo) => void (await step(undo, 's', hang.effect)))
        return step(ctx, 'work', listening)
      },
    }
    const options = { clock, undoWithinMs: 5_000 }
    const first = bench.engine(agents, options)
    await start(first)
    await calm()
    await first.post({ type: 'cancel', run, reason: 'enough' })
    await until('it is being undone', () => hang.attempts.length === 1)
    await bench.kill()
    clock.advance(600_000)
    const second = bench.engine(agents, options)
    await until('it is being undone again', () => hang.attempts.length === 2)
    await until(
      'it was given time again',
      async () => (await types(second)).filter((type) => type === 'timer.set').length === 2,
    )
    clock.advance(4_000)
    await calm(20)
    expect(await types(second)).not.toContain('activation.settled')
    await bench.kill()
    const third = bench.engine(agents, options)
    await until('it is being undone once more', () => hang.attempts.length === 3)
    clock.advance(11_000)
    expect((await third.outcome(run)).outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'orchestration.threw' },
    })
    expect(checkJournal(await third.read(run))).toEqual([])
    const verdict = await verifyReplay(third, registry(agents), run)
    expect(verdict.problems).toEqual([])
  })
})
