/** What the agents said in real runs: K1, K9, spec collaboration 1 and 2, 1.2, 1.10. */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool } from '@reeve/agent'
import { cancelled, rootActivation, type Json, type Outcome } from '@reeve/core'
import { spokenOf, type Recorded, type Spoken } from '../src/index.ts'
import { interrupt } from '@reeve/oversight'
import type { MessagesOptions } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, fatal, runtimeOf, scripted, waiting } from '../../../test/scenario/team.ts'
import { bare, expectSameAtEveryCut } from './hearing.ts'

interface Read {
  events(): AsyncIterable<Recorded>
  messages(options?: MessagesOptions): AsyncIterable<Spoken>
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of source) list.push(item)
  return list
}

/** What was said in an ended run, by every way of asking. */
async function saidIn(run: Read): Promise<readonly Spoken[]> {
  const events = await all(run.events())
  expectSameAtEveryCut(events)
  const said = spokenOf(events)
  expect(await all(run.messages())).toEqual(said)
  for (const { position } of said)
    expect(await all(run.messages({ from: position }))).toEqual(said.filter((each) => each.position > position))
  return said
}

const lookup = (execute: () => Json | Promise<Json> = () => ({ found: 3 })) =>
  tool({
    name: 'lookup',
    input: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    effect: 'read',
    execute,
  })

describe('what one agent says', () => {
  test('collaboration 1: an agent that answers: one message, with its name and path', async () => {
    const solo = agent({ name: 'A', model: scripted('hello') })
    const runtime = await runtimeOf([solo])
    const run = await runtime.start(solo, 'hi')
    await run.outcome()
    expect(await saidIn(run)).toEqual([
      {
        type: 'assistant',
        text: 'hello',
        finish: 'stop',
        usage: expect.any(Object) as object,
        agent: 'A',
        path: ['A'],
        activation: rootActivation(run.id),
        position: expect.any(Number),
        at: expect.any(Number),
      },
    ])
  })

  test('what a model answered says why it stopped and what it used; what code says has neither', async () => {
    const model = scripted(
      { text: 'a', ...calls(['lookup', { q: 'x' }]), finish: 'tool-calls', usage: { input: 7, output: 2 } },
      { text: 'b', finish: 'length', usage: 'unknown' },
    )
    const solo = agent({ name: 'A', description: 'Answers.', model, tools: [lookup()], onCut: 'fail' })
    const coder = agent({ name: 'coder', workers: [solo], run: async (ctx) => (await delegate(ctx, solo, 'x'), 'c') })
    const runtime = await runtimeOf([coder])
    const run = await runtime.start(coder, 'hi')
    await run.outcome()
    const said = (await saidIn(run)).flatMap((each) =>
      each.type === 'assistant' ? [[each.text, each.finish, each.usage]] : [],
    )
    expect(said).toEqual([
      ['a', 'tool-calls', { input: 7, output: 2 }],
      ['b', 'length', undefined],
      ['c', undefined, undefined],
    ])
  })

  test('collaboration 2: a tool call: the call, its result under the same id, the answer', async () => {
    const solo = agent({
      name: 'A',
      model: scripted({ text: 'thinking', ...calls(['lookup', { q: 'x' }, 'c1']) }, 'done'),
      tools: [lookup()],
    })
    const runtime = await runtimeOf([solo])
    const run = await runtime.start(solo, 'hi')
    await run.outcome()
    expect((await saidIn(run)).map(bare)).toEqual([
      ['A', { type: 'assistant', text: 'thinking', calls: [{ id: 'c1', name: 'lookup', input: { q: 'x' } }] }],
      ['A', { type: 'tool', tool: 'lookup', callId: 'c1', content: { found: 3 } }],
      ['A', { type: 'assistant', text: 'done' }],
    ])
  })

  test('calls that were refused or failed have results that say why', async () => {
    const broken = lookup(() => {
      throw fatal('no such index')
    })
    const model = scripted(
      calls(['lookup', {}, 'c1'], ['none', {}, 'c2']),
      calls(['lookup', { q: 'x' }, 'c1']),
      'gave up',
    )
    const solo = agent({ name: 'A', model, tools: [broken] })
    const runtime = await runtimeOf([solo])
    const run = await runtime.start(solo, 'hi')
    await run.outcome()
    const results = (await saidIn(run)).filter(({ type }) => type === 'tool')
    expect(results).toMatchObject([
      { tool: 'lookup', callId: 'c1', content: expect.stringContaining('do not fit'), isError: true },
      { tool: 'none', callId: 'c2', content: expect.stringContaining('there is no tool "none"'), isError: true },
      // an id that the conversation has already is not given again
      {
        tool: 'lookup',
        callId: expect.stringMatching(/^call_/),
        content: '[tool "lookup" failed: its model could not answer]',
        isError: true,
      },
    ])
  })

  test('a try that failed is not heard, the agent that failed is', async () => {
    let tries = 0
    const model = scripted(() => {
      if (tries++ === 0) throw new Error('cut off')
      throw fatal('overloaded')
    })
    const solo = agent({ name: 'A', model, retry: { attempts: 2, backoffMs: 1 } })
    const runtime = await runtimeOf([solo])
    const run = await runtime.start(solo, 'hi')
    await run.outcome()
    expect((await saidIn(run)).map(bare)).toMatchObject([['A', { type: 'error', failure: { message: 'overloaded' } }]])
  })

  test('an answer with a form is said once, as the model said it', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const solo = agent({ name: 'A', model: scripted('```json\n{ "n": 1 }\n```'), output })
    const runtime = await runtimeOf([solo])
    const run = await runtime.start(solo, 'hi')
    expect(await run.outcome()).toMatchObject({ output: { n: 1 } })
    expect((await saidIn(run)).map(bare)).toEqual([['A', { type: 'assistant', text: '```json\n{ "n": 1 }\n```' }]])
  })

  test('code says its output; nothing if there is none', async () => {
    const said = async (output: Json) => {
      const coder = agent({ name: 'coder', run: () => output })
      const runtime = await runtimeOf([coder])
      const run = await runtime.start(coder, 'hi')
      await run.outcome()
      return (await saidIn(run)).map(bare)
    }
    expect(await said('ready')).toEqual([['coder', { type: 'assistant', text: 'ready' }]])
    expect(await said({ n: [1] })).toEqual([['coder', { type: 'assistant', text: '{"n":[1]}' }]])
    expect(await said(null)).toEqual([])
    expect(await said('')).toEqual([])
  })

  test('a question is asked with its id, and an agent that was cancelled says so', async () => {
    const asker = agent({ name: 'asker', run: (ctx) => interrupt(ctx, { question: 'how many?' }) })
    const runtime = await runtimeOf([asker])
    const run = await runtime.start(asker, 'hi')
    const { questions } = await waiting(run)
    await run.control.cancel('enough')
    await run.outcome()
    expect((await saidIn(run)).map(bare)).toEqual([
      ['asker', { type: 'interrupt', id: questions[0]!.id, question: { question: 'how many?' } }],
      ['asker', { type: 'ended', outcome: cancelled('enough') }],
    ])
  })
})

