/** Deadlines of what says nothing of time: the same on every engine, wherever they are said. */
import { expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { calls, eventsOf, runtimeOf, scripted } from './team.ts'

/** Ends when its signal does. */
const mute = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, fail) => signal?.addEventListener('abort', () => fail(signal.reason as Error)))

test('a model, tool or hook call times out after its default deadline, which the failure names', async () => {
  const model = agent({ name: 'm', model: ({ signal }) => mute(signal) })
  const wait = tool({ name: 'wait', effect: 'read', execute: (_, ctx) => mute(ctx.signal) })
  const hands = agent({ name: 't', model: scripted(calls(['wait', {}]), 'went on'), tools: [wait] })
  const hook = agent({ name: 'h', model: () => 'x', onIterationComplete: (_, { signal }) => mute(signal) })
  const runtime = await runtimeOf([model, hands, hook], { deadlines: { modelMs: 30, toolMs: 30, functionMs: 30 } })
  for (const [root, end, words] of [
    [model, { status: 'failed' }, ['within 30 ms', 'modelMs']],
    [hands, { status: 'completed', output: 'went on' }, ['\\"wait\\" of \\"t\\"', 'toolMs']],
    [hook, { status: 'completed', output: 'x' }, ['\\"onIterationComplete\\" of \\"h\\"', 'within 30 ms']],
  ] as const) {
    const run = await runtime.start(root, 'go')
    expect(await run.outcome()).toMatchObject(end)
    const told = JSON.stringify(await eventsOf(run))
    for (const word of words) expect(told).toContain(word)
  }
})
