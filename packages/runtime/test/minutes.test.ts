/** A limit of minutes: heard by whatever works, however short it is. */
import { expect, test } from 'vitest'
import { agent } from '@reeve/public'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

/** Works until it is stopped. */
const busy = agent({
  name: 'busy',
  retry: { attempts: 1 },
  model: ({ signal }) => {
    signal.throwIfAborted()
    return new Promise((_done, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  },
})

test('K8: every run at work hears that its minutes are used up, though timers ring early and cut fractions off', async () => {
  await using runtime = await runtimeUnderTest({ agents: [busy], strict: true, onWarning: () => {} })
  const limits = Array.from({ length: 40 }, (_, i) => (20 + i) / 60_000)
  const runs = await Promise.all(limits.map((minutes) => runtime.start('busy', 'work', { limits: { minutes } })))
  const ends = await Promise.all(runs.map((run) => run.outcome()))
  expect(ends.map(({ status }) => status)).toEqual(ends.map(() => 'limited'))
})
