/**
 * How much of a conversation crosses to an agent and back, and what never does: spec collaboration 41, 42, 62 to 65,
 * and 1.6.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, transferTo } from '@reeve/agent'
import { loop, parallel, router, sequential } from '@reeve/flow'
import type { ModelRequest } from '@reeve/model'
import { worker, xfer } from './control.ts'
import { busy, contents, context, echo, user } from './played.ts'
import { calls, fastClock, fatal, runtimeOf, scripted, store } from './team.ts'

describe('how much crosses', () => {
  test('collaboration 62: hidden, no transfer is in any input of model, code or rule; the lead’s words stay', async () => {
    const lead = scripted(
      {
        text: 'let me delegate',
        calls: [...calls(['echo', {}, 'e'], ['transfer_to_agent', { agent_name: 'W' }, 'e']).calls!],
      },
      'final',
    )
    const w = scripted('W result')
    const coder = agent({ name: 'coder', description: 'Code.', run: () => transferTo('Sup') })
    const after = scripted('after result')
    const sup = router({
      name: 'Sup',
      model: lead,
      tools: [echo],
      workers: [worker('W', w), coder, worker('after', after)],
      transfer: { agents: { W: { followedBy: ['coder'] }, coder: { followedBy: ['after'], returns: 'on-request' } } },
    })
    await (await runtimeOf([sup])).run(sup, 'task')
    expect(JSON.stringify([...lead.prompts, ...w.prompts, ...after.prompts])).not.toMatch(
      /transfer_to_agent`|successfully transferred/,
    )
    expect(lead.prompts[1]!.slice(1)).toEqual([
      user('task'),
      { role: 'assistant', content: 'let me delegate', calls: [{ id: 'e', name: 'echo', input: {} }] },
      { role: 'tool', callId: 'e', name: 'echo', content: 'echoed' },
      context('[W] said: W result.'),
    ])
  })

  test('collaboration 64: a worker that shares its answer shows others its last words, itself everything', async () => {
    const lead = scripted(xfer('W'), xfer('W'), 'final')
    const w = scripted({ text: 'thinking', ...calls(['echo', {}]) }, 'first', 'second')
    const sup = router({
      name: 'Sup',
      model: lead,
      workers: [busy('W', w)],
      transfer: { agents: { W: { shares: 'answer' } } },
    })
    await (await runtimeOf([sup])).run(sup, 'task')
    expect(lead.prompts[2]!.slice(1)).toEqual([user('task'), context('[W] said: first.'), context('[W] said: second.')])
    expect(w.prompts[2]!.slice(0, -1)).toMatchObject([
      user('task'),
      { content: 'thinking' },
      { role: 'tool' },
      { role: 'assistant', content: 'first' },
    ])
  })

  test('collaboration 64: the answer is a tool’s result if that ended it; for branches, each one’s answer', async () => {
    const next = scripted('end')
    const quick = agent({
      name: 'quick',
      model: scripted({ text: 'thinking', ...calls(['look', {}]) }),
      tools: [tool({ name: 'look', effect: 'read', execute: () => ({ n: 1 }), action: 'return' })],
    })
    const both = parallel({ name: 'both', agents: [busy('A'), busy('B')] })
    const line = sequential({ name: 'line', agents: [busy('C'), busy('D')] })
    const flow = sequential({
      name: 'S',
      agents: [quick, both, line, worker('next', next)],
      edge: { shares: 'answer' },
    })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts).toEqual([
      [
        user('task'),
        context('[quick] said: {"n":1}.'),
        context('[both] said: ["A result","B result"].'),
        context('[line] said: D result.'),
      ],
    ])
  })

  test('collaboration 64, 40: a failed worker that shares its answer: the lead sees the failure alone', async () => {
    const broken = { text: 'thinking', ...calls(['echo', {}]) }
    const lead = scripted(xfer('W'), 'final')
    const w = busy('W', scripted(broken, fatal('no more')))
    const sup = router({ name: 'Sup', model: lead, workers: [w], transfer: { agents: { W: { shares: 'answer' } } } })
    expect(await (await runtimeOf([sup])).run(sup, 'task')).toMatchObject({ output: 'final' })
    expect(contents(lead.prompts[1]).slice(1)).toEqual(['task', '[worker "W" failed: its model could not answer]'])
  })

  test("collaboration 64: under 'answers' an agent gets the question and all answers, of each turn and tool", async () => {
    const next = scripted('end')
    const again = loop({
      name: 'L',
      agents: [busy('A', scripted({ text: 'thinking', ...calls(['echo', {}]) }, 'one', 'two'))],
      maxIterations: 2,
    })
    const mid = router({
      name: 'Mid',
      model: scripted({ text: 'let me', ...calls(['exit', { final_result: 'the exit' }]) }),
      tools: [
        tool({
          name: 'exit',
          effect: 'read',
          execute: ({ final_result: result }) => result,
          action: { exit: 'supervisor' },
        }),
      ],
      workers: [worker('unused')],
    })
    const flow = sequential({
      name: 'S',
      agents: [again, mid, worker('next', next)],
      edge: { agents: { next: { context: 'answers' } } },
    })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts).toEqual([
      [user('task'), context('[A] said: one.'), context('[A] said: two.'), context('[Mid] said: the exit.')],
    ])
  })

  test("collaboration 65: under 'brief' a worker gets only its task; without one, the run’s question", async () => {
    const w = scripted('W result')
    const lead = scripted({ text: 'secret', ...xfer('W', 's1', 'only this') }, xfer('W'), 'final')
    const sup = router({
      name: 'Sup',
      instructions: 'Secret.',
      model: lead,
      workers: [worker('W', w)],
      transfer: { agents: { W: { context: 'brief' } } },
    })
    await (await runtimeOf([sup])).run(sup, 'the whole story', { messages: [{ role: 'user', content: 'before' }] })
    expect(w.prompts).toEqual([[user('only this')], [user('the whole story')]])
  })

  test('collaboration 65: a task reaches the agent in the worker’s place: steps of a sequential, a router’s lead', async () => {
    const a = scripted('A result')
    const m = scripted('Mid result')
    const lead = scripted(xfer('Flow', 's1', 'do this'), xfer('Mid', 's2', 'do that'), 'final')
    const flow = sequential({ name: 'Flow', description: 'Works in steps.', agents: [worker('A', a)] })
    const mid = router({ name: 'Mid', description: 'Leads.', model: m, workers: [worker('W')] })
    const sup = router({ name: 'Sup', model: lead, workers: [flow, mid] })
    await (await runtimeOf([sup])).run(sup, 'the whole story')
    expect(a.prompts).toEqual([[user('the whole story'), user('do this')]])
    expect(m.prompts[0]!.slice(1)).toEqual([user('the whole story'), context('[A] said: A result.'), user('do that')])
    expect(contents(lead.prompts[2])).not.toContain('do this') // it knows what it asked for by its call, where that is shown
  })

  test("collaboration 42: with the policy 'input' an agent gets what came from outside, and no agent’s words", async () => {
    const a = scripted('A result')
    const lead = scripted(xfer('W'), xfer('Flow'), 'final')
    const flow = sequential({ name: 'Flow', description: 'Works in steps.', agents: [worker('A', a)] })
    const sup = router({
      name: 'Sup',
      model: lead,
      workers: [worker('W'), flow],
      transfer: { agents: { Flow: { context: 'input' } } },
    })
    await (await runtimeOf([sup])).run(sup, 'task', { messages: [{ role: 'system', content: 'Be brief.' }] })
    expect(a.prompts).toEqual([[{ role: 'system', content: 'Be brief.' }, user('task')]])
  })

  test('collaboration 41: the supervisor sees each step of a worker that is a sequential once', async () => {
    const lead = scripted(xfer('Flow', 's1'), 'final')
    const b = scripted('B result')
    const flow = sequential({ name: 'Flow', description: 'Works in steps.', agents: [worker('A'), worker('B', b)] })
    const sup = router({ name: 'Sup', model: lead, workers: [flow], transfer: { transfers: 'shown' } })
    await (await runtimeOf([sup])).run(sup, 'task')
    expect(b.prompts[0]!.at(-1)).toEqual(context('[A] said: A result.'))
    expect(contents(lead.prompts[1]).slice(4)).toEqual([
      'For context: [A] said: A result.',
      'For context: [B] said: B result.',
      'For context: [Flow] called tool: `transfer_to_agent` with arguments: {"agent_name":"Sup"}.',
      'For context: [Flow] `transfer_to_agent` tool returned result: successfully transferred to agent [Sup].',
    ])
  })
})

describe('what never gets into it', () => {
  test('an attempt of a model that failed, also in the middle of its stream', async () => {
    const next = scripted('end')
    let tries = 0
    const flaky = scripted((request: ModelRequest) => {
      request.emit?.({ type: 'text.delta', id: '0', text: `half ${tries}` })
      if (++tries < 3) throw new Error('cut off')
      return 'whole'
    })
    const flow = sequential({ name: 'S', agents: [worker('flaky', flaky), worker('next', next)] })
    await (await runtimeOf([flow], { clock: fastClock() })).run(flow, 'task')
    expect(tries).toBe(3)
    expect(flaky.prompts).toEqual([[user('task')], [user('task')], [user('task')]])
    expect(next.prompts).toEqual([[user('task'), context('[flaky] said: whole.')]])
  })

  test('an answer that its agent had to correct', async () => {
    const next = scripted('end')
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const typed = agent({ name: 'typed', model: scripted('no JSON', '{"n":1}'), output })
    const flow = sequential({ name: 'S', agents: [typed, worker('next', next)] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts).toEqual([[user('task'), context('[typed] said: {"n":1}.')]])
  })

  test('a question to the outside and its answer, unless the agent says so; after a restart it is the same', async () => {
    const next = scripted('end')
    const gate = tool({ name: 'gate', approval: true, execute: () => 'through' })
    const asks = agent({ name: 'asks', model: scripted(calls(['gate', {}]), 'asked'), tools: [gate] })
    const flow = sequential({ name: 'S', agents: [worker('A'), asks, worker('next', next)] })
    const before = await runtimeOf([flow], { store: store() })
    const run = await before.start(flow, 'task', { runId: 'r1' })
    expect(await run.until('waiting')).toMatchObject({ waiting: [{ tool: 'gate' }] })
    await before.close()
    const after = await runtimeOf([flow], { store: store() })
    const [open] = await after.approvals()
    await after.decide({ approvalId: open!.id, decision: 'approve', comment: 'between us' })
    expect(await after.handle('r1').outcome()).toMatchObject({ output: 'end' })
    expect(contents(next.prompts[0])).toEqual([
      'task',
      'For context: [A] said: A result.',
      'For context: [asks] called tool: `gate` with arguments: {}.',
      'For context: [asks] `gate` tool returned result: through.',
      'For context: [asks] said: asked.',
    ])
  })
})

describe('a session and a flow', () => {
  test('the next run sees earlier questions and answers once, in the words of their leader', async () => {
    const lead = scripted(xfer('W'), 'first answer', 'second answer')
    const w = scripted('W result')
    const sup = router({ name: 'Sup', model: lead, workers: [worker('W', w)] })
    const runtime = await runtimeOf([sup])
    await runtime.run(sup, 'first question', { session: 'ses_1' })
    await runtime.run(sup, 'second question', {
      session: 'ses_1',
      messages: [{ role: 'system', content: 'Be brief.' }],
    })
    expect(lead.prompts[2]!.slice(1)).toEqual([
      user('first question'),
      { role: 'assistant', content: 'first answer' },
      { role: 'system', content: 'Be brief.' },
      user('second question'),
    ])
  })

  test('the steps of a sequential are shown it as what the sequential answered', async () => {
    const a = scripted('one', 'two')
    const flow = sequential({ name: 'S', agents: [worker('A', a), worker('B')] })
    const runtime = await runtimeOf([flow])
    await runtime.run(flow, 'first', { session: 'ses_1' })
    await runtime.run(flow, 'second', { session: 'ses_1' })
    expect(a.prompts[1]).toEqual([user('first'), context('[S] said: B result.'), user('second')])
  })
})
