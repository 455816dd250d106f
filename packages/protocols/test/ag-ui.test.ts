/** AG-UI: who may, what is refused, what a stream shows once and again. The official client: conformance/ag-ui.test.ts. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agent, sequential, supervisor, team, tool } from '@reeve/public'
import { agUi } from '../src/ag-ui/index.ts'
import { failure, FailureError, type JsonObject } from '@reeve/core'
import { asker, echo, payer, typed } from '../../runtime/test/hand.ts'
import { servingProtocols, streamed, type Ask } from './protocol-serving.ts'

const input = (threadId: string, runId: string, content: unknown, more: object = {}): object => ({
  threadId,
  runId,
  messages: content === undefined ? [] : [{ id: runId, role: 'user', content }],
  tools: [],
  context: [],
  state: {},
  ...more,
})
const types = (events: readonly JsonObject[]): readonly unknown[] => events.map(({ type }) => type)
/** The texts of a stream by their message, with whose they are. */
function texts(events: readonly JsonObject[]): readonly unknown[] {
  const said = new Map<unknown, { by: unknown; text: string }>()
  for (const { type, messageId, delta, name } of events) {
    if (type === 'TEXT_MESSAGE_START') said.set(messageId, { by: name, text: '' })
    if (type === 'TEXT_MESSAGE_CONTENT') said.get(messageId)!.text += delta as string
  }
  return [...said.values()].map(({ by, text }) => `${String(by)}: ${text}`)
}
const interruptsOf = (events: readonly JsonObject[]): readonly JsonObject[] =>
  (events.at(-1)?.['outcome'] as { readonly interrupts?: readonly JsonObject[] } | undefined)?.interrupts ?? []
const run = async (ask: Ask, body: object, as?: string, path = '/ag-ui'): Promise<readonly JsonObject[]> =>
  streamed(await ask(path, body, as))
const resume = (id: unknown, payload?: unknown, status = 'resolved'): object => ({ interruptId: id, status, payload })

const publish = tool({
  name: 'publish',
  description: 'Publishes.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  sensitive: true,
  execute: ({ text }) => ({ published: text as string }),
})
const publisher = (name: string) =>
  agent({
    name,
    description: name,
    tools: [publish],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? `${name} is done.` : { calls: [{ name: 'publish', input: { text: name } }] },
  })
const pair = supervisor({
  name: 'pair',
  description: 'Leads two.',
  workers: [publisher('one'), publisher('two')],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Both.'
      : { calls: ['one', 'two'].map((worker) => ({ name: 'delegate', input: { worker, instructions: 'Go.' } })) },
})

test('a caller needs its role, and every refusal is a RUN_ERROR; nothing is started', async () => {
  const { ask, runtime } = await servingProtocols([echo], [agUi({ agent: 'echo' })])
  const refused = async (...given: Parameters<Ask>): Promise<unknown[]> => {
    const response = await ask(...given)
    const { type, code } = (await response.json()) as JsonObject
    return [response.status, type, code]
  }
  const fine = input('t', 'r', 'x')
  expect(await refused('/ag-ui', fine, '')).toEqual([401, 'RUN_ERROR', 'request.not-authenticated'])
  expect(await refused('/ag-ui', fine, 'vic')).toEqual([403, 'RUN_ERROR', 'request.forbidden'])
  expect(await refused('/ag-ui', undefined)).toEqual([405, 'RUN_ERROR', 'request.wrong-method'])
  expect(await refused('/ag-ui/other', fine)).toEqual([404, 'RUN_ERROR', 'request.unknown-path'])
  expect(await refused('/ag-ui', '{')).toEqual([400, 'RUN_ERROR', 'input.invalid'])
  expect(await refused('/ag-ui', fine, 'ann', { 'Content-Type': 'text/plain' })).toEqual([
    415,
    'RUN_ERROR',
    'request.not-json',
  ])
  expect(await refused('/ag-ui', `"${'x'.repeat(1_100_000)}"`)).toEqual([413, 'RUN_ERROR', 'input.too-large'])
  expect(await refused('/ag-ui', input('no thread', 'r', 'x'))).toEqual([400, 'RUN_ERROR', 'session.invalid'])
  expect(await refused('/ag-ui', input('t', 'r', undefined))).toEqual([400, 'RUN_ERROR', 'input.invalid'])
  expect(await refused('/ag-ui', input('t', 'r', ''))).toEqual([400, 'RUN_ERROR', 'input.invalid'])
  expect(await refused('/ag-ui', input('t', 'r', undefined, { resume: [resume('int_1', 1)] }))).toEqual([
    404,
    'RUN_ERROR',
    'interrupt.unknown',
  ])
  expect(await runtime.runs()).toEqual([])
  expect(() => agUi({})).toThrow(/either agent or agents/)
  expect(() => agUi({ agent: 'x', onDisconect: 'cancel' } as object)).toThrow(/did you mean "onDisconnect"/)
})

