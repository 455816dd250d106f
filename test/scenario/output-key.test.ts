/**
 * `outputKey` and `templating`: what agents leave to each other in session values, and how it gets into instructions
 * (spec collaboration 1.8, 1.17).
 */
import { describe, expect, test } from 'vitest'
import { agent, breakLoop, checkAgents, exit, tool, transferTo } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { scripted as byConversation, simulate, teamScenario } from '@reeve/testing'
import { calls, delegates, eventsOf, runtimeOf, scripted } from './team.ts'

/** Reads some values of a session. */
const reads = (...keys: string[]) =>
  agent({
    name: 'reads',
    run: async (ctx) =>
      Object.fromEntries(await Promise.all(keys.map(async (key) => [key, await ctx.values.get(key)] as const))),
  })

/** The values that a run of this agent leaves. */
async function left(root: ReturnType<typeof agent>, ...keys: string[]): Promise<Json> {
  const reader = reads(...keys)
  const runtime = await runtimeOf([root, reader])
  await runtime.run(root, 'go', { session: 'ses_1' })
  const outcome = await runtime.run(reader, 'go', { session: 'ses_1' })
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  return outcome.output
}

describe('outputKey', () => {
  test('the output of a model, of its schema, of a tool that returns, of code, is kept under it', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const now = tool({ name: 'now', execute: () => ({ at: 1 }), action: 'return' })
    const flow = sequential({
      name: 'flow',
      agents: [
        agent({ name: 'A', model: scripted('said'), outputKey: 'a' }),
        agent({ name: 'B', model: scripted('{"n":1}'), output, outputKey: 'b' }),
        agent({ name: 'C', model: scripted(calls(['now', {}])), tools: [now], outputKey: 'c' }),
        agent({ name: 'D', run: () => [1, 2], outputKey: 'd' }),
        agent({ name: 'E', run: () => breakLoop('broken'), outputKey: 'e' }),
        agent({ name: 'F', run: () => exit('ended'), outputKey: 'f' }),
      ],
      outputKey: 'flow',
    })
    expect(await left(flow, 'a', 'b', 'c', 'd', 'e', 'f', 'flow')).toEqual({
      a: 'said',
      b: { n: 1 },
      c: { at: 1 },
      d: [1, 2],
      e: 'broken',
      f: 'ended',
      flow: 'ended',
    })
  })

  test('works for leaders and flows too: supervisor, loop, parallel, delegated worker, agent as a tool', async () => {
    const one = agent({ name: 'one', description: 'One.', model: scripted('1'), outputKey: 'one' })
    const two = agent({ name: 'two', description: 'Two.', model: scripted('2'), outputKey: 'two' })
    const both = parallel({ name: 'both', agents: [one, two], outputKey: 'both' })
    const round = loop({ name: 'round', agents: [both], maxIterations: 1, outputKey: 'round' })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['one', 'x']), calls(['both', { request: 'x' }]), 'done'),
      workers: [one],
      tools: [asTool(parallel({ name: 'both', description: 'Both.', agents: [one, two], outputKey: 'both' }))],
      outputKey: 'boss',
    })
    expect(await left(round, 'one', 'two', 'both', 'round')).toEqual({
      one: '1',
      two: '2',
      both: ['1', '2'],
      round: ['1', '2'],
    })
    expect(await left(boss, 'one', 'two', 'both', 'boss')).toEqual({
      one: '1',
      two: '2',
      both: ['1', '2'],
      boss: 'done',
    })
  })

  test('who hands control on has answered nothing; a router keeps what it ended with, once', async () => {
    const W1 = agent({ name: 'W1', description: 'One.', model: scripted('w1 says'), outputKey: 'w1' })
    const Sup = router({
      name: 'Sup',
      model: scripted(calls(['transfer_to_agent', { agent_name: 'W1' }]), 'final'),
      workers: [W1],
      outputKey: 'sup',
    })
    const runtime = await runtimeOf([Sup])
    const run = await runtime.start(Sup, 'go')
    await run.outcome()
    const written = (await eventsOf(run)).flatMap((event) => (event.type === 'step.begun' ? [event.address] : []))
    expect(written).toEqual(['output-key/value.update:w1', 'output-key/value.update:sup'])
    expect(
      await left(
        router({
          name: 'Hand',
          run: () => transferTo('W1', { output: 'half' }),
          workers: [W1],
          transfer: { returns: 'never' },
          outputKey: 'hand',
        }),
        'w1',
        'hand',
      ),
    ).toEqual({
      w1: 'w1 says',
      hand: 'w1 says',
    })
  })

  test('who does not complete keeps nothing, and what was kept before stays', async () => {
    const fails = agent({
      name: 'fails',
      model: scripted(new FailureError(failure('model.bad-request', 'no', 'validation'))),
      outputKey: 'k',
    })
    const stops = agent({
      name: 'stops',
      model: scripted(calls(['nothing', {}])),
      limits: { turns: 1 },
      outputKey: 'k',
    })
    const before = agent({ name: 'before', run: () => 'kept', outputKey: 'k' })
    for (const bad of [fails, stops])
      expect(await left(sequential({ name: 'flow', agents: [before, bad] }), 'k')).toEqual({ k: 'kept' })
  })

  test('the next agent of the run finds it at once', async () => {
    const flow = sequential({
      name: 'flow',
      agents: [
        agent({ name: 'A', run: () => 'found', outputKey: 'k' }),
        agent({ name: 'B', run: (ctx) => ctx.values.get('k') }),
      ],
    })
    expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: 'found' })
  })

  test.each(['$active', '$', ''])('%j is refused for every kind of agent', (outputKey) => {
    const w = agent({ name: 'w', description: 'Works.', model: () => 'x' })
    const makes = [
      () => checkAgents([agent({ name: 'A', model: () => 'x', outputKey })]),
      () => checkAgents([agent({ name: 'A', run: () => 1, outputKey })]),
      () => supervisor({ name: 'A', model: () => 'x', workers: [w], outputKey }),
      () => router({ name: 'A', model: () => 'x', workers: [w], outputKey }),
      () => sequential({ name: 'A', agents: [w], outputKey }),
    ]
    for (const make of makes) {
      expect(make).toThrow(expect.objectContaining({ code: 'team.invalid' }))
      expect(make).toThrow('"A": outputKey is')
    }
  })

  test('K10: it is written once, whenever the process dies', async () => {
    const A = agent({ name: 'A', description: 'A', model: byConversation('said'), outputKey: 'a' })
    const counts = agent({
      name: 'counts',
      run: async (ctx) => `${(await ctx.values.get('a')) as string} ${(await ctx.values.get('all')) as string}`,
    })
    const inner = sequential({ name: 'inner', agents: [A], outputKey: 'all' })
    const { end, differences, repeated } = await simulate(
      teamScenario({ agents: [sequential({ name: 'flow', agents: [inner, counts] })], input: 'go' }),
    )
    expect(end.outcome).toEqual({ status: 'completed', output: 'said said' })
    expect(differences).toEqual([])
    expect(repeated).toEqual([])
  }, 60_000)
})

