/** Delegation, how it ends: spec delegation 32, 44 to 50, forwarding 79 to 82, and limits. */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool } from '@reeve/agent'
import { failure, FailureError, totalUsage, type Json } from '@reeve/core'
import { supervisor, type DelegationEnd } from '@reeve/supervisor'
import type { Runtime } from '@reeve/runtime'
import { calls, delegates, eventsOf, fatal, pause, runtimeOf, scripted, told, type Scripted } from './team.ts'

const worker = (name: string, model: Scripted = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })
const running = async (runtime: Runtime, id: string, agents: number): Promise<void> => {
  await expect
    .poll(
      async () =>
        (await runtime.handle(id).view()).activations.filter((each) => each.open.some((op) => op.kind !== 'worker'))
          .length,
    )
    .toBe(agents)
}

describe('usage', () => {
  test('delegation 32: rolls up once, with a row per agent', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(
        { ...delegates(['w1', 'x']), usage: { input: 3, output: 1 } },
        { text: 'final', usage: { input: 2, output: 1 } },
      ),
      workers: [worker('w1', scripted({ text: 'out', usage: { input: 7, output: 3 } }))],
      limits: { tokens: 100_000 },
    })
    const { usage } = await (await runtimeOf([boss])).run(boss, 'go')
    expect(totalUsage(usage)).toMatchObject({ calls: 3, input: 12, output: 5, unknown: 0 })
    expect(usage.map(({ agent: name, input, output }) => [name, input, output])).toEqual([
      ['boss', 5, 2],
      ['w1', 7, 3],
    ])
  })
  test('delegation 32: what a provider does not say stays unknown', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'x']), 'final'),
      workers: [worker('w1', scripted({ text: 'out', usage: 'unknown' }))],
    })
    const { usage } = await (await runtimeOf([boss])).run(boss, 'go')
    expect(usage.find((row) => row.agent === 'w1')).toMatchObject({ calls: 1, unknown: 1 })
  })
})

describe('failures', () => {
  test('delegation 44: a worker’s model failure hides provider words; siblings go on; same when streamed', async () => {
    const told44: Json[][] = []
    for (const streamed of [false, true]) {
      const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), 'final')
      const boss = supervisor({
        name: 'boss',
        model: lead,
        workers: [worker('w1', scripted(fatal('boom-secret'))), worker('w2')],
      })
      const runtime = await runtimeOf([boss])
      const stream = streamed ? runtime.stream(boss, 'go') : undefined
      for await (const _item of stream ?? []);
      expect(await (stream?.outcome() ?? runtime.run(boss, 'go'))).toMatchObject({ output: 'final' })
      told44.push(told(lead.prompts[1]))
      expect(JSON.stringify(lead.prompts)).not.toContain('boom-secret')
      const run = runtime.handle((await runtime.runs())[0]!.run)
      expect(JSON.stringify(await eventsOf(run))).toContain('boom-secret') // those who look at the journal see the cause
    }
    expect(told44[0]).toEqual(['[worker "w1" failed: its model could not answer]', 'w2 is done'])
    expect(told44[1]).toEqual(told44[0])
  })
  test('a code worker that throws is content without the words of the exception', async () => {
    const lead = scripted(delegates(['coder', 'x']), 'final')
    const coder = agent({ name: 'coder', description: 'Codes.', run: () => Promise.reject(new Error('no such file')) })
    const boss = supervisor({ name: 'boss', model: lead, workers: [coder] })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual(['[worker "coder" failed: its code failed]'])
  })
  test('a leader whose own model fails has failed, with the failure', async () => {
    const boss = supervisor({ name: 'boss', model: scripted(fatal('quota')), workers: [worker('w1')] })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({
      status: 'failed',
      failure: { code: 'model.bad-request', message: 'quota' },
    })
  })
  test('an empty answer of a worker has a marker', async () => {
    const lead = scripted(delegates(['w1', 'x']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', scripted(''))] })
    await (await runtimeOf([boss])).run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual(['[worker "w1" finished without an answer]'])
  })
})

