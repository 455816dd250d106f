/**
 * Contract: values of a session, and of streams that outlive runs. Compare-and-set; a recorded update never happens
 * again.
 */
import assert from 'node:assert/strict'
import { completed, ReeveError, runId, type Json, type SessionId } from '@reeve/core'
import { streamOf } from '@reeve/engine'
import { ended, gate, step, until, type Play } from './stage.ts'

const plusOne = (value: Json): Json => ((value as number | null) ?? 0) + 1

export const valueCases: readonly Play[] = [
  {
    invariant: 'K1',
    name: 'a hundred parallel increments lose nothing',
    async play(stage) {
      stage.agent('adder', async (ctx) => ctx.values.update('n', plusOne))
      stage.agent('lead', async (ctx) => {
        const workers = Array.from({ length: 100 }, () => ctx.scope('add').start('adder', null))
        const seen: Json[] = []
        for (const worker of workers)
          seen.push(await ended(ctx, worker).then((o) => (o.status === 'completed' ? o.output : null)))
        return [await ctx.values.get('n'), new Set(seen).size]
      })
      await stage.drive()
      assert.deepEqual((await stage.play('lead')).outcome, completed([100, 100]))
    },
  },
  {
    invariant: 'K1',
    name: 'values belong to the session: its runs share them, other sessions do not, and removal keeps them',
    async play(stage) {
      stage.agent('adder', async (ctx) => ctx.values.update('n', plusOne))
      stage.agent('reader', async (ctx) => ctx.values.get('n'))
      await stage.drive()
      const session = { caller: { session: 'ses_1' as SessionId } }
      const runs = await Promise.all(Array.from({ length: 10 }, () => stage.start('adder', null, session)))
      const outputs = await Promise.all(runs.map((run) => stage.outcome(run)))
      assert.deepEqual(
        new Set(outputs.map((o) => o.status === 'completed' && o.output)),
        new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
      )
      for (const run of runs) await stage.engine.remove(run)
      assert.deepEqual((await stage.play('reader', null, session)).outcome, completed(10))
      assert.deepEqual(
        (await stage.play('reader', null, { caller: { session: 'ses_2' as SessionId } })).outcome,
        completed(null),
      )
      // the same name in a tenant is another session
      for (const tenant of ['north', 'south']) {
        const theirs = { caller: { ...session.caller, tenant } }
        assert.deepEqual((await stage.play('reader', null, theirs)).outcome, completed(null))
        assert.deepEqual((await stage.play('adder', null, theirs)).outcome, completed(1))
        assert.equal(await stage.engine.stream(streamOf(theirs.caller, runId('any'))).get('n'), 1)
      }
      assert.deepEqual((await stage.play('reader', null, session)).outcome, completed(10))
      assert.deepEqual((await stage.play('reader')).outcome, completed(null))
    },
  },
  {
    invariant: 'K1',
    name: 'a run begun again after its removal updates values anew, its own and its session’s',
    async play(stage) {
      stage.agent('adder', async (ctx) => ctx.values.update('n', plusOne))
      await stage.drive()
      const caller = { session: 'ses_1' as SessionId }
      for (const [nth, request] of [{ run: runId('own') }, { run: runId('shared'), caller }].entries()) {
        for (const round of [1, 2]) {
          await stage.engine.start({ agent: 'adder', version: '1', input: null, ...request })
          assert.deepEqual(await stage.outcome(request.run), completed(nth === 0 ? 1 : round))
          await stage.engine.remove(request.run)
        }
      }
    },
  },
  {
    invariant: 'K1',
    name: 'keys are sorted by character, without unwritten and internal ones; null is a written value',
    async play(stage) {
      stage.agent('writer', async (ctx) => {
        await ctx.values.setAll({ z: 1, a: null, '\u0000\u{10FFFF}': 2 })
        await ctx.values.set('a/b', 'x')
        await ctx.values.update('$own', () => 1)
        return [
          await ctx.values.has('a'),
          await ctx.values.has('b'),
          await ctx.values.has('$own'),
          [...(await ctx.values.keys())],
        ]
      })
      stage.agent('reader', async (ctx) => [...(await ctx.values.keys())])
      await stage.drive()
      const keys = ['\u0000\u{10FFFF}', 'a', 'a/b', 'z']
      const caller = { session: 'ses_1' as SessionId }
      assert.deepEqual((await stage.play('reader', null, { caller })).outcome, completed([]))
      assert.deepEqual((await stage.play('writer', null, { caller })).outcome, completed([true, false, false, keys]))
      assert.deepEqual((await stage.play('reader', null, { caller })).outcome, completed(keys))
      assert.deepEqual((await stage.play('reader')).outcome, completed([]))
    },
  },
  {
    invariant: 'K6',
    name: 'a read gives what it gave, an update happens once, also after a crash',
    restarts: true,
    async play(stage) {
      const wait = gate()
      const session = { caller: { session: 'ses_1' as SessionId } }
      stage.agent('a', async (ctx) => {
        const before = await ctx.values.get('n')
        const mine = await ctx.values.update('n', plusOne)
        await step(ctx, 'wait', wait.effect)
        return [before, mine, await ctx.values.get('n')]
      })
      stage.agent('adder', async (ctx) => ctx.values.update('n', plusOne))
      await stage.drive()
      const run = await stage.start('a', null, session)
      await until('it waits', () => wait.waiting === 1)
      assert.deepEqual((await stage.play('adder', null, session)).outcome, completed(2))
      await stage.restart('kill')
      await until('it waits again', () => wait.waiting === 2)
      wait.open()
      assert.deepEqual(await stage.outcome(run), completed([null, 1, 2]))
    },
  },
  {
    invariant: 'K1',
    name: 'a lasting stream is shared by all runs and outside readers, and removing a run keeps it',
    async play(stage) {
      stage.agent('adder', async (ctx) => ctx.stream('mem_1').update('n', plusOne))
      stage.agent('reader', async (ctx) => [
        await ctx.stream('mem_1').get('n'),
        ...(await ctx.stream('reg_1').getAll(['n', 'm'])),
      ])
      await stage.drive()
      const outside = stage.engine.stream('mem_1')
      assert.equal(await outside.get('n'), null)
      const runs = await Promise.all(
        ['ses_1', 'ses_2', undefined].map((session) =>
          stage.start('adder', null, session === undefined ? {} : { caller: { session: session as SessionId } }),
        ),
      )
      const written = Promise.all(Array.from({ length: 5 }, () => outside.update('n', plusOne)))
      const ends = await Promise.all(runs.map((run) => stage.outcome(run)))
      const all = [...(await written), ...ends.map((end) => (end.status === 'completed' ? end.output : end.status))]
      assert.deepEqual(new Set(all), new Set([1, 2, 3, 4, 5, 6, 7, 8]))
      for (const run of runs) await stage.engine.remove(run)
      assert.equal(await outside.get('n'), 8)
      assert.deepEqual((await stage.play('reader')).outcome, completed([8, null, null]))
    },
  },
  {
    invariant: 'K6',
    name: 'reads of a lasting stream stay fixed in a run, and a write is made once, also after a crash',
    restarts: true,
    async play(stage) {
      const wait = gate()
      stage.agent('a', async (ctx) => {
        const values = ctx.stream('reg_1')
        const before = await values.get('n')
        const mine = await values.update('n', plusOne)
        await step(ctx, 'wait', wait.effect)
        return [before, mine, await values.get('n')]
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it waits', () => wait.waiting === 1)
      assert.equal(await stage.engine.stream('reg_1').update('n', plusOne), 2)
      await stage.restart('kill')
      await until('it waits again', () => wait.waiting === 2)
      assert.equal(await stage.engine.stream('reg_1').get('n'), 2)
      wait.open()
      assert.deepEqual(await stage.outcome(run), completed([null, 1, 2]))
    },
  },
  {
    invariant: 'K1',
    name: 'no code reaches a session by name; from outside it is the stream that its runs share',
    async play(stage) {
      const refused = (thrown: unknown): boolean => ReeveError.is(thrown, 'input.invalid')
      stage.agent('a', async (ctx) => {
        assert.throws(() => ctx.stream('ses_1'), refused)
        return null
      })
      await stage.drive()
      stage.agent('adder', async (ctx) => ctx.values.update('n', plusOne))
      assert.deepEqual((await stage.play('a')).outcome, completed(null))
      const caller = { session: 'ses_1' as SessionId }
      assert.equal(await stage.engine.stream(streamOf(caller, runId('any'))).update('n', plusOne), 1)
      assert.deepEqual((await stage.play('adder', null, { caller })).outcome, completed(2))
      for (const name of ['run_1', 'ses_', 'reg_', 'mem_a/b', ''])
        assert.throws(() => stage.engine.stream(name), refused)
    },
  },
  {
    invariant: 'K1',
    name: 'of many who write the first value of a session at once, one counts: for all, in every life, and for its runs',
    restarts: true,
    async play(stage) {
      const caller = { session: 'ses_1' as SessionId }
      const first = (word: Json): Promise<Json> =>
        stage.engine.stream(streamOf(caller, runId('any'))).update('$owner', (value) => value ?? word)
      stage.agent('reader', async (ctx) => [await ctx.values.get('$owner'), [...(await ctx.values.keys())]])
      await stage.drive()
      const said = await Promise.all(Array.from({ length: 10 }, (_, n) => first({ user: `u${n}` })))
      const [owner] = said
      assert.deepEqual(said, Array(10).fill(owner))
      assert.deepEqual((await stage.play('reader', null, { caller })).outcome, completed([owner!, []]))
      // the same name in a tenant is another session
      const theirs = stage.engine.stream(streamOf({ ...caller, tenant: 'north' }, runId('any')))
      assert.equal(await theirs.get('$owner'), null)
      await stage.restart('kill')
      assert.deepEqual(await first({ user: 'late' }), owner)
    },
  },
]
