/**
 * Forks of teams: another ending from the middle of a run, approvals that are asked anew, what the origin has done
 * already. Cites K1, K4, K6, K10.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import type { ActivationId, Json } from '@reeve/core'
import { ReeveError } from '@reeve/core'
import { diffOf, type Recorded } from '@reeve/journal'
import type { Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, runtimeOf, scripted, told, waiting } from './team.ts'

async function eventsOf(run: Run<unknown>): Promise<readonly Recorded[]> {
  const { position } = await run.view()
  const events: Recorded[] = []
  for await (const recorded of run.events()) {
    events.push(recorded)
    if (recorded.position >= position) break
  }
  return events
}

/** The position of the first event of which this is true. */
async function at(run: Run<unknown>, is: (recorded: Recorded) => boolean): Promise<number> {
  const found = (await eventsOf(run)).find(is)
  expect(found).toBeDefined()
  return found!.position
}

const pays = (paid: Json[], options: object = { sensitive: true }) =>
  tool({
    name: 'pay',
    ...options,
    input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
    execute: (input) => (paid.push(input), { paid: true }),
  })

describe('a fork of a supervisor’s run', () => {
  test('K10: a fork with another answer at a worker’s end ends differently and repeats no model call', async () => {
    const lead = scripted(
      delegates(['price', 'look it up', 'd1']),
      ({ messages }) => `it costs ${JSON.stringify(told(messages).at(-1))}`,
    )
    const low = scripted('12')
    const worker = agent({ name: 'price', description: 'Knows prices.', model: low })
    const boss = supervisor({ name: 'boss', description: 'Leads.', model: lead, workers: [worker] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'What does it cost?')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    const before = await eventsOf(run)
    const point = await at(run, ({ event }) => event.type === 'worker.settled')
    const fork = await runtime.fork({
      run: run.id,
      at: point,
      edit: { type: 'outcome', outcome: { status: 'completed', output: '9' } },
      by: 'ann',
      reason: 'what if',
    })
    const outcome = await fork.outcome()
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('9') as string })
    expect([lead.prompts.length, low.prompts.length]).toEqual([3, 1])
    expect((await fork.view()).origin).toEqual({ run: run.id, at: point, reason: 'what if', by: 'ann' })
    expect(await eventsOf(run)).toEqual(before)
    const { first, same } = diffOf(before, await eventsOf(fork))
    expect([first?.one?.event.type, first?.path, same > 3]).toEqual(['worker.settled', '', true])
  })
  test('K6: an effect that the origin made raises a question; its result is taken, and it is not repeated', async () => {
    const sent: Json[] = []
    const send = tool({ name: 'send', effect: 'once', execute: () => (sent.push('mail'), { number: sent.length }) })
    const lead = scripted(delegates(['clerk', 'send it', 'd1']), 'done')
    const low = scripted(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'sent' : calls(['send', {}, 's1'])))
    const clerk = agent({ name: 'clerk', description: 'Sends.', model: low, tools: [send] })
    const boss = supervisor({ name: 'boss', description: 'Leads.', model: lead, workers: [clerk] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'Send it')
    await run.outcome()
    const point = await at(run, ({ event, activation }) => event.type === 'step.settled' && activation.includes('>'))
    const fork = await runtime.fork({ run: run.id, at: point })
    const { questions } = await waiting(fork)
    expect(questions).toMatchObject([
      { kind: 'in-doubt', body: { reason: `already done in run ${run.id}`, done: { run: run.id } } },
    ])
    expect((await fork.view()).doubts).toMatchObject([{ kind: 'in-doubt', doneIn: run.id }])
    await fork.control.settleDoubt({ id: questions[0]!.id, happened: true })
    expect(await fork.outcome()).toMatchObject({ output: 'done' })
    expect(sent).toHaveLength(1)
    expect(told(low.prompts.at(-1))).toEqual([{ number: 1 }])
  })
})

