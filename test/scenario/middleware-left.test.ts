/**
 * What a middleware's `after` leaves in the place of an outcome: what those who come after the agent are shown of it,
 * and who has control (spec collaboration 1.6, 1.17).
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Middleware } from '@reeve/agent'
import { completed, failed, failure, type Json } from '@reeve/core'
import { router, sequential } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { context, contents, user } from './played.ts'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, type Scripted } from './team.ts'

/** Leaves this wherever the agent has completed, whatever it was about to do. */
const leaves = (output: Json): Middleware => ({
  name: 'm',
  after: ({ status }) => (status === 'completed' ? completed(output) : undefined),
})
/**
 * Takes the secret out of every text that is an answer: as most middlewares do it, without a look at what becomes of
 * control.
 */
const masks: Middleware = {
  name: 'masks',
  after: (outcome) =>
    outcome.status === 'completed' && typeof outcome.output === 'string'
      ? completed(outcome.output.replaceAll('SECRET', '***'))
      : undefined,
}
const saves: Middleware = {
  name: 'saves',
  after: ({ status }) => (status === 'failed' ? completed('saved') : undefined),
}
const to = (name: string) => calls(['transfer_to_agent', { agent_name: name }, `to-${name}`])
const next = (model: Scripted = scripted('b')) => ({ b: agent({ name: 'b', description: 'Next.', model }), model })
const told = (outcome: unknown) => JSON.stringify(outcome)

describe('what others are shown is what was left', () => {
  test.each(['conversation', 'answer'] as const)(
    'an answer of the model, shared as %s; it is what is said, and the journal keeps what the model said',
    async (shares) => {
      const { b, model } = next()
      const a = agent({ name: 'a', model: scripted('SECRET'), middleware: [masks] })
      const flow = sequential({ name: 'flow', agents: [a, b], edge: { shares } })
      const run = await (await runtimeOf([flow])).start(flow, 'go')
      expect(await run.outcome()).toMatchObject({ output: 'b' })
      expect(model.prompts[0]).toEqual([user('go'), context('[a] said: ***.')])
      const spoken: string[] = []
      for await (const message of run.messages()) if (message.type === 'assistant') spoken.push(message.text)
      expect(spoken).toEqual(['***', 'b'])
      const events: unknown[] = []
      for await (const { event } of run.events()) events.push(event)
      expect(JSON.stringify(events)).toContain('SECRET')
    },
  )

  test('the result of a tool that was the answer; the call keeps a result', async () => {
    const { b, model } = next()
    const look = tool({ name: 'look', execute: () => 'SECRET', action: 'return' })
    const a = agent({ name: 'a', model: scripted(calls(['look', {}])), tools: [look], middleware: [masks] })
    const flow = sequential({ name: 'flow', agents: [a, b, a] })
    expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: '***' })
    expect(contents(model.prompts[0])).toEqual([
      'go',
      'For context: [a] called tool: `look` with arguments: {}.',
      'For context: [a] `look` tool returned result: ***.',
    ])
  })

  test('an output that a schema makes something of; other shapes than texts', async () => {
    const { b, model } = next()
    const output = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) => ({ value: { n: (value as { n: number }).n + 1 } }),
        jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
      },
    } as const
    const make = (middleware: readonly Middleware[]) =>
      agent({ name: 'a', model: scripted('{"n":1}'), output: output as never, middleware })
    const flow = sequential({ name: 'flow', agents: [make([leaves({ n: 7 })]), b] })
    const runtime = await runtimeOf([flow])
    await runtime.run(flow, 'go')
    expect(contents(model.prompts[0])).toEqual(['go', 'For context: [a] said: {"n":8}.'])
    const alone = async (middleware: readonly Middleware[]) => (await runtimeOf([make(middleware)])).run('a', 'go')
    expect(await alone([leaves({ n: 7 })])).toMatchObject({ output: { n: 8 } })
    expect(await alone([{ name: 'same', after: (outcome) => ({ ...outcome }) }])).toMatchObject({ output: { n: 2 } }) // nothing is left otherwise, so nothing is made of it again
  })

  test('a failure that was saved, as words of the agent and nothing of what it failed with', async () => {
    const lead = scripted(to('W1'), 'done')
    const W1 = agent({ name: 'W1', description: 'One.', model: scripted(fatal('SECRET')), middleware: [saves] })
    const Sup = router({ name: 'Sup', model: lead, workers: [W1] })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'done' })
    expect(lead.prompts[1]!.at(-1)).toEqual(context('[W1] said: saved.'))
    const { b, model } = next()
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const unfit: Middleware = {
      name: 'unfit',
      after: ({ status }) => (status === 'failed' ? completed({ n: 0 }) : undefined),
    }
    const a = agent({ name: 'a', model: scripted('no', 'SECRET, no', 'SECRET, never'), output, middleware: [unfit] })
    const flow = sequential({ name: 'flow', agents: [a, b] })
    await (await runtimeOf([flow])).run(flow, 'go')
    expect(contents(model.prompts[0])).toEqual(['go', 'For context: [a] said: {"n":0}.'])
  })

  test('an unusable answer is refused; an empty one leaves no words', async () => {
    const { b, model } = next()
    const none = agent({
      name: 'a',
      model: scripted('SECRET'),
      middleware: [{ name: 'm', after: () => ({ status: 'completed' }) as never }],
    })
    expect(await (await runtimeOf([none])).run(none, 'go')).toMatchObject({ failure: { code: 'middleware.failed' } })
    const a = agent({ name: 'a', model: scripted('SECRET'), middleware: [leaves(null)] })
    const flow = sequential({ name: 'flow', agents: [a, b] })
    await (await runtimeOf([flow])).run(flow, 'go')
    expect(model.prompts[0]).toEqual([user('go')])
  })
})

