/** Why a model stopped is part of its answer: what follows, for everyone who asks a model. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, delegate, judge, tool, type Compaction } from '@reeve/agent'
import { failure, FailureError, type Outcome } from '@reeve/core'
import { goOnWhere } from '../../packages/agent/src/model-call/answer-end.ts'
import { summaryMark, summaryTask } from '../../packages/agent/src/extensions/compaction.ts'
import type { FinishReason, ModelAnswerInput, ModelRequest } from '@reeve/model'
import { sequential } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import type { Agent } from '@reeve/agent'
import type { Recorded } from '@reeve/journal'
import { registerAgents } from '@reeve/runtime'
import { verifyJournal } from '@reeve/testing'
import { calls, delegates, eventsOf, runtimeOf, scripted, told, type Scripted } from './team.ts'

const cut = (text: string): ModelAnswerInput => ({ text, finish: 'length' })
const failureIn = (outcome: Outcome<unknown>) => (outcome.status === 'failed' ? outcome.failure : undefined)
let paid = 0
const pay = tool({
  name: 'pay',
  effect: 'once',
  input: z.object({ invoice: z.string() }),
  execute: ({ invoice }) => `receipt ${++paid} of ${invoice}`,
})

/** What a replay of an ended run does otherwise than its journal says. */
async function replayProblems(run: { events(): AsyncIterable<Recorded> }, agents: readonly Agent[]) {
  const events: Recorded[] = []
  for await (const event of run.events()) events.push(event)
  return (await verifyJournal(events, registerAgents(agents, [], 'move'))).problems
}

async function play(model: Scripted, more: object = {}) {
  const runtime = await runtimeOf([agent({ name: 'A', description: 'Answers.', model, tools: [pay], ...more })])
  const run = await runtime.start('A', 'go')
  const outcome = await run.outcome()
  return { runtime, run, outcome, events: await eventsOf(run) }
}