describe('approvals in a fork', () => {
  const clerkOf = (paid: Json[], options?: object) => {
    const model = scripted(calls(['pay', { amount: 10 }, 'p1']), 'paid')
    return { model, clerk: agent({ name: 'clerk', description: 'Pays.', model, tools: [pays(paid, options)] }) }
  }

  test('K2: one that is open is open in the fork under an id of its own; each run has its own decision', async () => {
    const paid: Json[] = []
    const { clerk, model } = clerkOf(paid)
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'go')
    const old = (await waiting(run)).waiting[0]!
    const fork = await runtime.fork({ run: run.id })
    const own = (await waiting(fork)).waiting[0]!
    expect(own.id).not.toBe(old.id)
    expect(own).toMatchObject({ tool: 'pay', input: { amount: 10 }, inputHash: old.inputHash })
    await run.decide({ approvalId: old.id, decision: 'approve', approver: 'ann' })
    await run.outcome()
    expect((await fork.view()).approvals).toMatchObject([{ id: own.id, open: true }])
    await fork.decide({ approvalId: own.id, decision: 'reject', approver: 'bob' })
    expect(await fork.outcome()).toMatchObject({ output: 'paid' })
    expect([paid.length, model.prompts.length]).toEqual([1, 3])
    expect((await fork.view()).approvals).toMatchObject([{ id: own.id, resolution: 'rejected', approver: 'bob' }])
  })
  test('one that was given and not used is asked again, and so is one that an edit says was given', async () => {
    const paid: Json[] = []
    const { clerk } = clerkOf(paid)
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'go')
    const { id } = (await waiting(run)).waiting[0]!
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    await run.outcome()
    const point = await at(run, ({ event }) => event.type === 'ask.settled')
    const yes = {
      type: 'outcome',
      outcome: { status: 'completed', output: { decision: 'approve', approver: 'eve' } },
    } as const
    for (const edit of [undefined, yes]) {
      const fork = await runtime.fork({ run: run.id, at: point, ...(edit === undefined ? {} : { edit }) })
      const asked = (await waiting(fork)).waiting
      expect(asked).toHaveLength(1)
      expect(asked[0]!.id).not.toBe(id)
      // the origin has paid: the same question says so, and decides it
      expect(asked[0]!.reason).toContain(`run ${run.id}, from which this one was forked, had already done "pay"`)
      await fork.decide({ approvalId: asked[0]!.id, decision: 'approve', approver: 'bob' })
      expect(await fork.outcome()).toMatchObject({ output: 'paid' })
      expect((await fork.view()).approvals.map(({ approver }) => approver)).toEqual(['bob'])
    }
    expect(paid).toHaveLength(3)
  })
  test('one that has led to something stays as it was; a rejection that an edit says counts for nothing', async () => {
    const paid: Json[] = []
    const { clerk } = clerkOf(paid)
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'go')
    const { id } = (await waiting(run)).waiting[0]!
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    await run.outcome()
    let is = false
    const used = await at(run, ({ event }) => {
      is ||= event.type === 'tool.called'
      return is && event.type === 'step.settled'
    })
    const fork = await runtime.fork({ run: run.id, at: used })
    expect(await fork.outcome()).toMatchObject({ output: 'paid' })
    expect((await fork.view()).approvals).toMatchObject([{ id, resolution: 'approved', approver: 'ann' }])
    const point = await at(run, ({ event }) => event.type === 'ask.settled')
    const no = await runtime.fork({
      run: run.id,
      at: point,
      edit: { type: 'outcome', outcome: { status: 'completed', output: { decision: 'reject', approver: 'eve' } } },
    })
    const [asked] = (await waiting(no)).waiting
    await no.decide({ approvalId: asked!.id, decision: 'reject', approver: 'bob' })
    expect(await no.outcome()).toMatchObject({ output: 'paid' })
    expect((await no.view()).approvals).toMatchObject([{ resolution: 'rejected', approver: 'bob' }])
    expect(paid).toHaveLength(1)
  })
  test('what was granted for a run does not hold in its fork', async () => {
    const paid: Json[] = []
    const model = scripted(calls(['pay', { amount: 1 }, 'p1']), calls(['pay', { amount: 2 }, 'p2']), 'paid')
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      model,
      tools: [pays(paid, { effect: 'read', approval: true })],
    })
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'go')
    await run.decide({ approvalId: (await waiting(run)).waiting[0]!.id, decision: 'approve', grant: 'session' })
    await run.outcome()
    expect((await run.view()).approvals).toHaveLength(1)
    // At the second call, which the grant has let pass: before it was made.
    const point = await at(run, ({ event }) => event.type === 'approval.granted')
    const fork = await runtime.fork({ run: run.id, at: point })
    const asked = (await waiting(fork)).waiting
    expect(asked).toMatchObject([{ tool: 'pay', input: { amount: 2 } }])
    expect(await runtime.grants.of({ run: fork.id })).toEqual([])
    await fork.decide({ approvalId: asked[0]!.id, decision: 'approve' })
    expect(await fork.outcome()).toMatchObject({ output: 'paid' })
  })
})

