/**
 * Workers that are placed apart, seen by those who write teams: `delegation.workers.x.place`. What engines owe them is
 * in the contract (contract/engine/apart).
 */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '../../src/agent/index.ts'
import type { Json, RunId } from '../../src/core/index.ts'
import { supervisor } from '../../src/supervisor/index.ts'
import { calls, delegates, runtimeOf, scripted, told, waiting } from './team.ts'

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
