/** Live parts through the engine: fast, in order, and nobody is held up by a slow reader (K9). */
import { expect, test } from 'vitest'
import { completed, stopwatch } from '@reeve/core'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'
import { effect, hand } from './hand.ts'

const count = 200_000
const talker = hand('talker', async (ctx) =>
  completed(
    await effect(ctx, 'talk', async (io) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      const begun = stopwatch()
      for (let i = 0; i < count; i++) {
        io.emit({ type: 'text.delta', id: '0', text: 'x' })
        if (i % 100 === 99) await Promise.resolve()
      }
      return stopwatch() - begun
    }),
  ),
)

test('a reader hears everything, and the writer is not slowed down by one that sleeps', async () => {
  await using runtime = await createRuntime({ agents: [talker] })
  const run = await runtime.start(talker, 'go')
  const asleep = run.text()
  let heard = 0
  for await (const text of run.text()) heard += text.length
  const outcome = await run.outcome()
  // what was written, then what it answered
  const said = count + (outcome.status === 'completed' ? JSON.stringify(outcome.output).length : 0)
  expect(heard).toBe(said)
  expect(outcome.status === 'completed' ? Number(outcome.output) : Infinity).toBeLessThan(2_000)
  let late = 0
  for await (const text of asleep) late += text.length
  expect(late).toBe(said)
})

test('a reader that leaves while it waits is let go', async () => {
  const silent = hand('silent', async (ctx) =>
    completed(await effect(ctx, 'wait', () => new Promise<string>((resolve) => setTimeout(resolve, 300, 'ok')))),
  )
  await using runtime = await createRuntime({ agents: [silent] })
  const run = await runtime.start(silent, 'go')
  for (const reader of [run.parts(), run.text()]) {
    const pending = reader.next()
    expect(await reader.return?.()).toEqual({ value: undefined, done: true })
    expect((await pending).done).toBe(true)
  }
  expect(await run.outcome()).toMatchObject({ output: 'ok' })
})
