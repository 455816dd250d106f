/** Contract: code that changes under a run. Versions are pinned; what does not fit the journal stops and asks (K4). */
import assert from 'node:assert/strict'
import { cancelled, childActivation, completed, rootActivation, type Json, type RunId } from '@reeve/core'
import { notRegistered, type Context, type Post } from '@reeve/engine'
import { ended, question, step, until, type Body, type Play, type Stage } from './stage.ts'

/** Runs `a` and `b`, then waits for a word; dies; goes on with other code. */
async function changed(stage: Stage, body: Body): Promise<RunId> {
  stage.agent('x', async (ctx) => {
    await step(ctx, 'a', stage.does('a'))
    await step(ctx, 'b', stage.does('b'))
    return ended(ctx, ctx.ask('q', question('int_1')))
  })
  await stage.drive()
  const run = await stage.start('x')
  await stage.question(run)
  stage.forget('x')
  stage.agent('x', body)
  stage.ran.length = 0
  await stage.restart('kill')
  await wake(stage, run)
  return run
}

/** A run that waits for people is looked at when something comes in for it. */
async function wake(stage: Stage, run: RunId, activation = rootActivation(run)): Promise<void> {
  assert.equal(await stage.post({ type: 'message', activation, id: 'wake', body: null }), 'accepted')
}

const act = (stage: Stage, ctx: Context, name: string, options = {}): Promise<Json> =>
  step(ctx, name, stage.does(name), options)

async function resolve(
  stage: Stage,
  run: RunId,
  word: { address: string } & Pick<Extract<Post, { type: 'settle-divergence' }>, 'action' | 'to'>,
): Promise<void> {
  const asked = await stage.question(run, 'diverged')
  assert.equal(await stage.post({ type: 'settle-divergence', activation: asked.activation, ...word }), 'accepted')
}

