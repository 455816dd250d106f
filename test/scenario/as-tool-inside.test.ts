/**
 * Spec collaboration, section G: control never leaves an agent that is called as a tool, and it may do no more than its
 * caller.
 */
import { describe, expect, test } from 'vitest'
import { agent, breakLoop, exit, tool, transferTo, type Agent, type Tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, exitTool, loop, router, sequential, type AsToolOptions } from '@reeve/flow'
import { modelAgent } from './asking.ts'
import { asks, echo, outerOf, played } from './calling.ts'
import { code } from './control.ts'
import { calls, runtimeOf, scripted, told } from './team.ts'

describe('control stays inside', () => {
  const outside = (inner: Agent) => {
    const { outer, model } = outerOf(inner)
    return { after: modelAgent('after', scripted('after')), outer, model }
  }
  const inner: readonly [string, () => Agent, Json][] = [
    ['an exit', () => code('inner', () => exit('out')), 'out'],
    ['an exit of a supervisor', () => code('inner', () => exit('out', 'supervisor')), 'out'],
    [
      'an exit by a tool',
      () => modelAgent('inner', scripted(calls(['exit', { final_result: 'out' }])), { tools: [exitTool] }),
      'out',
    ],
    ['a break', () => code('inner', () => breakLoop('enough')), 'enough'],
    [
      'a break by a tool',
      () =>
        modelAgent('inner', scripted(calls(['stop', {}]), 'enough'), {
          tools: [tool({ name: 'stop', execute: () => 'ok', action: 'break' })],
        }),
      'enough',
    ],
    [
      'an exit deep in a flow',
      () => sequential({ name: 'inner', description: 'S', agents: [code('a', () => exit('out')), modelAgent('b')] }),
      'out',
    ],
  ]
  test.each(inner)(
    'collaboration 7: %s inside a tool ends only what is inside: in a sequential',
    async (_what, make, result) => {
      const { outer, after, model } = outside(make())
      const { outcome } = await played(sequential({ name: 'line', agents: [outer, after] }))
      expect(outcome).toMatchObject({ output: 'after' })
      expect(told(model.prompts[1])).toEqual([result])
    },
  )
  test.each(inner)('collaboration 7: %s inside a tool ends only what is inside: in a loop', async (_what, make) => {
    const { outer, after } = outside(make())
    const { outcome, events, paths } = await played(loop({ name: 'round', agents: [outer, after], maxIterations: 2 }))
    expect(outcome).toMatchObject({ output: 'after' })
    expect(events.filter(({ type }) => type === 'loop.broken')).toEqual([])
    expect(paths.filter((path) => path.endsWith('/after'))).toHaveLength(2)
  })

  test('collaboration 7: a transfer inside moves only what is inside', async () => {
    const lead = scripted(calls(['transfer_to_agent', { agent_name: 'outer' }]), 'the lead ends')
    const room = router({
      name: 'inner',
      description: 'R',
      run: () => transferTo('w'),
      workers: [modelAgent('w')],
      transfer: { returns: 'never' },
    })
    const { outer, model } = outerOf(room)
    const { outcome, events } = await played(
      router({ name: 'lead', model: lead, workers: [outer, modelAgent('other')] }),
    )
    expect(outcome).toMatchObject({ output: 'the lead ends' })
    expect(told(model.prompts[1])).toEqual(['w answers'])
    const hops = events.flatMap((event) => (event.type === 'agent.transferred' ? [`${event.from}>${event.to}`] : []))
    expect(hops).toEqual(['lead>outer', 'inner>w', 'outer>lead'])
  })

  test('collaboration 7, 20: an agent as a tool has no transfer target: its transfer fails', async () => {
    const { outer, model } = outerOf(code('inner', () => transferTo('other')))
    const { outcome } = await played(
      router({
        name: 'lead',
        run: (_ctx, _brief, talk) => (talk.history.length > 1 ? 'end' : transferTo('outer')),
        workers: [outer, modelAgent('other')],
      }),
    )
    expect(outcome).toMatchObject({ output: 'end' })
    expect(told(model.prompts[1])).toEqual([
      expect.stringMatching(/no other agent can take over|nobody to hand over to/),
    ])
  })

  test('collaboration 7: the caller may exit with the result of an agent as a tool', async () => {
    const { outer } = outerOf(modelAgent('inner'), { action: 'exit' })
    const { outcome } = await played(sequential({ name: 'line', agents: [outer, modelAgent('after')] }))
    expect(outcome).toMatchObject({ output: 'inner answers' })
  })
})

