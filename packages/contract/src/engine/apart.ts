/**
 * Contract: workers that are placed apart. Each is a run of its own, which any process may take up; to its leader it is
 * a worker like any other.
 */
import assert from 'node:assert/strict'
import {
  completed,
  ReeveError,
  rootActivation,
  runId,
  runOf,
  withoutOwnWork,
  type ActivationId,
  type Json,
  type Outcome,
  type RunId,
} from '@reeve/core'
import type { Context, StartWorkerOptions, StepOptions } from '@reeve/engine'
import { ended, gate, question, step, until, type Play, type Stage } from './stage.ts'

const apart: StartWorkerOptions = { place: 'apart' }
const outputOrCode = (outcome: Outcome): Json =>
  outcome.status === 'completed' ? outcome.output : outcome.status === 'failed' ? outcome.failure.code : outcome.status
/** Starts a worker apart and waits for its end. */
const asks = async (
  ctx: Context,
  worker: string,
  input: Json = null,
  options: StartWorkerOptions = {},
): Promise<Json> => outputOrCode(await ended(ctx, ctx.start(worker, input, { ...apart, ...options })))

/** The workers of a run that are placed apart, each a run. */
const children = async ({ engine }: Stage, run: RunId): Promise<readonly RunId[]> =>
  (await engine.runs({ childrenOf: run })).map((each) => each.run)

const spend = (tokens: number, used: number): StepOptions => ({
  effect: 'model',
  reserve: { tokens },
  retry: { attempts: 1 },
  settle: () => ({ charge: { tokens: used } }),
})

