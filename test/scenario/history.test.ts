/** What agents in a flow are shown of each other: spec collaboration 52 to 65, and 1.6. */
import { describe, expect, test } from 'vitest'
import { agent, tool, transferTo } from '../../src/agent/index.ts'
import type { FilePart, HistoryEntry, Json } from '../../src/core/index.ts'
import { exitTool, loop, parallel, router, sequential, type HistoryRewriter } from '../../src/flow/index.ts'
import type { Message, ModelRequest } from '../../src/model/index.ts'
import { worker, xfer } from './control.ts'
import { calls, fastClock, runtimeOf, scripted, store, type Scripted } from './team.ts'

const user = (content: string) => ({ role: 'user', content })
const context = (text: string) => user(`For context: ${text}`)
const echo = tool({ name: 'echo', effect: 'read', execute: () => 'echoed' })
/** Thinks aloud and uses a tool before it answers. */
const busy = (name: string, model = scripted({ text: 'thinking', ...calls(['echo', {}, `${name}-echo`]) }, `${name} result`)) =>
  agent({ name, description: 'Uses a tool.', model, tools: [echo] })
const contents = (prompt: readonly Message[] | undefined): unknown[] => (prompt ?? []).map(({ content }) => content)
/** Who is heard in a prompt: the names of those whose words are there, in order. */
const heard = (model: Scripted): string[] => contents(model.prompts[0]).flatMap((text) => /said: (\w+)\./.exec(text as string)?.[1] ?? [])

