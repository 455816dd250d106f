/**
 * Everything ends once, and what never left was never there: what the kernel owes to those who stop, crash, close and
 * restart.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { cancelled, completed, type Json, type OpId, type Outcome } from '@reeve/core'
import type { Context, StepIO } from '@reeve/engine'
import { manualClock } from '@reeve/testing'
import { checkJournal } from '../../packages/testing/src/journal-check.ts'
import { gate, question, step, until } from '../../packages/contract/src/engine/stage.ts'
import { Bench, calm, ended, isMessage, listening, never, root, run, start, types, type Body } from './disk-bench.ts'

let bench = new Bench()
afterEach(async () => {
  await bench.dispose()
  bench = new Bench()
})

describe('K6: what is in doubt', () => {
  test('K6: a `once` effect held back by an orderly close runs in the next process without a question', async () => {
    let ran = 0
    const agents = { lead: async (ctx: Context) => step(ctx, 'pay', () => ++ran, { effect: 'once' }) }
    for (let turn = 0; turn < 6; turn++) {
      const first = bench.engine(agents, { durability: 'strict' })
      const before = ran
      start(first).catch(() => undefined)
      for (let i = 0; i <= turn; i++) await new Promise((resolve) => setImmediate(resolve))
      await first.close()
      const second = bench.engine(agents)
      await start(second)
      expect(await second.questions()).toEqual([])
      expect((await second.outcome(run)).outcome.status).toBe('completed')
      expect(ran).toBe(before + 1)
      await bench.dispose()
      bench = new Bench()
    }
  })

  test('K6: closing does not wait for ever for a `once` effect: one that does not end in time is in doubt', async () => {
    const clock = manualClock()
    const engine = bench.engine({ lead: async (ctx) => step(ctx, 'pay', never, { effect: 'once' }) }, { clock })
    await start(engine)
    await calm()
    const closed = engine.close({ graceMs: 0 })
    await calm(20)
    clock.advance(4_000)
    clock.advance(2_000)
    await closed
    const next = bench.engine({ lead: async (ctx) => step(ctx, 'pay', never, { effect: 'once' }) }, { clock })
    await until('somebody is asked', async () => (await next.questions()).length > 0)
    expect(await next.questions()).toMatchObject([{ kind: 'in-doubt', address: 'pay' }])
    await bench.kill()
  })

  test('K6: a `once` effect that is aborted by the close and says so is in doubt, not cancelled', async () => {
    const clock = manualClock()
    const agents = { lead: async (ctx: Context) => step(ctx, 'pay', listening, { effect: 'once' }) }
    const engine = bench.engine(agents, { clock })
    await start(engine)
    await calm()
    const closed = engine.close({ graceMs: 0 })
    await calm(20)
    clock.advance(4_000)
    await closed
    const next = bench.engine(agents, { clock })
    await until('somebody is asked', async () => (await next.questions()).some(({ kind }) => kind === 'in-doubt'))
    expect(await types(next)).not.toContain('step.settled')
    await bench.kill()
  })
})

describe('K1: an operation ends once', () => {
  test('K1: an answer that comes in the commit which withdraws its question changes nothing', async () => {
    const wait = gate()
    const engine = bench.engine({
      lead: async (ctx) => {
        const asked = ctx.ask('q', question('q'))
        await step(ctx, 's', wait.effect)
        ctx.stop(asked, 'not needed')
        const outcome = await ended(ctx, asked)
        await step(ctx, 't', () => calm(20).then(() => 1))
        return outcome.status
      },
    })
    await start(engine)
    await until('the step is out', () => wait.waiting === 1)
    wait.open()
    for (let i = 0; i < 3; i++) await Promise.resolve()
    await engine.post({ type: 'answer', activation: root, address: 'q', outcome: completed('yes') })
    expect((await engine.outcome(run)).outcome).toEqual(completed('cancelled'))
    expect(checkJournal(await engine.read(run))).toEqual([])
    expect((await types(engine)).filter((type) => type === 'ask.settled')).toHaveLength(1)
  })

  test('K1: a doubt settled in the commit that stops the effect changes nothing, and its row is consumed', async () => {
    const hold = gate()
    let said: Promise<unknown> | undefined
    let settle: () => Promise<unknown> = () => Promise.resolve()
    const agents = {
      lead: async (ctx: Context) => {
        const pay = ctx.begin('pay', never, { effect: 'once' })
        await ctx.next(isMessage)
        ctx.stop(pay, 'never mind')
        said = settle()
        await step(ctx, 'later', hold.effect)
        return (await ended(ctx, pay)).status
      },
    }
    await start(bench.engine(agents))
    await calm()
    await bench.kill()
    const engine = bench.engine(agents)
    await until('it is in doubt', async () => (await engine.questions()).length === 1)
    settle = () =>
      engine.post({ type: 'settle-doubt', activation: root, address: 'pay', happened: true, value: 'paid' })
    await engine.post({ type: 'message', activation: root, id: 'm', body: 1 })
    await until('the step is out', () => hold.waiting === 1)
    await said
    await calm(20)
    expect(bench.rows("SELECT key FROM inbox WHERE taken = 0 AND act = 'act_run_e'")).toEqual([])
    hold.open()
    await engine.outcome(run)
    expect(checkJournal(await engine.read(run))).toEqual([])
  })

  test('K1: stopped, then called back by a pause: an effect ends as stopped, once', async () => {
    const clock = manualClock()
    const wait = gate()
    const long = gate()
    let runs = 0
    let giveIn: () => void = () => {}
    const slow = (io: StepIO): Promise<Json> => {
      runs++
      return new Promise((_, reject) =>
        io.signal.addEventListener('abort', () => (giveIn = () => reject(new Error('aborted')))),
      )
    }
    const engine = bench.engine(
      {
        lead: async (ctx) => {
          const other = ctx.begin('long', long.effect, { effect: 'once' })
          const id = ctx.begin('slow', slow)
          await step(ctx, 's', wait.effect)
          ctx.stop(id, 'enough')
          await ctx.next(other)
          return (await ended(ctx, id)).status
        },
      },
      { clock },
    )
    await start(engine)
    await until('both are out', () => wait.waiting + long.waiting === 2)
    wait.open()
    await calm(20)
    await engine.post({ type: 'pause', run, at: 'now' })
    await calm(20)
    giveIn()
    await calm(20)
    clock.advance(3_000)
    await calm(20)
    await engine.post({ type: 'resume', run })
    await calm(20)
    long.open()
    expect(runs).toBe(1)
    expect((await engine.outcome(run)).outcome).toEqual(completed('cancelled'))
    expect(checkJournal(await engine.read(run))).toEqual([])
  })

  test('K1: what a restart called off is not carried along', async () => {
    const engine = bench.engine({
      lead: async (ctx) => {
        const n = (ctx.carried as number | undefined) ?? 0
        if (n === 5) return n
        ctx.begin('poll', listening)
        await step(ctx, 's', () => calm(2).then(() => 1))
        return ctx.restart(n + 1)
      },
    })
    await start(engine)
    expect((await engine.outcome(run)).outcome).toEqual(completed(5))
    const events = await engine.read(run)
    expect(events.flatMap(({ event }) => (event.type === 'activation.restarted' ? event.unread : []))).toEqual([])
    expect(checkJournal(events)).toEqual([])
    expect(engine.driver.effects.size).toBe(0)
  })
})

describe('K10: what was recorded is what goes on', () => {
  test('K10: the time in a second segment is the same after a crash', async () => {
    const clock = manualClock()
    const seen: number[] = []
    const agents = {
      lead: async (ctx: Context) => {
        if (ctx.carried === undefined) {
          await step(ctx, 's', () => 1)
          ctx.restart('x')
        }
        seen.push(ctx.now().getTime())
        return ended(ctx, ctx.ask('q', question('q'))).then(({ status }) => status)
      },
    }
    const first = bench.engine(agents, { clock })
    first.driver.closing = true
    const started = start(first)
    clock.advance(5_000)
    first.driver.closing = false
    first.driver.schedule()
    await started
    await until('it has asked', async () => (await first.questions()).length === 1)
    await bench.kill()
    const second = bench.engine(agents, { clock })
    const [asked] = await second.questions()
    await second.post({ type: 'answer', activation: root, address: asked!.address, outcome: completed(1) })
    await second.outcome(run)
    expect(seen[1]).toBe(seen[0])
  })

  test('K10: live code goes on with the state of a restart as it was recorded', async () => {
    const lead = async (ctx: Context): Promise<Json> => {
      const carried = ctx.carried as { token: string; when: string; gone?: string } | undefined
      if (carried === undefined) ctx.restart({ token: 's3cret', when: new Date(0) as never, gone: undefined as never })
      return [carried.token === 's3cret', typeof carried.when, 'gone' in carried]
    }
    const engine = bench.engine({ lead }, { redact: { values: ['s3cret'] } })
    await start(engine)
    expect((await engine.outcome(run)).outcome).toEqual(completed([false, 'string', false]))
  })
})

describe('K7: what cannot be written down', () => {
  const bad = { n: 10n } as never
  const playBad = async (lead: Body): Promise<Outcome> => {
    const engine = bench.engine({ lead, worker: async () => 1 })
    await start(engine)
    const { outcome } = await engine.outcome(run)
    expect(checkJournal(await engine.read(run))).toEqual([])
    return outcome
  }

  test('K7: code that restarts with what is not JSON has failed and says so; what it returns is kept in another form', async () => {
    expect(await playBad(async (ctx) => ctx.restart(bad))).toMatchObject({
      status: 'failed',
      failure: { code: 'input.not-json' },
    })
    await bench.dispose()
    bench = new Bench()
    expect(await playBad(async () => bad)).toEqual({
      status: 'completed',
      output: { n: '10' },
      kept: { as: 'form', why: 'result.n is a bigint, kept as its digits' },
    })
  })

  test('K7: a worker or a message that is not JSON is refused before anything of it is recorded', async () => {
    const outcome = await playBad(async (ctx) => {
      const codes: string[] = []
      for (const verb of [() => ctx.start('worker', bad), () => ctx.send(root, bad)]) {
        try {
          verb()
        } catch (thrown) {
          codes.push((thrown as { code: string }).code)
        }
      }
      return codes
    })
    expect(outcome).toEqual(completed(['input.not-json', 'input.not-json']))
  })

  test('K7: a run whose input is not JSON is refused and leaves nothing behind', async () => {
    const engine = bench.engine({ lead: async () => 1 })
    await expect(start(engine, { input: bad })).rejects.toMatchObject({ code: 'input.not-json' })
    expect(await engine.runs()).toEqual([])
  })
})

describe('K4', () => {
  test('K4: what is of another kind in the journal is not taken for what the code asks for', async () => {
    await start(bench.engine({ lead: async (ctx) => step(ctx, 'x', never) }))
    await calm()
    await bench.kill()
    const engine = bench.engine({
      x: async () => 'worker',
      lead: async (ctx) => ended(ctx, ctx.start('x', null)).then(({ status }) => status),
    })
    await until('it is stuck', async () => (await engine.summary(run))?.status === 'stuck')
    expect(bench.rows("SELECT id FROM activation WHERE id LIKE '%>x'")).toEqual([])
  })

  test('K4: a replay that is stuck costs nothing while it waits', async () => {
    const begin = (ctx: Context): OpId => ctx.begin('background', never, { effect: 'read' })
    await start(
      bench.engine({
        lead: async (ctx) => {
          begin(ctx)
          for (const name of ['s1', 's2']) await step(ctx, name, () => 1)
          return ended(ctx, ctx.ask('q', question('q'))).then(({ status }) => status)
        },
      }),
    )
    await calm()
    await bench.kill()
    const engine = bench.engine({
      lead: async (ctx) => {
        begin(ctx)
        for (const name of ['s1', 'new']) await step(ctx, name, () => 1)
        return 1
      },
    })
    await until('it is stuck', async () => (await engine.summary(run))?.status === 'stuck')
    await until('nothing is left to do', () => !engine.driver.busy)
    await engine.post({ type: 'cancel', run, reason: 'enough' })
    expect((await engine.outcome(run)).outcome).toEqual(cancelled('enough'))
  })
})
