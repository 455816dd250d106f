/** Contract: a human takes a run over, hands it back, finishes it or one worker of it by hand (K8, spec team R-13). */
import assert from 'node:assert/strict'
import { cancelled, completed, rootActivation, present, type ActivationId, type Json, type RunId } from '@reeve/core'
import type { PostResult } from '@reeve/engine'
import { ended, gate, question, step, until, type HeldEffect, type Play, type Stage } from './stage.ts'

type OperatorNote = { readonly reason?: string; readonly by?: string; readonly id?: string; readonly withinMs?: number }

const takeOver = (stage: Stage, run: RunId, said: OperatorNote = {}): Promise<PostResult> =>
  stage.post({ type: 'pause', run, at: 'next', takeover: true, ...said })
const handBack = (stage: Stage, run: RunId, said: OperatorNote = {}): Promise<PostResult> =>
  stage.post({ type: 'resume', run, handBack: true, ...said })

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

/** What was ignored, and why, once there are so many. */
async function ignored(stage: Stage, run: RunId, count: number): Promise<readonly unknown[]> {
  await until(`${count} commands are ignored`, async () => (await stage.all(run, 'control.ignored')).length >= count)
  return (await stage.all(run, 'control.ignored')).map(({ command, why, by }) => [command, why, by])
}

/** Nothing more begins: what has ended is one effect. */
async function nothingBegins(stage: Stage): Promise<void> {
  await stage.fence()
  assert.equal(stage.count('second'), 0)
}