test('the same request again shows the same; another one under its id, or beside an open question, is refused', async () => {
  const { ask, runtime } = await servingProtocols([asker, echo], [agUi({ agents: ['asker', 'echo'] })])
  const first = await run(ask, input('t', 'r1', 'Hi'), 'ann', '/ag-ui/echo')
  expect(types(first)).toEqual([
    'RUN_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'RUN_FINISHED',
  ])
  expect(await run(ask, input('t', 'r1', 'Hi'), 'ann', '/ag-ui/echo')).toEqual(first)
  expect((await ask('/ag-ui/echo', input('t', 'r1', 'Other'))).status).toBe(409)
  // the thread is of who began it; the runs of another caller are their own
  const foreign = await ask('/ag-ui/echo', input('t', 'r1', 'Other'), 'bob')
  expect([foreign.status, ((await foreign.json()) as JsonObject)['code']]).toEqual([403, 'session.forbidden'])
  expect(types(await run(ask, input('t2', 'r1', 'Other'), 'bob', '/ag-ui/echo'))).toEqual(types(first))
  const asked = await run(ask, input('t', 'r2', 'Hi'), 'ann', '/ag-ui/asker')
  expect(interruptsOf(asked)).toMatchObject([{ reason: 'question', message: 'what?' }])
  expect(await run(ask, input('t', 'r2', 'Hi'), 'ann', '/ag-ui/asker')).toEqual(asked)
  const busy = async (path: string, as: string): Promise<unknown[]> => {
    const response = await ask(path, input('t', 'r3', 'More'), as)
    return [response.status, ((await response.json()) as JsonObject)['code']]
  }
  expect(await busy('/ag-ui/echo', 'ann')).toEqual([409, 'session.busy'])
  expect(await busy('/ag-ui/asker', 'bob')).toEqual([403, 'session.forbidden'])
  expect(await run(ask, input('t', 'r1', 'Hi'), 'ann', '/ag-ui/echo')).toEqual(first)
  expect(await runtime.runs()).toHaveLength(3)
})

