/**
 * Delegation over restarts and crashes, retries, typed answers, recruits, adopted tools: spec delegation 84 to 86, L8,
 * L10; collaboration 1, 2, 107, 108; team C45, C54.
 */
import { tool as aiTool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type } from 'arktype'
import * as v from 'valibot'
import { agent, tool } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import type { Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import {
  calls,
  delegates,
  eventsOf,
  fastClock,
  runtimeOf,
  scripted,
  store,
  told,
  waiting,
  type Scripted,
} from './team.ts'

const worker = (name: string, model: Scripted = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })
const gate = tool({ name: 'gate', approval: true, execute: () => 'through' })

describe('one model agent', () => {
  test('collaboration 1: a text is one model call of one agent, and nothing else', async () => {
    const solo = agent({ name: 'A', model: scripted('hello') })
    const run = await (await runtimeOf([solo])).start(solo, 'hi')
    expect(await run.outcome()).toMatchObject({ output: 'hello' })
    expect((await eventsOf(run)).map((event) => event.type)).toEqual([
      'activation.started',
      'model.requested',
      'step.settled',
      'activation.settled',
    ])
    expect((await run.view()).activations).toMatchObject([{ agent: 'A', path: ['A'], modelCalls: 1, toolCalls: 0 }])
  })
  test('collaboration 2: after a tool the model sees its call and the result under the same id', async () => {
    const model = scripted(calls(['echo', { text: 'x' }, 'k1']), 'final')
    const echo = tool({
      name: 'echo',
      input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      effect: 'read',
      execute: (input) => input,
    })
    const solo = agent({ name: 'A', model, tools: [echo] })
    const run = await (await runtimeOf([solo])).start(solo, 'hi')
    await run.outcome()
    expect(model.prompts[1]!.slice(-2)).toMatchObject([
      { role: 'assistant', calls: [{ id: 'k1' }] },
      { role: 'tool', callId: 'k1', name: 'echo', content: { text: 'x' } },
    ])
    expect((await eventsOf(run)).map((event) => event.type)).toEqual([
      'activation.started',
      'model.requested',
      'step.settled',
      'tool.called',
      'step.settled',
      'model.requested',
      'step.settled',
      'activation.settled',
    ])
  })
  test('collaboration 107: text first and calls after it: the calls are made', async () => {
    const ran: number[] = []
    const model = scripted(({ emit }) => {
      emit?.({ type: 'text.delta', id: '0', text: 'I will.' })
      return { ...calls(['note', {}]), text: 'I will.' }
    }, 'final')
    const solo = agent({ name: 'A', model, tools: [tool({ name: 'note', execute: () => ran.push(1) })] })
    expect(await (await runtimeOf([solo])).run(solo, 'hi')).toMatchObject({ output: 'final' })
    expect(ran).toEqual([1])
  })
  test('collaboration 108, team C45: three attempts in all, then one failure that says how many', async () => {
    let tries = 0
    const solo = agent({
      name: 'A',
      model: scripted(() => {
        tries++
        throw new Error('down')
      }),
    })
    const run = await (await runtimeOf([solo], { clock: fastClock() })).start(solo, 'hi')
    expect(await run.outcome()).toMatchObject({
      status: 'failed',
      failure: { code: 'model.failed', details: { attempts: 3 } },
    })
    expect(tries).toBe(3)
  })
  test('team C45: a tool that fails twice and then works ran three times; the model sees the result only', async () => {
    let tries = 0
    const model = scripted(calls(['flaky', {}]), 'final')
    const flaky = tool({
      name: 'flaky',
      effect: 'idempotent',
      execute: () => {
        if (++tries < 3) throw new Error('not yet')
        return 'ok'
      },
    })
    const run = await (
      await runtimeOf([agent({ name: 'A', model, tools: [flaky] })], { clock: fastClock() })
    ).start('A', 'hi')
    await run.outcome()
    expect([tries, told(model.prompts[1])]).toEqual([3, ['ok']])
    expect((await run.view()).failedAttempts).toHaveLength(2)
  })
  test('team C54: the other side says when to try again', async () => {
    const at: number[] = []
    const clock = fastClock()
    const solo = agent({
      name: 'A',
      model: scripted(() => {
        at.push(clock.now())
        if (at.length === 1)
          throw new FailureError(failure('model.rate-limited', 'slow down', 'rate-limit', { retryAfterMs: 70_000 }))
        return 'ok'
      }),
    })
    expect(await (await runtimeOf([solo], { clock })).run(solo, 'hi')).toMatchObject({ output: 'ok' })
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(70_000)
  })
  test('unknown tools, arguments that are not JSON and tools that throw are content, never an end', async () => {
    const note = tool({
      name: 'note',
      input: z.object({ n: z.number().min(3) }),
      retry: { attempts: 1 },
      execute: () => {
        throw new Error('disk full')
      },
    })
    const model = scripted(calls(['nope', {}], ['note', { n: 1 }], ['note', { n: 3 }]), 'final')
    const solo = agent({ name: 'A', model, tools: [note] })
    const run = await (await runtimeOf([solo])).start(solo, 'hi')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual([
      expect.stringMatching(/no tool "nope". Tools are: note/),
      expect.stringMatching(/arguments of "note" do not fit: "n": .*3/),
      '[tool "note" failed: disk full]',
    ])
    expect(
      (await eventsOf(run)).filter((event) => event.type === 'tool.refused').map((event) => event.failure.code),
    ).toEqual(['tool.unknown', 'tool.invalid-input'])
  })
  test("a typed answer is corrected at most twice, by a note of the user's role", async () => {
    const model = scripted('not json', '```json\n{"n": "one"}\n```', 'Here:\n```json\n{"n": 1}\n```\nDone.')
    const solo = agent({ name: 'A', model, output: z.object({ n: z.number() }) })
    const corrected = await (await runtimeOf([solo])).start(solo, 'hi')
    expect(await corrected.outcome()).toMatchObject({ output: { n: 1 } })
    const rejected = async (run: Run): Promise<readonly (string | undefined)[]> =>
      (await eventsOf(run)).flatMap((event) => (event.type === 'output.rejected' ? [event.told] : []))
    // what the model was told is recorded as it was told
    const notes = [model.prompts[1]!, model.prompts[2]!].map((prompt) => prompt.at(-1)!.content)
    expect(await rejected(corrected)).toEqual(notes)
    expect(model.prompts[2]!.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
    expect(model.prompts[1]!.at(-1)!.content).toMatch(/not have the required form: the answer is not JSON/)
    const stubborn = scripted('no')
    const other = agent({ name: 'B', model: stubborn, output: z.object({ n: z.number() }) })
    const failing = await (await runtimeOf([other])).start(other, 'hi')
    expect(await failing.outcome()).toMatchObject({ status: 'failed', failure: { code: 'output.invalid' } })
    expect(stubborn.prompts).toHaveLength(3)
    // the last answer ends the agent: nothing more is told
    expect(await rejected(failing)).toEqual([expect.any(String), expect.any(String), undefined])
  })
  test('tools of the AI SDK work as they are; zod, valibot and arktype too; the key travels', async () => {
    const seen: unknown[] = []
    const weather = aiTool({
      description: 'Weather.',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }, { toolCallId }) => (seen.push(toolCallId), `${city}: sun`),
    })
    const keys: string[] = []
    const add = tool({
      name: 'add',
      input: v.object({ a: v.number() }),
      parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      execute: ({ a }, io) => (keys.push(io.key, String(io.caller.user)), a + 1),
    })
    const twice = tool({ name: 'twice', input: type({ b: 'number > 0' }), execute: ({ b }) => 2 * b })
    const model = scripted(
      calls(
        ['weather', { city: 'Oslo' }, 'k1'],
        ['add', { a: 1 }],
        ['add', { a: 'x' }],
        ['twice', { b: 3 }],
        ['twice', {}],
      ),
      'final',
    )
    const solo = agent({ name: 'A', model, tools: { weather, add, twice } })
    const run = await (await runtimeOf([solo])).start(solo, 'hi', { user: 'ann' })
    await run.outcome()
    expect(told(model.prompts[1])).toEqual([
      'Oslo: sun',
      2,
      expect.stringMatching(/"a": .*number/),
      6,
      expect.stringMatching(/b must be a number/),
    ])
    expect([seen, keys]).toEqual([['k1'], [`act_${run.id}:turn/call#1/add`, 'ann']])
  })
})