const lives: readonly Play[] = [
  {
    invariant: 'K7',
    name: 'a worker placed apart is a run of its own; its leader gets its end, and lists show the root run only',
    async play(stage) {
      stage.agent('w', async (ctx, input) => {
        const { run, path } = ctx.place
        return [await step(ctx, 'work', stage.does('work')), input, run, [...path]]
      })
      stage.agent('lead', async (ctx) => asks(ctx, 'w', 'brief'))
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(await stage.outcome(run), completed(['work', 'brief', run, ['lead', 'w']]))
      const [child, ...others] = await children(stage, run)
      assert.deepEqual([child, others], [`${run}>>w`, []])
      assert.deepEqual(
        (await stage.engine.runs()).map((each) => each.run),
        [run],
      )
      assert.deepEqual(
        (await stage.events(child!)).map(({ activation, event }) => [activation, event.type]),
        ['activation.started', 'step.begun', 'step.settled', 'activation.settled'].map((type) => [
          rootActivation(child!),
          type,
        ]),
      )
      assert.deepEqual(
        (await stage.all(run, 'worker.started')).map((event) => event.apart),
        [true],
      )
    },
  },
  {
    invariant: 'K1',
    name: 'leader and worker apart go on after a kill at any moment; what was done is done once',
    restarts: true,
    async play(stage) {
      const slow = gate()
      stage.agent('w', async (ctx) => [
        await step(ctx, 'before', stage.does('before')),
        await step(ctx, 'slow', slow.effect),
      ])
      stage.agent('lead', async (ctx) => [
        await step(ctx, 'own', stage.does('own')),
        await asks(ctx, 'w'),
        await step(ctx, 'last', stage.does('last')),
      ])
      await stage.drive()
      const run = await stage.start('lead')
      await until('the worker is at work', () => slow.waiting === 1)
      await stage.restart('kill')
      await until('it is at work again', () => slow.waiting === 2)
      slow.open('slow')
      assert.deepEqual(await stage.outcome(run), completed(['own', ['before', 'slow'], 'last']))
      assert.deepEqual([stage.count('own'), stage.count('before'), stage.count('last')], [1, 1, 1])
    },
  },
  {
    invariant: 'K7',
    name: 'workers placed apart have workers apart; each end comes to its leader',
    async play(stage) {
      stage.agent('leaf', async (ctx, input) => step(ctx, 'leaf', stage.does('leaf', input)))
      stage.agent('middle', async (ctx, input) => {
        const ids = [1, 2].map((n) => ctx.scope('part').start('leaf', (input as number) + n, apart))
        const words: Json[] = []
        for (const id of ids) words.push(outputOrCode(await ended(ctx, id)))
        return words
      })
      stage.agent('lead', async (ctx) => {
        const local = ctx.start('middle', 10, { name: 'beside' })
        return [await asks(ctx, 'middle', 20), outputOrCode(await ended(ctx, local))]
      })
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(
        await stage.outcome(run),
        completed([
          [21, 22],
          [11, 12],
        ]),
      )
      assert.equal((await children(stage, run)).length, 5)
      await assert.rejects(stage.engine.remove((await children(stage, run))[0]!), (thrown) =>
        ReeveError.is(thrown, 'run.conflict'),
      )
      await stage.engine.remove(run)
      assert.deepEqual(await children(stage, run), [])
    },
  },
  {
    invariant: 'K3',
    name: 'a worker apart without a registered agent fails as usual; its end survives a new leader segment',
    restarts: true,
    async play(stage) {
      const slow = gate()
      stage.agent('w', async (ctx) => step(ctx, 'slow', slow.effect))
      stage.agent('lead', async (ctx) => {
        if (ctx.carried === undefined) {
          const refused = await asks(ctx, 'stranger')
          const id = ctx.start('w', null, apart)
          ctx.restart([refused, id])
        }
        const [refused, id] = ctx.carried as [Json, ActivationId]
        return [refused, outputOrCode(await ended(ctx, id))]
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('the worker is at work', () => slow.waiting === 1)
      await stage.restart('kill')
      await until('it is at work again', () => slow.waiting === 2)
      slow.open('done')
      assert.deepEqual(withoutOwnWork(await stage.outcome(run)), completed(['agent.not-registered', 'done']))
    },
  },
]

const outcomeCases: readonly Play[] = [
  {
    invariant: 'K3',
    name: 'leader and worker apart write to each other, and share the values of their run',
    async play(stage) {
      stage.agent('w', async (ctx, input) => {
        const leader = input as ActivationId
        const { body } = (await ctx.next((each) => each.type === 'message')) as { body: Json }
        const seen = await ctx.values.get('note')
        await ctx.values.set('note', 'from the worker')
        ctx.send(leader, 'done')
        return [body, seen]
      })
      stage.agent('lead', async (ctx) => {
        await ctx.values.set('note', 'from the leader')
        const id = ctx.start('w', ctx.place.activation, apart)
        ctx.send(id, 'hello')
        const heard = (await ctx.next((each) => each.type === 'message')) as { from: ActivationId; body: Json }
        const outcome = outputOrCode(await ended(ctx, id))
        return [heard.body, heard.from === id, outcome, await ctx.values.get('note')]
      })
      await stage.drive()
      assert.deepEqual(
        (await stage.play('lead')).outcome,
        completed(['done', true, ['hello', 'from the leader'], 'from the worker']),
      )
    },
  },
  {
    invariant: 'K9',
    name: 'a question of a worker apart belongs to its run: the run waits, and the answer resumes it',
    restarts: true,
    async play(stage) {
      stage.agent('w', async (ctx) => outputOrCode((await ctx.next(ctx.ask('q', question('int_1')))).outcome))
      stage.agent('lead', async (ctx) => asks(ctx, 'w'))
      await stage.drive()
      const run = await stage.start('lead')
      const asked = await stage.question(run)
      assert.equal(runOf(asked.activation), `${run}>>w`)
      await stage.fence()
      stage.clock.advance(2_000)
      await stage.status(run, 'waiting')
      await stage.restart('kill')
      assert.equal(await stage.answer(asked, 'yes'), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed('yes'))
    },
  },
  {
    invariant: 'K8',
    name: 'a cancel reaches a worker apart; its leader ends after it, and both are undone',
    async play(stage) {
      const slow = gate()
      const undone: string[] = []
      stage.agent('w', async (ctx) => {
        ctx.onCancel('worker', async (undo) => void (await step(undo, 'undo', () => undone.push('worker'))))
        return step(ctx, 'slow', slow.effect)
      })
      stage.agent('lead', async (ctx) => {
        ctx.onCancel('leader', async (undo) => void (await step(undo, 'undo', () => undone.push('leader'))))
        return asks(ctx, 'w')
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('the worker is at work', () => slow.waiting === 1)
      assert.equal(await stage.post({ type: 'cancel', run, reason: 'enough' }), 'accepted')
      assert.deepEqual(await stage.outcome(run), { status: 'cancelled', reason: 'enough' })
      assert.deepEqual([undone, slow.aborted], [['worker', 'leader'], 1])
      assert.equal((await stage.engine.outcome(`${run}>>w` as RunId)).outcome.status, 'cancelled')
    },
  },
  {
    invariant: 'K8',
    name: 'a worker apart that is out of time is stopped, and ends as that',
    async play(stage) {
      const slow = gate()
      stage.agent('w', async (ctx) => step(ctx, 'slow', slow.effect))
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('w', null, apart)
        const timer = ctx.ask('deadline', { until: new Date(ctx.now().getTime() + 1_000) })
        await ctx.next(timer)
        ctx.stop(worker, 'out of time', { timedOutMs: 1_000 })
        return outputOrCode(await ended(ctx, worker))
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('the worker is at work', () => slow.waiting === 1)
      stage.clock.advance(1_001)
      assert.deepEqual(withoutOwnWork(await stage.outcome(run)), completed('timed-out'))
    },
  },
  {
    invariant: 'K8',
    name: 'a pause holds back workers apart, also later ones; a resume releases all of them',
    restarts: true,
    async play(stage) {
      const first = gate()
      stage.agent('w', async (ctx, input) => {
        await step(ctx, 'first', first.effect)
        return step(ctx, 'second', stage.does(`second ${input as string}`))
      })
      stage.agent('lead', async (ctx) => asks(ctx, 'w', 'a'))
      await stage.drive()
      const run = await stage.start('lead')
      const child = `${run}>>w` as RunId
      await until('the worker is at work', () => first.waiting === 1)
      assert.equal(await stage.post({ type: 'pause', run, at: 'next', by: 'ann' }), 'accepted')
      await stage.status(child, 'pausing')
      first.open()
      await stage.status(child, 'paused')
      await stage.status(run, 'paused')
      await stage.fence()
      assert.equal(stage.count('second a'), 0)
      await stage.restart('kill')
      assert.equal(await stage.post({ type: 'resume', run, by: 'ann' }), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed('second a'))
    },
  },
]

const accounts: readonly Play[] = [
  {
    invariant: 'K11',
    name: 'a worker apart reserves its budget at birth, cannot exceed it, and returns the rest',
    async play(stage) {
      const slow = gate()
      stage.agent('w', async (ctx) => [
        outputOrCode(await ended(ctx, ctx.begin('s1', slow.effect, spend(20, 10)))),
        outputOrCode(
          await ended(
            ctx,
            ctx.begin('s2', () => null, spend(50, 50)),
          ),
        ),
        outputOrCode(
          await ended(
            ctx,
            ctx.begin('s3', () => null, spend(51, 50)),
          ),
        ),
      ])
      stage.agent('lead', async (ctx) => {
        const id = ctx.start('w', null, { ...apart, limits: { tokens: 60 } })
        const beside = outputOrCode(
          await ended(
            ctx,
            ctx.begin('beside', () => 'fits', spend(41, 0)),
          ),
        )
        await ctx.next(ctx.ask('q', question('int_1')))
        const outcome = outputOrCode(await ended(ctx, id))
        return [
          beside,
          outcome,
          outputOrCode(
            await ended(
              ctx,
              ctx.begin('after', () => 'fits', spend(40, 40)),
            ),
          ),
        ]
      })
      await stage.drive()
      const run = await stage.start('lead', null, { limits: { tokens: 100 } })
      const asked = await stage.question(run)
      await until('the worker is at work', () => slow.waiting === 1)
      slow.open('s1')
      await stage.answer(asked, null)
      assert.deepEqual(
        await stage.outcome(run),
        completed(['budget.exceeded', ['s1', null, 'budget.exceeded'], 'fits']),
      )
      assert.deepEqual(
        (await stage.all(run, 'worker.started')).map(({ reserve }) => reserve),
        [{ tokens: 60 }],
      )
      assert.deepEqual(
        (await stage.all(run, 'worker.settled')).map(({ charge }) => charge?.tokens),
        [60],
      )
    },
  },
  {
    invariant: 'K11',
    name: 'a worker apart without a limit gets a tenth of the free budget; without room it does not begin',
    async play(stage) {
      stage.agent('w', async (ctx) => outputOrCode(await ended(ctx, ctx.begin('s', stage.does('s'), spend(11, 11)))))
      stage.agent('lead', async (ctx) => [
        await asks(ctx, 'w'),
        outputOrCode(
          await ended(
            ctx,
            ctx.begin('all', () => 'used', spend(100, 100)),
          ),
        ),
        await asks(ctx, 'w', null, { name: 'large', limits: { tokens: 101 } }),
      ])
      await stage.drive()
      const run = await stage.start('lead', null, { limits: { tokens: 100 } })
      assert.deepEqual(
        withoutOwnWork(await stage.outcome(run)),
        completed(['budget.exceeded', 'used', 'budget.exceeded']),
      )
      assert.deepEqual([stage.ran, (await children(stage, run)).length], [[], 1])
    },
  },
  {
    invariant: 'K11',
    name: 'a worker apart without a limit has turns to work with; those it used count above it, the rest comes back',
    async play(stage) {
      const turn = (ctx: Context, name: string): Promise<Json> =>
        ended(ctx, ctx.begin(name, stage.does(name), { reserve: { turns: 1 }, retry: { attempts: 1 } })).then(
          outputOrCode,
        )
      stage.agent('w', async (ctx, input) => {
        const words: Json[] = []
        for (let n = 0; n < (input as number); n++) words.push(await turn(ctx, 'call'))
        return words
      })
      stage.agent('lead', async (ctx) => {
        const first = await asks(ctx, 'w', 2, { name: 'first' })
        const second = await asks(ctx, 'w', 10, { name: 'second' })
        const given = await asks(ctx, 'w', 9, { name: 'given', turns: 9 })
        const own: Json[] = []
        for (let n = 0; n < 2; n++) own.push(await turn(ctx, 'own'))
        return [first, second, given, own]
      })
      await stage.drive()
      const run = await stage.start('lead', null, { limits: { turns: 20 } })
      const full = 'budget.exceeded'
      assert.deepEqual(
        await stage.outcome(run),
        completed([
          ['call', 'call'],
          [...Array<Json>(9).fill('call'), full],
          Array<Json>(9).fill('call'),
          [full, full],
        ]),
      )
      assert.deepEqual(
        (await stage.all(run, 'worker.started')).map(({ reserve }) => reserve),
        [{ turns: 10 }, { turns: 9 }, { turns: 9 }],
      )
      assert.equal(stage.ran.length, 20)
    },
  },
]

const others: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'another attempt at the work of a worker apart knows what that one has done',
    async play(stage) {
      stage.agent('w', async (ctx, input) => {
        await step(ctx, 'pay', stage.does('pay'), { effect: 'once' })
        if (input === 'fails') throw new Error('no')
        return 'paid'
      })
      stage.agent('lead', async (ctx) => {
        const first = ctx.start('w', 'fails', apart)
        const one = outputOrCode(await ended(ctx, first))
        return [one, await asks(ctx, 'w', null, { after: first })]
      })
      await stage.drive()
      assert.deepEqual((await stage.play('lead')).outcome, completed(['orchestration.threw', 'paid']))
      assert.equal(stage.count('pay'), 1)
    },
  },
  {
    invariant: 'K6',
    name: 'a fork is one run: it has ended apart results, and asks before repeating effects of unfinished ones',
    async play(stage) {
      const slow = gate()
      stage.agent('w', async (ctx, input) => {
        const paid = await step(ctx, 'pay', stage.does(`pay ${input as string}`), { effect: 'once' })
        return input === 'a' ? paid : [paid, await step(ctx, 'slow', slow.effect, { effect: 'read' })]
      })
      stage.agent('lead', async (ctx) => [
        await asks(ctx, 'w', 'a', { name: 'a' }),
        await asks(ctx, 'w', 'b', { name: 'b' }),
      ])
      await stage.drive()
      const run = await stage.start('lead')
      await until('the second worker is at work', () => slow.waiting === 1)
      const { position: at } = (await stage.events(run)).findLast(({ event }) => event.type === 'worker.started')!
      const to = runId('fork')
      assert.deepEqual(await stage.engine.fork({ run, at, to }), { created: true })
      const asked = await stage.question(to, 'in-doubt')
      assert.equal(asked.activation, `${rootActivation(to)}>b`)
      await stage.post({
        type: 'settle-doubt',
        activation: asked.activation,
        address: asked.address,
        happened: true,
        value: 'pay b',
      })
      await until('both are at work', () => slow.waiting === 2)
      slow.open('slow')
      const end = completed(['pay a', ['pay b', 'slow']])
      assert.deepEqual([await stage.outcome(run), await stage.outcome(to)], [end, end])
      assert.deepEqual([stage.count('pay a'), stage.count('pay b'), await children(stage, to)], [1, 1, []])
      await assert.rejects(stage.engine.fork({ run: `${run}>>a` as RunId, at: 1, to: runId('other') }), (thrown) =>
        ReeveError.is(thrown, 'fork.invalid'),
      )
    },
  },
]

export const apartCases: readonly Play[] = [...lives, ...outcomeCases, ...accounts, ...others]