describe('what becomes of the caller', () => {
  const lead = (first: readonly (readonly [string, Json])[]) => scripted(calls(...first), 'final')
  const transfer = ['transfer_to_agent', { agent_name: 'w' }] as const
  const bad = code('inner', () => {
    throw new Error('boom')
  })
  test.each([
    ['before', [['inner', { request: 'x' }], transfer]],
    ['after', [transfer, ['inner', { request: 'x' }]]],
  ] as const)(
    "collaboration 23, 87: with onFailure: 'fail' a failure %s a transfer ends the caller without a transfer",
    async (_what, first) => {
      const w = scripted('w answers')
      const root = router({
        name: 'lead',
        model: lead(first),
        workers: [modelAgent('w', w)],
        tools: [asTool(bad, { onFailure: 'fail' })],
      })
      const { outcome } = await played(root)
      expect(outcome).toMatchObject({ status: 'failed', failure: { message: 'boom' } })
      expect(w.prompts).toHaveLength(0)
    },
  )

  test('collaboration 87: told of a failure beside a transfer, the worker that takes over is shown it too', async () => {
    const w = scripted('w answers')
    const root = router({
      name: 'lead',
      model: lead([['inner', { request: 'x' }], transfer]),
      workers: [modelAgent('w', w)],
      tools: [asTool(bad)],
    })
    expect((await played(root)).outcome).toMatchObject({ output: 'final' })
    const shown = JSON.stringify(w.prompts[0])
    expect(shown).toMatch(/failed: its code failed/)
    expect(shown).not.toMatch(/boom/) // the words of an exception stay in the journal
  })

  test('collaboration 86: the result may transfer control: the next agent sees it, and the task', async () => {
    const w = scripted('w answers')
    const tools = [asTool(modelAgent('inner'), { action: { transfer: 'w', task: 'Go on.' } })]
    const root = router({
      name: 'lead',
      model: lead([['inner', { request: 'x' }]]),
      workers: [modelAgent('w', w)],
      tools,
    })
    const { outcome, paths } = await played(root)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual(['lead', 'lead/inner', 'lead/w', 'lead/w/lead'])
    expect(w.prompts[0]!.map(({ content }) => content)).toEqual([
      'the question',
      'For context: [lead] called tool: `inner` with arguments: {"request":"x"}.',
      'For context: [lead] `inner` tool returned result: inner answers.',
      'Go on.',
    ])
  })
})