const divergence: readonly Play[] = [
  {
    invariant: 'K4',
    name: 'removing, reordering and inserting reads, model calls, waits and facts strands no run',
    restarts: true,
    async play(stage) {
      const run = await changed(stage, async (ctx) => {
        ctx.emit({ type: 'fact.noted', name: 'new', data: 1 })
        const b = await act(stage, ctx, 'b')
        await act(stage, ctx, 'new read', { effect: 'read' })
        await act(stage, ctx, 'new model', { effect: 'model' })
        await ctx.next(ctx.ask('new timer', { until: ctx.now() }))
        return [b, await act(stage, ctx, 'a'), await ended(ctx, ctx.ask('q', question('int_1'))).then((o) => o.status)]
      })
      await stage.answer(await stage.question(run), 1)
      assert.deepEqual(await stage.outcome(run), completed(['b', 'a', 'completed']))
      assert.deepEqual(stage.ran, ['new read', 'new model'])
    },
  },
  {
    invariant: 'K4',
    name: 'removing an effect strands no run; aliases name what was renamed, or say that it is new',
    restarts: true,
    async play(stage) {
      const run = await changed(stage, async (ctx) => [
        await act(stage, ctx, 'b2', { aliases: ['b'] }),
        await act(stage, ctx, 'new', { aliases: [] }),
        await ended(ctx, ctx.ask('q', question('int_1'))).then((o) => o.status),
      ])
      await stage.answer(await stage.question(run), 1)
      assert.deepEqual(await stage.outcome(run), completed(['b', 'new', 'completed']))
      assert.deepEqual(stage.ran, ['new'])
    },
  },
  {
    invariant: 'K4',
    name: 'a new effect beside an unclaimed one parks the run and asks; map takes the recorded end',
    restarts: true,
    async play(stage) {
      const run = await changed(stage, async (ctx) => [
        await act(stage, ctx, 'a'),
        await act(stage, ctx, 'renamed'),
        await act(stage, ctx, 'c'),
      ])
      const asked = await stage.question(run, 'diverged')
      await stage.status(run, 'stuck')
      assert.deepEqual(asked.body, { address: 'renamed', unclaimed: ['b'] })
      assert.deepEqual(stage.ran, [])
      await resolve(stage, run, { address: 'renamed', action: 'map', to: 'b' })
      assert.deepEqual(await stage.outcome(run), completed(['a', 'b', 'c']))
      assert.deepEqual(stage.ran, ['c'])
    },
  },
  {
    invariant: 'K4',
    name: 'execute runs the new effect, drop forgets the old one',
    restarts: true,
    async play(stage) {
      const body: Body = async (ctx) => [
        await act(stage, ctx, 'a'),
        await act(stage, ctx, 'new'),
        await act(stage, ctx, 'new2'),
      ]
      const run = await changed(stage, body)
      await resolve(stage, run, { address: 'new', action: 'execute' })
      await until('it diverges again', async () => (await stage.all(run, 'replay.diverged')).length === 2)
      assert.deepEqual((await stage.question(run, 'diverged')).body, { address: 'new2', unclaimed: ['b'] })
      assert.deepEqual(stage.ran, ['new'])
      await resolve(stage, run, { address: 'b', action: 'drop' })
      assert.deepEqual(await stage.outcome(run), completed(['a', 'new', 'new2']))
      assert.deepEqual(stage.ran, ['new', 'new2'])
    },
  },
  {
    invariant: 'K4',
    name: 'what was open when a run diverged is still open when it goes on',
    restarts: true,
    async play(stage) {
      const run = await changed(stage, async (ctx) => {
        const asked = ctx.ask('q', question('int_1'))
        return [
          await act(stage, ctx, 'renamed'),
          await ended(ctx, asked).then((o) => (o.status === 'completed' ? o.output : o.status)),
        ]
      })
      await resolve(stage, run, { address: 'renamed', action: 'execute' })
      await until('it goes on', () => stage.count('renamed') === 1)
      assert.equal(await stage.answer(await stage.question(run), 'still here'), 'accepted')
      assert.deepEqual(await stage.outcome(run), completed(['renamed', 'still here']))
    },
  },
  {
    invariant: 'K8',
    name: 'a run that has diverged in a worker can be cancelled, and is undone',
    restarts: true,
    async play(stage) {
      const lead: Body = async (ctx) => {
        ctx.onCancel('undo', async (undo) => void (await act(stage, undo, 'undo')))
        return ended(ctx, ctx.start('x', null))
      }
      stage.agent('lead', lead)
      stage.agent('x', async (ctx) => [
        await act(stage, ctx, 'a'),
        (await ended(ctx, ctx.ask('q', question('int_1')))) as never,
      ])
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      stage.forget('x')
      stage.agent('x', async (ctx) => [
        await act(stage, ctx, 'renamed'),
        (await ended(ctx, ctx.ask('q', question('int_1')))) as never,
      ])
      await stage.restart('kill')
      await wake(stage, run, childActivation(rootActivation(run), 'x'))
      await stage.question(run, 'diverged')
      await stage.post({ type: 'cancel', run, reason: 'no' })
      assert.deepEqual(await stage.outcome(run), cancelled('no'))
      assert.deepEqual(stage.ran, ['a', 'undo'])
      assert.deepEqual(
        (await stage.all(run, 'activation.settled')).map(({ outcome }) => outcome),
        [cancelled('no'), cancelled('no')],
      )
      assert.deepEqual(await stage.engine.questions(), [])
    },
  },
]

const asks =
  (answer: Json): Body =>
  async (ctx) => [await ended(ctx, ctx.ask('q', question('int_1'))).then((o) => o.status), answer, ctx.place.version]