const takeovers: readonly Play[] = [
  {
    invariant: 'K8',
    name: 'takeover while running: effects in flight end, nothing begins until the hand back, also over a kill',
    restarts: true,
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await takeOver(stage, run, { reason: 'mine', by: 'ann' })
      await stage.status(run, 'human_control')
      first.open('one')
      await until('it is paused', async () => stage.has(run, 'run.paused'))
      await nothingBegins(stage)
      assert.deepEqual(
        (await stage.all(run, 'run.taken-over')).map(({ reason, by }) => [reason, by]),
        [['mine', 'ann']],
      )
      await stage.restart('kill')
      await stage.status(run, 'human_control')
      await nothingBegins(stage)
      await handBack(stage, run, { by: 'ann' })
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.equal(stage.count('second'), 1)
      assert.deepEqual(first.attempts, [1])
    },
  },
  {
    invariant: 'K8',
    name: 'takeover while paused or pausing: the first owner stays, and only a hand back resumes',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await stage.post({ type: 'pause', run, at: 'next', by: 'pat' })
      await stage.status(run, 'pausing')
      await takeOver(stage, run, { by: 'ann' })
      await stage.status(run, 'human_control')
      first.open('one')
      await until('it is paused', async () => stage.has(run, 'run.paused'))
      await takeOver(stage, run, { by: 'bob' })
      await stage.post({ type: 'pause', run, at: 'next', by: 'pat' })
      await stage.post({ type: 'resume', run, by: 'pat' })
      assert.deepEqual(await ignored(stage, run, 3), [
        ['takeover', 'a human has it already', 'bob'],
        ['pause', 'a human has it already', 'pat'],
        ['resume', 'a human has taken it over, and must hand it back', 'pat'],
      ])
      assert.equal((await stage.engine.summary(run))?.status, 'human_control')
      await nothingBegins(stage)
      await handBack(stage, run)
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.equal((await stage.all(run, 'run.taken-over')).length, 1)
    },
  },
  {
    invariant: 'K8',
    name: 'hand back without a takeover: ignored, running or paused',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await handBack(stage, run, { by: 'ann' })
      await stage.post({ type: 'pause', run, at: 'next' })
      await stage.status(run, 'pausing')
      first.open('one')
      await stage.status(run, 'paused')
      await handBack(stage, run, { by: 'ann' })
      assert.deepEqual(await ignored(stage, run, 2), [
        ['handback', 'no human has taken it over', 'ann'],
        ['handback', 'no human has taken it over', 'ann'],
      ])
      assert.equal((await stage.engine.summary(run))?.status, 'paused')
      await takeOver(stage, run)
      await stage.status(run, 'human_control')
      await handBack(stage, run)
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.equal(await handBack(stage, run), 'closed')
      assert.equal(await takeOver(stage, run), 'closed')
    },
  },
  {
    invariant: 'K2',
    name: 'a command under one id counts once, from any sender',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      assert.equal(await takeOver(stage, run, { id: 'one', by: 'ann' }), 'accepted')
      assert.equal(await takeOver(stage, run, { id: 'one', by: 'bob' }), 'lost')
      await stage.status(run, 'human_control')
      assert.equal(await handBack(stage, run, { id: 'two' }), 'accepted')
      assert.equal(await handBack(stage, run, { id: 'two' }), 'lost')
      await until('it is handed back', async () => stage.has(run, 'run.handed-back'))
      first.open('one')
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.deepEqual(
        (await stage.all(run, 'run.taken-over')).map(({ id, by }) => [id, by]),
        [['one', 'ann']],
      )
      assert.equal((await stage.all(run, 'run.handed-back')).length, 1)
      assert.equal(await stage.has(run, 'control.ignored'), false)
    },
  },
  {
    invariant: 'K8',
    name: 'takeover with a time limit: unfinished effects are called back, and the human keeps the run',
    async play(stage) {
      const { run, first } = await twoSteps(stage)
      await takeOver(stage, run, { withinMs: 5_000, by: 'ann' })
      await stage.status(run, 'human_control')
      stage.clock.advance(5_000)
      await until('it is called back', () => first.aborted === 1)
      await until('it is paused', async () => stage.has(run, 'run.paused'))
      assert.equal((await stage.engine.summary(run))?.status, 'human_control')
      await handBack(stage, run)
      await until('the first is out again', () => first.waiting === 1)
      first.open('one')
      assert.deepEqual(await stage.outcome(run), completed(['one', 'second']))
      assert.deepEqual(first.attempts, [1, 1])
    },
  },
  {
    invariant: 'K8',
    name: 'an activation born during a takeover begins nothing',
    async play(stage) {
      const first = gate()
      stage.agent('worker', async (ctx) => step(ctx, 'second', stage.does('second')))
      stage.agent('lead', async (ctx) => {
        await step(ctx, 'first', first.effect)
        return ended(ctx, ctx.start('worker', null))
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('the first is out', () => first.waiting === 1)
      await takeOver(stage, run)
      await stage.status(run, 'human_control')
      first.open('one')
      await until('the worker is born', async () => (await stage.all(run, 'activation.started')).length === 2)
      await nothingBegins(stage)
      await handBack(stage, run)
      assert.deepEqual(await stage.outcome(run), completed('second'))
    },
  },
  {
    invariant: 'K8',
    name: 'a run whose work ends during a takeover ends only after the hand back, also over a kill',
    restarts: true,
    async play(stage) {
      const last = gate()
      stage.agent('worker', async (ctx) => step(ctx, 'last', last.effect))
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('worker', null)))
      await stage.drive()
      const run = await stage.start('lead')
      await until('it is out', () => last.waiting === 1)
      await takeOver(stage, run)
      await stage.status(run, 'human_control')
      last.open('done')
      await until('the lead knows it', async () => stage.has(run, 'worker.settled'))
      await stage.fence()
      assert.equal((await stage.engine.summary(run))?.status, 'human_control')
      await stage.restart('kill')
      await stage.fence()
      assert.equal((await stage.engine.summary(run))?.status, 'human_control')
      await handBack(stage, run)
      assert.deepEqual(await stage.outcome(run), completed('done'))
    },
  },
  {
    invariant: 'K8',
    name: 'a run whose work is done while a human has it is finished by hand, or cancelled: that counts',
    async play(stage) {
      stage.agent('lead', async (ctx) => ended(ctx, ctx.ask('q', question('int_1'))))
      await stage.drive()
      for (const outcome of [{ status: 'completed', output: 'by hand' } as const, undefined]) {
        const run = await stage.start('lead')
        await stage.question(run)
        await takeOver(stage, run)
        await stage.status(run, 'human_control')
        await stage.answer(await stage.question(run), 'well')
        await stage.fence()
        assert.equal((await stage.engine.summary(run))?.status, 'human_control')
        await stage.post({ type: 'cancel', run, reason: 'enough', ...present({ outcome }) })
        assert.deepEqual(await stage.outcome(run), outcome ?? cancelled('enough'))
      }
    },
  },
  {
    invariant: 'K8',
    name: 'a run whose code returned while a branch still listens ends by finish or cancel, also over a kill',
    restarts: true,
    async play(stage) {
      stage.agent('lead', async (ctx) => {
        // who listens for mail beside the work, as planned teams and leaders with background work do
        ctx.next((arrival) => arrival.type === 'message').catch(() => undefined)
        return ended(ctx, ctx.ask('q', question('int_1')))
      })
      await stage.drive()
      for (const outcome of [{ status: 'completed', output: 'by hand' } as const, undefined])
        for (const restarted of [false, true]) {
          const run = await stage.start('lead')
          await stage.question(run)
          await takeOver(stage, run)
          await stage.status(run, 'human_control')
          await stage.answer(await stage.question(run), 'well')
          await until('the answer is read', () => stage.has(run, 'ask.settled'))
          if (restarted) await stage.restart('kill')
          await stage.post({ type: 'cancel', run, reason: 'enough', ...present({ outcome }) })
          assert.deepEqual(await stage.outcome(run), outcome ?? cancelled('enough'))
        }
    },
  },
  {
    invariant: 'K8',
    name: 'an answer that lets a run end and a cancel right behind it end it, in either order',
    async play(stage) {
      stage.agent('lead', async (ctx) => {
        ctx.next((arrival) => arrival.type === 'message').catch(() => undefined)
        return ended(ctx, ctx.ask('q', question('int_1')))
      })
      await stage.drive()
      const run = await stage.start('lead')
      const asked = await stage.question(run)
      await Promise.all([stage.answer(asked, 'well'), stage.post({ type: 'cancel', run, reason: 'enough' })])
      const { status } = await stage.outcome(run)
      assert.ok(status === 'completed' || status === 'cancelled', status)
    },
  },
  {
    invariant: 'K8',
    name: 'a waiting run can be taken over; an answer given meanwhile counts after the hand back',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        const answer = await ended(ctx, ctx.ask('q', question('int_1')))
        await step(ctx, 'second', stage.does('second'))
        return answer.status === 'completed' ? answer.output : answer.status
      })
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      await stage.status(run, 'waiting')
      await takeOver(stage, run)
      await stage.status(run, 'human_control')
      assert.equal(await stage.answer(asked, 'well'), 'accepted')
      await nothingBegins(stage)
      await handBack(stage, run)
      assert.deepEqual(await stage.outcome(run), completed('well'))
    },
  },
]

