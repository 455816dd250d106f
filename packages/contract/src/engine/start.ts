/** Contract: beginning, ending and removing runs. */
import assert from 'node:assert/strict'
import { ReeveError, runId, type Outcome, type SessionId } from '@reeve/core'
import type { StartRun } from '@reeve/engine'
import { ended, gate, question, step, until, type Play } from './stage.ts'

const code = (wanted: string) => (error: unknown) => ReeveError.is(error) && error.code === wanted

export const startingCases: readonly Play[] = [
  {
    invariant: 'K2',
    name: 'a run begun twice is begun once',
    async play(stage) {
      stage.agent('a', async (ctx, input) => [await step(ctx, 'work', stage.does('work')), input])
      await stage.drive()
      const request = { run: runId('run_x'), agent: 'a', version: '1', input: { b: 1, a: [2] } }
      const both = await Promise.all([stage.engine.start(request), stage.engine.start(request)])
      assert.equal(both.filter(({ created }) => created).length, 1)
      assert.deepEqual(await stage.outcome(request.run), { status: 'completed', output: ['work', { b: 1, a: [2] }] })
      assert.deepEqual(await stage.engine.start({ ...request, input: { a: [2], b: 1 } }), { created: false })
      assert.equal(stage.count('work'), 1)
    },
  },
  {
    invariant: 'K2',
    name: 'a run begun twice before any process drives is begun once and then driven',
    async play(stage) {
      stage.agent('a', async (ctx) => step(ctx, 'work', stage.does('work')))
      const request = { run: runId('run_x'), agent: 'a', version: '1', input: 1 }
      const both = await Promise.all([stage.engine.start(request), stage.engine.start(request)])
      assert.equal(both.filter(({ created }) => created).length, 1)
      await stage.drive()
      assert.deepEqual(await stage.outcome(request.run), { status: 'completed', output: 'work' })
      assert.equal(stage.count('work'), 1)
    },
  },
  {
    invariant: 'K2',
    name: 'the same id with another agent or input is a conflict',
    async play(stage) {
      stage.agent('a', async () => 1)
      stage.agent('b', async () => 2)
      await stage.drive()
      const run = await stage.start('a', 'x')
      await assert.rejects(stage.engine.start({ run, agent: 'a', version: '1', input: 'y' }), code('run.conflict'))
      await assert.rejects(stage.engine.start({ run, agent: 'b', version: '1', input: 'x' }), code('run.conflict'))
      assert.deepEqual(await stage.outcome(run), { status: 'completed', output: 1 })
    },
  },
  {
    invariant: 'K2',
    name: 'a reused id of another user, session or tenant is a conflict that names the fields, not the values',
    async play(stage) {
      stage.agent('a', async () => 'private')
      await stage.drive()
      const caller = { user: 'ann', session: 'ann-1' as SessionId, tenant: 'north', metadata: { plan: 'gold' } }
      const request = {
        run: runId('run_x'),
        agent: 'a',
        version: '1',
        input: { brief: { instructions: 'x' }, limits: { turns: 2 } },
        caller,
      }
      assert.deepEqual(await stage.engine.start(request), { created: true })
      assert.deepEqual(await stage.engine.start({ ...request, version: '2' }), { created: false })
      const others: readonly (readonly [Partial<StartRun>, named: string])[] = [
        [{ caller: { ...caller, user: 'bob' } }, 'another user'],
        [{ caller: { ...caller, session: 'bob-1' as SessionId } }, 'another session'],
        [{ caller: { ...caller, tenant: 'south' } }, 'another tenant'],
        [{ caller: { ...caller, metadata: { plan: 'tin' } } }, 'another metadata'],
        [{ caller: {} }, 'another user, session, tenant, metadata'],
        [{ input: { ...request.input, limits: { turns: 3 } } }, 'another input.limits.turns'],
      ]
      for (const [other, named] of others)
        await assert.rejects(stage.engine.start({ ...request, ...other }), (error) => {
          assert.ok(code('run.conflict')(error) && error instanceof Error)
          return error.message.includes(named) && !/ann|bob|north|south|gold|tin/.test(error.message)
        })
      assert.deepEqual(await stage.outcome(request.run), { status: 'completed', output: 'private' })
    },
  },
  {
    invariant: 'K7',
    name: 'every status of an outcome comes out as it was given',
    async play(stage) {
      const outcomes: readonly Outcome[] = [
        { status: 'completed', output: { deep: [1, null, 'ä'] } },
        {
          status: 'failed',
          failure: { code: 'work.rejected', message: 'no', class: 'rejected', retryable: false, details: { n: 1 } },
        },
        { status: 'limited', limit: 'turns', message: 'enough', partial: 'half' },
        { status: 'timed-out', message: 'late' },
        { status: 'cancelled', reason: 'by itself' },
      ]
      stage.agent('any', async (_ctx, input) => outcomes[input as number]!)
      stage.agent('lead', async (ctx, input) => ended(ctx, ctx.start('any', input)))
      await stage.drive()
      for (const [i, outcome] of outcomes.entries()) {
        assert.deepEqual(await stage.outcome(await stage.start('any', i)), outcome)
        assert.deepEqual(await stage.outcome(await stage.start('lead', i)), outcome)
      }
    },
  },
  {
    invariant: 'K7',
    name: 'code that throws has failed, and its leader is told so as a result',
    async play(stage) {
      stage.agent('bad', async () => {
        throw new Error('boom')
      })
      stage.agent('lead', async (ctx) => (await ended(ctx, ctx.start('bad', null))).status)
      await stage.drive()
      const { outcome } = await stage.play('bad')
      assert.ok(outcome.status === 'failed')
      assert.deepEqual([outcome.failure.code, outcome.failure.message], ['orchestration.threw', 'boom'])
      assert.deepEqual((await stage.play('lead')).outcome, {
        status: 'completed',
        output: 'failed',
        failures: [{ worker: 'bad', code: 'orchestration.threw' }],
      })
    },
  },
  {
    invariant: 'K7',
    name: 'an outcome asked for after the end, and the summary, say how it ended',
    async play(stage) {
      stage.agent('a', async () => 'done')
      await stage.drive()
      const run = await stage.start('a')
      await stage.outcome(run)
      assert.deepEqual(await stage.engine.outcome(run), { outcome: { status: 'completed', output: 'done' }, usage: [] })
      const summary = await stage.engine.summary(run)
      assert.equal(summary?.status, 'completed')
      assert.equal(summary?.endedAt, stage.clock.now())
      assert.deepEqual(
        (await stage.engine.runs({ status: ['completed'], agent: 'a' })).map((s) => s.run),
        [run],
      )
      assert.deepEqual(await stage.engine.runs({ status: ['failed'] }), [])
    },
  },
  {
    invariant: 'K7',
    name: 'an unknown run is unknown to every verb',
    async play(stage) {
      stage.agent('a', async () => 1)
      await stage.drive()
      const run = runId('nobody')
      await assert.rejects(stage.engine.outcome(run), code('run.unknown'))
      await assert.rejects(stage.engine.remove(run), code('run.unknown'))
      assert.equal(await stage.engine.summary(run), undefined)
      assert.deepEqual(await stage.engine.read(run), [])
      assert.equal(await stage.post({ type: 'cancel', run, reason: 'x' }), 'unknown')
    },
  },
  {
    invariant: 'K1',
    name: 'an ended run can be removed, an open one cannot; others keep their feed',
    async play(stage) {
      stage.agent('a', async (ctx) => {
        ctx.emit({ type: 'fact.noted', name: 'here', data: 1 })
        return step(ctx, 'work', stage.does('work'))
      })
      stage.agent('asks', async (ctx) => ended(ctx, ctx.ask('q', question('int_1'))))
      await stage.drive()
      const kept = await stage.start('a')
      await stage.outcome(kept)
      const before = await stage.events(kept)
      const open = await stage.start('asks')
      await stage.question(open)
      await assert.rejects(stage.engine.remove(open), code('run.conflict'))
      const gone = await stage.start('a')
      await stage.outcome(gone)
      const last = (await stage.events(gone)).at(-1)!.position
      await stage.engine.remove(gone)
      assert.deepEqual(await stage.events(gone), [])
      assert.equal(await stage.engine.summary(gone), undefined)
      assert.deepEqual(await stage.events(kept), before)
      const next = await stage.start('a')
      await stage.outcome(next)
      assert.ok((await stage.events(next))[0]!.position > last, 'positions are never given out again')
    },
  },
  {
    invariant: 'K7',
    name: 'an engine that was closed says so',
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => step(ctx, 'wait', wait.effect))
      await stage.drive()
      const run = await stage.start('a')
      await until('the effect is out', () => wait.waiting === 1)
      const waiting = assert.rejects(stage.engine.outcome(run), code('engine.closed'))
      await stage.engine.close({ graceMs: 0 })
      await waiting
      await stage.engine.close()
      await assert.rejects(
        stage.engine.start({ run: runId('r'), agent: 'a', version: '1', input: null }),
        code('engine.closed'),
      )
    },
  },
]