describe('the words', () => {
  test('collaboration 52: a supervisor is told what a worker said, called and got, in the third person', async () => {
    const lead = scripted(xfer('W1', 's1'), 'final')
    const sup = router({ name: 'Sup', instructions: 'Lead.', model: lead, workers: [busy('W1')], transfer: { transfers: 'shown' } })
    const runtime = await runtimeOf([sup])
    expect(await runtime.run(sup, 'task')).toMatchObject({ output: 'final' })
    expect(contents(lead.prompts[1]).slice(4, 7)).toEqual([
      'For context: [W1] said: thinking. [W1] called tool: `echo` with arguments: {}.',
      'For context: [W1] `echo` tool returned result: echoed.',
      'For context: [W1] said: W1 result.',
    ])
    expect(lead.prompts[1]!.slice(1, 4)).toMatchObject([
      user('task'),
      { role: 'assistant', calls: [{ id: 's1' }] },
      { role: 'tool', callId: 's1', content: 'successfully transferred to agent [W1]' },
    ])
  })

  test('collaboration 53: two calls without a text are one message', async () => {
    const next = scripted('end')
    const two = agent({
      name: 'two',
      model: scripted(calls(['echo', { a: 1 }], ['echo', { b: 'x' }]), 'done'),
      tools: [tool({ name: 'echo', effect: 'read', execute: (input) => Object.keys(input).join('') })],
    })
    const flow = sequential({ name: 'S', agents: [two, worker('next', next)] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts[0]).toEqual([
      user('task'),
      context('[two] called tool: `echo` with arguments: {"a":1}. [two] called tool: `echo` with arguments: {"b":"x"}.'),
      context('[two] `echo` tool returned result: a.'),
      context('[two] `echo` tool returned result: b.'),
      context('[two] said: done.'),
    ])
  })

  test('collaboration 54: an empty result and an empty answer are not told; a result that is 0 is', async () => {
    const next = scripted('end')
    const results: Json[] = ['', null, 0]
    const empty = agent({
      name: 'empty',
      model: scripted(calls(['note', { i: 0 }], ['note', { i: 1 }], ['note', { i: 2 }]), ''),
      tools: [tool({ name: 'note', effect: 'read', execute: ({ i }) => results[i as number] })],
    })
    const flow = sequential({ name: 'S', agents: [empty, agent({ name: 'mute', run: () => null }), worker('next', next)] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts[0]).toHaveLength(3)
    expect(next.prompts[0]![2]).toEqual(context('[empty] `note` tool returned result: 0.'))
  })

  test('collaboration 54: an agent whose answer was empty is not shown an empty message of its own when it works again', async () => {
    const shy = scripted('', 'now I speak')
    const flow = loop({ name: 'L', agents: [worker('shy', shy)], maxIterations: 2 })
    expect(await (await runtimeOf([flow])).run(flow, 'task')).toMatchObject({ output: 'now I speak' })
    expect(shy.prompts).toEqual([[user('task')], [user('task')]])
  })

  test('collaboration 56: what the caller gives is shown to everybody as it is, behind their own instructions: lead, worker, step, branch', async () => {
    const picture: FilePart = { type: 'file', mediaType: 'image/png', data: 'AAAA' }
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'see' }, picture] },
      { role: 'assistant', content: 'I look', calls: [{ id: 'k', name: 'find', input: { q: 1 } }] },
      { role: 'tool', callId: 'k', name: 'find', content: { found: true } },
      { role: 'assistant', content: 'found' },
    ]
    const models = [scripted(xfer('W'), 'lead result'), scripted('W result'), scripted('step result'), scripted('branch result')] as const
    const [lead, w, step, branch] = models
    const own = (name: string, model: Scripted) => agent({ name, description: name, instructions: `I am ${name}.`, model })
    const sup = router({ name: 'Sup', instructions: 'I am Sup.', model: lead, workers: [own('W', w)] })
    const flow = sequential({ name: 'S', agents: [sup, own('step', step), parallel({ name: 'P', agents: [own('branch', branch)] })] })
    await (await runtimeOf([flow])).run(flow, 'and now?', { messages })
    expect(models.map((model) => model.prompts[0]!.slice(1, 7))).toEqual(models.map(() => [...messages, user('and now?')]))
    const names = ['Sup', 'W', 'step', 'branch']
    expect(models.map((model) => (model.prompts[0]![0]!.content as string).split('\n')[0])).toEqual(names.map((name) => `I am ${name}.`))
  })

  test('collaboration 57: a picture that a worker made is shown to the supervisor, with what the provider said of it; in code it is in the history', async () => {
    const picture: FilePart = { type: 'file', mediaType: 'image/png', data: 'AAAA', metadata: { maker: { seed: 7 } } }
    const lead = scripted(xfer('painter'), 'nice')
    const sup = router({
      name: 'Sup',
      model: lead,
      workers: [worker('painter', scripted({ text: 'here it is', files: [picture] }))],
    })
    const seen: (readonly HistoryEntry[])[] = []
    const critic = agent({ name: 'critic', run: (_ctx, _brief, { history }) => (seen.push(history), 'seen') })
    const flow = sequential({ name: 'S', agents: [sup, critic] })
    await (await runtimeOf([flow])).run(flow, 'paint')
    expect(lead.prompts[1]!.at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'For context: [painter] said: here it is.' }, picture],
    })
    expect(seen[0]!.find((entry) => entry.agent === 'painter')?.message).toMatchObject({ content: 'here it is', files: [picture] })
  })

  test('collaboration 17: an agent that works again is shown its own words as they are, with calls and results', async () => {
    const model = scripted({ text: 'thinking', ...calls(['echo', {}, 'w']) }, 'first', 'second')
    const flow = loop({ name: 'L', agents: [busy('A', model), worker('B', scripted('B result'))], maxIterations: 2 })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(model.prompts[2]).toEqual([
      user('task'),
      { role: 'assistant', content: 'thinking', calls: [{ id: 'w', name: 'echo', input: {} }] },
      { role: 'tool', callId: 'w', name: 'echo', content: 'echoed' },
      { role: 'assistant', content: 'first' },
      context('[B] said: B result.'),
    ])
  })
})

