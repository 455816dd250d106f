/** Parking: what waits for somebody takes no worker, however often it has been called before. */
import { afterAll, expect, test } from 'vitest'
import { completed, runId } from '../../src/core/index.ts'
import { question, Stage, until } from '../../src/testing/contract/stage.ts'
import { restateServer } from './harness.ts'
import { onRestate } from './restate-bench.ts'
import type { RestateEngine } from '../../src/adapters/restate/index.ts'

afterAll(async () => (await restateServer()).dispose())

interface Row {
  readonly status: string
  readonly modified_at: string
}

test('K2: an activation that has been called several times stays parked while nobody calls, and hears the next call', async () => {
  const stage = await Stage.open(onRestate('sqlite'))
  try {
    stage.agent('asker', async (ctx) => {
      for (const n of [1, 2, 3]) await ctx.next(ctx.ask(`q${n}`, question(`int_${n}`)))
      return 'done'
    })
    await stage.drive()
    const run = await stage.start('asker')
    for (const n of [1, 2]) {
      await until(`question ${n} is put`, async () => (await stage.engine.questions({ run })).some(({ id }) => id === `int_${n}`))
      await stage.answer(
        (await stage.engine.questions({ run })).find(({ id }) => id === `int_${n}`)!,
        n,
      )
    }
    const { client } = stage.engine as RestateEngine
    const look = async (): Promise<Row> => {
      const rows = await client.query<Row>(`select status, modified_at from sys_invocation where target like '%Activation/%${run}/run'`)
      return rows[0]!
    }
    await until('it is parked', async () => (await look()).status === 'suspended')
    const parked = await look()
    // Longer than it takes to park again: if it were called back at once, it would have been seen at work.
    const end = performance.now() + 1_500
    while (performance.now() < end) expect(await look()).toEqual(parked)
    await stage.answer(await stage.question(run), 3)
    expect(await stage.outcome(runId(run))).toEqual(completed('done'))
  } finally {
    await stage.bench.dispose()
  }
})
