/** Contract: pause delays effects and nothing else; orchestration never sees it (K8). */
import assert from 'node:assert/strict'
import { cancelled, completed, present, type Json, type RunId } from '@reeve/core'
import { isArrival } from '@reeve/journal'
import type { Post } from '@reeve/engine'
import { ended, gate, question, step, until, type HeldEffect, type Play, type Stage } from './stage.ts'

type PauseAt = Extract<Post, { type: 'pause' }>['at']

const pause = (stage: Stage, run: RunId, at: PauseAt, withinMs?: number): Promise<unknown> =>
  stage.post({ type: 'pause', run, at, ...present({ withinMs }), by: 'operator' })

/** One effect waiting in a gate, then another one. */
async function twoSteps(stage: Stage): Promise<{ run: RunId; first: HeldEffect }> {
  const first = gate()
  stage.agent('a', async (ctx) => [
    await step(ctx, 'first', first.effect),
    await step(ctx, 'second', stage.does('second')),
  ])
  await stage.drive()
  const run = await stage.start('a')
  await until('the first is out', () => first.waiting === 1)
  return { run, first }
}

/** A turn: a model call, two tools, another model call. */
function turns(stage: Stage, models: HeldEffect, tools: HeldEffect): void {
  stage.agent('thinker', async (ctx) => {
    const said: Json[] = [await step(ctx, 'model', models.effect, { effect: 'model' })]
    const ids = [1, 2].map(() => ctx.scope('call').begin('tool', tools.effect))
    for (const id of ids) said.push(await ended(ctx, id).then(({ status }) => status))
    return [...said, await step(ctx, 'model', models.effect, { effect: 'model' })]
  })
}

/** A model agent whose first model call is under way. */
async function modelAsked(
  stage: Stage,
): Promise<{ models: HeldEffect; tools: HeldEffect; run: Awaited<ReturnType<Stage['start']>> }> {
  const models = gate()
  const tools = gate()
  turns(stage, models, tools)
  await stage.drive()
  const run = await stage.start('thinker')
  await until('the model is asked', () => models.waiting === 1)
  return { models, tools, run }
}

const points: readonly Play[] = [
  {
    invariant: 'K8',
    name: 'pause now calls effects back; they run after it with the same key and lose no attempt',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await pause(stage, run, 'now')
      await stage.status(run, 'paused')
      assert.equal(first.aborted, 1)
      assert.equal(first.waiting, 0)
      await stage.post({ type: 'resume', run })
      await until('the first is out again', () => first.waiting === 1)
      first.open('one')
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.deepEqual(first.attempts, [1, 1])
      assert.equal(new Set(first.keys).size, 1)
    },
  },
  {
    invariant: 'K8',
    name: 'pause now while a step waits for its next attempt keeps the step, and its attempts',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) =>
        ended(ctx, ctx.begin('s', wait.effect, { retry: { backoffMs: 1_000, jitter: false } })),
      )
      await stage.drive()
      const run = await stage.start('a')
      await until('it is out', () => wait.waiting === 1)
      wait.fail(new Error('once more'))
      await until('it has failed', async () => stage.has(run, 'step.attempt-failed'))
      await pause(stage, run, 'now')
      await stage.status(run, 'paused')
      stage.clock.advance(60_000)
      await stage.fence()
      assert.deepEqual(wait.attempts, [1])
      await stage.post({ type: 'resume', run })
      await until('it is out again', () => wait.waiting === 1)
      wait.open('at last')
      assert.deepEqual(await stage.outcome(run), completed('at last'))
      assert.deepEqual(wait.attempts, [1, 2])
    },
  },
  {
    invariant: 'K8',
    name: 'pause after-model lets the model call end and starts no tool',
    async play(stage) {
      const { models, tools, run } = await modelAsked(stage)
      await pause(stage, run, 'after-model')
      await stage.status(run, 'pausing')
      models.open('use tools')
      await stage.status(run, 'paused')
      assert.equal(tools.attempts.length, 0)
      await stage.post({ type: 'resume', run })
      await until('tools are out', () => tools.waiting === 2)
      tools.open()
      await until('the model is asked again', () => models.waiting === 1)
      models.open('done')
      assert.deepEqual(await stage.outcome(run), completed(['use tools', 'completed', 'completed', 'done']))
    },
  },
  {
    invariant: 'K8',
    name: 'pause after-tools lets the turn end and asks no model',
    async play(stage) {
      const { models, tools, run } = await modelAsked(stage)
      await pause(stage, run, 'after-tools')
      await stage.status(run, 'pausing')
      models.open('use tools')
      await until('tools are out', () => tools.waiting === 2)
      assert.equal((await stage.engine.summary(run))?.status, 'pausing')
      tools.open()
      await stage.status(run, 'paused')
      assert.equal(models.attempts.length, 1)
      await stage.post({ type: 'resume', run })
      await until('the model is asked again', () => models.waiting === 1)
      models.open('done')
      assert.deepEqual(await stage.outcome(run), completed(['use tools', 'completed', 'completed', 'done']))
    },
  },
  {
    invariant: 'K8',
    name: 'a pause within a time calls back what has not ended by then',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await pause(stage, run, 'next', 5_000)
      await stage.status(run, 'pausing')
      stage.clock.advance(4_999)
      await stage.fence()
      assert.equal(first.aborted, 0)
      stage.clock.advance(1)
      await stage.status(run, 'paused')
      assert.equal(first.aborted, 1)
      const asked = await stage.all(run, 'run.pausing')
      assert.deepEqual(
        asked.map(({ at, escalated }) => [at, escalated]),
        [
          ['next', undefined],
          ['now', true],
        ],
      )
      await stage.post({ type: 'resume', run })
      await until('the first is out again', () => first.waiting === 1)
      first.open('one')
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
    },
  },
  {
    invariant: 'K8',
    name: 'a waiting run, and an unread pause, do not count as waiting',
    async play(stage) {
      stage.agent('a', async (ctx) => ended(ctx, ctx.ask('q', question('int_1'))))
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      await stage.status(run, 'waiting')
      await pause(stage, run, 'next')
      assert.notEqual((await stage.engine.summary(run))?.status, 'waiting')
      await stage.status(run, 'paused')
      await stage.post({ type: 'resume', run })
      await stage.status(run, 'waiting')
      assert.equal(await stage.answer(asked, 'yes'), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed('yes'))
    },
  },
  {
    invariant: 'K8',
    name: 'a command that changes nothing is reported and nothing else',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      assert.equal(await stage.post({ type: 'resume', run, by: 'ann' }), 'accepted')
      await until('it is reported', async () => stage.has(run, 'control.ignored'))
      await pause(stage, run, 'next')
      await stage.status(run, 'pausing')
      assert.equal(await stage.post({ type: 'pause', run, at: 'now', reason: 'again', by: 'ben' }), 'accepted')
      await until('it is reported, too', async () => (await stage.all(run, 'control.ignored')).length === 2)
      assert.equal(first.aborted, 0)
      first.open('one')
      await stage.status(run, 'paused')
      await stage.post({ type: 'resume', run })
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.deepEqual(
        (await stage.log(run)).filter(({ type }) => type === 'control.ignored'),
        [
          { type: 'control.ignored', command: 'resume', why: 'it is not paused', by: 'ann' },
          { type: 'control.ignored', command: 'pause', why: 'it is paused already', reason: 'again', by: 'ben' },
        ],
      )
    },
  },
]