describe('what a team says', () => {
  /** A lead with a worker that has a tool which needs an approval. */
  function team(worker = scripted(calls(['pay', { n: 1 }, 'w1']), 'paid')) {
    const pay = tool({ name: 'pay', sensitive: true, input: { type: 'object' }, execute: () => 'ok' })
    const clerk = agent({ name: 'clerk', description: 'Pays.', model: worker, tools: [pay] })
    return supervisor({
      name: 'boss',
      model: scripted(delegates(['clerk', 'pay it', 'd1']), 'final'),
      workers: [clerk],
    })
  }

  test('a delegation: what the worker says stands between the call and its result, and is marked as inner', async () => {
    const boss = team()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const { waiting: open } = await waiting(run)
    await run.decide({ approvalId: open[0]!.id, decision: 'approve' })
    await run.outcome()
    const said = await saidIn(run)
    expect(said.map(bare)).toEqual([
      [
        'boss',
        {
          type: 'assistant',
          text: '',
          calls: [{ id: 'd1', name: 'delegate', input: { worker: 'clerk', instructions: 'pay it' } }],
        },
      ],
      ['boss/clerk', { type: 'assistant', inner: true, text: '', calls: [{ id: 'w1', name: 'pay', input: { n: 1 } }] }],
      [
        'boss/clerk',
        {
          type: 'approval',
          inner: true,
          id: open[0]!.id,
          tool: 'pay',
          callId: 'w1',
          input: { n: 1 },
          reason: '"pay" is a sensitive tool',
        },
      ],
      ['boss/clerk', { type: 'tool', inner: true, tool: 'pay', callId: 'w1', content: 'ok' }],
      ['boss/clerk', { type: 'assistant', inner: true, text: 'paid' }],
      ['boss', { type: 'tool', tool: 'delegate', callId: 'd1', content: 'paid' }],
      ['boss', { type: 'assistant', text: 'final' }],
    ])
    expect((await all(run.messages({ inner: false }))).map(({ path, type }) => [path.join('/'), type])).toEqual([
      ['boss', 'assistant'],
      ['boss/clerk', 'approval'],
      ['boss', 'tool'],
      ['boss', 'assistant'],
    ])
  })

  test('a worker that failed, one that does not exist: the leader has a result for each', async () => {
    const clerk = agent({ name: 'clerk', description: 'Pays.', model: scripted(fatal('no money')) })
    const lead = scripted(delegates(['clerk', 'pay', 'd1'], ['nobody', 'pay', 'd2']), 'sorry')
    const boss = supervisor({ name: 'boss', model: lead, workers: [clerk] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await run.outcome()
    const said = await saidIn(run)
    expect(said.filter(({ agent }) => agent === 'clerk').map(bare)).toMatchObject([
      ['boss/clerk', { type: 'error', inner: true, failure: { message: 'no money' } }],
    ])
    const results = said.filter(({ type }) => type === 'tool')
    expect(results.find((each) => 'callId' in each && each.callId === 'd1')).toMatchObject({
      tool: 'delegate',
      content: '[worker "clerk" failed: its model could not answer]',
      isError: true,
    })
    expect(results.find((each) => 'callId' in each && each.callId === 'd2')).toMatchObject({
      tool: 'delegate',
      content: expect.stringContaining('unknown worker "nobody"'),
      isError: true,
    })
    expect(said.at(-1)).toMatchObject({ agent: 'boss', text: 'sorry' })
  })

  test("a forwarded output is said by the leader, too: it is the leader's answer", async () => {
    const clerk = agent({ name: 'clerk', description: 'Pays.', model: scripted('the bill') })
    const lead = scripted(delegates(['clerk', 'pay', 'd1']), {
      text: 'here',
      ...calls(['forward_message', { worker: 'clerk' }, 'f1']),
    })
    const boss = supervisor({ name: 'boss', model: lead, workers: [clerk] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'the bill' })
    expect((await saidIn(run)).filter(({ agent }) => agent === 'boss').map(bare)).toMatchObject([
      ['boss', { text: '', calls: [{ id: 'd1' }] }],
      ['boss', { type: 'tool', callId: 'd1', content: 'the bill' }],
      ['boss', { text: 'here', calls: [{ id: 'f1' }] }],
      ['boss', { type: 'assistant', text: 'the bill' }],
    ])
  })

  test('a tool that is an activation says nothing of its own; whom it asks is below the call', async () => {
    const helper = agent({ name: 'helper', description: 'Helps.', run: () => 'help' })
    const ask = tool({
      name: 'ask',
      input: { type: 'object' },
      run: async (ctx) => {
        const outcome = await delegate(ctx, helper, 'please')
        return outcome.status === 'completed' ? `got ${outcome.output}` : 'nothing'
      },
    })
    const solo = agent({ name: 'A', model: scripted(calls(['ask', {}, 'c1']), 'done'), tools: [ask] })
    const runtime = await runtimeOf([solo, helper])
    const run = await runtime.start(solo, 'hi')
    await run.outcome()
    expect((await saidIn(run)).map(({ agent, type, inner }) => [agent, type, inner])).toEqual([
      ['A', 'assistant', undefined],
      ['helper', 'assistant', true],
      ['A', 'tool', undefined],
      ['A', 'assistant', undefined],
    ])
    expect((await all(run.messages({ inner: false }))).map(({ agent }) => agent)).toEqual(['A', 'A', 'A'])
  })

  test('code that delegates says its answer, also where that is what a worker answered', async () => {
    const worker = (name: string, said: string) => agent({ name, description: 'Works.', model: scripted(said) })
    const [one, two] = [worker('one', '1'), worker('two', '2')]
    const said = async (make: (outcomes: readonly Outcome[]) => Json) => {
      const lead = agent({
        name: 'lead',
        workers: [one, two],
        run: async (ctx) => make(await Promise.all([delegate(ctx, one, 'go'), delegate(ctx, two, 'go')])),
      })
      const runtime = await runtimeOf([lead])
      const run = await runtime.start(lead, 'go')
      await run.outcome()
      return (await saidIn(run)).filter(({ agent }) => agent === 'lead').map(bare)
    }
    const outputOf = (outcome: Outcome | undefined): Json => (outcome?.status === 'completed' ? outcome.output : null)
    // what those say to whom it gave work is said below it; only a workflow has nothing to add
    expect(await said((outcomes) => outputOf(outcomes[1]))).toEqual([['lead', { type: 'assistant', text: '2' }]])
    expect(await said((outcomes) => outcomes.map(outputOf))).toMatchObject([
      ['lead', { type: 'assistant', text: '["1","2"]' }],
    ])
    expect(await said(() => null)).toEqual([])
  })

  test('followed while the run goes on, all of it comes as it happens; leaving changes nothing', async () => {
    const boss = team()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const seen: Spoken[] = []
    for await (const spoken of run.messages()) {
      seen.push(spoken)
      if (spoken.type === 'approval') await run.decide({ approvalId: spoken.id, decision: 'approve' })
    }
    expect(seen).toEqual(await saidIn(run))
    for await (const { type } of run.messages()) if (type === 'approval') break
    const reader = run.messages({ signal: AbortSignal.abort() })
    expect(await reader.next()).toEqual({ value: undefined, done: true })
    await expect(all(runtime.handle('nobody').messages())).rejects.toMatchObject({ code: 'run.unknown' })
  })

  test('a reader that leaves while it waits is let go', async () => {
    const boss = team()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await waiting(run)
    const reader = run.messages({ inner: false })
    for (const type of ['assistant', 'approval']) expect(await reader.next()).toMatchObject({ value: { type } })
    const pending = reader.next()
    expect(await reader.return?.()).toEqual({ value: undefined, done: true })
    expect((await pending).done).toBe(true)
  })
})
