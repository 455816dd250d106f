/**
 * Contract: accounts. Reserved before an effect, settled when its end is known, over the whole tree, never above the
 * limit (K8, K11).
 */
import assert from 'node:assert/strict'
import { completed, type Json, type Outcome, type Usage } from '@reeve/core'
import type { Context, StepIO, StepOptions } from '@reeve/engine'
import { runView } from '@reeve/journal'
import { ended, gate, question, step, until, type Play } from './stage.ts'

/** Reserves `tokens`; says that it used `used`, or nothing at all. */
const spend = (tokens: number, used?: number): StepOptions => ({
  effect: 'model',
  reserve: { tokens },
  retry: { attempts: 1 },
  ...(used === undefined ? {} : { settle: () => ({ charge: { tokens: used } }) }),
})

/** A call of the model "m". */
const asks = (tokens: number): StepOptions => ({
  ...spend(tokens),
  as: { type: 'model.requested', model: 'm', messages: 1 },
})

const rowsOf = (usage: Usage): readonly (readonly (string | number)[])[] =>
  usage
    .map(({ agent, model, calls, input, unknown, unpriced }) => [agent, model, calls, input, unknown, unpriced])
    .sort(([a], [b]) => String(a).localeCompare(String(b)))

const word = (outcome: Outcome): Json => (outcome.status === 'failed' ? outcome.failure.code : outcome.status)

async function spends(
  ctx: Context,
  name: string,
  effect: (io: StepIO) => Json | Promise<Json>,
  options: StepOptions,
): Promise<Json> {
  return word(await ended(ctx, ctx.begin(name, effect, options)))
}

