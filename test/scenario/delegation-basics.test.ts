/** Delegation, the basics: spec delegation 1 to 13, and what of L1 to L11 belongs to them. */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, pause, runtimeOf, scripted, told, waiting } from './team.ts'

const worker = (name: string, model = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })

describe('delegating', () => {
  test("delegation 1: one delegation, and the answer is the leader's", async () => {
    const w1 = scripted('out-1')
    const lead = scripted(delegates(['w1', 'do it', 'c1']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', w1)] })
    const runtime = await runtimeOf([boss])
    expect(await runtime.run(boss, 'please')).toMatchObject({ status: 'completed', output: 'final' })
    expect(w1.prompts).toEqual([[{ role: 'user', content: 'do it' }]])
    expect(lead.prompts[1]!.slice(-2)).toMatchObject([
      { role: 'assistant', calls: [{ id: 'c1' }] },
      { role: 'tool', callId: 'c1', name: 'delegate', content: 'out-1' },
    ])
  })
  test('delegation 2: two in one turn overlap, and the results are in call order', async () => {
    const log: string[] = []
    const slow = (name: string, ms: number) =>
      scripted(async () => {
        log.push(`${name}>`)
        await pause(ms)
        log.push(`${name}<`)
        return name
      })
    const lead = scripted(delegates(['w1', 'a', 'c1'], ['w2', 'b', 'c2']), 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [worker('w1', slow('w1', 60)), worker('w2', slow('w2', 10))],
    })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(log.slice(0, 2).toSorted()).toEqual(['w1>', 'w2>']) // side by side, so in either order
    expect(log.slice(2)).toEqual(['w2<', 'w1<'])
    expect(told(lead.prompts[1])).toEqual(['w1', 'w2'])
  })
  test('delegation 3: an observer sees the end of the fast one before the slow one ends', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'a'], ['w2', 'b']), 'final'),
      workers: [
        worker(
          'w1',
          scripted(async () => (await gate, 'one')),
        ),
        worker('w2', scripted('two')),
      ],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const seen: string[] = []
    for await (const { event } of run.events()) {
      if (event.type !== 'worker.settled') continue
      seen.push(event.address)
      release() // only now may the first go on
    }
    expect(seen).toEqual(['turn/call#1/w2', 'turn/call/w1'])
  })
  test('delegation 4: an unknown worker is content that lists the workers, and the leader has another turn', async () => {
    const lead = scripted(delegates(['ghost', 'x'], ['w1', 'y']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1'), worker('w2')] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(/unknown worker "ghost".*w1, w2/), 'w1 is done'])
    expect(await eventsOf(run)).toContainEqual(
      expect.objectContaining({
        type: 'delegation.refused',
        worker: 'ghost',
        failure: expect.objectContaining({ code: 'delegation.unknown-worker' }) as unknown,
      }),
    )
  })
  test.each<[string, Json, RegExp]>([
    ['a wrong type', { worker: 'w1', instructions: 7 }, /"instructions" must be a string/],
    ['nothing', {}, /"worker" is missing/],
    ['null', null, /"worker" is missing/],
    ['an empty brief', { worker: 'w1', instructions: '  ' }, /"instructions" is empty/],
  ])('delegation 5: %s is told, never empty, and no worker runs', async (_what, input, words) => {
    const w1 = scripted('never')
    const lead = scripted(calls(['delegate', input]), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', w1)] })
    const runtime = await runtimeOf([boss])
    expect(await runtime.run(boss, 'go')).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(words)])
    expect(w1.prompts).toEqual([])
  })
  test('delegation 5: a typed input is checked: below the minimum', async () => {
    const w1 = scripted('never')
    const counter = agent({
      name: 'counter',
      description: 'Counts.',
      model: w1,
      input: { type: 'object', properties: { steps: { type: 'integer', minimum: 3 } }, required: ['steps'] },
    })
    const lead = scripted(calls(['delegate_counter', { steps: 1 }]), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [counter] })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(/"steps" must be at least 3, got 1/)])
    expect(w1.prompts).toEqual([])
  })
  test('delegation 6: null for what is optional is accepted', async () => {
    const w1 = scripted('done')
    const input = {
      type: 'object',
      properties: { topic: { type: 'string' }, depth: { type: 'integer' } },
      required: ['topic'],
      additionalProperties: false,
    }
    const lead = scripted(calls(['delegate_finder', { topic: 'x', depth: null }]), 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [agent({ name: 'finder', description: 'Finds.', model: w1, input })],
    })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual(['done'])
  })
  test('delegation 7: a tool that is called like one of ours is refused when the team is defined', () => {
    for (const name of ['delegate', 'forward_message', 'delegate_w1']) {
      const mine = tool({ name, execute: () => 1 })
      expect(() => supervisor({ name: 'boss', model: () => '', workers: [worker('w1')], tools: [mine] })).toThrow(
        expect.objectContaining({ code: 'team.invalid', message: expect.stringContaining(name) as string }),
      )
    }
  })
  test('delegation 7: other tools of the leader stay, beside ours, each name once', async () => {
    const lead = scripted('final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [worker('w1')],
      tools: [tool({ name: 'note', execute: () => 1 })],
    })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(lead.tools[0]!.map((spec) => spec.name)).toEqual(['note', 'delegate', 'forward_message'])
  })
  test('delegation 8: ours: a worker without a description is refused, by name', () => {
    const nobody: Agent = agent({ name: 'w1', model: () => 'x' })
    expect(() => supervisor({ name: 'boss', model: () => '', workers: [nobody] })).toThrow(
      expect.objectContaining({
        code: 'team.invalid',
        message: expect.stringMatching(/"w1" has no description/) as string,
      }),
    )
  })
  test('delegation 9: no workers, a bad name and a name twice are refused at once, all problems together', () => {
    expect(() => supervisor({ name: 'boss', model: () => '', workers: [] })).toThrow(
      expect.objectContaining({ code: 'team.empty' }),
    )
    const bad = agent({ name: 'not a name', description: 'x', model: () => '' })
    const define = (): unknown =>
      supervisor({ name: 'boss', model: () => '', workers: [bad, worker('w1'), worker('w1')], limits: { turns: -1 } })
    expect(define).toThrow(
      expect.objectContaining({
        code: 'team.invalid',
        message: expect.stringMatching(
          /limits.turns is -1.*\n.*"not a name".*\n.*two workers are called "w1"/,
        ) as string,
      }),
    )
  })
  test('delegation 10: a removed worker is not offered any more; without any, the next run fails and says so', async () => {
    const lead = scripted(delegates(['w2', 'x']), 'final', 'again')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1'), worker('w2')] })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(boss.remove('w1')?.name).toBe('w1')
    expect(boss.remove('w1')).toBeUndefined()
    await runtime.run(boss, 'go on')
    const parameters = lead.tools.at(-1)!.find((spec) => spec.name === 'delegate')!.parameters as {
      properties: { worker: { enum: string[] } }
    }
    expect(parameters.properties.worker.enum).toEqual(['w2'])
    expect(boss.team()).toEqual(['w2'])
    boss.remove('w2')
    expect(await runtime.run(boss, 'and now?')).toMatchObject({ status: 'failed', failure: { code: 'team.empty' } })
    boss.add(worker('w1'))
    expect(boss.team()).toEqual(['w1'])
    expect(() => boss.add(worker('w1'))).toThrow(expect.objectContaining({ code: 'team.invalid' }))
  })
  test('delegation 11, 12: guidance with braces and dollars survives, and nothing is written to a definition', async () => {
    const lead = scripted('final')
    const guidance = 'Answer as {"a": {x}} or ${y} or {{z}} $& $1. Team:'
    const boss = supervisor({
      name: 'boss',
      instructions: 'Be {brief}.',
      guidance,
      model: lead,
      workers: [agent({ name: 'w1', description: 'Makes {json} for $1.', model: () => 'x' })],
    })
    const before = boss.version
    const runtime = await runtimeOf([boss])
    for (let i = 0; i < 2; i++) await runtime.run(boss, 'go')
    expect(lead.prompts.map((prompt) => prompt[0])).toEqual(
      [0, 1].map(() => ({ role: 'system', content: `Be {brief}.\n\n${guidance}\n- w1: Makes {json} for $1.` })),
    )
    expect(boss.version).toBe(before)
  })
  test('delegation 84: the same arguments in two turns are two delegations', async () => {
    const w1 = scripted('one', 'two')
    const lead = scripted(delegates(['w1', 'x']), delegates(['w1', 'x']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', w1)] })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(w1.prompts).toHaveLength(2)
    expect(told(lead.prompts[2])).toEqual(['two'])
  })
  test('at most so many at once, first come first served', async () => {
    let now = 0
    let most = 0
    const busy = (name: string) =>
      scripted(async () => {
        most = Math.max(most, ++now)
        await pause(5)
        now--
        return name
      })
    const lead = scripted(delegates(...['w1', 'w2', 'w3', 'w4'].map((name) => [name, 'x'] as const)), 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      concurrency: 2,
      workers: ['w1', 'w2', 'w3', 'w4'].map((name) => worker(name, busy(name))),
    })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(most).toBe(2)
    expect(told(lead.prompts[1])).toEqual(['w1', 'w2', 'w3', 'w4'])
  })
})