/** A `once` effect that a pause holds back: asked for, and not let out. */
async function heldPayment(stage: Stage): Promise<RunId> {
  const first = gate()
  stage.agent('a', async (ctx) => {
    await step(ctx, 'first', first.effect)
    return step(ctx, 'pay', stage.does('pay'), { effect: 'once' })
  })
  await stage.drive()
  const run = await stage.start('a')
  await until('the first is out', () => first.waiting === 1)
  await pause(stage, run, 'next')
  await stage.status(run, 'pausing')
  first.open()
  await stage.status(run, 'paused')
  await until('the payment is asked for', async () => (await stage.all(run, 'effect.held')).length === 1)
  return run
}

async function paidOnce(stage: Stage, run: RunId): Promise<void> {
  await stage.fence()
  assert.equal(stage.count('pay'), 0)
  await stage.post({ type: 'resume', run })
  assert.deepEqual(await stage.outcome(run), completed('pay'))
  assert.equal(stage.count('pay'), 1)
  const notes = (await stage.log(run)).map(({ type }) => type).filter((type) => type.startsWith('effect.'))
  assert.deepEqual(notes, ['effect.held', 'effect.released'])
}

const heldEffectCases: readonly Play[] = [
  {
    invariant: 'K6',
    name: 'a `once` effect held back by a pause never left: it runs once after the pause without a question',
    async play(stage) {
      await paidOnce(stage, await heldPayment(stage))
    },
  },
  {
    invariant: 'K6',
    name: 'a `once` effect that a pause held back is not in doubt after a crash either',
    restarts: true,
    async play(stage) {
      const run = await heldPayment(stage)
      await stage.restart('kill')
      await paidOnce(stage, run)
    },
  },
  {
    invariant: 'K8',
    name: 'a pause after-tools is still one after a crash: a tool may start, a model call may not',
    restarts: true,
    async play(stage) {
      const model = gate()
      stage.agent('a', async (ctx) => {
        await ended(ctx, ctx.ask('q', question('q')))
        await step(ctx, 'tool', stage.does('tool'))
        return step(ctx, 'model', model.effect, { effect: 'model' })
      })
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      await pause(stage, run, 'after-tools')
      await stage.status(run, 'paused')
      await stage.restart('kill')
      await stage.answer(asked, 'go on')
      await until('the tool has run', () => stage.count('tool') === 1)
      await until('the model call is asked for', async () => (await stage.all(run, 'step.begun')).length === 2)
      await stage.fence()
      assert.equal(model.attempts.length, 0)
      await stage.post({ type: 'resume', run })
      await until('the model is asked', () => model.waiting === 1)
      model.open('done')
      assert.deepEqual(await stage.outcome(run), completed('done'))
    },
  },
]

