/** Contract: cancel, stop and what happens to whatever is open at an end (K7, K8). */
import assert from 'node:assert/strict'
import { cancelled, completed, type Json, type RunId } from '@reeve/core'
import { Cancelled, type Context } from '@reeve/engine'
import { ended, gate, question, step, until, type HeldEffect, type Play, type Stage } from './stage.ts'

/** An agent that works until it is cancelled and leaves two things to be undone. */
function undoer(stage: Stage, name: string, work: HeldEffect, workers: readonly string[] = []): void {
  stage.agent(name, async (ctx) => {
    for (const n of [1, 2]) {
      await step(ctx, `do${n}`, stage.does(`${name}.do${n}`))
      ctx.onCancel(`undo${n}`, async (undo) => {
        await step(undo, 'undo', stage.does(`${name}.undo${n}`))
      })
    }
    for (const worker of workers) ctx.start(worker, null)
    return step(ctx, 'work', work.effect)
  })
}

const undone = (stage: Stage): string[] => stage.ran.filter((name) => name.includes('undo'))

async function team(stage: Stage): Promise<{ run: RunId; works: readonly HeldEffect[] }> {
  const works = [gate(), gate(), gate()] as const
  undoer(stage, 'w1', works[0])
  undoer(stage, 'w2', works[1])
  undoer(stage, 'lead', works[2], ['w1', 'w2'])
  await stage.drive()
  const run = await stage.start('lead')
  await until('all are at work', () => works.every((work) => work.waiting === 1))
  return { run, works }
}

/** Workers before their leader, last registered first, each once. */
function checkUndone(names: readonly string[]): void {
  const workers = names.slice(0, 4)
  for (const name of ['w1', 'w2'])
    assert.deepEqual(
      workers.filter((ran) => ran.startsWith(name)),
      [`${name}.undo2`, `${name}.undo1`],
    )
  assert.deepEqual(names.slice(4), ['lead.undo2', 'lead.undo1'])
}

