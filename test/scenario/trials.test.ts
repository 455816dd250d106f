/**
 * Trials: a run with another prompt, model or version lets no effect out before a person has said so, in whichever way
 * the work is done. Cites K1, K6, K10.
 */
import { describe, expect, test } from 'vitest'
import { agent, step, tool } from '@reeve/agent'
import { ReeveError, type Json } from '@reeve/core'
import { diffOf, type Recorded } from '@reeve/journal'
import { asTool } from '@reeve/flow'
import { interrupt, type Channel } from '@reeve/oversight'
import type { Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, told, waiting } from './team.ts'

const amount = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } as const

/** A tool that keeps what it was called with. */
const pays = (paid: Json[], options: object = { effect: 'idempotent' }) =>
  tool({ name: 'pay', description: 'Pays.', ...options, input: amount, execute: (input) => (paid.push(input), 'paid') })

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Calls `pay` once, then says what it was told and by which prompt. */
const payer = () =>
  scripted(({ messages }) => {
    const [answer] = told(messages)
    const system = textOf(messages.find(({ role }) => role === 'system')?.content)
    return answer === undefined ? calls(['pay', { amount: 10 }, 'p1']) : `${system}: ${textOf(answer)}`
  })

const journal = async (run: Run<unknown>): Promise<Recorded[]> => {
  const events: Recorded[] = []
  for await (const recorded of run.events()) events.push(recorded)
  return events
}

/** The questions of a trial: all are about effects that are held back. */
const held = async (run: Run<unknown>) => {
  const { questions } = await waiting(run)
  for (const { kind, body } of questions) expect([kind, (body as { trial?: true }).trial]).toEqual(['in-doubt', true])
  return questions
}