describe('an empty output is no answer', () => {
  test.each([
    ['of the worker', '{"n":5}', {}],
    ['of onComplete', 'five', { onComplete: () => ({ result: '{"n":5}' }) }],
    ['in a block of code', '```json\n{"n":5}\n```', {}],
  ])(
    'a text %s is read as the value that the leader owes, as an answer of its own would be',
    async (_, text, hooks) => {
      const boss = supervisor({
        name: 'boss',
        model: scripted(delegates(['w', 'x']), calls(['forward_message', { worker: 'w' }])),
        workers: [worker('w', scripted(text))],
        output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        delegation: hooks,
      })
      expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ status: 'completed', output: { n: 5 } })
    },
  )

  test.each([
    ['an empty text', () => ''],
    ['spaces', () => '  '],
    ['null', () => null],
    ['nothing', () => undefined],
  ])('%s cannot be forwarded, nor does it cross to other workers: the leader has to answer itself', async (_, run) => {
    const seen = scripted('ok')
    const forward = calls(['forward_message', { worker: 'w' }])
    const lead = scripted(delegates(['w', 'x']), forward, delegates(['next', 'y']), 'my own')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [agent({ name: 'w', description: 'W', run }), worker('next', seen)],
      delegation: { context: 'answers' },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ status: 'completed', output: 'my own' })
    expect(told(lead.prompts[2])).toEqual([expect.stringContaining('there is no output of "w" to forward')])
    expect(seen.prompts[0]!.map(({ content }) => content)).toEqual(['go', 'y'])
    const code = supervisor({
      name: 'code',
      workers: [agent({ name: 'w', description: 'W', run })],
      run: async (_ctx, _brief, team) => (await team.delegate('w', 'x'), team.forward('w')),
    })
    expect(await (await runtimeOf([code])).run(code, 'go')).toMatchObject({
      status: 'failed',
      failure: { code: 'work.rejected' },
    })
  })
})

test('a worker out of time is timed out in its view, journal, hooks, delegation list and for its leader', async () => {
  const slow = scripted(
    ({ signal }) =>
      new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  )
  const lead = scripted(delegates(['w', 'x']), 'final')
  const heard: string[] = []
  const onComplete = ({ status }: DelegationEnd): void => void heard.push(status)
  const boss = supervisor({
    name: 'boss',
    model: lead,
    workers: [worker('w', slow)],
    delegation: { timeoutMs: 50, onComplete },
  })
  const run = await (await runtimeOf([boss])).start(boss, 'go')
  await run.outcome()
  const view = (await run.view()).activations.find(({ agent: name }) => name === 'w')
  const settled = (await eventsOf(run)).flatMap((event) =>
    event.type === 'activation.settled' ? [event.outcome.status] : [],
  )
  expect([view?.state, (await run.delegations())[0]!.status, heard[0], settled[0]]).toEqual(Array(4).fill('timed-out'))
  expect(told(lead.prompts[1])).toEqual([expect.stringContaining('ran out of time')])
})