export const versionCases: readonly Play[] = [
  {
    invariant: 'K4',
    name: 'a run goes on at the version it began with as long as that is there',
    restarts: true,
    async play(stage) {
      stage.agent('a', asks('old'))
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('a', null)))
      await stage.drive()
      const run = await stage.start('lead')
      const asked = await stage.question(run)
      stage.agent('a', asks('new'), '2')
      await stage.restart('close')
      await stage.answer(asked, 1)
      assert.deepEqual(await stage.outcome(run), completed(['completed', 'old', '1']))
      const later = await stage.start('lead')
      await stage.answer(await stage.question(later), 1)
      assert.deepEqual(await stage.outcome(later), completed(['completed', 'new', '2']))
    },
  },
  {
    invariant: 'K4',
    name: 'if its version is gone it moves to the newest, and the move is recorded once',
    restarts: true,
    async play(stage) {
      stage.agent('a', asks('old'))
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      stage.forget('a')
      stage.agent('a', asks('new'), '2')
      await stage.restart('close')
      await stage.fence()
      await stage.restart('kill')
      await stage.answer(asked, 1)
      assert.deepEqual(await stage.outcome(run), completed(['completed', 'new', '2']))
      assert.deepEqual(await stage.all(run, 'agent.moved'), [{ type: 'agent.moved', from: '1', to: '2' }])
    },
  },
  {
    invariant: 'K4',
    name: "with 'park' it waits until its version is back",
    restarts: true,
    async play(stage) {
      stage.agent('a', asks('old'))
      await stage.drive()
      const run = await stage.start('a')
      const asked = await stage.question(run)
      stage.forget('a')
      stage.agent('a', asks('new'), '2')
      stage.onMissingVersion = 'park'
      await stage.restart('close')
      await stage.answer(asked, 1)
      await stage.status(run, 'stuck')
      stage.agent('a', asks('old'), '1')
      await stage.restart('close')
      assert.deepEqual(await stage.outcome(run), completed(['completed', 'old', '1']))
      assert.equal(await stage.has(run, 'agent.moved'), false)
    },
  },
  {
    invariant: 'K4',
    name: 'a run begun at a version that is not here moves or parks at once',
    async play(stage) {
      stage.agent('a', async (ctx) => ctx.place.version, '2')
      await stage.drive()
      assert.deepEqual((await stage.play('a', null, { version: '1' })).outcome, completed('2'))
    },
  },
  {
    invariant: 'K4',
    name: 'a worker begins in the version that belongs to its leader, or to a leader above it',
    async play(stage) {
      const version: Body = async (ctx) => ctx.place.version
      stage.agent('a', version, '1')
      stage.agent('b', version, '1')
      stage.agent('a', version, '2')
      stage.agent('b', version, '2')
      const both: Body = async (ctx) =>
        [await ended(ctx, ctx.start('a', null)), await ended(ctx, ctx.start('b', null))] as unknown as Json
      stage.agent('inner', both)
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('inner', null)))
      stage.belongs.set('inner 1 a', '1').set('lead 1 b', '1')
      await stage.drive()
      const { outcome } = await stage.play('lead')
      assert.deepEqual(outcome, completed([completed('1'), completed('1')] as unknown as Json))
      stage.belongs.clear()
      assert.deepEqual(
        (await stage.play('lead')).outcome,
        completed([completed('2'), completed('2')] as unknown as Json),
      )
    },
  },
  {
    invariant: 'K4',
    name: 'if the version that belongs to its leader is gone, a worker that begins moves, and the move is recorded',
    async play(stage) {
      stage.agent('a', async (ctx) => ctx.place.version, '2')
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('a', null)))
      stage.belongs.set('lead 1 a', '1')
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(await stage.outcome(run), completed('2'))
      assert.deepEqual(await stage.all(run, 'agent.moved'), [{ type: 'agent.moved', from: '1', to: '2' }])
    },
  },
  {
    invariant: 'K4',
    name: "with 'park' such a worker waits until its version is there",
    restarts: true,
    async play(stage) {
      stage.agent('a', async () => 'new', '2')
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('a', null)))
      stage.belongs.set('lead 1 a', '1')
      stage.onMissingVersion = 'park'
      await stage.drive()
      const run = await stage.start('lead')
      await stage.status(run, 'stuck')
      stage.agent('a', async () => 'old', '1')
      await stage.restart('close')
      assert.deepEqual(await stage.outcome(run), completed('old'))
      assert.equal(await stage.has(run, 'agent.moved'), false)
    },
  },
  {
    invariant: 'K7',
    name: 'starting an agent that is not registered is a result for the leader',
    async play(stage) {
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('nobody', null)))
      await stage.drive()
      const { outcome } = await stage.play('lead')
      assert.deepEqual(outcome, notRegistered('nobody'))
    },
  },
  ...divergence,
]