describe('a rewriter of its own', () => {
  const entriesSeen: { entries: readonly HistoryEntry[]; agent: string }[] = []
  /** Only what comes from outside, and the last words of another. */
  const last: HistoryRewriter = (entries, name) => {
    entriesSeen.push({ entries, agent: name })
    const others = entries.filter((entry) => entry.agent !== undefined && entry.agent !== name && entry.message.role === 'assistant')
    return [...entries.filter((entry) => entry.agent === undefined), ...others.slice(-1)].map(({ message }) => message)
  }

  test('collaboration 58: it is given who said what, and what it makes is all that is shown', async () => {
    const w = scripted('W result')
    const flow = sequential({
      name: 'S',
      agents: [busy('A'), worker('B'), worker('W', w)],
      edge: { agents: { W: { context: last } } },
    })
    entriesSeen.length = 0
    await (await runtimeOf([flow])).run(flow, 'task', { messages: [{ role: 'system', content: 'Be brief.' }] })
    expect(w.prompts).toEqual([[{ role: 'system', content: 'Be brief.' }, user('task'), { role: 'assistant', content: 'B result' }]])
    expect(entriesSeen[0]!.agent).toBe('W')
    expect(entriesSeen[0]!.entries.map(({ agent: name, message }) => [name, message.role])).toEqual([
      [undefined, 'system'],
      [undefined, 'user'],
      ['A', 'assistant'],
      ['A', 'tool'],
      ['A', 'assistant'],
      ['B', 'assistant'],
    ])
  })

  test('collaboration 58: for a worker of a router, in its second turn its own words are told apart', async () => {
    const w = scripted('one', 'two')
    const sup = router({
      name: 'Sup',
      model: scripted(xfer('W'), { text: 'again', ...xfer('W') }, 'final'),
      workers: [worker('W', w)],
      transfer: { agents: { W: { context: last } } },
    })
    entriesSeen.length = 0
    await (await runtimeOf([sup])).run(sup, 'task')
    expect(w.prompts[1]).toEqual([user('task'), { role: 'assistant', content: 'again' }])
    expect(entriesSeen.at(-1)!.entries.map((entry) => entry.agent)).toEqual([undefined, 'W', 'Sup'])
  })

  test('collaboration 58: what it changes of what it was given changes nothing for others', async () => {
    const w = scripted('W result')
    const spoil: HistoryRewriter = (entries) => {
      for (const entry of entries) (entry as { message: Message }).message = { role: 'user', content: 'spoilt' }
      return entries.map(({ message }) => message)
    }
    const flow = sequential({
      name: 'S',
      agents: [worker('A'), worker('B'), worker('W', w)],
      edge: { agents: { B: { context: spoil } } },
    })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(w.prompts).toEqual([[user('task'), context('[A] said: A result.'), context('[B] said: B result.')]])
  })

  const throwing: HistoryRewriter = () => {
    throw new Error('no idea')
  }
  const asynchronous = (() => Promise.reject(new Error('late'))) as unknown as HistoryRewriter
  const failing = [
    ['throws', throwing, 'no idea'],
    ['is asynchronous', asynchronous, 'synchronous'],
  ] as const

  test.each(failing)('collaboration 59, 11: one that %s ends a sequential, and the failure says where', async (_what, context, why) => {
    const w = scripted('never')
    const flow = sequential({ name: 'S', agents: [worker('A'), worker('W', w)], edge: { agents: { W: { context } } } })
    const failed = {
      code: 'transfer.refused',
      message: expect.stringContaining(why) as string,
      details: { agent: 'W', path: ['S', 'A', 'W'] },
    }
    expect(await (await runtimeOf([flow])).run(flow, 'task')).toMatchObject({ status: 'failed', failure: failed })
    expect(w.prompts).toEqual([])
  })

  test("collaboration 59, 40: under a router its lead is told, or with onFailure 'end' the router ends", async () => {
    const lead = scripted(xfer('W'), 'without W')
    const team = (onFailure: 'tell' | 'end') =>
      router({ name: 'Sup', model: lead, workers: [worker('W')], transfer: { agents: { W: { context: throwing, onFailure } } } })
    const told = team('tell')
    expect(await (await runtimeOf([told])).run(told, 'task')).toMatchObject({ output: 'without W' })
    expect(lead.prompts[1]!.at(-1)!.content).toMatch(/W.*no idea/)
    const ending = team('end')
    lead.prompts.length = 0
    expect(await (await runtimeOf([ending])).run(ending, 'task')).toMatchObject({
      status: 'failed',
      failure: { details: { agent: 'W', path: ['Sup', 'W'] } },
    })
  })
})

