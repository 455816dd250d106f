/** What code says in a conversation of several agents, however it ends (spec collaboration 1.2, 1.6). */
import { expect, test } from 'vitest'
import { agent, step } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'
import { loop, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { context, contents } from './played.ts'
import { calls, runtimeOf, scripted } from './team.ts'

const to = (name: string) => calls(['transfer_to_agent', { agent_name: name }])
const sour = (thrown: Error) =>
  agent({
    name: 'sour',
    description: 'Tries.',
    run: (_ctx, _brief, talk) => {
      talk.say('I try')
      throw thrown
    },
  })

test('the agent after code that speaks and throws sees its words, and how it ended', async () => {
  const lead = scripted(to('sour'), 'done')
  const Sup = router({ name: 'Sup', model: lead, workers: [sour(new Error('broken'))] })
  expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'done' })
  const shown = lead.prompts[1]!
  expect(shown.at(-2)).toEqual(context('[sour] said: I try.'))
  expect(JSON.stringify(shown.at(-1))).toContain('failed: its code failed')
})

test('it fails as when alone: as the last it leaves nothing, and a FailureError passes unchanged', async () => {
  for (const thrown of [new Error('broken'), new FailureError(failure('permission.denied', 'not here', 'policy'))]) {
    const one = sour(thrown)
    const flow = sequential({ name: 'flow', agents: [one] })
    const runtime = await runtimeOf([one, flow])
    const alone = await runtime.run(one, 'go')
    expect(alone.status).toBe('failed')
    expect(alone).not.toHaveProperty('trail')
    const inside = await runtime.run(flow, 'go')
    if (alone.status !== 'failed' || inside.status !== 'failed') throw new Error('both fail')
    const { details: _where, ...what } = inside.failure
    expect(what).toEqual(alone.failure)
    expect(inside).not.toHaveProperty('trail')
  }
})

test('code that leads and throws ends its router, which leaves what was said in it', async () => {
  const Inner = router({
    name: 'Inner',
    description: 'Inner.',
    run: (_ctx, _brief, talk) => {
      talk.say('I lead')
      throw new Error('broken')
    },
    workers: [agent({ name: 'W1', description: 'One.', run: () => 'w1' })],
  })
  const outer = scripted(to('Inner'), 'done')
  const Outer = router({ name: 'Outer', model: outer, workers: [Inner] })
  expect(await (await runtimeOf([Outer])).run(Outer, 'go')).toMatchObject({ output: 'done' })
  expect(contents(outer.prompts[1])).toContain('For context: [Inner] said: I lead.')
})

test('a cancel is no failure of the code, and beginning anew is none either', async () => {
  const waits = agent({
    name: 'waits',
    run: async (ctx, _brief, talk) => {
      talk.say('I wait')
      return (await interrupt(ctx, 'go on?')) as string
    },
  })
  const cancelled = loop({ name: 'flow', agents: [waits], maxIterations: 2 })
  const run = await (await runtimeOf([cancelled])).start(cancelled, 'go')
  await expect.poll(async () => (await run.view()).interrupts.length).toBe(1)
  await run.control.cancel('enough')
  expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
  const anew = agent({
    name: 'anew',
    run: async (ctx) => {
      if (ctx.carried === undefined) ctx.restart(await step(ctx, 'first', () => 1))
      return ctx.carried
    },
  })
  const flow = sequential({ name: 'flow', agents: [anew] })
  expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: 1 })
})
