/** Times beyond what a timer can wait for: no option makes a timer that rings at once, and no sleep an invalid date. */
import { afterEach, expect, test, vi } from 'vitest'
import { agent, sleep } from '@reeve/public'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

const longest = vi.spyOn(process, 'emitWarning')
afterEach(() => longest.mockClear())

const naps = agent({
  name: 'naps',
  description: 'Sleeps a moment.',
  run: async (ctx) => {
    await sleep(ctx, 1)
    return 'done'
  },
})

test.each(['pollMs', 'retentionMs', 'parkAfterMs', 'archiveAfterMs'])('%s of sixty days', async (name) => {
  await using runtime = await runtimeUnderTest({ agents: [naps], [name]: 60 * 86_400_000 })
  expect(await runtime.run(naps, 'x')).toMatchObject({ status: 'completed', output: 'done' })
  expect(longest.mock.calls.filter(([warning]) => /overflow/i.test(String(warning)))).toEqual([])
})

test.each([Infinity, 1e16, Number.NaN])('a sleep of %s milliseconds fails, and says so', async (ms) => {
  const naps = agent({
    name: 'naps',
    description: 'Sleeps.',
    run: async (ctx) => {
      await sleep(ctx, ms)
      return 'woke'
    },
  })
  await using runtime = await runtimeUnderTest({ agents: [naps] })
  const outcome = await runtime.run(naps, 'x')
  expect(outcome.status).toBe('failed')
  expect(JSON.stringify(outcome)).toContain(`sleep(): ${ms} milliseconds`)
})