describe('a text that was cut off', () => {
  test('is continued, and the parts are one answer: in the outcome, the text and the next prompt', async () => {
    const model = scripted(cut('The money must not '), cut('go to account '), 'twelve.')
    const { outcome, run } = await play(model)
    expect(outcome).toMatchObject({ status: 'completed', output: 'The money must not go to account twelve.' })
    expect(model.prompts[2]!.slice(-4)).toEqual([
      { role: 'assistant', content: 'The money must not ' },
      { role: 'user', content: goOnWhere },
      { role: 'assistant', content: 'go to account ' },
      { role: 'user', content: goOnWhere },
    ])
    let text = ''
    for await (const delta of run.text()) text += delta
    expect(text).toBe('The money must not go to account twelve.')
  })
  test('is continued at most twice, then the agent fails with what it said', async () => {
    const model = scripted(cut('a'), cut('b'), cut('c'), 'never')
    const { outcome } = await play(model)
    expect(failureIn(outcome)).toMatchObject({
      code: 'model.length',
      class: 'validation',
      retryable: false,
      details: { partial: 'abc', finish: 'length' },
    })
    expect(model.prompts).toHaveLength(3)
  })
  test('one answer stands in the prompt after it, where the work goes on', async () => {
    const model = scripted(cut('Let me '), { text: 'pay.', ...calls(['pay', { invoice: 'A' }]) }, 'Done.')
    await play(model)
    expect(model.prompts[2]!.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(model.prompts[2]![1]).toMatchObject({ content: 'Let me pay.', calls: [{ name: 'pay' }] })
  })
  test('onCut: "fail" fails at once; so does one without a word, which would only be cut off again', async () => {
    for (const [model, more] of [
      [scripted(cut('a'), 'b'), { onCut: 'fail' }],
      [scripted(cut(''), 'b'), {}],
    ] as const) {
      const { outcome } = await play(model, more)
      expect(failureIn(outcome)?.code).toBe('model.length')
      expect(model.prompts).toHaveLength(1)
    }
  })
  test('typed output is never continued and never read', async () => {
    const model = scripted(cut('{"approved":true}'), '{"approved":true}')
    const { outcome } = await play(model, { output: z.object({ approved: z.boolean() }), tools: [] })
    expect(failureIn(outcome)).toMatchObject({ code: 'model.length', details: { partial: '{"approved":true}' } })
    expect(model.prompts).toHaveLength(1)
  })
  test('a continuation that fails keeps what was said before it', async () => {
    const model = scripted(cut('half of it'), new FailureError(failure('model.bad-request', 'no', 'validation')))
    expect(failureIn((await play(model)).outcome)).toMatchObject({
      code: 'model.bad-request',
      details: { partial: 'half of it' },
    })
  })
  test('replays as it was', async () => {
    const model = scripted(cut('a'), { text: 'b', finish: 'paused' }, cut('c'), 'd')
    const { run, outcome } = await play(model)
    expect(outcome).toMatchObject({ output: 'abcd' })
    expect(await replayProblems(run, [agent({ name: 'A', description: 'Answers.', model, tools: [pay] })])).toEqual([])
  })
})

describe('calls of an answer that was cut off', () => {
  test('are not made; the model is told so, with the limit, and makes them again', async () => {
    paid = 0
    const model = scripted(
      { ...calls(['pay', { invoice: 'A' }], ['pay', { invoice: 'B' }]), finish: 'length' },
      calls(['pay', { invoice: 'A' }]),
      'Paid.',
    )
    const { outcome, events } = await play(model, { settings: { maxOutputTokens: 50 } })
    expect(outcome).toMatchObject({ status: 'completed', output: 'Paid.' })
    expect(paid).toBe(1)
    const asCut: unknown = expect.stringMatching(/^\[not made: .*cut off .*limit of 50 tokens/)
    expect(told(model.prompts[1])).toEqual([asCut, asCut])
    expect(events.flatMap((event) => (event.type === 'tool.refused' ? [event.failure.code] : []))).toEqual([
      'model.length',
      'model.length',
    ])
  })
  test('after the third time in a row the agent fails, with the calls', async () => {
    const model = scripted({ ...calls(['pay', { invoice: 'A' }]), finish: 'length' })
    const { outcome } = await play(model)
    expect(model.prompts).toHaveLength(3)
    expect(failureIn(outcome)).toMatchObject({
      code: 'model.length',
      details: { calls: [{ name: 'pay', input: '{"invoice":"A"}' }], callCount: 1 },
    })
  })
})

describe('other ends', () => {
  test.each([
    ['refusal', 'model.refused', 'policy'],
    ['content-filter', 'model.filtered', 'policy'],
    ['prompt-blocked', 'model.prompt-blocked', 'policy'],
    ['context-full', 'model.context-full', 'validation'],
  ] as const)('%s is %s: no call of it runs, nothing is asked again', async (finish, code, kind) => {
    paid = 0
    const model = scripted({ text: 'I had', ...calls(['pay', { invoice: 'A' }]), finish }, 'never')
    const { outcome } = await play(model)
    expect(failureIn(outcome)).toMatchObject({ code, class: kind, retryable: false, details: { partial: 'I had' } })
    expect([paid, model.prompts.length]).toEqual([0, 1])
  })
  test('a pause goes on with what was said, as it was, and without a note', async () => {
    const model = scripted({ text: 'I am looking. ', finish: 'paused' }, 'Found it: 7.')
    const { outcome } = await play(model)
    expect(outcome).toMatchObject({ status: 'completed', output: 'I am looking. Found it: 7.' })
    expect(model.prompts[1]!.at(-1)).toEqual({ role: 'assistant', content: 'I am looking. ' })
  })
  test('a pause that never ends is model.paused', async () => {
    const model = scripted({ text: '.', finish: 'paused' })
    const { outcome } = await play(model)
    expect(failureIn(outcome)).toMatchObject({ code: 'model.paused', details: { partial: '...........' } })
    expect(model.prompts).toHaveLength(11)
  })
  test('announced calls that are not there are asked for again by the step', async () => {
    const model = scripted({ finish: 'tool-calls' }, 'Done.')
    const { outcome } = await play(model, { retry: { attempts: 2, backoffMs: 1 } })
    expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' })
  })
  test('a retry of a run that ended so asks the model again', async () => {
    const model = scripted({ text: 'No.', finish: 'refusal' }, 'Yes.')
    const { runtime, run } = await play(model)
    const again = await runtime.retry(run.id)
    expect(await again.outcome()).toMatchObject({ status: 'completed', output: 'Yes.' })
  })
})

describe('whoever asks', () => {
  const worker = (model: Scripted, more: object = {}) => agent({ name: 'w', description: 'Works.', model, ...more })

  test.each<[FinishReason, RegExp]>([
    ['length', /cut off at its output limit\]\nIts answer so far:\nhalf/],
    ['refusal', /it declined to answer\]\nIts answer so far:\nhalf/],
    ['content-filter', /a content filter stopped the answer\]/],
    ['prompt-blocked', /a content filter blocked what it was to read\]/],
    ['context-full', /too long for it\]/],
  ])('a leader is told the kind of failure and the partial answer: %s', async (finish, expected) => {
    const lead = scripted(delegates(['w', 'x']), 'ok')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [worker(scripted({ text: 'half', finish }), { onCut: 'fail' })],
    })
    await (await runtimeOf([boss])).run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(expected)])
  })
  test('a judge that was cut off has given no verdict', async () => {
    const verdict = judge({ name: 'J', model: () => cut('{"score":1,"reason":"fine"}'), criteria: 'is fine' })
    const { outcome } = await play(scripted('answer'), { isComplete: { scorers: [verdict] }, limits: { turns: 2 } })
    expect(outcome).toMatchObject({ status: 'limited', limit: 'turns' })
  })
  test('a flow ends by the failure of its member', async () => {
    const flow = sequential({ name: 'flow', agents: [worker(scripted({ text: 'no', finish: 'refusal' })), worker2()] })
    expect(failureIn(await (await runtimeOf([flow])).run(flow, 'go'))?.code).toBe('model.refused')
  })
  const worker2 = () => agent({ name: 'v', description: 'Works.', model: scripted('never') })
  test('code that delegates has the outcome with the partial answer', async () => {
    let seen: Outcome | undefined
    const w = worker(scripted({ text: 'half', finish: 'content-filter' }))
    const code = agent({ name: 'code', workers: [w], run: async (ctx) => ((seen = await delegate(ctx, w, 'x')), 'ok') })
    await (await runtimeOf([code])).run(code, 'go')
    expect(failureIn(seen!)).toMatchObject({ code: 'model.filtered', details: { partial: 'half' } })
  })
})

