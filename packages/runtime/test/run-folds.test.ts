/** Views are folded once for all who ask, and are those of the journal as it is (K1). */
import { expect, test } from 'vitest'
import { agent, interrupt, step } from '@reeve/public'
import { runView } from '../src/index.ts'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

const asker = agent({
  name: 'asker',
  run: async (ctx, input) => {
    for (let i = 0; i < 3; i++) {
      await step(ctx, 'look', () => i)
      await interrupt(ctx, `Round ${i} of ${String(input)}?`)
    }
    return 'done'
  },
})

test('a view is read on, is the same for all who ask at once, and is that of its journal', async () => {
  await using runtime = await createRuntime({ agents: [asker] })
  const run = await runtime.start(asker, 'one', { runId: 'r1' })
  for (let round = 0; round < 3; round++) {
    const waiting = await run.until('waiting')
    if (!('questions' in waiting)) throw new Error('it has ended')
    const views = await Promise.all([run.view(), runtime.handle('r1').view(), run.view()])
    const { status: _status, ...whole } = runView(await run.journal())
    for (const { status, ...view } of views) {
      expect(status).toBe('waiting')
      expect(view).toEqual(whole)
    }
    expect(views[0].interrupts).toHaveLength(round + 1)
    await run.answer({ interruptId: waiting.questions[0]!.id, value: 'yes' })
  }
  await run.outcome()
  expect((await run.view()).status).toBe('completed')
  expect((await run.control.state()).state).toBe('completed')
})

test('a run that is begun under the id of a removed one has a view of its own', async () => {
  await using runtime = await createRuntime({ agents: [asker] })
  for (const input of ['one', 'two']) {
    const run = await runtime.start(asker, input, { runId: 'r1' })
    await run.until('waiting')
    const { interrupts } = await run.view()
    expect(interrupts.map(({ question }) => question)).toEqual([`Round 0 of ${input}?`])
    await run.control.cancel()
    await run.outcome()
    await runtime.remove('r1')
    await expect(run.view()).rejects.toMatchObject({ code: 'run.unknown' })
  }
})
