/** Spec collaboration, section G: an agent among the tools of another: what crosses to it, and what comes back. */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, exitTool, loop, parallel, router, sequential, type AsToolOptions } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { modelAgent } from './asking.ts'
import { asks, echo, outerOf, played } from './calling.ts'
import { code } from './control.ts'
import { calls, delegates, fatal, scripted, told } from './team.ts'

describe('what crosses', () => {
  test('collaboration 83: a request is the one message that the agent gets', async () => {
    const inner = scripted('inner answers')
    const { outer, model } = outerOf(modelAgent('inner', inner))
    const { outcome } = await played(outer)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(inner.prompts).toEqual([[{ role: 'user', content: 'x' }]])
    expect(told(model.prompts[1])).toEqual(['inner answers'])
    expect(model.tools[0]![0]).toMatchObject({
      name: 'inner',
      description: 'Does what inner does.',
      parameters: { required: ['request'], properties: { request: { type: 'string' } } },
    })
  })

  test.each<[string, Json]>([
    ['no request', {}],
    ['a request that is no text', { request: 7 }],
    ['more than a request', { request: 'x', also: 1 }],
  ])('collaboration 83: %s goes back to the model, and the agent is not started', async (_what, input) => {
    const inner = scripted('inner answers')
    const { outer, model } = outerOf(
      modelAgent('inner', inner),
      {},
      scripted(calls(['inner', input]), asks('inner', 'y'), 'final'),
    )
    const { outcome, events } = await played(outer)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])[0]).toMatch(/arguments of "inner" do not fit/)
    expect(inner.prompts).toEqual([[{ role: 'user', content: 'y' }]])
    expect(events.filter(({ type }) => type === 'tool.refused')).toHaveLength(1)
  })

  test('collaboration 84: with a schema of the tool the message is the arguments as JSON', async () => {
    const inner = scripted('inner answers')
    const city = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'number' } },
      required: ['city'],
    } as const
    const model = scripted(calls(['weather', { city: 'Ulm', days: 2 }]), 'final')
    const { outer } = outerOf(
      modelAgent('inner', inner),
      { name: 'weather', description: 'Tells the weather.', input: city },
      model,
    )
    await played(outer)
    expect(inner.prompts).toEqual([[{ role: 'user', content: '{"city":"Ulm","days":2}' }]])
    expect(model.tools[0]![0]).toMatchObject({ name: 'weather', description: 'Tells the weather.', parameters: city })
  })

  test("collaboration 84: an agent's own input schema is that of the tool, and it gets the value", async () => {
    const inner = agent({
      name: 'inner',
      description: 'Adds.',
      input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
      run: (_ctx, brief) => {
        const { a, b } = brief as { a: number; b: number }
        return a + b
      },
    })
    const { outer, model } = outerOf(
      inner,
      {},
      scripted(calls(['inner', { a: 1 }]), calls(['inner', { a: 1, b: 2 }]), 'final'),
    )
    await played(outer)
    expect(told(model.prompts[1])[0]).toMatch(/do not fit/)
    expect(told(model.prompts[2])).toEqual([3])
  })

  test.each<[string, AsToolOptions['transfers'], readonly string[]]>([
    [
      'with the transfer shown',
      'shown',
      [
        'For context: [outer] called tool: `transfer_to_agent` with arguments: {"agent_name":"inner"}.',
        'For context: [outer] `transfer_to_agent` tool returned result: successfully transferred to agent [inner].',
      ],
    ],
    ['with the transfer hidden', 'hidden', []],
  ])(
    'collaboration 85: the whole conversation, %s: no system text, no call of its own, the request last',
    async (_what, shown, pair) => {
      const inner = scripted('inner answers')
      const model = scripted({ text: 'thinking', ...calls(['echo', {}]) }, asks('inner', 'the request'), 'final')
      const { outer } = outerOf(
        modelAgent('inner', inner, { instructions: 'You are inner.' }),
        { context: 'conversation', transfers: shown! },
        model,
      )
      await played(outer)
      expect(inner.prompts).toEqual([
        [
          { role: 'system', content: 'You are inner.' },
          { role: 'user', content: 'the question' },
          {
            role: 'user',
            content: 'For context: [outer] said: thinking. [outer] called tool: `echo` with arguments: {}.',
          },
          { role: 'user', content: 'For context: [outer] `echo` tool returned result: echoed.' },
          ...pair.map((content) => ({ role: 'user', content })),
          { role: 'user', content: 'the request' },
        ],
      ])
    },
  )

  test('collaboration 85: of a conversation only what was said, not what was done with tools', async () => {
    const inner = scripted('inner answers')
    const model = scripted(
      { text: 'let me look', ...calls(['echo', {}]) },
      calls(['echo', {}]),
      asks('inner', 'the request'),
      'final',
    )
    await played(outerOf(modelAgent('inner', inner), { context: 'answers' }, model).outer)
    expect(inner.prompts[0]!.map(({ content }) => content)).toEqual([
      'the question',
      'For context: [outer] said: let me look.',
      'the request',
    ])
  })

  test('collaboration 85: where several agents speak, the agent is shown what its caller was shown', async () => {
    const inner = scripted('inner answers')
    const caller = modelAgent('caller', scripted(asks('inner', 'the request'), 'called'), {
      tools: [asTool(modelAgent('inner', inner), { context: 'conversation' })],
    })
    const { outcome } = await played(sequential({ name: 'line', agents: [modelAgent('first'), caller] }))
    expect(outcome).toMatchObject({ output: 'called' })
    expect(inner.prompts[0]!.map(({ content }) => content)).toEqual([
      'the question',
      'For context: [first] said: first answers.',
      'the request',
    ])
  })

  test('collaboration 7, 83: nothing that happens inside is ever shown to the caller but the answer', async () => {
    const inner = modelAgent('inner', scripted({ text: 'inner thinks', ...calls(['echo', {}]) }, 'inner answers'), {
      tools: [echo],
    })
    const { outer, model } = outerOf(inner)
    await played(outer)
    expect(JSON.stringify(model.prompts[1])).not.toMatch(/inner thinks|echoed/)
    expect(told(model.prompts[1])).toEqual(['inner answers'])
  })
})