describe('limits', () => {
  const busy = (text: string) => scripted({ ...calls(['note', {}]), text })
  const note = tool({ name: 'note', effect: 'read', execute: () => 'noted' })
  test.each([
    ['', '[worker "w1" stopped at its limit of turns: 2 turns are used up]'],
    ['half done', '[worker "w1" stopped at its limit of turns: 2 turns are used up]\nIts answer so far:\nhalf done'],
  ])(
    'delegation 45: a worker at its limit of turns, having said %j, is marked with what it said',
    async (text, marker) => {
      const lead = scripted(delegates(['w1', 'x']), 'final')
      const w1 = agent({ name: 'w1', description: 'Works.', model: busy(text), tools: [note], limits: { turns: 2 } })
      const boss = supervisor({ name: 'boss', model: lead, workers: [w1] })
      await (await runtimeOf([boss])).run(boss, 'go')
      expect(told(lead.prompts[1])).toEqual([marker])
    },
  )
  test('collaboration 115: two turns, both results delivered, then one limit', async () => {
    const model = busy('thinking')
    const w1 = agent({ name: 'w1', model, tools: [note], limits: { turns: 2 } })
    const run = await (await runtimeOf([w1])).start(w1, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'limited', limit: 'turns', partial: 'thinking' })
    expect(model.prompts).toHaveLength(2)
    expect((await eventsOf(run)).filter((event) => event.type === 'tool.called')).toHaveLength(2)
  })
  test('a limit on the whole tree counts the workers, and the leader says what it had', async () => {
    const lead = scripted({ ...delegates(['w1', 'x']), text: 'so far' })
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1')], limits: { turns: 3 } })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({
      status: 'limited',
      limit: 'turns',
      partial: 'so far',
    })
    expect(lead.prompts).toHaveLength(2)
  })
  test('delegation 47: who delegate to each other end at the depth, with the path, and the tree has a budget', async () => {
    const model = (name: string) =>
      scripted(({ messages }) =>
        messages.at(-1)!.role === 'tool'
          ? `${name}: ${JSON.stringify(told(messages))}`
          : delegates([name === 'a' ? 'b' : 'a', 'go on']),
      )
    const a: ReturnType<typeof supervisor> = supervisor({
      name: 'a',
      description: 'A',
      model: model('a'),
      workers: () => [b],
    })
    const b: ReturnType<typeof supervisor> = supervisor({
      name: 'b',
      description: 'B',
      model: model('b'),
      workers: () => [a],
    })
    const runtime = await runtimeOf([a])
    const run = await runtime.start(a, 'go')
    expect(await run.outcome()).toMatchObject({
      status: 'completed',
      output: expect.stringMatching(/nest 4 deep, and a > b > a > b > a > b would be deeper/) as string,
    })
    const events = await eventsOf(run)
    expect(events.filter((event) => event.type === 'activation.started')).toHaveLength(5)
    expect(events.filter((event) => event.type === 'delegation.refused')).toMatchObject([
      { failure: { code: 'delegation.depth' } },
    ])
    const shallow = await runtimeOf([a])
    const tight = await shallow.start(a, 'go', { limits: { depth: 1, turns: 3 } })
    expect(await tight.outcome()).toMatchObject({ status: 'limited', limit: 'turns' })
    expect((await tight.view()).activations).toHaveLength(2)
  })
  test('team C99: a call that does not fit beside what is reserved is refused before it starts', async () => {
    let most = 0
    const spend = scripted(async () => {
      most++
      await pause(20)
      return { text: 'x', usage: { input: 10, output: 6_000 } }
    })
    const settings = { maxOutputTokens: 4_000 }
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b'], ['w3', 'c']), 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      limits: { tokens: 10_000 },
      settings: { maxOutputTokens: 100 },
      workers: ['w1', 'w2', 'w3'].map((name) => agent({ name, description: name, model: spend, settings })),
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'limited', limit: 'tokens' }) // 12,000 of 10,000 are spent: nothing fits any more
    expect(most).toBe(2)
    // whoever comes last: they work side by side
    const outcomes = (await run.view()).activations.slice(1).map(({ outcome }) => outcome)
    expect(outcomes.filter((outcome) => outcome?.status === 'limited')).toMatchObject([{ limit: 'tokens' }])
    expect(totalUsage(await run.usage())).toMatchObject({ output: 12_000 })
  })
  test('a limit in dollars without a price is refused when the runtime is made', async () => {
    const unpriced = { id: 'x/y', call: () => Promise.reject(new Error('never')) }
    const boss = supervisor({
      name: 'boss',
      model: () => 'x',
      limits: { usd: 1 },
      workers: [agent({ name: 'w1', description: 'W', model: unpriced })],
    })
    await expect(runtimeOf([boss])).rejects.toMatchObject({ code: 'budget.no-price' })
  })
})