export const pauseCases: readonly Play[] = [
  {
    invariant: 'K8',
    name: 'a pause at next lets out nothing new; it is pausing until the last effect in flight has ended',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await pause(stage, run, 'next')
      await stage.status(run, 'pausing')
      await stage.fence()
      assert.equal(first.aborted, 0)
      first.open('one')
      await stage.status(run, 'paused')
      await stage.fence()
      assert.equal(stage.count('second'), 0)
      assert.equal(await stage.post({ type: 'resume', run, by: 'operator' }), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      const notes = (await stage.log(run)).filter(({ type }) => type.startsWith('run.'))
      assert.deepEqual(notes, [
        { type: 'run.pausing', at: 'next', by: 'operator' },
        { type: 'run.paused' },
        { type: 'run.resumed', by: 'operator' },
      ])
    },
  },
  {
    invariant: 'K8',
    name: 'a pause reaches workers that are born during it, and no orchestration sees it',
    async play(stage) {
      const first = gate()
      stage.agent('worker', async (ctx) => step(ctx, 's', stage.does('worker')))
      stage.agent('lead', async (ctx) => [
        await step(ctx, 'first', first.effect),
        (await ended(ctx, ctx.start('worker', null))) as never,
      ])
      await stage.drive()
      const run = await stage.start('lead')
      await until('the first is out', () => first.waiting === 1)
      await pause(stage, run, 'next')
      await stage.status(run, 'pausing')
      first.open('one')
      await stage.status(run, 'paused')
      await until('the worker is born', async () => (await stage.all(run, 'step.begun')).length === 2)
      await stage.fence()
      assert.equal(stage.count('worker'), 0)
      await stage.post({ type: 'resume', run })
      assert.deepEqual(await stage.outcome(run), completed(['one', completed('worker')]))
      assert.deepEqual(
        (await stage.events(run)).filter(({ event }) => isArrival(event)).map(({ event }) => event.type),
        ['step.settled', 'step.settled', 'worker.settled'],
      )
    },
  },
  {
    invariant: 'K8',
    name: 'a resumed run is not waiting while a worker still has a held effect',
    async play(stage) {
      const first = gate()
      const second = gate()
      stage.agent('worker', async (ctx) => [
        await step(ctx, 'first', first.effect),
        await step(ctx, 'second', second.effect),
      ])
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('worker', null)
        await ended(ctx, ctx.ask('q', question('int_1')))
        return ended(ctx, worker)
      })
      await stage.drive()
      const run = await stage.start('lead')
      const asked = await stage.question(run)
      await until('the first is out', () => first.waiting === 1)
      await stage.post({ type: 'pause', run, at: 'next' })
      await stage.status(run, 'pausing')
      first.open('one')
      await stage.status(run, 'paused')
      await stage.post({ type: 'resume', run })
      await until('it goes on', async () => (await stage.engine.summary(run))?.status !== 'paused')
      await until('what was held back is out', async () => {
        assert.equal((await stage.engine.summary(run))?.status, 'running')
        return second.waiting === 1
      })
      second.open('two')
      await stage.status(run, 'waiting')
      assert.equal(await stage.answer(asked, 'well'), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed(['one', 'two']))
    },
  },
  {
    invariant: 'K8',
    name: 'a paused run stays paused over a crash',
    restarts: true,
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await pause(stage, run, 'next')
      await stage.status(run, 'pausing')
      first.open('one')
      await stage.status(run, 'paused')
      await stage.restart('kill')
      await stage.fence()
      assert.equal((await stage.engine.summary(run))?.status, 'paused')
      assert.equal(stage.count('second'), 0)
      await stage.post({ type: 'resume', run })
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.equal((await stage.all(run, 'run.paused')).length, 1)
    },
  },
  {
    invariant: 'K8',
    name: 'a crash while pausing: what was in flight does not start again before the run is resumed',
    restarts: true,
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await pause(stage, run, 'next')
      await stage.status(run, 'pausing')
      await stage.restart('kill')
      await stage.status(run, 'paused')
      assert.equal(first.attempts.length, 1)
      await stage.post({ type: 'resume', run })
      await until('the first is out again', () => first.attempts.length === 2)
      first.open('one')
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
    },
  },
  {
    invariant: 'K8',
    name: 'a paused run can be cancelled, and is undone',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        ctx.onCancel('undo', async (undo) => void (await step(undo, 's', stage.does('undo'))))
        await step(ctx, 'wait', wait.effect)
        return step(ctx, 'never', stage.does('never'))
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it is out', () => wait.waiting === 1)
      await pause(stage, run, 'next')
      await stage.status(run, 'pausing')
      wait.open()
      await stage.status(run, 'paused')
      await stage.post({ type: 'cancel', run, reason: 'no' })
      assert.deepEqual(await stage.outcome(run), cancelled('no'))
      assert.deepEqual(
        stage.ran.filter((name) => name !== 'fence'),
        ['undo'],
      )
    },
  },
  ...points,
  ...heldEffectCases,
]