const stops: readonly Play[] = [
  {
    invariant: 'K7',
    name: 'a worker stopped by its timeout is timed out everywhere; those below it are cancelled',
    async play(stage) {
      const work = gate()
      stage.agent('below', (ctx) => step(ctx, 'work', work.effect))
      stage.agent('slow', async (ctx) => ended(ctx, ctx.start('below', null)))
      stage.agent('lead', async (ctx) => {
        const slow = ctx.start('slow', null)
        await ctx.next(ctx.ask('timeout', { until: new Date(ctx.now().getTime() + 1_000) }))
        ctx.stop(slow, 'late', { timedOutMs: 1_000 })
        return ended(ctx, slow)
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('it is at work', () => work.waiting === 1)
      stage.clock.advance(1_000)
      const timedOut = { status: 'timed-out', message: 'it did not end within 1000 ms' }
      assert.deepEqual(await stage.outcome(run), timedOut)
      const ends = (await stage.events(run)).flatMap(({ event }) =>
        event.type === 'activation.settled' ? [event.outcome] : [],
      )
      assert.deepEqual(ends, [cancelled('late'), timedOut, timedOut])
    },
  },
  {
    invariant: 'K8',
    name: 'a leader may stop a step, a worker, a question and a timer; their ends arrive, others go on',
    async play(stage) {
      const slow = gate()
      const other = gate()
      stage.agent('worker', async (ctx) => step(ctx, 'slow', slow.effect))
      stage.agent('lead', async (ctx) => {
        const kept = ctx.begin('kept', other.effect)
        const ids = [ctx.begin('slow', slow.effect), ctx.start('worker', null), ctx.ask('q', question('int_1'))]
        const timer = ctx.ask('t', { until: new Date(ctx.now().getTime() + 50) })
        await step(ctx, 'wait', (io) => until('both are out', () => slow.waiting === 2).then(() => io.attempt))
        for (const id of [...ids, timer]) ctx.stop(id, 'enough')
        const ends: Json[] = []
        for (const id of ids) ends.push((await ended(ctx, id)) as never)
        await step(ctx, 'open', () => {
          other.open('kept')
          return null
        })
        ends.push((await ended(ctx, kept)) as never)
        ctx.stop(kept, 'it has ended: no error')
        return ends
      })
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(
        await stage.outcome(run),
        completed([cancelled('enough'), cancelled('enough'), cancelled('enough'), completed('kept')]),
      )
      assert.equal(slow.aborted, 2)
    },
  },
  {
    invariant: 'K8',
    name: 'what is stopped before it is let out is never executed',
    async play(stage) {
      stage.agent('worker', async (ctx) => step(ctx, 's', stage.does('worker')))
      stage.agent('lead', async (ctx) => {
        const id = ctx.begin('s', stage.does('step'))
        const worker = ctx.start('worker', null)
        ctx.stop(id, 'no')
        ctx.stop(worker, 'no')
        return [(await ended(ctx, id)) as never, (await ended(ctx, worker)) as never]
      })
      await stage.drive()
      assert.deepEqual((await stage.play('lead')).outcome, completed([cancelled('no'), cancelled('no')]))
      await stage.fence()
      assert.deepEqual(stage.ran, [])
    },
  },
  {
    invariant: 'K8',
    name: 'an effect that does not listen to its stop ends without it after a grace',
    async play(stage) {
      const deaf = gate(true)
      stage.agent('a', async (ctx) => {
        const id = ctx.begin('deaf', deaf.effect)
        await step(ctx, 'wait', () => until('it is out', () => deaf.waiting === 1).then(() => null))
        ctx.stop(id, 'enough')
        return [(await ended(ctx, id)) as never]
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it was told', () => deaf.aborted === 1)
      await stage.fence()
      assert.equal(await stage.has(run, 'activation.settled'), false)
      stage.clock.advance(60_000)
      assert.deepEqual(await stage.outcome(run), completed([cancelled('enough')]))
      deaf.open('too late')
    },
  },
  {
    invariant: 'K7',
    name: 'a leader that returns stops open work; each worker ends and is undone before the leader ends',
    async play(stage) {
      const work = gate()
      undoer(stage, 'worker', work)
      stage.agent('lead', async (ctx) => {
        ctx.start('worker', null)
        ctx.begin('open', work.effect)
        await step(ctx, 'wait', () => until('both are out', () => work.waiting === 2).then(() => null))
        return 'returned'
      })
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(await stage.outcome(run), completed('returned'))
      await until('the worker has ended', async () => (await stage.all(run, 'activation.settled')).length === 2)
      assert.deepEqual(undone(stage), ['worker.undo2', 'worker.undo1'])
      const worker = await stage.log(run, 'worker')
      assert.deepEqual(worker.at(-1), { type: 'activation.settled', outcome: cancelled('its leader has ended') })
      const last = (await stage.events(run)).at(-1)!
      assert.deepEqual(last.event, {
        type: 'activation.settled',
        outcome: completed('returned'),
        open: ['worker', 'open'],
      })
      assert.equal(await stage.has(run, 'worker.settled'), false)
      assert.equal(work.aborted, 2)
    },
  },
]

const corners: readonly Play[] = [
  {
    invariant: 'K8',
    name: 'after a cancel every verb throws, and what the code returns does not count',
    async play(stage) {
      const seen: string[] = []
      const wait = gate()
      const tries = (ctx: Context): (() => unknown)[] => [
        () => ctx.begin('new', stage.does('new')),
        () => ctx.start('a', null),
        () => ctx.ask('q'),
        () => ctx.send(ctx.place.activation, 1),
        () => ctx.emit({ type: 'fact.noted', name: 'x', data: null }),
      ]
      stage.agent('a', async (ctx) => {
        // code that is read again does it again
        seen.length = 0
        try {
          await step(ctx, 'wait', wait.effect)
        } catch (thrown) {
          seen.push(thrown instanceof Cancelled ? thrown.reason : 'another error')
        }
        for (const verb of tries(ctx)) {
          try {
            verb()
            seen.push('did not throw')
          } catch (thrown) {
            seen.push(thrown instanceof Cancelled ? 'Cancelled' : 'another error')
          }
        }
        await ctx
          .next()
          .catch((thrown: unknown) => seen.push(thrown instanceof Cancelled ? 'Cancelled' : 'another error'))
        return 'pretends to be done'
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it waits', () => wait.waiting === 1)
      await stage.post({ type: 'cancel', run, reason: 'stop it' })
      assert.deepEqual(await stage.outcome(run), cancelled('stop it'))
      assert.deepEqual(seen, ['stop it', ...Array.from({ length: 6 }, () => 'Cancelled')])
      assert.equal(stage.count('new'), 0)
    },
  },
  {
    invariant: 'K8',
    name: 'a run that waits for people, for a worker or for a missing agent can be cancelled',
    async play(stage) {
      stage.agent('asks', async (ctx) => ended(ctx, ctx.ask('q', question('int_1'))))
      stage.agent('lead', async (ctx) => ended(ctx, ctx.start('asks', null)))
      await stage.drive()
      const waiting = await stage.start('lead')
      await stage.question(waiting)
      assert.equal(await stage.post({ type: 'cancel', run: waiting, reason: 'no' }), 'accepted')
      assert.deepEqual(await stage.outcome(waiting), cancelled('no'))
      assert.deepEqual(await stage.engine.questions(), [])
      assert.equal(await stage.post({ type: 'cancel', run: waiting, reason: 'again' }), 'closed')
    },
  },
  {
    invariant: 'K8',
    name: 'a cancel that keeps work undoes nothing at any depth but what is mandatory; also after a crash',
    restarts: true,
    async play(stage) {
      const work = (ctx: Context, name: string): void => {
        ctx.onCancel('always', async (undo) => void (await step(undo, 's', stage.does(`undo ${name} always`))), {
          always: true,
        })
        ctx.onCancel('undo', async (undo) => void (await step(undo, 's', stage.does(`undo ${name}`))))
      }
      stage.agent('worker', async (ctx) => {
        work(ctx, 'worker')
        return ended(ctx, ctx.ask('q', question('int_1')))
      })
      stage.agent('lead', async (ctx) => {
        work(ctx, 'lead')
        return ended(ctx, ctx.start('worker', null))
      })
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      assert.equal(await stage.post({ type: 'cancel', run, reason: 'enough', keeps: true }), 'accepted')
      await stage.restart('kill')
      assert.deepEqual(await stage.outcome(run), cancelled('enough'))
      assert.deepEqual(
        [...new Set(stage.ran)].filter((name) => name.startsWith('undo')),
        ['undo worker always', 'undo lead always'],
      )
    },
  },
  {
    invariant: 'K8',
    name: 'a compensation that fails does not keep the others from running, and shows in the outcome',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        ctx.onCancel('first', async (undo) => void (await step(undo, 's', stage.does('undo1'))))
        ctx.onCancel('second', async () => {
          throw new Error('cannot be undone')
        })
        return step(ctx, 'wait', wait.effect)
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it waits', () => wait.waiting === 1)
      await stage.post({ type: 'cancel', run, reason: 'no' })
      const outcome = await stage.outcome(run)
      assert.ok(
        outcome.status === 'failed' && outcome.failure.message.includes('cannot be undone'),
        JSON.stringify(outcome),
      )
      assert.deepEqual(undone(stage), ['undo1'])
    },
  },
]

export const cancelCases: readonly Play[] = [
  {
    invariant: 'K8',
    name: 'cancel ends the whole tree and undoes it: workers first, last registered first, once each',
    async play(stage) {
      const { run, works } = await team(stage)
      const reasons = ['enough', 'again']
      const words = await Promise.all(reasons.map((reason) => stage.post({ type: 'cancel', run, reason })))
      assert.deepEqual(words.toSorted(), ['accepted', 'lost'])
      assert.deepEqual(await stage.outcome(run), cancelled(reasons[words.indexOf('accepted')]!))
      assert.deepEqual(
        works.map(({ aborted }) => aborted),
        [1, 1, 1],
      )
      checkUndone(undone(stage))
      assert.deepEqual(
        (await stage.all(run, 'activation.settled')).map(({ outcome }) => outcome.status),
        ['cancelled', 'cancelled', 'cancelled'],
      )
    },
  },
  {
    invariant: 'K8',
    name: 'a crash in the middle of undoing repeats nothing that was recorded and forgets nothing',
    restarts: true,
    async play(stage) {
      const slow = gate()
      const work = gate()
      stage.agent('worker', async (ctx) => {
        ctx.onCancel('last', async (undo) => void (await step(undo, 's', stage.does('worker.undo.last'))))
        ctx.onCancel('slow', async (undo) => void (await step(undo, 's', slow.effect)))
        ctx.onCancel('first', async (undo) => void (await step(undo, 's', stage.does('worker.undo.first'))))
        return step(ctx, 'work', work.effect)
      })
      undoer(stage, 'lead', gate(), ['worker'])
      await stage.drive()
      const run = await stage.start('lead')
      await until('it is at work', () => work.waiting === 1)
      await stage.post({ type: 'cancel', run, reason: 'enough' })
      await until('it is being undone', () => slow.waiting === 1)
      await stage.restart('kill')
      await until('it is being undone again', () => slow.waiting === 2)
      slow.open()
      assert.deepEqual(await stage.outcome(run), cancelled('enough'))
      assert.deepEqual(undone(stage), ['worker.undo.first', 'worker.undo.last', 'lead.undo2', 'lead.undo1'])
    },
  },
  {
    invariant: 'K8',
    name: 'a hanging compensation is given up at its timeout; others run, and the run names what remains',
    async play(stage) {
      const hang = gate(true)
      const work = gate()
      stage.agent('a', async (ctx) => {
        ctx.onCancel('last', async (undo) => void (await step(undo, 's', stage.does('last.undo'))))
        ctx.onCancel('hangs', async (undo) => {
          await ended(undo, undo.begin('s', hang.effect))
          await step(undo, 'more', stage.does('more.undo'))
        })
        return step(ctx, 'work', work.effect)
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it is at work', () => work.waiting === 1)
      await stage.post({ type: 'cancel', run, reason: 'enough' })
      await until('it is being undone', () => hang.waiting === 1)
      stage.clock.advance(59_000)
      await stage.fence()
      assert.deepEqual(undone(stage), [])
      stage.clock.advance(2_000)
      const outcome = await stage.outcome(run)
      assert.ok(outcome.status === 'failed' && outcome.failure.message.includes('"hangs" was not undone in time'))
      assert.deepEqual(undone(stage), ['last.undo'])
    },
  },
  ...stops,
  ...corners,
]