describe('leaving and cancelling', () => {
  const hanging = (stopped: string[], name: string) =>
    scripted(
      ({ signal }) =>
        new Promise<string>((_, reject) =>
          signal.addEventListener('abort', () => (stopped.push(name), reject(signal.reason as Error))),
        ),
    )
  test('delegation 46: a cancel reaches every worker; none is called again and none counts as success', async () => {
    const stopped: string[] = []
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), 'never')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [worker('w1', hanging(stopped, 'w1')), worker('w2', hanging(stopped, 'w2'))],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await running(runtime, run.id, 2)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(stopped.sort()).toEqual(['w1', 'w2'])
    expect(lead.prompts).toHaveLength(1)
    expect((await run.view()).activations.map((each) => each.outcome?.status)).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
    ])
  })
  test('delegation 48, collaboration 12: leaving an owned run cancels its workers; another run works', async () => {
    const stopped: string[] = []
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'a']), 'never'),
      workers: [worker('w1', hanging(stopped, 'w1'))],
    })
    const other = worker('other')
    const runtime = await runtimeOf([boss, other])
    const stream = runtime.stream(boss, 'go')
    for await (const item of stream)
      if (item.type === 'event' && item.event.event.type === 'model.requested' && item.event.activation.includes('>'))
        break
    expect(await stream.outcome()).toMatchObject({ status: 'cancelled' })
    expect(stopped).toEqual(['w1'])
    expect(await runtime.run(other, 'go')).toMatchObject({ status: 'completed' })
  })
})

describe('watching', () => {
  test('delegation 49: a reader that pauses gets the whole text of a worker, in order', async () => {
    const words = Array.from({ length: 500 }, (_, i) => `${i} `)
    const talker = scripted(async ({ emit }) => {
      await pause(20)
      for (const text of words) emit?.({ type: 'text.delta', id: '0', text })
      return words.join('')
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'x']), 'final'),
      workers: [worker('w1', talker)],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    let text = ''
    for await (const delta of run.text({ path: ['boss', 'w1'] })) {
      if (text === '') await pause(50)
      text += delta
    }
    expect(text).toBe(words.join(''))
  })
  test('delegation 50: three levels: every activation has its whole path, and its events are in order', async () => {
    const w = worker('w')
    const low = supervisor({
      name: 'low',
      description: 'Low.',
      model: scripted(delegates(['w', 'x', 'c3']), 'low is done'),
      workers: [w],
    })
    const mid = supervisor({
      name: 'mid',
      description: 'Mid.',
      model: scripted(delegates(['low', 'x', 'c2']), 'mid is done'),
      workers: [low],
    })
    const top = supervisor({ name: 'top', model: scripted(delegates(['mid', 'x', 'c1']), 'final'), workers: [mid] })
    const run = await (await runtimeOf([top])).start(top, 'go')
    await run.outcome()
    const { activations } = await run.view()
    expect(activations.map((each) => each.path)).toEqual([
      ['top'],
      ['top', 'mid'],
      ['top', 'mid', 'low'],
      ['top', 'mid', 'low', 'w'],
    ])
    const seqs = new Map<string, number[]>()
    const started: (string | undefined)[] = []
    for await (const { activation, seq, event } of run.events()) {
      seqs.set(activation, [...(seqs.get(activation) ?? []), seq])
      if (event.type === 'worker.started') started.push(event.callId)
    }
    expect(started).toEqual(['c1', 'c2', 'c3'])
    for (const list of seqs.values()) expect(list).toEqual(list.map((_, i) => i))
  })
})