describe('templating', () => {
  const instructions =
    'Hi {name}, {n} of {list.of_it}. {unknown} {"a": {n}} \\frac{1}{n} { name } {} {{name}} $name ${name} {$active.x}'
  const filled =
    'Hi A $& {n}, 2 of [1,{"b":null}]. {unknown} {"a": 2} \\frac{1}2 { name } {} {A $& {n}} $name $A $& {n} {$active.x}'
  const values = { name: 'A $& {n}', n: 2, 'list.of_it': [1, { b: null }] }

  test('keys in braces are filled, once; unknown ones and all other braces stay as they are', async () => {
    const model = scripted('x')
    const A = agent({ name: 'A', model, instructions, templating: true })
    await (await runtimeOf([A])).run(A, 'go', { values })
    expect(model.prompts[0]![0]).toEqual({ role: 'system', content: filled })
  })

  test('without values nothing changes, and without places nothing is read', async () => {
    const model = scripted('x')
    const A = agent({ name: 'A', model, instructions, templating: true })
    await (await runtimeOf([A])).run(A, 'go')
    expect(model.prompts[0]![0]).toEqual({ role: 'system', content: instructions })
    const B = agent({ name: 'B', model: scripted('x'), instructions: 'As {"a": 1}.', templating: true })
    const run = await (await runtimeOf([B])).start(B, 'go')
    await run.outcome()
    expect((await eventsOf(run)).filter((event) => event.type === 'step.begun')).toEqual([])
  })

  test('guidance and team descriptions of a supervisor are no templates, a router’s instructions are', async () => {
    const w = agent({ name: 'w', description: 'Knows {name}.', model: () => 'x' })
    const [lead, sup] = [scripted('x'), scripted('x')]
    const boss = supervisor({
      name: 'boss',
      model: lead,
      instructions: '{name}',
      guidance: '{name}:',
      workers: [w],
      templating: true,
    })
    const Sup = router({ name: 'Sup', model: sup, instructions: '{name}', workers: [w], templating: true })
    await (await runtimeOf([boss])).run(boss, 'go', { values: { name: 'Ann' } })
    await (await runtimeOf([Sup])).run(Sup, 'go', { values: { name: 'Ann' } })
    expect(lead.prompts[0]![0]!.content).toBe('Ann\n\n{name}:\n- w: Knows {name}.')
    expect(sup.prompts[0]![0]!.content).toMatch(/^Ann\n\nAvailable other agents:.*Knows \{name\}\./s)
  })

  test('what an earlier agent left under its outputKey is there, as it was when the agent began', async () => {
    const model = scripted(({ tools }) => (tools.length > 0 ? calls(['set', {}]) : 'x'), 'x')
    const set = tool({ name: 'set', input: { type: 'object' }, run: (ctx) => ctx.values.update('plan', () => 'later') })
    const plans = agent({ name: 'plans', run: () => ({ steps: ['a'] }), outputKey: 'plan' })
    const does = agent({ name: 'does', model, instructions: 'Do {plan}', templating: true, tools: [set] })
    const flow = sequential({ name: 'flow', agents: [plans, does] })
    await (await runtimeOf([flow])).run(flow, 'go')
    expect(model.prompts.map((prompt) => prompt[0]!.content)).toEqual(Array(2).fill('Do {"steps":["a"]}'))
  })
})