describe('what becomes of control', () => {
  test('an agent left with an answer transfers nothing, and no one is told otherwise', async () => {
    const { b, model } = next()
    const worked: string[] = []
    const W1 = agent({ name: 'W1', description: 'One.', run: () => (worked.push('W1'), 'w1') })
    const Sup = router({
      name: 'Sup',
      model: scripted(to('W1')),
      workers: [W1],
      middleware: [leaves('I do it myself')],
    })
    const flow = sequential({ name: 'flow', agents: [Sup, b], edge: { transfers: 'shown' } })
    const run = await (await runtimeOf([flow])).start(flow, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'b' })
    expect(worked).toEqual([])
    const shown = contents(model.prompts[0])
    expect(shown.at(-1)).toBe('For context: [Sup] said: I do it myself.')
    expect(told(shown)).not.toContain('successfully transferred')
    const events = await eventsOf(run)
    expect(events.filter(({ type }) => type === 'agent.transferred')).toEqual([])
    expect(events.filter(({ type }) => type === 'tool.refused')).toMatchObject([
      { tool: 'transfer_to_agent', callId: 'to-W1', failure: { code: 'transfer.refused' } },
    ])
  })

  test('a middleware that leaves every output, or a copy of it, changes nothing', async () => {
    const W1 = agent({ name: 'W1', description: 'One.', model: scripted('w1') })
    const copies: Middleware = { name: 'copies', after: (outcome) => ({ ...outcome }) }
    const Sup = router({
      name: 'Sup',
      model: scripted(to('W1'), 'a SECRET'),
      workers: [W1],
      middleware: [masks, copies],
    })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'a ***' })
  })

  test('an exit is an answer: it ends the run with what was left', async () => {
    const { b, model } = next()
    const out = tool({ name: 'out', execute: () => 'SECRET', action: 'exit' })
    const a = agent({ name: 'a', model: scripted(calls(['out', {}])), tools: [out], middleware: [masks] })
    const flow = sequential({ name: 'flow', agents: [a, b] })
    expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: '***' })
    expect(model.prompts).toEqual([])
  })

  test('a completed outcome that becomes a failure decides nothing', async () => {
    const lead = scripted(to('W1'), 'done')
    const out = tool({ name: 'out', execute: () => 'bye', action: 'exit' })
    const bad: Middleware = { name: 'bad', after: () => failed(failure('permission.denied', 'no', 'policy')) }
    const W1 = agent({
      name: 'W1',
      description: 'One.',
      model: scripted(calls(['out', {}])),
      tools: [out],
      middleware: [bad],
    })
    const Sup = router({ name: 'Sup', model: lead, workers: [W1] })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'done' })
  })
})

test('the agent after a forwarding leader sees what it forwarded', async () => {
  const { b, model } = next()
  const w = agent({ name: 'w', description: 'Works.', run: () => 'the whole report' })
  const boss = supervisor({
    name: 'boss',
    model: scripted(delegates(['w', 'report']), calls(['forward_message', { worker: 'w' }])),
    workers: [w],
  })
  const flow = sequential({ name: 'flow', agents: [boss, b], edge: { context: 'answers' } })
  await (await runtimeOf([flow])).run(flow, 'go')
  expect(contents(model.prompts[0])).toEqual(['go', 'For context: [boss] said: the whole report.'])
})

test('a turn in which a middleware failed leaves no call without a result', async () => {
  let broken = true
  const shaky = scripted({ text: 'looking', ...calls(['look', {}]) }, 'done')
  const worker = agent({
    name: 'worker',
    description: 'Looks.',
    model: shaky,
    tools: [tool({ name: 'look', execute: () => 'seen' })],
    middleware: [
      {
        name: 'guard',
        wrapTool: (_call, run) => {
          if (!broken) return run()
          broken = false
          throw new Error('not today')
        },
      },
    ],
  })
  const desk = router({ name: 'desk', model: scripted(to('worker'), to('worker'), 'final'), workers: [worker] })
  const runtime = await runtimeOf([desk])
  expect(await runtime.run(desk, 'go')).toMatchObject({ output: 'final' })
  const again = shaky.prompts[1]!
  const called = again.flatMap((message) =>
    message.role === 'assistant' ? (message.calls ?? []).map(({ id }) => id) : [],
  )
  expect(again.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(called)
  expect(called).toHaveLength(1)
})