/**
 * A lead over a worker over another one, each of which knows what undoes its work; the last has an effect in a gate.
 */
async function threeLevels(
  stage: Stage,
): Promise<{ run: RunId; first: HeldEffect; worker: (path: string) => ActivationId }> {
  const first = gate()
  const undoable = (name: string, body: (ctx: Parameters<Parameters<Stage['agent']>[1]>[0]) => Promise<Json>): void =>
    stage.agent(name, async (ctx) => {
      ctx.onCancel(name, async (undo) => void (await step(undo, 'undo', stage.does(`undo ${name}`))))
      return body(ctx)
    })
  const below = (name: string) => async (ctx: Parameters<Parameters<Stage['agent']>[1]>[0]) => {
    const outcome = await ended(ctx, ctx.start(name, null))
    return { said: outcome as unknown as Json, next: await step(ctx, 'next', stage.does('next')) }
  }
  undoable('low', (ctx) => step(ctx, 'first', first.effect))
  undoable('mid', below('low'))
  undoable('top', below('mid'))
  await stage.drive()
  const run = await stage.start('top')
  await until('it is out', () => first.waiting === 1)
  return { run, first, worker: (path) => `${rootActivation(run)}>${path}` as ActivationId }
}

const ends: readonly Play[] = [
  {
    invariant: 'K8',
    name: 'a run that a human has is cancelled: at once, and what undoes its work is let out',
    async play(stage) {
      const { run, first } = await threeLevels(stage)
      await takeOver(stage, run)
      await stage.status(run, 'human_control')
      await stage.post({ type: 'cancel', run, reason: 'enough', by: 'ann' })
      assert.deepEqual(await stage.outcome(run), cancelled('enough'))
      assert.equal(first.aborted, 1)
      assert.deepEqual(stage.ran, ['undo low', 'undo mid', 'undo top'])
      assert.equal(await stage.post({ type: 'cancel', run, reason: 'again' }), 'closed')
    },
  },
  {
    invariant: 'K8',
    name: 'a run finished by hand ends as given; nothing is undone at any depth, and nothing else begins',
    restarts: true,
    async play(stage) {
      const { run, first } = await threeLevels(stage)
      await takeOver(stage, run, { by: 'ann' })
      await stage.status(run, 'human_control')
      const outcome = { status: 'completed', output: 'by hand', by: 'ann' } as const
      await stage.post({ type: 'cancel', run, reason: 'done by ann', by: 'ann', outcome })
      assert.deepEqual(await stage.outcome(run), outcome)
      assert.equal(first.aborted, 1)
      await stage.fence()
      assert.deepEqual(
        stage.ran.filter((name) => name !== 'fence'),
        [],
      )
      await stage.restart('kill')
      assert.deepEqual(await stage.outcome(run), outcome)
    },
  },
  {
    invariant: 'K8',
    name: 'one worker finished by hand: its leader hears a normal end, the human keeps the run, no undo',
    async play(stage) {
      const { run, worker } = await threeLevels(stage)
      await takeOver(stage, run, { by: 'ann' })
      await stage.status(run, 'human_control')
      const outcome = { status: 'completed', output: 'by hand', by: 'ann' } as const
      const post = {
        type: 'cancel',
        run,
        activation: worker('mid'),
        reason: 'done by ann',
        by: 'ann',
        outcome,
      } as const
      assert.equal(await stage.post(post), 'accepted')
      await until('it has ended', async () => (await stage.log(run, 'mid')).at(-1)?.type === 'activation.settled')
      await stage.fence()
      assert.equal((await stage.engine.summary(run))?.status, 'human_control')
      assert.equal(stage.count('next'), 0)
      assert.notEqual(await stage.post(post), 'accepted')
      await handBack(stage, run)
      assert.deepEqual(await stage.outcome(run), completed({ said: outcome, next: 'next' }))
      assert.deepEqual(
        stage.ran.filter((name) => name !== 'fence'),
        ['next'],
      )
      assert.equal(await stage.post({ ...post, activation: worker('nobody') }), 'closed')
    },
  },
  {
    invariant: 'K7',
    name: 'one worker is finished by hand while the run goes on, and a kill follows: it has ended once',
    restarts: true,
    async play(stage) {
      const { run, first, worker } = await threeLevels(stage)
      const outcome = { status: 'completed', output: 'by hand' } as const
      await stage.post({ type: 'cancel', run, activation: worker('mid>low'), reason: 'done', outcome })
      await stage.restart('kill')
      const said = { said: outcome, next: 'next' }
      assert.deepEqual(await stage.outcome(run), completed({ said: completed(said), next: 'next' }))
      first.open('too late')
      assert.equal((await stage.log(run, 'mid>low')).filter(({ type }) => type === 'activation.settled').length, 1)
      assert.equal(stage.count('undo low'), 0)
    },
  },
]

export const controlCases: readonly Play[] = [...takeovers, ...ends]