export const budgetCases: readonly Play[] = [
  {
    invariant: 'K8',
    name: 'a step that does not fit is refused and never run; unused reserve can be spent again',
    async play(stage) {
      stage.agent('a', async (ctx) => [
        await spends(ctx, 's1', stage.does('s1'), spend(60, 30)),
        await spends(ctx, 's2', stage.does('s2'), spend(71)),
        await spends(ctx, 's3', stage.does('s3'), spend(70, 70)),
        await spends(ctx, 's4', stage.does('s4'), spend(1)),
        await spends(ctx, 's5', stage.does('s5'), spend(0)),
      ])
      await stage.drive()
      const run = await stage.start('a', null, { limits: { tokens: 100 } })
      assert.deepEqual(
        await stage.outcome(run),
        completed(['completed', 'budget.exceeded', 'completed', 'budget.exceeded', 'completed']),
      )
      assert.deepEqual(stage.ran, ['s1', 's3', 's5'])
    },
  },
  {
    invariant: 'K8',
    name: 'what is in flight counts: the tree never reserves more than the limit',
    async play(stage) {
      const wait = gate()
      stage.agent('worker', async (ctx) => spends(ctx, 's', wait.effect, spend(40, 10)))
      stage.agent('lead', async (ctx) => {
        const workers = Array.from({ length: 5 }, () => ctx.scope('w').start('worker', null))
        const words: Json[] = []
        for (const worker of workers)
          words.push(await ended(ctx, worker).then((o) => (o.status === 'completed' ? o.output : null)))
        return [
          words.filter((word) => word === 'completed').length,
          words.length,
          await spends(ctx, 'own', stage.does('own'), spend(80, 80)),
        ]
      })
      await stage.drive()
      const run = await stage.start('lead', null, { limits: { tokens: 100 } })
      await until('two are out', () => wait.waiting === 2)
      await until('three are refused', async () => (await stage.all(run, 'worker.settled')).length === 3)
      wait.open()
      assert.deepEqual(await stage.outcome(run), completed([2, 5, 'completed']))
      assert.equal(wait.attempts.length, 2)
    },
  },
  {
    invariant: 'K11',
    name: 'a call that does not say what it used, or fails, settles at its reserve',
    async play(stage) {
      const fails = (): Json => {
        throw new Error('no')
      }
      stage.agent('a', async (ctx) => [
        await spends(ctx, 's1', stage.does('s1'), spend(40)),
        await spends(ctx, 's2', fails, spend(40, 0)),
        await spends(ctx, 's3', stage.does('s3'), spend(21)),
        await spends(ctx, 's4', stage.does('s4'), spend(20)),
      ])
      await stage.drive()
      const { outcome } = await stage.play('a', null, { limits: { tokens: 100 } })
      assert.deepEqual(outcome, completed(['completed', 'agent.failed', 'budget.exceeded', 'completed']))
    },
  },
  {
    invariant: 'K11',
    name: 'a stopped model call that left settles at its reserve, usage unknown; one that never left used none',
    async play(stage) {
      const wait = gate()
      stage.agent('worker', async (ctx) => spends(ctx, 's', wait.effect, asks(40)))
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('worker', null)
        const own = ctx.begin('s', wait.effect, asks(10))
        const never = ctx.begin('never', stage.does('never'), asks(30))
        ctx.stop(never, 'no')
        const words = [word(await ended(ctx, never))]
        await ended(
          ctx,
          ctx.begin('wait', () => until('both are out', () => wait.waiting === 2).then(() => null)),
        )
        for (const id of [worker, own]) ctx.stop(id, 'enough')
        words.push(word(await ended(ctx, worker)), word(await ended(ctx, own)))
        words.push(
          await spends(ctx, 'more', stage.does('more'), spend(51)),
          await spends(ctx, 'rest', stage.does('rest'), spend(50, 50)),
        )
        return words
      })
      await stage.drive()
      const run = await stage.start('lead', null, { limits: { tokens: 100 } })
      const { outcome, usage } = await stage.engine.outcome(run)
      assert.deepEqual(outcome, completed(['cancelled', 'cancelled', 'cancelled', 'budget.exceeded', 'completed']))
      assert.deepEqual(rowsOf(usage), [
        ['lead', 'm', 1, 0, 1, 1],
        ['worker', 'm', 1, 0, 1, 1],
      ])
      assert.deepEqual(rowsOf(runView(await stage.events(run)).usage), rowsOf(usage))
      assert.deepEqual(stage.ran, ['rest'])
    },
  },
  {
    invariant: 'K11',
    name: 'a model call in flight at an end, restart, cancel or crash has unknown usage, each attempt once',
    restarts: true,
    async play(stage) {
      const wait = gate()
      const out = async (ctx: Context, waiting: number): Promise<unknown> => {
        ctx.begin('s', wait.effect, asks(10))
        ctx.begin('read', wait.effect, { effect: 'read' })
        return ended(
          ctx,
          ctx.begin('wait', () => until('they are out', () => wait.waiting === waiting).then(() => null)),
        )
      }
      stage.agent('anew', async (ctx) => {
        if (ctx.carried !== undefined) return 'done'
        await out(ctx, 2)
        return ctx.restart('second')
      })
      stage.agent('returns', async (ctx) => {
        await out(ctx, 2)
        ctx.begin('never', stage.does('never'), asks(10))
        return 'done'
      })
      stage.agent('stays', async (ctx) => word((await out(ctx, 2), await ended(ctx, ctx.ask('q', question('int_1'))))))
      stage.agent('lead', async (ctx) => {
        for (const name of ['anew', 'returns']) await ctx.next(ctx.scope('w').start(name, null))
        return (await ended(ctx, ctx.start('stays', null))).status
      })
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      const begun = wait.attempts.length
      await stage.restart('kill')
      await until('they are out again', () => wait.attempts.length === begun + 2)
      await stage.post({ type: 'cancel', run, reason: 'enough' })
      const { outcome, usage } = await stage.engine.outcome(run)
      assert.equal(outcome.status, 'cancelled')
      // killed, made again, and stopped: the provider was asked twice
      const expected = [
        ['anew', 'm', 1, 0, 1, 1],
        ['returns', 'm', 1, 0, 1, 1],
        ['stays', 'm', 2, 0, 2, 2],
      ]
      assert.deepEqual(rowsOf(usage), expected)
      assert.deepEqual(rowsOf(runView(await stage.events(run)).usage), expected)
      assert.deepEqual(stage.ran, [])
    },
  },
  {
    invariant: 'K8',
    name: "a worker's own limit binds the worker, the leader's binds both",
    async play(stage) {
      stage.agent('worker', async (ctx) => [
        await spends(ctx, 's1', stage.does('w1'), spend(30, 30)),
        await spends(ctx, 's2', stage.does('w2'), spend(30, 30)),
      ])
      stage.agent('lead', async (ctx) => [
        (await ended(ctx, ctx.start('worker', null, { limits: { tokens: 50 } }))) as never,
        (await ended(ctx, ctx.scope('again').start('worker', null, { limits: { tokens: 1_000 } }))) as never,
        await spends(ctx, 'own', stage.does('own'), spend(11)),
        await spends(ctx, 'own2', stage.does('own2'), spend(10)),
      ])
      await stage.drive()
      const { outcome } = await stage.play('lead', null, { limits: { tokens: 100 } })
      const no = 'budget.exceeded'
      assert.deepEqual(
        outcome,
        completed([completed(['completed', no]), completed(['completed', 'completed']), no, 'completed']),
      )
      assert.deepEqual(stage.ran, ['w1', 'w1', 'w2', 'own2'])
    },
  },
  {
    invariant: 'K8',
    name: 'what was spent and what is reserved outlive a crash; a refusal stays a refusal',
    restarts: true,
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        const first = await spends(ctx, 's1', stage.does('s1'), spend(50, 30))
        const open = ctx.begin('open', wait.effect, spend(50, 20))
        const refused = await spends(ctx, 's2', stage.does('s2'), spend(30))
        const word1 = word(await ended(ctx, open))
        return [
          first,
          refused,
          word1,
          await spends(ctx, 's3', stage.does('s3'), spend(51)),
          await spends(ctx, 's4', stage.does('s4'), spend(50)),
        ]
      })
      await stage.drive()
      const run = await stage.start('a', null, { limits: { tokens: 100 } })
      await until('it is out', () => wait.waiting === 1)
      await until('the refusal is recorded', async () => (await stage.all(run, 'step.settled')).length === 2)
      await stage.restart('kill')
      await until('it is out again', () => wait.waiting === 2)
      wait.open()
      assert.deepEqual(
        await stage.outcome(run),
        completed(['completed', 'budget.exceeded', 'completed', 'budget.exceeded', 'completed']),
      )
      assert.deepEqual(stage.ran, ['s1', 's4'])
    },
  },
  {
    invariant: 'K8',
    name: 'minutes count working time, not waits for people; the end is a limit, undone like a cancel',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        ctx.onCancel('undo', async (undo) => void (await step(undo, 's', stage.does('undo'))))
        await ctx.next(ctx.ask('q', question('int_1')))
        await step(ctx, 'wait', wait.effect)
        return step(ctx, 'wait2', wait.effect)
      })
      await stage.drive()
      const run = await stage.start('a', null, { limits: { minutes: 2 } })
      const asked = await stage.question(run)
      stage.clock.advance(60 * 60_000)
      await stage.answer(asked, 'go')
      await until('it works', () => wait.waiting === 1)
      stage.clock.advance(60_000)
      wait.open()
      await until('it works on', () => wait.attempts.length === 2)
      stage.clock.advance(59_999)
      await stage.fence()
      assert.equal(wait.waiting, 1)
      stage.clock.advance(1)
      const outcome = await stage.outcome(run)
      assert.ok(outcome.status === 'limited' && outcome.limit === 'minutes', JSON.stringify(outcome))
      assert.deepEqual(
        stage.ran.filter((name) => name !== 'fence'),
        ['undo'],
      )
    },
  },
]