describe('what it may do', () => {
  test('collaboration 86: limits of a call hold for each call', async () => {
    const busy = scripted(calls(['echo', {}]))
    const model = scripted(asks('inner'), asks('inner'), 'final')
    await played(outerOf(modelAgent('inner', busy, { tools: [echo] }), { limits: { turns: 2 } }, model).outer)
    expect(busy.prompts).toHaveLength(4)
    expect(told(model.prompts[2])).toEqual([expect.stringMatching(/limit of turns/)])
  })

  test('permissions of a call only narrow those of the caller', async () => {
    const seen = scripted('inner answers')
    const tools = ['read', 'write', 'erase'].map((name) => tool({ name, execute: () => name }))
    const { outer } = outerOf(modelAgent('inner', seen, { tools }), { permissions: { tools: ['read', 'write'] } })
    const runtime = await runtimeOf([outer])
    await runtime.run(outer, 'go', { permissions: { tools: ['inner', 'read', 'erase'] } })
    expect(seen.tools[0]!.map(({ name }) => name)).toEqual(['read'])
  })

  test('the call itself may need an approval; until then nothing of the agent happens', async () => {
    const inner = scripted('inner answers')
    const { outer, model } = outerOf(
      modelAgent('inner', inner),
      { approval: true },
      scripted(asks('inner'), asks('inner', 'y'), 'final'),
    )
    const runtime = await runtimeOf([outer])
    const run = await runtime.start(outer, 'go')
    await run.until('waiting')
    const [first] = await runtime.approvals()
    expect(first).toMatchObject({ tool: 'inner', input: { request: 'x' }, path: ['outer'] })
    expect(inner.prompts).toEqual([])
    await run.decide({ approvalId: first!.id, decision: 'reject', comment: 'not now' })
    await expect.poll(async () => (await runtime.approvals())[0]?.input).toEqual({ request: 'y' })
    expect(told(model.prompts[1])).toEqual([expect.stringMatching(/rejected.*not now/)])
    const [second] = await runtime.approvals()
    await run.decide({ approvalId: second!.id, decision: 'edit', input: { request: 'edited' } })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(inner.prompts).toEqual([[{ role: 'user', content: 'edited' }]])
  })

  test('agents as tools nest as deep as delegations; deeper is refused to the caller', async () => {
    const deepest = scripted('never')
    const middle = scripted(asks('deepest'), 'from the middle')
    const inner = modelAgent('inner', middle, { tools: [asTool(modelAgent('deepest', deepest))] })
    const outer = modelAgent('outer', scripted(asks('inner'), 'final'), {
      tools: [asTool(inner)],
      limits: { depth: 1 },
    })
    const { outcome } = await played(outer)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(deepest.prompts).toEqual([])
    expect(told(middle.prompts[1])).toEqual([expect.stringMatching(/nest 1 deep.*outer > inner > deepest/)])
  })

  test('what makes no sense is refused when it is built', async () => {
    const nameless = agent({ name: 'inner', model: scripted('x') })
    const invalid = (what: RegExp) =>
      expect.objectContaining({ code: 'tool.invalid', message: expect.stringMatching(what) as string }) as Error
    expect(() => asTool(nameless)).toThrow(invalid(/"inner".*no description/))
    expect(() => asTool({} as Agent)).toThrow(invalid(/the agent is an object, expected an agent/))
    expect(asTool(nameless, { description: 'Of its own.' }).spec.description).toBe('Of its own.')
    const bad: readonly [object, RegExp][] = [
      [{ context: 'everything' }, /context is the text "everything"/],
      [{ transfers: 'some' }, /transfers is the text "some"/],
      [{ onFailure: 'retry' }, /onFailure is the text "retry"/],
      [{ limits: { turns: -1 } }, /limits.turns is -1/],
      [{ permissions: { tools: ['a*b'] } }, /permissions.tools\[0\] is the text "a\*b"/],
    ]
    for (const [options, what] of bad)
      expect(() => asTool(modelAgent('inner'), options as AsToolOptions)).toThrow(invalid(what))
    const twice = modelAgent('outer', scripted('x'), {
      tools: [asTool(modelAgent('inner')), asTool(modelAgent('other'), { name: 'inner' })],
    })
    await expect(runtimeOf([twice])).rejects.toThrow(/two tools are called "inner"/)
  })
  test('K4: its data is part of its version, so an approval of one is none of another', () => {
    const [inner, other] = [modelAgent('inner'), modelAgent('other')]
    const { version } = asTool(inner)
    expect(asTool(inner).version).toBe(version)
    const others: Tool[] = [
      asTool(other, { name: 'inner', description: inner.description }),
      asTool(inner, { context: 'conversation' }),
      asTool(inner, { context: 'conversation', transfers: 'shown' }),
      asTool(inner, { onFailure: 'fail' }),
      asTool(inner, { limits: { turns: 1 } }),
      asTool(inner, { permissions: { tools: [] } }),
      asTool(inner, { action: 'return' }),
    ]
    expect(new Set([version, ...others.map((each) => each.version)]).size).toBe(8)
  })
})