describe('summaries, and a full context', () => {
  const look = tool({ name: 'look', effect: 'read', execute: () => 'x'.repeat(400) })
  const isSummary = ({ messages }: ModelRequest): boolean => messages[0]?.content === summaryTask
  const compaction: Compaction = { above: 300, keep: 2 }

  test.each(['length', 'refusal', 'content-filter', 'paused'] as const)(
    'a summary that ended by %s replaces nothing, and the run says so',
    async (finish) => {
      let turn = 0
      const model = scripted((request) =>
        isSummary(request) ? { text: 'The customer must NOT be', finish } : turn++ < 4 ? calls(['look', {}]) : 'Done.',
      )
      const { outcome, events } = await play(model, { tools: [look], compaction })
      expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' })
      expect(JSON.stringify(model.prompts.at(-1))).not.toContain(summaryMark)
      expect(events.some(({ type }) => type === 'hook.failed')).toBe(true)
      expect(events.some(({ type }) => type === 'context.compacted')).toBe(false)
    },
  )
  test.each(['as an error', 'as its reason to stop'])(
    'a context that only the provider finds full, said %s, is compacted and asked again',
    async (way) => {
      let turn = 0
      const full = (): ModelAnswerInput => {
        if (way === 'as its reason to stop') return { text: 'I', finish: 'context-full' }
        throw new FailureError(failure('model.context-full', 'too long', 'validation'))
      }
      const model = scripted((request) => {
        if (isSummary(request)) return 'notes'
        if (turn++ < 3) return calls(['look', {}])
        return JSON.stringify(request.messages).includes(summaryMark) ? 'Done.' : full()
      })
      const { outcome, events } = await play(model, { tools: [look], compaction: { above: 1_000_000 } })
      expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' })
      expect(events.filter(({ type }) => type === 'context.compacted')).toHaveLength(1)
    },
  )
  test('once for each turn: if it is still full, the agent fails', async () => {
    let turn = 0
    const model = scripted((request) =>
      isSummary(request) ? 'notes' : turn++ < 3 ? calls(['look', {}]) : { text: '', finish: 'context-full' },
    )
    const { outcome } = await play(model, { tools: [look], compaction: { above: 1_000_000 } })
    expect(failureIn(outcome)?.code).toBe('model.context-full')
    expect(model.prompts.filter((prompt) => prompt[0]?.content === summaryTask)).toHaveLength(1)
  })
})

