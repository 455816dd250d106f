/**
 * What the result of a tool makes of the work: return, exit, break, hand over (spec collaboration 1.17, 116, 117, 118).
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, tool, type ToolAction } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, exitTool, loop, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, pause, runtimeOf, scripted, told, waiting } from './team.ts'

const say = (name: string, content: Json, action?: ToolAction | readonly ToolAction[], ms = 0) =>
  tool({
    name,
    execute: () => (ms === 0 ? content : pause(ms).then(() => content)),
    ...(action === undefined ? {} : { action }),
  })
const number = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const

/** Facts that say what became of control. */
const control = (events: readonly { readonly type: string }[]): string[] =>
  events
    .map(({ type }) => type)
    .filter((type) => /^(exit\.requested|break\.requested|loop\.broken|agent\.transferred|tool\.refused)$/.test(type))

describe('return', () => {
  test('collaboration 116: of two in one turn the last listed is the answer, in any order of their ends', async () => {
    for (const [first, second] of [
      [0, 30],
      [30, 0],
    ] as const) {
      const model = scripted(calls(['one', {}, 'c1'], ['two', {}, 'c2'], ['note', {}, 'c3']))
      const A = agent({
        name: 'A',
        model,
        tools: [
          say('one', 'first', 'return', first),
          say('two', 'second', 'return', second),
          say('note', 'noted', undefined, 10),
        ],
        outputKey: 'k',
      })
      const flow = sequential({
        name: 'flow',
        agents: [
          A,
          agent({
            name: 'B',
            run: async (ctx, _brief, { history }) => [
              await ctx.values.get('k'),
              history.map(({ message }) => message.content),
            ],
          }),
        ],
      })
      const run = await (await runtimeOf([flow])).start(flow, 'go')
      // the results of the turn go on in the order of the calls, the answer among them
      expect(await run.outcome()).toMatchObject({ output: ['second', ['go', '', 'first', 'second', 'noted']] })
      expect(model.prompts).toHaveLength(1)
      const results = (await eventsOf(run)).filter((event) => event.type === 'tool.called')
      expect(results).toHaveLength(3)
    }
  })

  test('a result that does not have the promised form is told to the model, who may do better', async () => {
    const model = scripted(calls(['bad', {}]), calls(['good', {}]), 'never')
    const A = agent({
      name: 'A',
      model,
      output: number,
      tools: [say('bad', 'none', 'return'), say('good', { n: 1 }, 'return')],
    })
    expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ output: { n: 1 } })
    expect(told(model.prompts[1])[0]).toMatch(
      /^\[the result of "bad" cannot be the answer of "A": .*The result was: none\]$/,
    )
    expect(model.prompts).toHaveLength(2)
  })

  test('a failed call has no action: thrown, invalid, not approved', async () => {
    const throws = tool({
      name: 'throws',
      effect: 'once',
      execute: () => {
        throw new Error('no')
      },
      action: 'return',
    })
    const typed = tool({ name: 'typed', input: number, execute: () => 'x', action: 'exit' })
    const model = scripted(calls(['throws', {}]), calls(['typed', { n: 'x' }]), 'final')
    const A = agent({ name: 'A', model, tools: [throws, typed] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(control(await eventsOf(run))).toEqual(['tool.refused'])
  })

  test('behind an approval: approved it is the answer, rejected the model goes on', async () => {
    const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid', action: 'return' })
    for (const [decision, output] of [
      ['approve', 'paid'],
      ['reject', 'final'],
    ] as const) {
      const A = agent({ name: 'A', model: scripted(calls(['pay', {}]), 'final'), tools: [pay] })
      const run = await (await runtimeOf([A])).start(A, 'go')
      await run.decide({ approvalId: (await waiting(run)).waiting[0]!.id, decision })
      expect(await run.outcome()).toMatchObject({ output })
    }
  })

  test('a tool that is orchestration may ask first, and its result is the answer; so may an agent as a tool', async () => {
    const asks = tool({
      name: 'asks',
      input: { type: 'object' },
      run: async (ctx) => ({ said: await interrupt(ctx, 'well?') }),
      action: 'return',
    })
    const A = agent({ name: 'A', model: scripted(calls(['asks', {}])), tools: [asks] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await expect.poll(async () => (await run.view()).interrupts.length).toBe(1)
    await run.answer({ interruptId: (await run.view()).interrupts[0]!.id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({ output: { said: 'yes' } })
    const helper = agent({ name: 'helper', description: 'Helps.', model: scripted('helped') })
    const B = agent({
      name: 'B',
      model: scripted(calls(['helper', { request: 'x' }])),
      tools: [asTool(helper, { action: 'return' })],
    })
    expect(await (await runtimeOf([B])).run(B, 'go')).toMatchObject({ output: 'helped' })
  })
})

describe('a rule that decides', () => {
  const add = (decides: (output: Json, n: number) => ToolAction | undefined, sensitive = false) =>
    tool({
      name: 'add',
      sensitive,
      input: z.object({ n: z.number() }),
      execute: ({ n }) => n + 1,
      action: (output, { n }) => decides(output, n),
    })

  test('by result and input, for each call by itself: concurrent calls of one tool do not mix', async () => {
    const model = scripted(
      calls(['add', { n: 0 }, 'c1'], ['add', { n: 1 }, 'c2']),
      calls(['add', { n: 2 }, 'c3'], ['add', { n: 1 }, 'c4']),
    )
    const decides = (output: Json, n: number) => (output === 3 ? 'return' : n === 0 ? 'break' : undefined)
    const A = agent({ name: 'A', model, tools: [add(decides)] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    expect(await run.outcome()).toMatchObject({ output: 3 })
    expect((await eventsOf(run)).filter((event) => event.type === 'break.requested')).toMatchObject([{ callId: 'c1' }])
    expect(told(model.prompts[1])).toEqual([1, 2])
  })

  test('by the arguments that a human edited', async () => {
    const asks = add((_output, n) => (n === 2 ? 'return' : undefined), true)
    const A = agent({ name: 'A', model: scripted(calls(['add', { n: 7 }]), 'final'), tools: [asks] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await run.decide({ approvalId: (await waiting(run)).waiting[0]!.id, decision: 'edit', input: { n: 2 } })
    expect(await run.outcome()).toMatchObject({ output: 3 })
  })

  test('that throws: the result stands, and the model is told', async () => {
    const odd = tool({
      name: 'odd',
      execute: () => 'x',
      action: () => {
        throw new Error('cannot say')
      },
    })
    const model = scripted(calls(['odd', {}]), 'final')
    const A = agent({ name: 'A', model, tools: [odd] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual(['[the action of "odd" failed: its code failed. The result was: x]'])
    expect((await eventsOf(run)).filter((event) => event.type === 'tool.refused')).toMatchObject([
      { failure: { code: 'tool.failed', message: expect.stringContaining('cannot say') as string } },
    ])
  })

  test('several actions of one call: a break and a return', async () => {
    const done = say('done', 'enough', ['break', 'return'])
    const A = agent({ name: 'A', description: 'A', model: scripted(calls(['done', {}])), tools: [done] })
    const round = loop({ name: 'round', agents: [A], maxIterations: 5 })
    const run = await (await runtimeOf([round])).start(round, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'enough' })
    expect(control(await eventsOf(run))).toEqual(['break.requested', 'loop.broken'])
  })
})

describe('exit', () => {
  const leaves = (result: string) => scripted(calls(['exit', { final_result: result }, 'c1']))

  test('collaboration 118: the exit tool: its text is the answer, recorded, without another model call', async () => {
    const model = leaves('the end')
    const A = agent({ name: 'A', model, tools: [exitTool], outputKey: 'k' })
    const run = await (await runtimeOf([A])).start(A, 'go')
    expect(await run.outcome()).toEqual(expect.objectContaining({ status: 'completed', output: 'the end' }))
    expect(model.prompts).toHaveLength(1)
    const events = await eventsOf(run)
    expect(events.filter((event) => event.type === 'exit.requested')).toMatchObject([{ scope: 'run', callId: 'c1' }])
    expect(events.filter((event) => event.type === 'tool.called')).toMatchObject([{ tool: 'exit', callId: 'c1' }])
    const spoken: Json[] = []
    for await (const { position: _position, at: _at, activation: _activation, ...message } of run.messages())
      spoken.push(message as unknown as Json)
    expect(spoken.slice(-2)).toMatchObject([
      { type: 'tool', tool: 'exit', content: 'the end', callId: 'c1' },
      { type: 'action', action: { type: 'exit', scope: 'run' }, callId: 'c1' },
    ])
  })

  test('nothing that was to follow does: neither in an order nor in a loop', async () => {
    const A = agent({ name: 'A', description: 'A', model: leaves('the end'), tools: [exitTool] })
    const never = scripted('never')
    const flow = sequential({
      name: 'flow',
      agents: [loop({ name: 'round', agents: [A], maxIterations: 3 }), agent({ name: 'B', model: never })],
    })
    expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: 'the end' })
    expect(never.prompts).toEqual([])
  })

  test('in a delegated worker and in an agent as a tool it ends only that one', async () => {
    const w = agent({ name: 'w', description: 'Works.', model: leaves('w is out'), tools: [exitTool] })
    const helper = agent({ name: 'helper', description: 'Helps.', model: leaves('helper is out'), tools: [exitTool] })
    const model = scripted(delegates(['w', 'x']), calls(['helper', { request: 'x' }]), 'final')
    const boss = supervisor({ name: 'boss', model, workers: [w], tools: [asTool(helper)] })
    const Sup = sequential({ name: 'flow', agents: [boss, agent({ name: 'last', model: scripted('last') })] })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'last' })
    expect([told(model.prompts[1]), told(model.prompts[2])]).toEqual([['w is out'], ['helper is out']])
  })

  test('of a supervisor’s scope it ends the work under the nearest router, and what follows that goes on', async () => {
    const out = say('out', 'w1 is out', { exit: 'supervisor' })
    const W1 = agent({ name: 'W1', description: 'One.', model: scripted(calls(['out', {}])), tools: [out] })
    const lead = scripted(calls(['transfer_to_agent', { agent_name: 'W1' }]), 'never')
    const flow = sequential({
      name: 'flow',
      agents: [
        router({ name: 'Sup', model: lead, workers: [W1] }),
        agent({ name: 'last', run: (_ctx, _brief, { history }) => history.at(-1)!.message.content }),
      ],
    })
    expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: 'w1 is out' })
    expect(lead.prompts).toHaveLength(1)
  })

  test('with a transfer in one turn the later call decides, in either order', async () => {
    const W1 = agent({ name: 'W1', description: 'One.', model: scripted('w1') })
    const to = ['transfer_to_agent', { agent_name: 'W1' }, 't'] as const
    const out = ['exit', { final_result: 'out' }, 'e'] as const
    const make = (...list: (typeof to | typeof out)[]) =>
      router({ name: 'Sup', model: scripted(calls(...list), 'final'), workers: [W1], tools: [exitTool] })
    expect(await (await runtimeOf([make(to, out)])).run('Sup', 'go')).toMatchObject({ output: 'out' })
    expect(await (await runtimeOf([make(out, to)])).run('Sup', 'go')).toMatchObject({ output: 'final' })
  })
})

describe('break and hand over', () => {
  test('a break outside of a loop is recorded and changes nothing; in an agent as a tool it stays inside', async () => {
    const stop = say('stop', 'stopped', 'break')
    const model = scripted(calls(['stop', {}]), 'final')
    const A = agent({ name: 'A', description: 'A', model, tools: [stop] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(control(await eventsOf(run))).toEqual(['break.requested'])
    const rounds = scripted(calls(['A', { request: 'x' }]), 'round')
    const inner = agent({ name: 'A', description: 'A', model: scripted(calls(['stop', {}]), 'x'), tools: [stop] })
    const round = loop({
      name: 'round',
      agents: [agent({ name: 'B', model: rounds, tools: [asTool(inner)] })],
      maxIterations: 2,
    })
    const looped = await (await runtimeOf([round])).start(round, 'go')
    await looped.outcome()
    expect(control(await eventsOf(looped))).not.toContain('loop.broken')
  })

  test('a tool transfers, with a task, where a target exists; else its model is told', async () => {
    const hand = say('hand', 'found it', { transfer: 'W1', task: 'go on from here' })
    const w1 = scripted('w1 answers')
    const W1 = agent({ name: 'W1', description: 'One.', model: w1 })
    const Sup = router({
      name: 'Sup',
      model: scripted(calls(['hand', {}], ['transfer_to_agent', { agent_name: 'Nobody' }])),
      workers: [W1],
      tools: [hand],
      transfer: { returns: 'never' },
    })
    const run = await (await runtimeOf([Sup])).start(Sup, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'w1 answers' })
    expect(JSON.stringify(w1.prompts[0])).toMatch(/found it.*go on from here/)
    const model = scripted(calls(['hand', {}]), 'final')
    const alone = agent({ name: 'A', model, tools: [hand] })
    expect(await (await runtimeOf([alone])).run(alone, 'go')).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])[0]).toMatch(
      /^\[not transferred: "hand" cannot transfer to "W1": no other agent can take over\. The result was: found it\]$/,
    )
  })

  test('a failure never ends well: an agent as a tool that fails its caller, and a later return', async () => {
    const bad = agent({
      name: 'bad',
      description: 'Fails.',
      run: () => {
        throw new Error('no')
      },
    })
    const A = agent({
      name: 'A',
      model: scripted(calls(['bad', { request: 'x' }], ['done', {}])),
      tools: [asTool(bad, { onFailure: 'fail' }), say('done', 'fine', 'return')],
    })
    expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ status: 'failed', failure: { message: 'no' } })
  })
})