describe('K6: a trial that is started', () => {
  for (const options of [
    { effect: 'idempotent' },
    { effect: 'once' },
    {},
    { sensitive: false, retry: { attempts: 3 } },
  ])
    test(`holds back a tool with ${JSON.stringify(options)} until a person lets it out, once`, async () => {
      const paid: Json[] = []
      const clerk = agent({
        name: 'clerk',
        description: 'Pays.',
        instructions: 'Old.',
        model: payer(),
        tools: [pays(paid, options)],
      })
      const runtime = await runtimeOf([clerk])
      const run = await runtime.start(clerk, 'Pay.', { trial: { clerk: { instructions: 'New.' } }, user: 'ann' })
      const [question] = await held(run)
      expect(question!.body).toMatchObject({ name: 'pay', input: { amount: 10 } })
      expect(paid).toEqual([])
      expect((await run.view()).doubts).toMatchObject([{ kind: 'in-doubt', trial: true }])
      await run.control.settleDoubt({ id: question!.id, happened: false, by: 'ann' })
      expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'New.: paid' })
      expect(paid).toEqual([{ amount: 10 }])
      expect((await run.summary()).caller).toEqual({ user: 'ann', trial: true })
    })

  test('a person says what came of the effect instead, and it is not made', async () => {
    const paid: Json[] = []
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      instructions: 'Old.',
      model: payer(),
      tools: [pays(paid)],
    })
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'Pay.', { trial: {} })
    const [question] = await held(run)
    await run.control.settleDoubt({ id: question!.id, happened: true, value: 'paid in play money', by: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'Old.: paid in play money' })
    expect(paid).toEqual([])
  })

  test('what a person has approved, with its arguments, is not asked about twice', async () => {
    const paid: Json[] = []
    const asks = { effect: 'once', approval: { risk: 'low' } }
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      instructions: 'Old.',
      model: payer(),
      tools: [pays(paid, asks)],
    })
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'Pay.', { trial: {} })
    const { waiting: open } = await waiting(run)
    expect(open).toMatchObject([{ tool: 'pay', input: { amount: 10 } }])
    await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'Old.: paid' })
    expect(paid).toHaveLength(1)
  })

  test('a deadline that approves lets nothing out', async () => {
    const paid: Json[] = []
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      instructions: 'Old.',
      model: payer(),
      tools: [pays(paid, { effect: 'idempotent', costUsd: 5 })],
      oversight: {
        mode: 'on-the-loop',
        escalate: { sensitive: false, costAboveUsd: 1 },
        approval: { timeoutMs: 0, onTimeout: 'approve' },
      },
    })
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'Pay.', { trial: {} })
    await expect.poll(async () => (await runtime.questions()).map(({ kind }) => kind)).toEqual(['in-doubt'])
    await run.control.settleDoubt({ id: (await runtime.questions())[0]!.id, happened: true, value: 'no', by: 'ann' })
    await run.outcome()
    expect(paid).toEqual([])
  })

  test('a tool that only reads, and values of the run, are not asked about', async () => {
    const read: Json[] = []
    const look = tool({
      name: 'pay',
      description: 'Looks.',
      effect: 'read',
      input: amount,
      execute: (input) => (read.push(input), 'seen'),
    })
    const clerk = agent({
      name: 'clerk',
      description: 'Looks.',
      instructions: 'Old.',
      model: payer(),
      tools: [look],
      outputKey: 'kept',
    })
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'Look.', { trial: {} })
    expect(await run.outcome()).toMatchObject({ output: 'Old.: seen' })
    expect(read).toHaveLength(1)
  })

  test('steps of code, tools of workers, of agents as tools and of child runs are held back', async () => {
    const paid: Json[] = []
    const worker = (name: string) =>
      agent({ name, description: 'Pays.', instructions: name, model: payer(), tools: [pays(paid)] })
    const coder = agent({
      name: 'coder',
      description: 'Pays by code.',
      run: (ctx) => step(ctx, 'wire', () => (paid.push('wired'), 'wired')),
    })
    const far = worker('far')
    const lead = scripted(
      {
        calls: [
          ...['near', 'far', 'coder'].map((name, i) => ({
            name: 'delegate',
            input: { worker: name, instructions: 'Pay.' },
            id: `d${i}`,
          })),
          { name: 'inside', input: { request: 'Pay.' }, id: 't1' },
        ],
      },
      ({ messages }) => told(messages).map(textOf).join(' | '),
    )
    const boss = supervisor({
      name: 'boss',
      description: 'Leads.',
      model: lead,
      workers: [worker('near'), far, coder],
      delegation: { workers: { far: { place: 'apart' } } },
      tools: [asTool(worker('inside'))],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'Pay all.', { trial: {} })
    await expect.poll(async () => (await runtime.questions()).length).toBe(4)
    expect(paid).toEqual([])
    for (const { id, kind } of await runtime.questions()) {
      expect(kind).toBe('in-doubt')
      await runtime.settleDoubt({ id, happened: true, value: 'not paid', by: 'ann' })
    }
    const outcome = await run.outcome()
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(textOf((outcome as { output: Json }).output).match(/not paid/g)).toHaveLength(4)
    expect(paid).toEqual([])
  })

  test('values that outlive the run are held back, and a memory of one’s own is not told', async () => {
    const saved: Json[] = []
    const far = agent({
      name: 'far',
      description: 'Counts for all runs.',
      run: async (ctx) => {
        const count = await ctx
          .stream('mem_counts')
          .update('all', (before) => (typeof before === 'number' ? before + 1 : 1))
        return `counted ${textOf(count)}`
      },
    })
    const near = agent({ name: 'near', description: 'Answers.', model: scripted('near answers') })
    const lead = scripted(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length
      if (results === 0) return delegates(['near', 'Answer.', 'd1'])
      return results === 1 ? delegates(['far', 'Count.', 'd2']) : 'done'
    })
    const boss = supervisor({
      name: 'boss',
      description: 'Leads.',
      model: lead,
      workers: [far, near],
      delegation: {
        workers: { near: { memory: { recall: () => [], save: (exchange) => void saved.push(exchange.answer) } } },
      },
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'Count.', { trial: {} })
    const [question] = await held(run)
    await run.control.settleDoubt({ id: question!.id, happened: true, value: 7, by: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    expect(JSON.stringify(lead.prompts.at(-1))).toContain('counted 7')
    expect(saved).toEqual([])
    await (await runtime.start(boss, 'Count.')).outcome()
    expect(saved).toEqual(['near answers'])
    expect(JSON.stringify(lead.prompts.at(-1))).toContain('counted 1')
  })

  test('what undoes the work is held back, too', async () => {
    const undone: string[] = []
    const coder = agent({
      name: 'coder',
      description: 'Books.',
      run: async (ctx) => {
        ctx.onCancel('unbook', (undo) => undo.step('unbook', () => void undone.push('unbooked')))
        await step(ctx, 'book', () => 'booked', { effect: 'read' })
        return interrupt(ctx, 'Keep it?')
      },
    })
    const runtime = await runtimeOf([coder])
    const run = await runtime.start(coder, 'Book.', { trial: {} })
    await expect.poll(async () => (await run.summary()).status).toBe('waiting')
    await run.control.cancel('enough')
    await expect.poll(async () => (await runtime.questions()).map(({ kind }) => kind)).toEqual(['in-doubt'])
    expect(undone).toEqual([])
    await runtime.settleDoubt({ id: (await runtime.questions())[0]!.id, happened: false, by: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(undone).toEqual(['unbooked'])
  })

  test('nobody is notified, and the request stays open', async () => {
    const sent: Json[] = []
    const mail: Channel = { name: 'mail', notify: (notice) => void sent.push(notice.id) }
    const paid: Json[] = []
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      instructions: 'Old.',
      model: payer(),
      tools: [pays(paid, { effect: 'once', approval: {} })],
      oversight: { approval: { notify: ['mail'] } },
    })
    const runtime = await runtimeOf([clerk], { channels: [mail] })
    const run = await runtime.start(clerk, 'Pay.', { trial: {} })
    const { waiting: open, questions } = await waiting(run)
    expect([open.length, questions.map(({ kind }) => kind)]).toEqual([1, ['approval']])
    await run.decide({ approvalId: open[0]!.id, decision: 'reject', approver: 'ann' })
    await run.outcome()
    const failed = (await eventsOf(run)).filter(({ type }) => type === 'notice.failed')
    expect(failed).toMatchObject([{ channel: 'mail', failure: { code: 'notice.failed' } }])
    expect([sent, paid]).toEqual([[], []])
  })

  test('it belongs to no session, names agents that are there, and only models that are', async () => {
    const clerk = agent({ name: 'clerk', description: 'Pays.', model: payer() })
    const code = agent({ name: 'code', description: 'Codes.', run: () => Promise.resolve('x') })
    const runtime = await runtimeOf([clerk, code], { trialModels: ['openai/gpt-5-mini'] })
    const refusals = [
      runtime.start(clerk, 'x', { trial: {}, session: 's' }),
      runtime.start(clerk, 'x', { trial: { nobody: {} } }),
      runtime.start(clerk, 'x', { trial: { clerk: { prompt: 'x' } as never } }),
      runtime.start(clerk, 'x', { trial: { clerk: { model: 'openai/gpt-5' } } }),
      runtime.start(clerk, 'x', { trial: [] as never }),
      runtime.start(code, 'x', { trial: { code: { instructions: 'x' } } }),
    ]
    for (const refused of refusals) await expect(refused).rejects.toMatchObject({ code: 'input.invalid' })
    await expect(runtime.start(clerk, 'x', { trial: { clerk: { version: 'v9' } } })).rejects.toMatchObject({
      code: 'version.unknown',
    })
    expect(await runtime.trialModels()).toEqual(['openai/gpt-5-mini'])
    expect(await runtime.runs()).toEqual([])
  })

  test('K1: a version that is kept, and a change over it, hold for this run alone', async () => {
    const says = scripted(({ messages }) => textOf(messages.find(({ role }) => role === 'system')?.content))
    const clerk = agent({ name: 'clerk', description: 'Says.', instructions: 'Old.', model: says })
    const runtime = await runtimeOf([clerk])
    await runtime.versions.draft('clerk', { version: 'v2', instructions: 'Draft.' })
    const one = await runtime.start(clerk, 'x', { trial: { clerk: { version: 'v2' } } })
    const two = await runtime.start(clerk, 'x', { trial: { clerk: { version: 'v2', instructions: 'Mine.' } } })
    const three = await runtime.start(clerk, 'x')
    const outputs = await Promise.all([one, two, three].map(async (run) => (await run.outcome()) as { output: Json }))
    expect(outputs.map(({ output }) => output)).toEqual(['Draft.', 'Mine.', 'Old.'])
    const uses = await runtime.versions.uses()
    const used = (run: Run<unknown>) => uses.find((each) => each.run === run.id)?.revisions
    expect([used(one), used(two), used(three)]).toEqual([{ clerk: 'v2' }, { clerk: 'trial' }, {}])
    expect(await runtime.versions.revisions()).toHaveLength(1)
  })
})

describe('K6, K10: a model call that is tried again with a change', () => {
  const teamOf = (paid: Json[], sent: Json[]) => {
    const low = payer()
    const clerk = agent({ name: 'clerk', description: 'Pays.', instructions: 'Old.', model: low, tools: [pays(paid)] })
    const send = tool({
      name: 'send',
      description: 'Sends.',
      effect: 'once',
      execute: () => (sent.push('mail'), 'sent'),
    })
    const lead = scripted(({ messages }) => {
      const answers = told(messages)
      if (messages.some(({ role }) => role === 'tool') === false) return delegates(['clerk', 'Pay.', 'd1'])
      return answers.some((each) => each === 'sent') ? 'done' : calls(['send', {}, 's1'])
    })
    return {
      low,
      lead,
      boss: supervisor({ name: 'boss', description: 'Leads.', model: lead, workers: [clerk], tools: [send] }),
    }
  }
  const callOf = (events: readonly Recorded[], at: number): number =>
    events.filter(({ event, activation }) => event.type === 'model.requested' && activation.includes('>'))[at]!.position

  test('a worker’s second call with another prompt: what was before is kept, what comes after asks', async () => {
    const paid: Json[] = []
    const sent: Json[] = []
    const { boss, low } = teamOf(paid, sent)
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'Go.')
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    const before = await journal(run)
    const fork = await runtime.fork({
      run: run.id,
      edit: { type: 'trial', call: callOf(before, 1), instructions: 'New.' },
      by: 'ann',
      reason: 'a clearer prompt',
    })
    const [question] = await held(fork)
    // paid once, in the origin: before the fork point
    expect([paid.length, sent.length, low.prompts.length]).toEqual([1, 1, 3])
    await fork.control.settleDoubt({ id: question!.id, happened: true, by: 'ann' })
    expect(await fork.outcome()).toMatchObject({ output: 'done' })
    expect([paid.length, sent.length]).toEqual([1, 1])
    const events = await journal(fork)
    const forked = events.find(({ event }) => event.type === 'run.forked')!.event
    expect(forked).toMatchObject({
      by: 'ann',
      reason: 'a clearer prompt',
      edit: { type: 'trial', versions: { clerk: { version: 'trial', instructions: 'New.' } } },
    })
    expect((await fork.summary()).caller.trial).toBe(true)
    const answer = events.find(({ event }) => event.type === 'worker.settled')!.event
    expect(answer).toMatchObject({ outcome: { output: 'New.: paid' } })
    expect(await journal(run)).toEqual(before)
    expect(diffOf(before, events).first).toBeDefined()
  })

  test('the first call with another input of its agent', async () => {
    const { boss, low } = teamOf([], [])
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'Go.')
    await run.outcome()
    const call = callOf(await journal(run), 0)
    const fork = await runtime.fork({ run: run.id, edit: { type: 'trial', call, input: 'Pay less.' } })
    await held(fork)
    expect(JSON.stringify(low.prompts.at(-1))).toContain('Pay less.')
  })

  test('a fork and a retry of a trial are trials', async () => {
    const paid: Json[] = []
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      instructions: 'Old.',
      model: payer(),
      tools: [pays(paid)],
    })
    const runtime = await runtimeOf([clerk])
    const run = await runtime.start(clerk, 'Pay.', { trial: {} })
    const [question] = await held(run)
    const fork = await runtime.fork({ run: run.id })
    await held(fork)
    await run.control.cancel('no')
    await run.outcome()
    const retry = await runtime.retry(run.id)
    await held(retry)
    expect(question).toBeDefined()
    expect(paid).toEqual([])
  })

  test('a position that is no model call, and `at` beside it, are refused', async () => {
    const { boss } = teamOf([], [])
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'Go.')
    await run.outcome()
    const call = callOf(await journal(run), 0)
    await expect(runtime.fork({ run: run.id, edit: { type: 'trial', call: 1 } })).rejects.toMatchObject({
      code: 'fork.invalid',
    })
    await expect(runtime.fork({ run: run.id, at: 2, edit: { type: 'trial', call } })).rejects.toThrow(ReeveError)
    await expect(
      runtime.fork({ run: run.id, edit: { type: 'trial', call, model: 'openai/gpt-unheard-of' } }),
    ).rejects.toMatchObject({ code: 'input.invalid' })
  })
})