describe('what a failed worker had done', () => {
  const paysThenFails = () =>
    scripted(
      calls(['pay', { invoice: 'A-17' }]),
      new FailureError(failure('model.bad-request', 'secret', 'validation')),
    )
  const paysThenAnswers = () => scripted(calls(['pay', { invoice: 'A-17' }]), 'Paid.')
  const payer = (model: Scripted, name = 'w') => agent({ name, description: 'Pays.', tools: [pay], model })
  const deed = /\nWhat it had done before that:\n- pay \{"invoice":"A-17"\} \(by "w"\): "receipt 1 of A-17"$/

  test('is told to its leader with the result, and is the same in messages()', async () => {
    paid = 0
    const lead = scripted(delegates(['w', 'x']), 'ok')
    const boss = supervisor({ name: 'boss', model: lead, workers: [payer(paysThenFails())] })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await run.outcome()
    const [result] = told(lead.prompts[1])
    expect(result).toMatch(deed)
    expect(result).not.toContain('secret')
    const messages = []
    for await (const message of run.messages()) messages.push(message)
    expect(messages.find((each) => each.type === 'tool' && each.tool === 'delegate')).toMatchObject({ content: result })
    expect(await replayProblems(run, [boss])).toEqual([])
  })
  test('of a worker below it that had completed', async () => {
    paid = 0
    const middle = supervisor({
      name: 'middle',
      description: 'Leads.',
      model: scripted(delegates(['w', 'x']), new FailureError(failure('model.bad-request', 'no', 'validation'))),
      workers: [payer(paysThenAnswers())],
    })
    const lead = scripted(delegates(['middle', 'x']), 'ok')
    const boss = supervisor({ name: 'boss', model: lead, workers: [middle] })
    await (await runtimeOf([boss])).run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(deed)])
  })
  test('of a flow whose later member fails, and of a worker at its limit', async () => {
    for (const second of [
      agent({ name: 'v', description: 'Fails.', model: scripted({ text: 'no', finish: 'refusal' }) }),
      agent({ name: 'v', description: 'Stops.', model: scripted(calls(['nothing', {}])), limits: { turns: 1 } }),
    ]) {
      paid = 0
      const flow = sequential({ name: 'flow', description: 'Works.', agents: [payer(paysThenAnswers()), second] })
      const lead = scripted(delegates(['flow', 'x']), 'ok')
      const boss = supervisor({ name: 'boss', model: lead, workers: [flow] })
      await (await runtimeOf([boss])).run(boss, 'go')
      expect(told(lead.prompts[1])).toEqual([expect.stringMatching(deed)])
    }
  })
  test('a worker that did nothing has nothing to tell, and reads are no deeds', async () => {
    const look = tool({ name: 'look', effect: 'read', execute: () => 1 })
    const w = agent({
      name: 'w',
      description: 'Looks.',
      tools: [look],
      model: scripted(calls(['look', {}]), new FailureError(failure('model.bad-request', 'no', 'validation'))),
    })
    const lead = scripted(delegates(['w', 'x']), 'ok')
    const boss = supervisor({ name: 'boss', model: lead, workers: [w] })
    await (await runtimeOf([boss])).run(boss, 'go')
    expect(told(lead.prompts[1])).toEqual(['[worker "w" failed: its model could not answer]'])
  })
})

describe('budgets and output caps', () => {
  const capOf = async (limits: object): Promise<number | undefined> => {
    let cap: number | undefined
    const model = (request: ModelRequest): string => {
      cap = request.settings?.maxOutputTokens
      return 'ok'
    }
    const runtime = await runtimeOf([agent({ name: 'A', model })])
    expect(await runtime.run('A', 'go', { limits })).toMatchObject({ status: 'completed' })
    return cap
  }
  test('a limit with room for any answer sends no cap', async () => {
    expect(await capOf({ tokens: 100_000 })).toBeUndefined()
    expect(await capOf({ usd: 5 })).toBeUndefined()
  })
  test('a limit with less left than a model can answer with caps the answer at what is left', async () => {
    const cap = await capOf({ tokens: 2_000 })
    expect(cap).toBeGreaterThan(1_900)
    expect(cap).toBeLessThan(2_000)
  })
  test('an answer that hits that cap was cut off by the budget, and is not continued', async () => {
    const runtime = await runtimeOf([agent({ name: 'A', model: scripted(cut('half')) })])
    expect(failureIn(await runtime.run('A', 'go', { limits: { tokens: 2_000 } }))).toMatchObject({
      code: 'budget.answer-cut',
      class: 'budget',
      retryable: false,
      details: { partial: 'half', maxOutputTokens: expect.any(Number) },
    })
  })
})