describe('what crosses', () => {
  test('delegations that are approved out of order stand in the order of their calls', async () => {
    const third = scripted('three')
    const lead = scripted(
      delegates(['w1', 'a', 'c1'], ['w2', 'b', 'c2']),
      delegates(['w3', 'c', 'c3']),
      calls(['forward_message', { delegation: 'd1' }]),
    )
    const boss = supervisor({
      name: 'boss',
      model: lead,
      delegation: { context: 'answers' },
      workers: [worker('w1', scripted('one')), worker('w2', scripted('two')), worker('w3', third)],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please', { permissions: { approval: ['delegate'] } })
    const { waiting: open } = await waiting(run)
    await run.decide({ approvalId: open[1]!.id, decision: 'approve' })
    await expect
      .poll(async () =>
        (await run.view()).activations.some(
          ({ path, outcome }) => path.at(-1) === 'w2' && outcome?.status === 'completed',
        ),
      )
      .toBe(true)
    await run.decide({ approvalId: open[0]!.id, decision: 'approve' })
    await expect
      .poll(async () => (await runtime.approvals()).map(({ input }) => (input as { worker: string }).worker))
      .toEqual(['w3'])
    await run.decide({ approvalId: (await runtime.approvals())[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'one' })
    expect(third.prompts[0]!.map(({ content }) => content)).toEqual([
      'please',
      'For context: [w1] said: one.',
      'For context: [w2] said: two.',
      'c',
    ])
  })

  const setting = (context?: 'brief' | 'answers' | 'conversation') => {
    const w1 = scripted('first answer', 'second answer')
    const note = tool({ name: 'note', execute: () => 'tool-secret' })
    const lead = scripted(
      { ...calls(['note', {}]), text: 'I take a note.' },
      delegates(['w1', 'one']),
      { ...delegates(['w1', 'two']), text: 'Once more.' },
      'final',
    )
    const boss = supervisor({
      name: 'boss',
      instructions: 'system-secret',
      model: lead,
      tools: [note],
      workers: [worker('w1', w1)],
      delegation: context === undefined ? {} : { context },
    })
    return { w1, boss }
  }
  test('delegation 13: by default a worker sees its brief, and nothing of its leader', async () => {
    const { w1, boss } = setting()
    await (await runtimeOf([boss])).run(boss, 'please')
    expect(w1.prompts[1]).toEqual([{ role: 'user', content: 'two' }])
  })
  test('delegation 13: answers: what the user said and workers answered', async () => {
    const { w1, boss } = setting('answers')
    await (await runtimeOf([boss])).run(boss, 'please')
    expect(w1.prompts[1]!.map((message) => message.content)).toEqual(['please', 'first answer', 'two']) // its own words are its own
  })
  test("delegation 13: conversation: the leader's words too, but no system text, calls or results of tools", async () => {
    const { w1, boss } = setting('conversation')
    await (await runtimeOf([boss])).run(boss, 'please')
    const contents = w1.prompts[1]!.map((message) => message.content)
    expect(contents).toEqual([
      'please',
      'For context: [boss] said: I take a note..',
      'first answer',
      'For context: [boss] said: Once more..',
      'two',
    ])
    expect(JSON.stringify(w1.prompts)).not.toMatch(/secret/)
  })
  test('a function decides; if it throws, no worker runs and the leader is told', async () => {
    const w1 = scripted('done')
    const lead = scripted(delegates(['w1', 'x']), delegates(['w1', 'boom']), 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [worker('w1', w1)],
      delegation: {
        context: ({ brief, messages }) => {
          if (brief === 'boom') throw new Error('cannot say')
          return messages.slice(-1)
        },
      },
    })
    await (await runtimeOf([boss])).run(boss, 'please')
    expect(w1.prompts).toEqual([
      [
        { role: 'user', content: 'please' },
        { role: 'user', content: 'x' },
      ],
    ])
    expect(told(lead.prompts[2])).toEqual([expect.stringMatching(/not delegated: .*its code failed/)])
  })
})

describe('who works', () => {
  test('code, rules and whole teams work alike; typed inputs and outputs cross as they are', async () => {
    const adder = agent({
      name: 'adder',
      description: 'Adds.',
      input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
      run: (_ctx, brief) => ({ sum: (brief as { a: number; b: number }).a + (brief as { a: number; b: number }).b }),
    })
    const inner = supervisor({
      name: 'inner',
      description: 'Leads.',
      model: scripted(delegates(['w1', 'deep']), 'inner is done'),
      workers: [worker('w1')],
    })
    const lead = scripted(
      calls(['delegate_adder', { a: 1, b: 2 }], ['delegate', { worker: 'inner', instructions: 'x' }]),
      'final',
    )
    const boss = supervisor({ name: 'boss', model: lead, workers: [adder, inner] })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual([{ sum: 3 }, 'inner is done'])
    expect(lead.tools[0]!.map((spec) => spec.name)).toEqual(['delegate', 'delegate_adder', 'forward_message'])
  })
  test('two agents of one name are refused when their team is made; in two teams, by the runtime', async () => {
    const leads = (name: string) =>
      supervisor({ name, description: 'Leads.', model: () => 'x', workers: [worker('w1')] })
    const refused = expect.objectContaining({
      code: 'team.invalid',
      message: 'two different agents are called "w1"',
    }) as Error
    expect(() => supervisor({ name: 'boss', model: () => 'x', workers: [leads('inner'), worker('w1')] })).toThrow(
      refused,
    )
    await expect(runtimeOf([leads('boss'), leads('other')])).rejects.toThrow(refused)
  })
  test('the same agent may work under several leaders', async () => {
    const w1 = worker('w1')
    const inner = supervisor({
      name: 'inner',
      description: 'Leads.',
      model: scripted(delegates(['w1', 'deep']), 'inner is done'),
      workers: [w1],
    })
    const lead = scripted(delegates(['inner', 'x'], ['w1', 'y']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [inner, w1] })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual(['inner is done', 'w1 is done'])
  })
})