describe('what else is different in a fork', () => {
  const echoes = () => {
    const model = scripted(({ messages }) => `heard ${JSON.stringify(messages.at(-1)?.content)}`)
    return { model, agent: agent({ name: 'echo', description: 'Echoes.', model }) }
  }

  test('another input, at the beginning; what the agent cannot take is refused and nothing is forked', async () => {
    const { agent: echo } = echoes()
    const runtime = await runtimeOf([echo])
    const run = await runtime.start(echo, 'one')
    expect(await run.outcome()).toMatchObject({ output: 'heard "one"' })
    const fork = await runtime.fork({ run: run.id, edit: { type: 'input', input: 'two' }, runId: 'run_two' })
    expect(await fork.outcome()).toMatchObject({ run: 'run_two', output: 'heard "two"' })
    expect((await runtime.fork({ run: run.id, edit: { type: 'input', input: 'two' }, runId: 'run_two' })).id).toBe(
      'run_two',
    )
    await expect(runtime.fork({ run: run.id, edit: { type: 'input', input: '' } })).rejects.toMatchObject({
      code: 'input.invalid',
    })
    expect(await runtime.runs()).toHaveLength(2)
  })
  test.each<[string, object, string]>([
    ['an option that there is not', { when: 3 }, 'input.invalid'],
    ['a position that is none', { at: 1.5 }, 'input.invalid'],
    ['an edit that is none', { edit: { type: 'other' } }, 'input.invalid'],
    ['an outcome that is none', { edit: { type: 'outcome', outcome: { status: 'completed' } } }, 'input.invalid'],
    ['a run that has ended', {}, 'fork.invalid'],
    ['a position where nothing is', { at: 100_000 }, 'fork.invalid'],
    ['a run that is not there', { run: 'run_none' }, 'run.unknown'],
    ['a message to nobody', { at: 1, edit: { type: 'message', to: 'act_x' as ActivationId, body: 1 } }, 'fork.invalid'],
  ])('%s is refused', async (_what, options, code) => {
    const { agent: echo } = echoes()
    const runtime = await runtimeOf([echo])
    const run = await runtime.start(echo, 'one')
    await run.outcome()
    const first = (await eventsOf(run))[0]!.position
    const given = { run: run.id, ...options, ...('at' in options && options.at === 1 ? { at: first } : {}) }
    const thrown: unknown = await runtime.fork(given as never).catch((each: unknown) => each)
    expect(ReeveError.is(thrown) && thrown.code).toBe(code)
    expect(await runtime.runs()).toHaveLength(1)
  })
  test('K1: a fork of a session’s run has its own session with the earlier turns; the origin’s goes on', async () => {
    const { agent: echo, model } = echoes()
    const runtime = await runtimeOf([echo])
    await runtime.run(echo, 'one', { session: 'talk' })
    const run = await runtime.start(echo, 'two', { session: 'talk' })
    await run.outcome()
    const point = await at(run, ({ event }) => event.type === 'model.requested')
    const fork = await runtime.fork({ run: run.id, at: point })
    expect(await fork.outcome()).toMatchObject({ output: 'heard "two"' })
    expect(model.prompts[2]).toEqual(model.prompts[1])
    expect((await fork.view()).caller.session).toBe(fork.id)
    await runtime.run(echo, 'three', { session: 'talk' })
    const asked = (n: number) => model.prompts[n]!.flatMap(({ role, content }) => (role === 'user' ? [content] : []))
    expect(asked(3)).toEqual(['one', 'two', 'three'])
    await runtime.run(echo, 'again', { session: fork.id })
    expect(asked(4)).toEqual(['one', 'two', 'again'])
  })
})
