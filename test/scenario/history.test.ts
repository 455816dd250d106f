/**
 * What agents in a flow are shown of each other: spec collaboration 52 to 61, and 1.6. How much of it by which policy
 * is in history-policies.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import type { FilePart, HistoryEntry, Json } from '@reeve/core'
import { loop, parallel, router, sequential, type HistoryRewriter } from '@reeve/flow'
import type { Message } from '@reeve/model'
import { simulate, teamScenario } from '@reeve/testing'
import { worker, xfer } from './control.ts'
import { busy, contents, context, user } from './played.ts'
import { calls, runtimeOf, scripted, type Scripted } from './team.ts'

/** Who is heard in a prompt: the names of those whose words are there, in order. */
const heard = (model: Scripted): string[] =>
  contents(model.prompts[0]).flatMap((text) => /said: (\w+)\./.exec(text as string)?.[1] ?? [])

describe('the words', () => {
  test('collaboration 52: a supervisor is told what a worker said, called and got, in the third person', async () => {
    const lead = scripted(xfer('W1', 's1'), 'final')
    const sup = router({
      name: 'Sup',
      instructions: 'Lead.',
      model: lead,
      workers: [busy('W1')],
      transfer: { transfers: 'shown' },
    })
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
      context(
        '[two] called tool: `echo` with arguments: {"a":1}. [two] called tool: `echo` with arguments: {"b":"x"}.',
      ),
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
    const flow = sequential({
      name: 'S',
      agents: [empty, agent({ name: 'mute', run: () => null }), worker('next', next)],
    })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(next.prompts[0]).toHaveLength(3)
    expect(next.prompts[0]![2]).toEqual(context('[empty] `note` tool returned result: 0.'))
  })

  test('collaboration 54: an agent with an empty answer is shown no empty message of its own later', async () => {
    const shy = scripted('', 'now I speak')
    const flow = loop({ name: 'L', agents: [worker('shy', shy)], maxIterations: 2 })
    expect(await (await runtimeOf([flow])).run(flow, 'task')).toMatchObject({ output: 'now I speak' })
    expect(shy.prompts).toEqual([[user('task')], [user('task')]])
  })

  test('collaboration 56: the caller’s messages are shown as they are behind own instructions, to all agents', async () => {
    const picture: FilePart = { type: 'file', mediaType: 'image/png', data: 'AAAA' }
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'see' }, picture] },
      { role: 'assistant', content: 'I look', calls: [{ id: 'k', name: 'find', input: { q: 1 } }] },
      { role: 'tool', callId: 'k', name: 'find', content: { found: true } },
      { role: 'assistant', content: 'found' },
    ]
    const models = [
      scripted(xfer('W'), 'lead result'),
      scripted('W result'),
      scripted('step result'),
      scripted('branch result'),
    ] as const
    const [lead, w, step, branch] = models
    const own = (name: string, model: Scripted) =>
      agent({ name, description: name, instructions: `I am ${name}.`, model })
    const sup = router({ name: 'Sup', instructions: 'I am Sup.', model: lead, workers: [own('W', w)] })
    const flow = sequential({
      name: 'S',
      agents: [sup, own('step', step), parallel({ name: 'P', agents: [own('branch', branch)] })],
    })
    await (await runtimeOf([flow])).run(flow, 'and now?', { messages })
    expect(models.map((model) => model.prompts[0]!.slice(1, 7))).toEqual(
      models.map(() => [...messages, user('and now?')]),
    )
    const names = ['Sup', 'W', 'step', 'branch']
    expect(models.map((model) => (model.prompts[0]![0]!.content as string).split('\n')[0])).toEqual(
      names.map((name) => `I am ${name}.`),
    )
  })

  test('collaboration 56: what is no message is refused, and nothing is started', async () => {
    const flow = sequential({ name: 'S', agents: [worker('A')] })
    const runtime = await runtimeOf([flow])
    const refused = runtime.run(flow, 'task', { messages: [{ role: 'tool', content: 'x' } as unknown as Message] })
    await expect(refused).rejects.toMatchObject({
      code: 'input.invalid',
      message: expect.stringContaining('messages[0]') as string,
    })
    expect(await runtime.runs()).toEqual([])
  })

  test('collaboration 57: a worker’s image is shown to the supervisor with its metadata; code has it in history', async () => {
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
    expect(seen[0]!.find((entry) => entry.agent === 'painter')?.message).toMatchObject({
      content: 'here it is',
      files: [picture],
    })
  })

  test('collaboration 17: an agent that works again sees its own words with calls and results', async () => {
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
    const others = entries.filter(
      (entry) => entry.agent !== undefined && entry.agent !== name && entry.message.role === 'assistant',
    )
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
    expect(w.prompts).toEqual([
      [{ role: 'system', content: 'Be brief.' }, user('task'), { role: 'assistant', content: 'B result' }],
    ])
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

  test('K5: one may take its time, and do steps: they are done once, also across a crash', async () => {
    const summarize: HistoryRewriter = async (entries, agent, ctx) => {
      const text = await ctx.step('summary', () => `${agent} is shown ${entries.length}`)
      return [{ role: 'user', content: text }]
    }
    const last = agent({
      name: 'C',
      description: 'c',
      model: ({ messages }) => JSON.stringify(messages.at(-1)!.content),
    })
    const both = parallel({
      name: 'P',
      agents: [last, agent({ name: 'D', model: scripted('d') })],
      edge: { context: summarize },
    })
    const flow = sequential({ name: 'S', agents: [worker('A'), both] })
    const { end, differences, repeated } = await simulate(teamScenario({ agents: [flow], input: 'task' }))
    expect(end.outcome).toEqual({ status: 'completed', output: ['"C is shown 2"', 'd'] })
    expect([differences, repeated]).toEqual([[], []])
    const lead = scripted(xfer('W'), 'final')
    const w = scripted('w')
    const root = router({
      name: 'R',
      model: lead,
      workers: [worker('W', w)],
      transfer: { agents: { W: { context: summarize } } },
    })
    expect(await (await runtimeOf([root])).run(root, 'task')).toMatchObject({ output: 'final' })
    expect(w.prompts).toEqual([[user('W is shown 1')]])
  }, 60_000)

  const throwing: HistoryRewriter = () => {
    throw new Error('no idea')
  }
  const asynchronous: HistoryRewriter = () => Promise.reject(new Error('late'))
  const failing: (readonly [what: string, context: HistoryRewriter, why: string])[] = [
    ['throws', throwing, 'no idea'],
    ['rejects', asynchronous, 'late'],
    [
      'returns entries instead of messages',
      (entries) => entries as unknown as Message[],
      'what the rewriter returns[0] has no role',
    ],
    [
      'returns a message without words',
      () => [{ role: 'user' } as unknown as Message],
      'what the rewriter returns[0] has no content',
    ],
    ['returns one message', () => user('x') as unknown as Message[], 'a list of messages'],
  ]

  test.each(failing)(
    'collaboration 59, 11: one that %s ends a sequential, and the failure says where',
    async (_what, context, why) => {
      const w = scripted('never')
      const flow = sequential({
        name: 'S',
        agents: [worker('A'), worker('W', w)],
        edge: { agents: { W: { context } } },
      })
      const failed = {
        code: 'transfer.refused',
        message: expect.stringContaining(why) as string,
        details: { agent: 'W', path: ['S', 'A', 'W'] },
      }
      expect(await (await runtimeOf([flow])).run(flow, 'task')).toMatchObject({ status: 'failed', failure: failed })
      expect(w.prompts).toEqual([])
    },
  )

  test("collaboration 59, 40: under a router its lead is told, or with onFailure 'end' the router ends", async () => {
    const lead = scripted(xfer('W'), 'without W')
    const team = (onFailure: 'tell' | 'end') =>
      router({
        name: 'Sup',
        model: lead,
        workers: [worker('W')],
        transfer: { agents: { W: { context: throwing, onFailure } } },
      })
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
  test('collaboration 60: branches do not see each other; the next agent sees both in declared order', async () => {
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
    const models = Object.fromEntries(['A', 'B', 'C', 'D', 'next'].map((name) => [name, scripted(name)])) as Record<
      string,
      Scripted
    >
    const one = (name: string) => worker(name, models[name])
    const inner = sequential({
      name: 'Inner',
      agents: [one('A'), parallel({ name: 'P2', agents: [one('B'), one('C')] })],
    })
    const flow = sequential({ name: 'S', agents: [parallel({ name: 'P1', agents: [inner, one('D')] }), one('next')] })
    await (await runtimeOf([flow])).run(flow, 'task')
    expect(Object.values(models).map(heard)).toEqual([[], ['A'], ['A'], [], ['A', 'B', 'C', 'D']])
  })

  test('collaboration 60, 61: three levels: A, then B beside C and then D beside E, then F', async () => {
    const models = Object.fromEntries(
      ['A', 'B', 'C', 'D', 'E', 'C2', 'F'].map((name) => [name, scripted(name)]),
    ) as Record<string, Scripted>
    const one = (name: string) => worker(name, models[name])
    const lane = sequential({
      name: 'Lane',
      agents: [one('C'), parallel({ name: 'Inner', agents: [one('D'), one('E')] }), one('C2')],
    })
    const flow = sequential({
      name: 'S',
      agents: [one('A'), parallel({ name: 'Outer', agents: [one('B'), lane] }), one('F')],
    })
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