test('after a reload a thread that waits can be taken up: with its old messages, another one, and none', async () => {
  const { ask, runtime } = await servingProtocols([pair], [agUi({ agent: pair })])
  const first = await run(ask, input('t', 'r1', 'Go.'))
  const interrupts = interruptsOf(first)
  const old = [
    { id: 'u', role: 'user', content: 'Go.' },
    { id: 'a', role: 'assistant', content: 'I ask.' },
  ]
  for (const [runId, more] of [
    ['r2', { messages: old }],
    ['r3', { messages: old.slice(0, 1) }],
    ['r4', { messages: [...old, { id: 'u2', role: 'user', content: 'And now?' }] }],
  ] as const) {
    const taken = await run(ask, input('t', runId, undefined, more))
    // with the subagents that ask, and nothing that was shown before
    expect(types(taken).filter((type) => !String(type).startsWith('SUBAGENT_'))).toEqual([
      'RUN_STARTED',
      'RUN_FINISHED',
    ])
    expect(taken[0]).toMatchObject({ threadId: 't', runId })
    expect(interruptsOf(taken)).toEqual(interrupts)
  }
  // a page that has nothing is shown everything
  const whole = await run(ask, input('t', 'r5', undefined))
  expect(types(whole)).toEqual(types(first))
  expect(interruptsOf(whole)).toEqual(interrupts)
  expect(await runtime.runs()).toHaveLength(1)
  const answers = interrupts.map(({ id }) => resume(id, { approved: true }))
  const done = await run(ask, input('t', 'r6', undefined, { resume: answers }))
  expect(done.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  // nothing waits any more: no message starts nothing
  expect((await ask('/ag-ui', input('t', 'r7', undefined))).status).toBe(400)
})

test('of two questions one is answered: its work is shown, the other one is asked again; nothing of it twice', async () => {
  const { ask, errors } = await servingProtocols([pair], [agUi({ agent: pair })])
  const first = await run(ask, input('t', 'r1', 'Go.'))
  const both = interruptsOf(first)
  expect(both.map(({ metadata }) => metadata)).toMatchObject([
    { reeve: { path: ['pair', 'one'] } },
    { reeve: { path: ['pair', 'two'] } },
  ])
  const [one, two] = both.map(({ id }) => id)
  const misspelt = await ask('/ag-ui', input('t', 'r2', undefined, { resume: [resume(one, { aproved: true })] }))
  expect([misspelt.status, await misspelt.json()]).toMatchObject([400, { message: expect.stringContaining('aproved') }])
  // one entry that is wrong, and none is sent
  const half = [resume(one, { approved: true }), resume(two, {})]
  expect((await ask('/ag-ui', input('t', 'r2', undefined, { resume: half }))).status).toBe(400)
  const second = await run(ask, input('t', 'r2', undefined, { resume: [resume(one, { approved: true })] }))
  expect(texts(second)).toEqual(['one: one is done.'])
  expect(interruptsOf(second).map(({ id }) => id)).toEqual([two])
  const third = await run(ask, input('t', 'r3', undefined, { resume: [resume(two, { approved: false })] }))
  expect(third.at(-1)).toMatchObject({ outcome: { type: 'success' }, result: 'Both.' })
  expect(types(third).filter((type) => type === 'SUBAGENT_STARTED')).toHaveLength(1)
  // a resume again is shown again, with what has come since; another reply to the same question is too late
  const again = await run(ask, input('t', 'r2', undefined, { resume: [resume(one, { approved: true })] }))
  expect(texts(again)[0]).toBe('one: one is done.')
  expect(again.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  const late = await ask('/ag-ui', input('t', 'r4', undefined, { resume: [resume(one, { approved: false })] }))
  expect([late.status, await late.json()]).toMatchObject([409, { code: 'approval.already-decided' }])
  expect(errors).toEqual([])
})

test('a reply needs the role, and the tenant: nobody else decides', async () => {
  const { ask, runtime } = await servingProtocols([payer], [agUi({ agent: payer })])
  const [interrupt] = interruptsOf(await run(ask, input('t', 'r1', { sum: 5 }.sum.toString())))
  const reply = input('t', 'r2', undefined, { resume: [resume(interrupt!['id'], { approved: true })] })
  expect((await ask('/ag-ui', reply, 'bob')).status).toBe(403)
  const other = await ask('/ag-ui', reply, 'eve')
  expect([other.status, ((await other.json()) as JsonObject)['code']]).toEqual([404, 'interrupt.unknown'])
  const elsewhere = { ...reply, threadId: 'another' }
  expect((await ask('/ag-ui', elsewhere)).status).toBe(404)
  expect(await runtime.approvals()).toHaveLength(1)
  expect((await run(ask, reply)).at(-1)).toMatchObject({ result: { approver: 'ann' } })
})

test('a text is sent once, as it is written or when it is recorded; that of a failed attempt is closed', async () => {
  let calls = 0
  const speaker = agent({
    name: 'speaker',
    description: 'Speaks.',
    retry: { attempts: 2, backoffMs: 0 },
    model: ({ emit }) => {
      calls++
      emit?.({ type: 'text.delta', id: '0', text: calls === 1 ? 'Wro' : 'Right ' })
      if (calls === 1) throw new FailureError(failure('model.unavailable', 'away', 'transport'))
      return 'Right it is.'
    },
  })
  const { ask } = await servingProtocols([speaker], [agUi({ agent: speaker })])
  const live = await run(ask, input('t', 'r1', 'Go.'))
  expect(texts(live).at(-1)).toBe('speaker: Right it is.')
  const discarded = live.filter(({ metadata }) => (metadata as { reeve?: JsonObject })?.reeve?.['discarded'] === true)
  expect(types(discarded)).toEqual(texts(live).length === 2 ? ['TEXT_MESSAGE_END'] : [])
  expect(texts(await run(ask, input('t', 'r1', 'Go.')))).toEqual(['speaker: Right it is.'])
})

test('agents that control is handed to speak for the run; a plan is an activity', async () => {
  const order = sequential({
    name: 'order',
    agents: ['first', 'second'].map((name) => agent({ name, description: name, model: () => `I am ${name}.` })),
  })
  const forecaster = agent({ name: 'forecaster', description: 'Forecasts.', run: () => 'rain' })
  const weather = team({
    name: 'weather',
    planner: {
      model: () =>
        JSON.stringify({
          complexity: 0.6,
          subtasks: ['a', 'b'].map((id) => ({ id, role: 'forecaster', description: id })),
        }),
    },
    roles: { forecaster },
  })
  const { ask } = await servingProtocols([order, weather], [agUi({ agents: [order, weather] })])
  const handed = await run(ask, input('t1', 'r1', 'Go.'), 'ann', '/ag-ui/order')
  expect(texts(handed)).toEqual(['first: I am first.', 'second: I am second.'])
  expect(types(handed)).not.toContain('SUBAGENT_STARTED')
  const planned = await run(ask, input('t2', 'r1', 'Go.'), 'ann', '/ag-ui/weather')
  const plans = planned.filter(({ type }) => type === 'ACTIVITY_SNAPSHOT')
  expect(new Set(plans.map(({ messageId }) => messageId)).size).toBe(1)
  expect(plans.at(-1)).toMatchObject({
    activityType: 'PLAN',
    content: {
      tasks: [
        { task: 'a', status: 'succeeded' },
        { task: 'b', status: 'succeeded' },
      ],
    },
  })
  expect(types(planned).filter((type) => type === 'SUBAGENT_FINISHED')).toHaveLength(2)
})

describe('whatever is sent', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const odd = fc.oneof(json, fc.constantFrom('\u0000', '\ud800', 'x'.repeat(3_000), '\u202e', '__proto__'))
  const member = fc.record(
    {
      threadId: fc.oneof(odd, fc.constantFrom('t', 'u')),
      runId: fc.oneof(odd, fc.constantFrom('r', 's')),
      messages: fc.oneof(
        odd,
        fc.array(fc.record({ role: fc.oneof(odd, fc.constant('user')), content: odd }, { requiredKeys: [] }), {
          maxLength: 3,
        }),
      ),
      resume: fc.oneof(odd, fc.array(fc.record({ interruptId: odd, status: odd, payload: odd }, { requiredKeys: [] }))),
    },
    { requiredKeys: [] },
  )
  const problemIn = (status: number, said: string, started: number): string | undefined => {
    if (status === 200) return said.includes('"RUN_STARTED"') ? undefined : `a stream without a beginning: ${said}`
    const { type, code } = JSON.parse(said) as JsonObject
    if (status >= 500 || type !== 'RUN_ERROR' || typeof code !== 'string') return `${status}: ${said}`
    return started === 0 ? undefined : `refused, and ${started} runs were started: ${said}`
  }
  test('the answer is an error of the protocol or a run, and nothing of the server breaks', async () => {
    const { ask, runtime, errors } = await servingProtocols([echo, typed], [agUi({ agents: ['echo', 'typed'] })])
    const seed = Number(process.env['REEVE_SEED'] ?? 47)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('echo', 'typed'), fc.oneof(member, json), async (name, body) => {
        const before = (await runtime.runs()).length
        const response = await ask(`/ag-ui/${name}`, body)
        const said = await response.text()
        const runs = (await runtime.runs()).length
        expect(problemIn(response.status, said, runs - before)).toBeUndefined()
      }),
      { seed, numRuns: Number(process.env['REEVE_FUZZ'] ?? 150) },
    )
    expect(errors).toEqual([])
  })
})