describe('what comes back', () => {
  const answer = tool({ name: 'answer', execute: () => 'from a tool', action: 'return' })
  test.each<[string, Agent, Json]>([
    [
      'the result of a tool that ends it',
      modelAgent('inner', scripted(calls(['answer', {}])), { tools: [answer] }),
      'from a tool',
    ],
    [
      'the result of an exit',
      modelAgent('inner', scripted(calls(['exit', { final_result: 'out' }])), { tools: [exitTool] }),
      'out',
    ],
    ['an empty answer', code('inner', () => ''), '[worker "inner" finished without an answer]'],
    ['white space alone', code('inner', () => ' \n'), '[worker "inner" finished without an answer]'],
    ['a value', code('inner', () => ({ n: [1] })), { n: [1] }],
    ['nothing', code('inner', () => undefined), '[inner: no event returned]'],
  ])('collaboration 86: %s', async (_what, inner, result) => {
    const { outer, model } = outerOf(inner)
    const { outcome } = await played(outer)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual([result])
    const last = model.prompts[1]!.at(-1)!
    expect(last.role === 'tool' && last.isError).toBe(result === '[inner: no event returned]' ? true : undefined)
  })

  const failing: readonly [string, () => Agent, RegExp, object][] = [
    [
      'a model that fails',
      () => modelAgent('inner', scripted(fatal('secret of a provider'))),
      /failed: its model could not answer/,
      { status: 'failed' },
    ],
    [
      'code that throws',
      () =>
        code('inner', () => {
          throw new Error('boom')
        }),
      /failed: its code failed/, // the words of an exception stay in the journal
      { status: 'failed', failure: { message: 'boom' } },
    ],
    [
      'a limit',
      () =>
        modelAgent('inner', scripted({ text: 'half', ...calls(['echo', {}]) }), {
          tools: [echo],
          limits: { turns: 2 },
        }),
      /stopped at its limit of turns(.|\n)*half/,
      { status: 'limited', limit: 'turns', partial: 'half' },
    ],
  ]
  test.each(failing)('collaboration 87: %s is told to the caller, and it goes on', async (_what, inner, said) => {
    const { outer, model } = outerOf(inner())
    expect((await played(outer)).outcome).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual([expect.stringMatching(said)])
    expect(model.prompts[1]!.at(-1)).toMatchObject({ isError: true })
  })
  test.each(failing)(
    "collaboration 87: %s ends the caller in the same way, with onFailure: 'fail'",
    async (what, inner, _said, outcome) => {
      const { outer, model } = outerOf(
        inner(),
        { onFailure: 'fail' },
        scripted(calls(['inner', { request: 'x' }], ['echo', {}]), 'final'),
      )
      const end = await played(outer)
      expect(end.outcome).toMatchObject(outcome)
      expect(model.prompts).toHaveLength(1)
      expect(end.events.filter(({ type }) => type === 'tool.called')).toHaveLength(what === 'a limit' ? 3 : 1) // its siblings still end
    },
  )

  test('collaboration 87: an agent that ends with its tool is a failed worker like any other', async () => {
    const lead = scripted(calls(['transfer_to_agent', { agent_name: 'outer' }]), 'the lead goes on')
    const { outer } = outerOf(modelAgent('inner', scripted(fatal('no'))), { onFailure: 'fail' })
    const { outcome } = await played(router({ name: 'lead', model: lead, workers: [outer] }))
    expect(outcome).toMatchObject({ output: 'the lead goes on' })
    expect(lead.prompts[1]!.at(-1)!.content).toMatch(/worker "outer" failed/)
  })

  test('collaboration 83: two calls of one agent in one turn are two activations, with results in call order', async () => {
    const first = Promise.withResolvers<void>()
    const inner = scripted(async ({ messages }) => {
      if (messages[0]!.content !== 'a') return (first.resolve(), 'fast')
      await first.promise
      return 'slow'
    })
    const model = scripted(calls(['inner', { request: 'a' }, 'same'], ['inner', { request: 'b' }, 'same']), 'final')
    const { outcome, paths } = await played(outerOf(modelAgent('inner', inner), {}, model).outer)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual(['slow', 'fast'])
    expect(paths).toEqual(['outer', 'outer/inner', 'outer/inner'])
  })

  test('collaboration 7: three deep, and the path has one step for each agent', async () => {
    const inner2 = scripted('from below')
    const inner = modelAgent('inner', scripted(asks('inner2', 'deeper'), 'from the middle'), {
      tools: [asTool(modelAgent('inner2', inner2))],
    })
    const { outcome, paths } = await played(outerOf(inner).outer)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual(['outer', 'outer/inner', 'outer/inner/inner2'])
    expect(inner2.prompts).toEqual([[{ role: 'user', content: 'deeper' }]])
  })

  const hands = (to: string) => calls(['transfer_to_agent', { agent_name: to }])
  const shapes: readonly [string, Agent, Json, readonly string[]][] = [
    [
      'a router',
      router({ name: 'inner', description: 'R', model: scripted(hands('w'), 'routed'), workers: [modelAgent('w')] }),
      'routed',
      ['outer', 'outer/inner', 'outer/inner/w', 'outer/inner/w/inner'],
    ],
    [
      'a router that hands off',
      router({
        name: 'inner',
        description: 'R',
        model: scripted(hands('w')),
        workers: [modelAgent('w')],
        transfer: { returns: 'never' },
      }),
      'w answers',
      ['outer', 'outer/inner', 'outer/inner/w'],
    ],
    [
      'a sequential',
      sequential({ name: 'inner', description: 'S', agents: [modelAgent('a'), modelAgent('b')] }),
      'b answers',
      ['outer', 'outer/inner', 'outer/inner/a', 'outer/inner/a/b'],
    ],
    [
      'a loop',
      loop({ name: 'inner', description: 'L', agents: [modelAgent('a')], maxIterations: 2 }),
      'a answers',
      ['outer', 'outer/inner', 'outer/inner/a', 'outer/inner/a/a'],
    ],
    [
      'a parallel',
      parallel({ name: 'inner', description: 'P', agents: [modelAgent('a'), modelAgent('b')] }),
      ['a answers', 'b answers'],
      ['outer', 'outer/inner', 'outer/inner/a', 'outer/inner/b'],
    ],
    [
      'a supervisor',
      supervisor({
        name: 'inner',
        description: 'S',
        model: scripted(delegates(['w', 'go']), 'supervised'),
        workers: [modelAgent('w')],
      }),
      'supervised',
      ['outer', 'outer/inner', 'outer/inner/w'],
    ],
  ]
  test.each(shapes)('collaboration 49: %s as a tool', async (_what, inner, result, paths) => {
    const { outer, model } = outerOf(inner)
    const end = await played(outer)
    expect(end.outcome).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual([result])
    expect([...end.paths].sort()).toEqual([...paths].sort())
  })
})
