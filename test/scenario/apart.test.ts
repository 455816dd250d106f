/**
 * Workers that are placed apart, seen by those who write teams: `delegation.workers.x.place`. What engines owe them is
 * in the contract (contract/engine/apart).
 */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { asText, type Json, type RunId } from '@reeve/core'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, told, waiting } from './team.ts'

/** A leader, a worker that it places apart, and one below that one that is not. */
function bank() {
  const paid: Json[] = []
  const pay = tool({
    name: 'pay',
    sensitive: true,
    input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
    execute: (input) => (paid.push(input), { ok: true }),
  })
  const clerk = agent({
    name: 'clerk',
    description: 'Pays.',
    model: scripted(calls(['pay', { amount: 10 }]), 'paid'),
    tools: [pay],
  })
  const middle = supervisor({
    name: 'mid',
    description: 'Leads the clerk.',
    model: scripted(delegates(['clerk', 'pay 10']), 'mid is done'),
    workers: [clerk],
  })
  const lead = scripted(delegates(['mid', 'see to it', 'c1']), 'all is done')
  const boss = supervisor({
    name: 'boss',
    description: 'Leads.',
    model: lead,
    workers: [middle],
    delegation: { workers: { mid: { place: 'apart', limits: { turns: 10 } } } },
  })
  return { boss, paid, lead }
}

