/** Sleeping for a time that is none: K3: a timer that nothing can end would hang its run. */
import { expect, test } from 'vitest'
import { agent, sleep } from '@reeve/agent'
import { runtimeOf } from './team.ts'

test.each([NaN, Infinity, Number('soon')])('sleeping for %s milliseconds is refused, and the run ends', async (ms) => {
  const sleeper = agent({ name: 'sleeper', run: (ctx) => sleep(ctx, ms) })
  const runtime = await runtimeOf([sleeper])
  expect(await runtime.run(sleeper, 'go')).toMatchObject({
    status: 'failed',
    failure: { code: 'input.invalid', message: /invalid time NaN/ },
  })
})

test.each([0, -5, -Infinity])('sleeping for %s milliseconds is over at once', async (ms) => {
  const sleeper = agent({ name: 'sleeper', run: (ctx) => sleep(ctx, ms) })
  const runtime = await runtimeOf([sleeper])
  expect(await runtime.run(sleeper, 'go')).toMatchObject({ status: 'completed' })
})