describe('forwarding', () => {
  test("delegation 79: the output is the worker's, byte for byte, without another model call", async () => {
    const text = '  ünïcode\r\n\t{"a": "$&"}  \n'
    const lead = scripted(delegates(['w1', 'x']), calls(['forward_message', { worker: 'w1' }]), 'never')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', scripted(text))] })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: text })
    expect(lead.prompts).toHaveLength(2)
    expect(await eventsOf(run)).toContainEqual(expect.objectContaining({ type: 'output.forwarded', worker: 'w1' }))
  })
  test('delegation 79: in the same turn it follows the delegation, and everything of the turn settles first', async () => {
    const log: string[] = []
    const slow = scripted(async () => (await pause(20), log.push('slow'), 'slow'))
    const lead = scripted(
      calls(
        ['forward_message', { worker: 'w1' }],
        ['delegate', { worker: 'w1', instructions: 'x' }],
        ['delegate', { worker: 'w2', instructions: 'y' }],
      ),
      'never',
    )
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [worker('w1', scripted('out-1')), worker('w2', slow)],
    })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'out-1' })
    expect([log, lead.prompts.length]).toEqual([['slow'], 1])
  })
  test.each([{ worker: 'w1' }, { worker: 'ghost' }, { delegation: 'd7' }])(
    'delegation 80: with nothing to forward (%j) the leader is told and goes on',
    async (input) => {
      const lead = scripted(calls(['forward_message', input]), 'final')
      const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1')] })
      expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'final' })
      expect(told(lead.prompts[1])).toEqual([
        expect.stringMatching(/no output of ".*" to forward. No worker has answered yet/),
      ])
    },
  )
  test('delegation 80: a failed worker has no output to forward', async () => {
    const lead = scripted(delegates(['w1', 'x']), calls(['forward_message', { worker: 'w1' }]), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', scripted(fatal('no')))] })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'final' })
  })
  test.each<[Json, string]>([
    [{ worker: 'w1' }, 'second'],
    [{ delegation: 'd1' }, 'first'],
    [{ delegation: 'd2' }, 'second'],
    [{ delegation: 'c1' }, 'first'],
  ])(
    'delegation 82: of two delegations to one worker, %j forwards the %s, in any order of their ends',
    async (input, output) => {
      const w1 = scripted(async ({ messages }) => {
        const first = messages.at(-1)!.content === 'first'
        await pause(first ? 20 : 1)
        return first ? 'first' : 'second'
      })
      const lead = scripted(delegates(['w1', 'first', 'c1'], ['w1', 'second', 'c2']), calls(['forward_message', input]))
      const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', w1)] })
      expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output })
    },
  )
  test("an output that does not fit the leader's own form is refused as content", async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const lead = scripted(
      delegates(['w1', 'x']),
      calls(['forward_message', { worker: 'w1' }]),
      '```json\n{"n": 1}\n```',
    )
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1')], output })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: { n: 1 } })
    expect(told(lead.prompts[2])).toEqual([expect.stringMatching(/cannot be your answer/)])
  })
  test('it works at every level on its own', async () => {
    const inner = supervisor({
      name: 'inner',
      description: 'I',
      model: scripted(delegates(['w1', 'x']), calls(['forward_message', { worker: 'w1' }])),
      workers: [worker('w1', scripted('leaf'))],
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['inner', 'x']), calls(['forward_message', { worker: 'inner' }])),
      workers: [inner],
    })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'leaf' })
  })
})

describe('code that leads', () => {
  test('delegate() returns outcomes, also failed ones, and several at once are fine', async () => {
    const w1 = worker(
      'w1',
      scripted(({ messages }) => (JSON.stringify(messages).includes('go 1') ? 'one' : 'two')),
    )
    const w2 = worker('w2', scripted(fatal('no')))
    const chief = agent({
      name: 'chief',
      workers: [w1, w2],
      run: async (ctx, brief) => {
        const all = await Promise.all([
          delegate(ctx, w1, `${brief} 1`),
          delegate(ctx, w1, `${brief} 2`),
          delegate(ctx, w2, 'x'),
        ])
        return all.map((outcome) => (outcome.status === 'completed' ? outcome.output : outcome.status))
      },
    })
    expect(await (await runtimeOf([chief])).run(chief, 'go')).toMatchObject({ output: ['one', 'two', 'failed'] })
  })
  test('what it throws is its failure, exactly', async () => {
    const chief = agent({
      name: 'chief',
      run: () => Promise.reject(new FailureError(failure('work.rejected', 'not today', 'rejected'))),
    })
    expect(await (await runtimeOf([chief])).run(chief, 'go')).toMatchObject({
      status: 'failed',
      failure: { code: 'work.rejected', message: 'not today', class: 'rejected' },
    })
  })
  test('it cannot give more than it has', async () => {
    const w1 = agent({
      name: 'w1',
      description: 'W',
      model: scripted(calls(['note', {}]), 'done'),
      tools: [tool({ name: 'note', execute: () => 'noted' })],
    })
    const chief = agent({
      name: 'chief',
      workers: [w1],
      run: (ctx) => delegate(ctx, w1, 'go', { permissions: { tools: ['*'] } }),
    })
    const run = await (await runtimeOf([chief])).start(chief, 'go', { permissions: { deny: ['note'] } })
    await run.outcome()
    expect(await eventsOf(run)).toContainEqual(
      expect.objectContaining({
        type: 'tool.refused',
        failure: expect.objectContaining({ code: 'permission.denied' }) as unknown,
      }),
    )
  })
})