describe('a worker that is placed apart', () => {
  test('works as any other: its approval is its run’s, its answer its leader’s, its usage in the whole', async () => {
    const { boss, paid, lead } = bank()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const { waiting: open, status } = await waiting(run)
    expect([status, open.map(({ path, tool: name }) => [path, name])]).toEqual([
      'waiting',
      [[['boss', 'mid', 'clerk'], 'pay']],
    ])
    expect((await run.view()).activations.map(({ agent: name, state, apart }) => [name, state, apart])).toEqual([
      ['boss', 'waiting', undefined],
      ['mid', 'waiting', true],
      ['clerk', 'waiting', undefined],
    ])
    await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all is done' })
    expect([paid, told(lead.prompts[1])]).toEqual([[{ amount: 10 }], ['mid is done']])
    const view = await run.view()
    const summed = view.usage.map(({ agent: name, calls: count }) => [name, count])
    expect(summed).toEqual(
      expect.arrayContaining([
        ['boss', 2],
        ['mid', 2],
        ['clerk', 2],
      ]),
    )
    expect((await run.usage()).reduce((sum, { calls: count }) => sum + count, 0)).toBe(6)
    expect(view.status).toBe('completed')
    expect(await run.delegations()).toMatchObject([
      { worker: 'mid', brief: 'see to it', status: 'completed', output: 'mid is done', attempts: 1 },
      { worker: 'clerk', brief: 'pay 10', status: 'completed', output: 'paid', attempts: 1 },
    ])
  })

  test('is a run that can be looked at, and that lists do not show beside the run that was started', async () => {
    const { boss } = bank()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go', { session: 's' })
    const { waiting: open } = await waiting(run)
    expect((await runtime.runs()).map(({ run: id }) => id)).toEqual([run.id])
    const [child] = await runtime.runs({ childrenOf: run.id })
    expect(child).toMatchObject({ agent: 'mid', status: 'waiting', caller: { session: 's' } })
    const apart = runtime.handle(child!.run)
    expect((await apart.view()).activations.map(({ agent: name, path }) => [name, path])).toEqual([
      ['mid', ['boss', 'mid']],
      ['clerk', ['boss', 'mid', 'clerk']],
    ])
    await apart.decide({ approvalId: open[0]!.id, decision: 'reject', approver: 'ann' })
    expect(await apart.outcome()).toMatchObject({ status: 'completed', output: 'mid is done' })
    expect(await run.outcome()).toMatchObject({ output: 'all is done' })
  })

  test('is finished by hand, from the run that was started, like any other', async () => {
    const { boss, paid } = bank()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const { waiting: open } = await waiting(run)
    await run.control.takeOver({ by: 'ann' })
    await expect
      .poll(async () => (await runtime.runs({ childrenOf: run.id })).map(({ status }) => status))
      .toEqual(['paused'])
    await run.control.complete({ delegation: 'c1', output: 'by hand', by: 'ann' })
    await run.control.handBack({ by: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all is done' })
    expect((await run.delegations())[0]).toMatchObject({ worker: 'mid', status: 'completed', output: 'by hand' })
    expect(paid).toEqual([])
    await expect(run.decide({ approvalId: open[0]!.id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.expired',
    })
  })

  test('is paused with the run that was started, whose commands are counted once', async () => {
    const { boss } = bank()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const { waiting: open } = await waiting(run)
    const worker = async (): Promise<string[]> =>
      (await runtime.runs({ childrenOf: run.id })).map(({ status }) => status)
    await run.control.pause({ by: 'ann' })
    await expect.poll(worker).toEqual(['paused'])
    await run.control.resume({ by: 'ann' })
    await expect.poll(worker).toEqual(['waiting'])
    await run.control.takeOver({ by: 'bob' })
    await expect.poll(worker).toEqual(['paused'])
    expect((await run.view()).status).toBe('human_control')
    expect(await run.control.state()).toMatchObject({
      state: 'human_control',
      by: 'bob',
      ops: [
        { op: 'pause', by: 'ann' },
        { op: 'resume', by: 'ann' },
        { op: 'takeover', by: 'bob' },
      ],
    })
    await run.control.handBack({ by: 'bob' })
    await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all is done' })
  })

  test('is stopped from the run that was started', async () => {
    const { boss, paid, lead } = bank()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await waiting(run)
    await run.control.stop({ delegation: 'c1', reason: 'too slow' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all is done' })
    expect(told(lead.prompts[1])).toEqual([expect.stringContaining('too slow')])
    expect(paid).toEqual([])
    await expect(run.control.stop({ delegation: 'c1' })).rejects.toMatchObject({ code: 'delegation.ended' })
  })

  test('another place than apart is refused where the team is made', () => {
    const worker = agent({ name: 'w', description: 'Works.', model: scripted('x') })
    const make = (place: unknown) =>
      supervisor({
        name: 's',
        description: 'Leads.',
        model: scripted('x'),
        workers: [worker],
        delegation: { workers: { w: { place: place as 'apart' } } },
      })
    expect(() => make('moon')).toThrow('delegation.workers.w.place is the text "moon", expected "apart"')
  })

  test('a run that is not there has no workers apart', async () => {
    const { boss } = bank()
    expect(await (await runtimeOf([boss])).runs({ childrenOf: 'run_none' as RunId })).toEqual([])
  })
})

describe('the turns of a worker apart', () => {
  const look = tool({ name: 'look', effect: 'read', execute: () => 'a raven' })
  /** Looks so many times before it answers. */
  const looker = (times: number, more: object = {}) =>
    agent({
      name: 'analyst',
      description: 'Looks.',
      tools: [look],
      model: ({ messages }) =>
        messages.filter(({ role }) => role === 'tool').length < times ? calls(['look', {}]) : 'saw a raven',
      ...more,
    })
  const ledBy = async (delegation: object, worker = looker(1)) => {
    const lead = scripted(delegates(['analyst', 'Look.']), ({ messages }) => asText(told(messages)[0]!))
    const root = supervisor({ name: 's', workers: [worker], delegation, model: lead })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const outcome = await run.outcome()
    const [started] = (await eventsOf(run)).flatMap((event) => (event.type === 'worker.started' ? [event] : []))
    return { answer: 'output' in outcome ? outcome.output : outcome.status, reserve: started!.reserve }
  }
  const apart = (more: object = {}) => ({ workers: { analyst: { place: 'apart' as const, ...more } } })

  test.each([
    ['with a limit of tokens, as the page has it', apart({ limits: { tokens: 200_000 } }), looker(1)],
    ['without a limit', apart(), looker(1)],
    ['without a limit, with more to do', apart(), looker(8)],
    ['with turns from onStart', { ...apart(), onStart: () => ({ turns: 4 }) }, looker(3)],
    ['with more turns from onStart than half', { ...apart(), onStart: () => ({ turns: 14 }) }, looker(13)],
    [
      'with more turns from onStart than it defines',
      { ...apart(), onStart: () => ({ turns: 4 }) },
      looker(3, { limits: { turns: 2 } }),
    ],
    [
      'with more turns of its own from onStart',
      { ...apart(), onStart: () => ({ turns: 4 }) },
      looker(3, { limits: { ownTurns: 2 } }),
    ],
    ['with a limit of turns', apart({ limits: { turns: 5 } }), looker(4)],
  ] as const)('K11: are enough to work, %s', async (_how, delegation, worker) => {
    expect((await ledBy(delegation, worker)).answer).toBe('saw a raven')
  })

  test('K11: those of onStart are its own limit there, too', async () => {
    const { answer } = await ledBy({ ...apart(), onStart: () => ({ turns: 4 }) }, looker(9))
    expect(answer).toMatch(/^\[worker "analyst" stopped at its limit of turns: 4 turns are used up/)
  })

  test('K11: a share that is used up is called a share, and says how to set more aside', async () => {
    const { answer, reserve } = await ledBy(apart(), looker(30))
    expect(reserve).toEqual({ turns: 9 })
    expect(answer).toMatch(/the share of 9 turns .* is used up; limits: \{ turns: … \} of the worker sets more aside/)
    expect(answer).not.toMatch(/its own/)
  })

  test('K11: those it has used count for the whole tree, those it has not used come back', async () => {
    const model = scripted(
      delegates(['analyst', '1']),
      delegates(['analyst', '2']),
      delegates(['analyst', '3']),
      'done',
    )
    const root = supervisor({ name: 's', workers: [looker(1)], delegation: apart(), model })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go', { limits: { turns: 10 } })
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    const reserved = (await eventsOf(run)).flatMap((event) => (event.type === 'worker.started' ? [event.reserve] : []))
    // of 10: 1, 1 + 2, 1 + 2 are used before
    expect(reserved).toEqual([{ turns: 4 }, { turns: 3 }, { turns: 1 }])
  })
})