describe('over restarts', () => {
  test('L8: delegations and forwards are the same after a restart, and no worker runs twice', async () => {
    const w1 = scripted('WOUT')
    const lead = scripted(
      delegates(['w1', 'x']),
      calls(['gate', {}]),
      calls(['forward_message', { worker: 'w1' }]),
      'never',
    )
    const boss = supervisor({ name: 'boss', model: lead, tools: [gate], workers: [worker('w1', w1)] })
    const first = await runtimeOf([boss], { store: store() })
    const run = await first.start(boss, 'go')
    await waiting(run)
    await first.close()
    const resumed = (await runtimeOf([boss], { store: store() })).handle(run.id)
    await resumed.decide({ approvalId: (await waiting(resumed)).waiting[0]!.id, decision: 'approve' })
    expect(await resumed.outcome()).toMatchObject({ output: 'WOUT' })
    expect([w1.prompts.length, lead.prompts.length]).toEqual([1, 3])
  })
  test('delegation 10: a run that has begun keeps its team, despite added or removed workers', async () => {
    const lead = () =>
      scripted(delegates(['w1', 'x']), calls(['gate', {}]), calls(['forward_message', { worker: 'w1' }]))
    const script = lead()
    const before = supervisor({ name: 'boss', model: script, tools: [gate], workers: [worker('w1'), worker('w2')] })
    const first = await runtimeOf([before], { store: store() })
    const run = await first.start(before, 'go')
    await waiting(run)
    await first.close()
    const after = supervisor({ name: 'boss', model: script, tools: [gate], workers: [worker('w2')] })
    const resumed = (await runtimeOf([after], { store: store() })).handle(run.id)
    await resumed.decide({ approvalId: (await waiting(resumed)).waiting[0]!.id, decision: 'approve' })
    expect(await resumed.outcome()).toMatchObject({ output: 'w1 is done' })
    expect((await eventsOf(resumed)).filter((event) => event.type === 'delegation.refused')).toEqual([])
  })
  test('delegation 85: a failed try is made again after a restart; a recorded failure is final', async () => {
    let tries = 0
    const w1 = scripted(() => {
      if (++tries === 1)
        throw new FailureError(failure('model.unavailable', 'down', 'transport', { retryAfterMs: 300 }))
      return 'up again'
    })
    const lead = scripted(delegates(['w1', 'x']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', w1)] })
    const first = await runtimeOf([boss], { store: store() })
    const run = await first.start(boss, 'go')
    await expect.poll(() => tries).toBe(1)
    await first.close()
    const resumed = (await runtimeOf([boss], { store: store() })).handle(run.id)
    expect(await resumed.outcome()).toMatchObject({ output: 'final' })
    expect([tries, told(lead.prompts[1])]).toEqual([2, ['up again']])
  })
  test('delegation 86: a crash between work and record repeats it at most once, under the same key', async () => {
    const keys: string[] = []
    let armed = false
    const w1 = scripted(({ key }) => {
      keys.push(key)
      armed = keys.length === 1
      return 'out'
    })
    const lead = scripted(delegates(['w1', 'x']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('w1', w1)] })
    const first = await runtimeOf([boss], {
      store: store(),
      leaseMs: 100,
      crash: (point) => armed && point === 'commit.before',
    })
    const run = await first.start(boss, 'go')
    await expect.poll(() => keys.length).toBe(1)
    await first.close()
    const resumed = (await runtimeOf([boss], { store: store(), leaseMs: 100 })).handle(run.id)
    expect(await resumed.outcome()).toMatchObject({ output: 'final' })
    expect(keys).toHaveLength(2)
    expect(keys[1]).toBe(keys[0])
    expect(told(lead.prompts.at(-1))).toEqual(['out'])
  })
})

describe('recruiting', () => {
  const setting = (lead: Scripted, maxTeamSize?: number) =>
    supervisor({
      name: 'boss',
      model: lead,
      workers: [worker('w1')],
      specialists: [worker('lawyer'), worker('chemist')],
      ...(maxTeamSize === undefined ? {} : { maxTeamSize }),
    })
  const enumOf = (lead: Scripted, turn: number, verb: string): unknown =>
    (
      lead.tools[turn]!.find((spec) => spec.name === verb)?.parameters as
        { properties?: { worker?: { enum?: Json } } } | undefined
    )?.properties?.worker?.enum
  test('L10: a specialist joins, is offered from the next turn on, and works', async () => {
    const lead = scripted(
      calls(
        ['recruit', { worker: 'lawyer', reason: 'a contract' }],
        ['delegate', { worker: 'lawyer', instructions: 'too early' }],
      ),
      delegates(['lawyer', 'x']),
      'final',
    )
    const boss = setting(lead)
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([0, 1].map((turn) => enumOf(lead, turn, 'delegate'))).toEqual([['w1'], ['w1', 'lawyer']])
    expect([0, 1].map((turn) => enumOf(lead, turn, 'recruit'))).toEqual([['lawyer', 'chemist'], ['chemist']])
    expect(told(lead.prompts[1])).toEqual([
      expect.stringMatching(/"lawyer" has joined/),
      expect.stringMatching(/unknown worker "lawyer"/),
    ])
    expect(told(lead.prompts[2])).toEqual(['lawyer is done'])
    expect((await run.view()).recruits).toMatchObject([{ worker: 'lawyer', reason: 'a contract' }])
  })
  test('refused: unknown, already there, team full, without a reason', async () => {
    const recruit = (worker: string, reason = 'why') => calls(['recruit', { worker, reason }])
    const lead = scripted(
      recruit('ghost'),
      recruit('lawyer', ''),
      recruit('lawyer'),
      recruit('lawyer'),
      recruit('chemist'),
      'final',
    )
    const boss = setting(lead, 2)
    await (await runtimeOf([boss])).run(boss, 'go')
    expect(lead.prompts.slice(1).map((prompt) => told(prompt)[0])).toEqual([
      expect.stringMatching(/unknown specialist "ghost"/),
      expect.stringMatching(/"reason" is missing/),
      expect.stringMatching(/has joined/),
      expect.stringMatching(/on the team already/),
      expect.stringMatching(/team is full: 2/),
    ])
  })
})