describe('side by side', () => {
  test('collaboration 60: two branches do not see each other; whoever follows sees both as they are declared, though the second ends first', async () => {
    let release = (): void => {}
    const second = new Promise<void>((resolve) => (release = resolve))
    const slow = scripted(async () => (await second, 'slow'))
    const fast = scripted(() => (release(), 'fast'))
    const next = scripted('end')
    const branches = parallel({ name: 'P', agents: [worker('A', slow), worker('B', fast)] })
    const flow = sequential({ name: 'S', agents: [branches, worker('next', next)] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect([slow.prompts, fast.prompts]).toEqual([[[user('task')]], [[user('task')]]])
    expect(next.prompts).toEqual([[user('task'), context('[A] said: slow.'), context('[B] said: fast.')]])
  })

  test('collaboration 61: nested branches see what is before them on their way, and nothing beside it', async () => {
    const models = Object.fromEntries(['A', 'B', 'C', 'D', 'next'].map((name) => [name, scripted(name)])) as Record<string, Scripted>
    const one = (name: string) => worker(name, models[name])
    const inner = sequential({ name: 'Inner', agents: [one('A'), parallel({ name: 'P2', agents: [one('B'), one('C')] })] })
    const flow = sequential({ name: 'S', agents: [parallel({ name: 'P1', agents: [inner, one('D')] }), one('next')] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(Object.values(models).map(heard)).toEqual([[], ['A'], ['A'], [], ['A', 'B', 'C', 'D']])
  })

  test('collaboration 60, 61: three levels: A, then B beside C and then D beside E, then F', async () => {
    const models = Object.fromEntries(['A', 'B', 'C', 'D', 'E', 'C2', 'F'].map((name) => [name, scripted(name)])) as Record<
      string,
      Scripted
    >
    const one = (name: string) => worker(name, models[name])
    const lane = sequential({ name: 'Lane', agents: [one('C'), parallel({ name: 'Inner', agents: [one('D'), one('E')] }), one('C2')] })
    const flow = sequential({ name: 'S', agents: [one('A'), parallel({ name: 'Outer', agents: [one('B'), lane] }), one('F')] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(Object.fromEntries(Object.entries(models).map(([name, model]) => [name, heard(model)]))).toEqual({
      A: [],
      B: ['A'],
      C: ['A'],
      D: ['A', 'C'],
      E: ['A', 'C'],
      C2: ['A', 'C', 'D', 'E'],
      F: ['A', 'B', 'C', 'D', 'E', 'C2'],
    })
  })
})

describe('how much crosses', () => {
  test("collaboration 62: hidden, no transfer is in any input: of model, code or rule, with another tool in the same turn; the lead's words stay", async () => {
    const lead = scripted(
      { text: 'let me delegate', calls: [...calls(['echo', {}, 'e'], ['transfer_to_agent', { agent_name: 'W' }, 'e']).calls!] },
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
    expect(JSON.stringify([...lead.prompts, ...w.prompts, ...after.prompts])).not.toMatch(/transfer_to_agent`|successfully transferred/)
    expect(lead.prompts[1]!.slice(1)).toEqual([
      user('task'),
      { role: 'assistant', content: 'let me delegate', calls: [{ id: 'e', name: 'echo', input: {} }] },
      { role: 'tool', callId: 'e', name: 'echo', content: 'echoed' },
      context('[W] said: W result.'),
    ])
  })

  test('collaboration 64: of a worker that shares its answer the others get its last words, and itself everything', async () => {
    const lead = scripted(xfer('W'), xfer('W'), 'final')
    const w = scripted({ text: 'thinking', ...calls(['echo', {}]) }, 'first', 'second')
    const sup = router({ name: 'Sup', model: lead, workers: [busy('W', w)], transfer: { agents: { W: { shares: 'answer' } } } })
    await (await runtimeOf([sup])).run(sup, 'task')
    expect(lead.prompts[2]!.slice(1)).toEqual([user('task'), context('[W] said: first.'), context('[W] said: second.')])
    expect(w.prompts[2]).toMatchObject([user('task'), { content: 'thinking' }, { role: 'tool' }, { role: 'assistant', content: 'first' }])
  })

  test('collaboration 64: the answer is what a tool gave, if that ended it; of branches it is what each answered', async () => {
    const next = scripted('end')
    const quick = agent({
      name: 'quick',
      model: scripted({ text: 'thinking', ...calls(['look', {}]) }),
      tools: [tool({ name: 'look', effect: 'read', execute: () => ({ n: 1 }), action: 'return' })],
    })
    const both = parallel({ name: 'both', agents: [busy('A'), busy('B')] })
    const line = sequential({ name: 'line', agents: [busy('C'), busy('D')] })
    const flow = sequential({ name: 'S', agents: [quick, both, line, worker('next', next)], edge: { shares: 'answer' } })
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

  test("collaboration 64: with the policy 'answers' an agent gets what was asked and everybody's answers, each turn's and those of tools", async () => {
    const next = scripted('end')
    const again = loop({
      name: 'L',
      agents: [busy('A', scripted({ text: 'thinking', ...calls(['echo', {}]) }, 'one', 'two'))],
      maxIterations: 2,
    })
    const mid = router({
      name: 'Mid',
      model: scripted({ text: 'let me', ...calls(['exit', { final_result: 'the exit' }]) }),
      tools: [tool({ name: 'exit', effect: 'read', execute: ({ final_result: result }) => result, action: { exit: 'supervisor' } })],
      workers: [worker('unused')],
    })
    const flow = sequential({ name: 'S', agents: [again, mid, worker('next', next)], edge: { agents: { next: { context: 'answers' } } } })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts).toEqual([[user('task'), context('[A] said: one.'), context('[A] said: two.'), context('[Mid] said: the exit.')]])
  })

  test("collaboration 65: with the policy 'brief' a worker gets the supervisor's task and nothing else; without one, what the run was asked", async () => {
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

  test('collaboration 65: a task reaches whoever works in the place of the worker: the steps of a sequential, the lead of a router', async () => {
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

  test("collaboration 42: with the policy 'input' an agent gets what came from outside, and nobody's words", async () => {
    const a = scripted('A result')
    const lead = scripted(xfer('W'), xfer('Flow'), 'final')
    const flow = sequential({ name: 'Flow', description: 'Works in steps.', agents: [worker('A', a)] })
    const sup = router({ name: 'Sup', model: lead, workers: [worker('W'), flow], transfer: { agents: { Flow: { context: 'input' } } } })
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
  test('collaboration 1.6: an attempt of a model that failed, also in the middle of its stream', async () => {
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

  test('collaboration 1.6: an answer that its agent had to correct', async () => {
    const next = scripted('end')
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const typed = agent({ name: 'typed', model: scripted('no JSON', '{"n":1}'), output })
    const flow = sequential({ name: 'S', agents: [typed, worker('next', next)] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts).toEqual([[user('task'), context('[typed] said: {"n":1}.')]])
  })

  test('collaboration 1.6: a question to the outside and its answer, unless the agent says so; after a restart it is the same', async () => {
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
  test('the next run is shown what earlier ones were asked and answered, once, in the words of whoever led', async () => {
    const lead = scripted(xfer('W'), 'first answer', 'second answer')
    const w = scripted('W result')
    const sup = router({ name: 'Sup', model: lead, workers: [worker('W', w)] })
    const runtime = await runtimeOf([sup])
    await runtime.run(sup, 'first question', { session: 'ses_1' })
    await runtime.run(sup, 'second question', { session: 'ses_1', messages: [{ role: 'system', content: 'Be brief.' }] })
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

test('collaboration 1.17, 33: an exit in the words of the model that called for it is what a caller gets', async () => {
  const next = scripted('never')
  const flow = sequential({
    name: 'S',
    agents: [agent({ name: 'A', model: scripted(calls(['exit', { final_result: 'enough' }])), tools: [exitTool] }), worker('next', next)],
  })
  expect(await (await runtimeOf([flow])).run(flow, 'task')).toMatchObject({ status: 'completed', output: 'enough' })
  expect(next.prompts).toEqual([])
})
