/** Contract: values of a session. Compare-and-set; a recorded update never happens again. */
import assert from 'node:assert/strict'
import { completed, runId, type Json, type SessionId } from '../../core/index.ts'
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
        for (const worker of workers) seen.push(await ended(ctx, worker).then((o) => (o.status === 'completed' ? o.output : null)))
        return [await ctx.values.get('n'), new Set(seen).size]
      })
      await stage.drive()
      assert.deepEqual((await stage.play('lead')).outcome, completed([100, 100]))
    },
  },
  {
    invariant: 'K1',
    name: 'values belong to the session: runs share it, other sessions do not see it, removing a run changes nothing',
    async play(stage) {
      stage.agent('adder', async (ctx) => ctx.values.update('n', plusOne))
      stage.agent('reader', async (ctx) => ctx.values.get('n'))
      await stage.drive()
      const session = { caller: { session: 'ses_1' as SessionId } }
      const runs = await Promise.all(Array.from({ length: 10 }, () => stage.start('adder', null, session)))
      const outputs = await Promise.all(runs.map((run) => stage.outcome(run)))
      assert.deepEqual(new Set(outputs.map((o) => o.status === 'completed' && o.output)), new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))
      for (const run of runs) await stage.engine.remove(run)
      assert.deepEqual((await stage.play('reader', null, session)).outcome, completed(10))
      assert.deepEqual((await stage.play('reader', null, { caller: { session: 'ses_2' as SessionId } })).outcome, completed(null))
      assert.deepEqual((await stage.play('reader')).outcome, completed(null))
    },
  },
  {
    invariant: 'K1',
    name: 'a run that is begun again after it was removed updates values anew, its own and those of its session',
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
]
