/**
 * What applications see of delegations: one row each, at any depth, whatever the leaders' models were told: spec
 * delegation M7, 27.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, delegate, tool } from '@reeve/agent'
import { asTool, sequential } from '@reeve/flow'
import { delegationsIn, delegationsOf, foldDelegations, newDelegationsFold, type Recorded } from '@reeve/journal'
import type { Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, fatal, runtimeOf, scripted, waiting } from './team.ts'
import { worker } from './control.ts'

async function recordedOf(run: Pick<Run, 'events'>): Promise<Recorded[]> {
  const list: Recorded[] = []
  for await (const recorded of run.events()) list.push(recorded)
  return list
}
/** The rows of one leader in the order of its calls: who begins first is a matter of time. */
const inOrder = async (run: Pick<Run, 'delegations'>) =>
  (await run.delegations()).toSorted((one, other) => one.label!.localeCompare(other.label!))
const note = tool({ name: 'note', effect: 'read', execute: (input) => ({ noted: input }) })
const breaks = tool({
  name: 'breaks',
  retry: { attempts: 1 },
  execute: () => {
    throw new Error('disk full')
  },
})

describe('delegations()', () => {
  test('has one row for each, at every depth, with what its tools came to, usage and times', async () => {
    const leaf = agent({
      name: 'leaf',
      description: 'Notes.',
      tools: [note, breaks],
      model: scripted(calls(['note', { n: 1 }, 'k1'], ['breaks', {}, 'k2'], ['ghost', {}, 'k3']), {
        text: 'leaf answer',
        usage: { input: 7, output: 3 },
      }),
    })
    const typed = agent({
      name: 'typed',
      description: 'Adds.',
      input: z.object({ n: z.number() }),
      run: (_ctx, { n }) => n + 1,
    })
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(delegates(['leaf', 'deep', 'm1']), 'mid answer'),
      workers: [leaf],
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(
        calls(['delegate', { worker: 'mid', instructions: 'go on' }, 'b1'], ['delegate_typed', { n: 1 }, 'b2']),
        'final',
      ),
      workers: [mid, typed],
      delegation: { onComplete: () => ({ result: 'overridden' }) },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await run.outcome()
    const { activations } = await run.view()
    const rows = await run.delegations()
    const at = (name: string) => activations.find(({ agent: each }) => each === name)!
    expect(
      rows.map(({ worker: name, label, callId, status, attempts, brief, output, leader, activation }) => ({
        name,
        label,
        callId,
        status,
        attempts,
        brief,
        output,
        leader,
        activation,
      })),
    ).toEqual(
      expect.arrayContaining([
        {
          name: 'mid',
          label: 'd1',
          callId: 'b1',
          status: 'completed',
          attempts: 1,
          brief: 'go on',
          output: 'mid answer',
          leader: at('boss').activation,
          activation: at('mid').activation,
        },
        {
          name: 'typed',
          label: 'd2',
          callId: 'b2',
          status: 'completed',
          attempts: 1,
          brief: { n: 1 },
          output: 2,
          leader: at('boss').activation,
          activation: at('typed').activation,
        },
        {
          name: 'leaf',
          label: 'd1',
          callId: 'm1',
          status: 'completed',
          attempts: 1,
          brief: 'deep',
          output: 'leaf answer',
          leader: at('mid').activation,
          activation: at('leaf').activation,
        },
      ]),
    )
    expect(rows).toHaveLength(3)
    const row = (name: string) => rows.find(({ worker: each }) => each === name)!
    expect(row('leaf').tools.toSorted((one, other) => one.callId.localeCompare(other.callId))).toEqual([
      { tool: 'note', callId: 'k1', input: { n: 1 }, result: { noted: { n: 1 } }, isError: false },
      { tool: 'breaks', callId: 'k2', input: {}, result: '[tool "breaks" failed: disk full]', isError: true },
      {
        tool: 'ghost',
        callId: 'k3',
        input: {},
        result: expect.stringMatching(/no tool "ghost"/) as string,
        isError: true,
      },
    ])
    expect(row('mid').tools).toEqual([
      {
        tool: 'delegate',
        callId: 'm1',
        input: { worker: 'leaf', instructions: 'deep' },
        result: 'leaf answer',
        isError: false,
      },
    ])
    expect(row('mid').usage!.map(({ agent: name }) => name)).toEqual(expect.arrayContaining(['mid', 'leaf']))
    expect(row('leaf').usage).toMatchObject([{ agent: 'leaf', calls: 2 }])
    for (const { startedAt, endedAt } of rows) expect(endedAt).toBeGreaterThanOrEqual(startedAt)
    expect(delegationsOf(await recordedOf(run))).toEqual(rows)
  })
  test('says which were refused and why, by their names', async () => {
    const lead = scripted(
      delegates(['ghost', 'a', 'c1'], ['w1', '', 'c2'], ['w1', 'b', 'c3'], ['w2', 'c', 'c4']),
      'final',
    )
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [worker('w1'), worker('w2')],
      delegation: { onStart: ({ worker: name }) => (name === 'w1' ? { proceed: false, reason: 'no' } : undefined) },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go', { limits: { depth: 1 } })
    await run.outcome()
    // what is no delegation, because its arguments say nothing, has a name and no row
    expect(
      (await inOrder(run)).map(({ label, worker: name, callId, status, failure }) => [
        label,
        name,
        callId,
        status,
        failure?.code,
      ]),
    ).toEqual([
      ['d1', 'ghost', 'c1', 'refused', 'delegation.unknown-worker'],
      ['d3', 'w1', 'c3', 'refused', 'delegation.refused'],
      ['d4', 'w2', 'c4', 'completed', undefined],
    ])
  })
  test('tells those at work from those who wait, and hooks that failed before there was a worker', async () => {
    const pay = tool({
      name: 'pay',
      approval: true,
      input: z.object({ n: z.number() }),
      execute: ({ n }) => `paid ${n}`,
    })
    const payer = agent({
      name: 'payer',
      description: 'Pays.',
      model: scripted(calls(['pay', { n: 1 }, 'k1']), 'paid it'),
      tools: [pay],
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['payer', 'a'], ['w2', 'b']), 'final'),
      workers: [payer, worker('w2', scripted(fatal('down')))],
      delegation: { hookErrors: 'lenient', onStart: () => Promise.reject(new Error('no')) },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const {
      waiting: [approval],
    } = await waiting(run)
    expect(
      (await inOrder(run)).map(({ worker: name, status, hookFailures }) => [
        name,
        status,
        hookFailures.map(({ hook }) => hook),
      ]),
    ).toEqual([
      ['payer', 'waiting', ['onStart']],
      ['w2', 'failed', ['onStart']],
    ])
    await run.decide({ approvalId: approval!.id, decision: 'edit', input: { n: 2 } })
    await run.outcome()
    expect((await inOrder(run))[0]).toMatchObject({
      status: 'completed',
      tools: [
        {
          tool: 'pay',
          callId: 'k1',
          input: { n: 2 },
          result: expect.stringMatching(/^\[a person changed this call .*\]\npaid 2$/),
        },
      ],
    })
  })
  test('the same label and the same ids of calls in other leaders and turns are other rows', async () => {
    const low = worker('low', scripted('one', 'two'))
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(delegates(['low', 'x', 'c1']), 'mid answer'),
      workers: [low],
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['low', 'a', 'c1']), delegates(['mid', 'b', 'c1']), 'final'),
      workers: [low, mid],
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await run.outcome()
    expect(
      (await run.delegations()).map(({ label, callId, worker: name, output }) => [label, callId, name, output]),
    ).toEqual([
      ['d1', 'c1', 'low', 'one'],
      ['d2', expect.stringMatching(/^call_/), 'mid', 'mid answer'],
      ['d1', 'c1', 'low', 'two'],
    ])
  })
  test('a retried delegation is one row, with its last attempt; a background one is pending until it begins', async () => {
    const flaky = scripted(fatal('down'), 'up again')
    const ends: number[] = []
    const boss = supervisor({
      name: 'boss',
      model: scripted(
        calls(['delegate', { worker: 'w1', instructions: 'a' }], ['delegate', { worker: 'w2', instructions: 'b' }]),
        'final',
      ),
      workers: [worker('w1', flaky), worker('w2')],
      concurrency: 1,
      delegation: {
        workers: {
          w1: { retry: { attempts: 2, backoffMs: 1, jitter: false, when: () => true } },
          w2: { background: true },
        },
        onComplete: ({ worker: name, attempt }) => void (name === 'w1' && ends.push(attempt)),
      },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(
      (await inOrder(run)).map(({ label, status, attempts, output }) => [label, status, attempts, output]),
    ).toEqual([
      ['d1', 'completed', 2, 'up again'],
      ['d2', 'completed', 1, 'w2 result'],
    ])
    expect(ends).toEqual([1, 2])
    const events = await recordedOf(run)
    const deferred = events.findIndex(({ event }) => event.type === 'delegation.deferred')
    expect(delegationsOf(events.slice(0, deferred + 1)).find(({ worker: name }) => name === 'w2')).toMatchObject({
      status: 'pending',
      attempts: 0,
    })
  })
  test('who works in another way has none: members of flows, agents as tools, workers of code', async () => {
    const leader = agent({
      name: 'leader',
      workers: [worker('w1')],
      run: async (ctx) => (await delegate(ctx, worker('w1'), 'x')).status,
    })
    const flow = sequential({ name: 'flow', agents: [worker('first'), worker('second')] })
    const solo = agent({
      name: 'solo',
      model: scripted(calls(['third', { request: 'x' }]), 'final'),
      tools: [asTool(worker('third'))],
    })
    const runtime = await runtimeOf([leader, flow, solo])
    for (const root of ['leader', 'flow', 'solo']) {
      const run = await runtime.start(root, 'go')
      await run.outcome()
      expect(await run.delegations()).toEqual([])
    }
  })
  test('a fold: every prefix has its rows, reading continues, and results are copies', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'a'], ['w2', 'b']), 'final'),
      workers: [worker('w1'), worker('w2')],
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await run.outcome()
    const events = await recordedOf(run)
    const fold = newDelegationsFold()
    let rows = 0
    for (const [i, recorded] of events.entries()) {
      foldDelegations(fold, recorded)
      foldDelegations(fold, recorded)
      const now = delegationsIn(fold)
      expect(now).toEqual(delegationsOf(events.slice(0, i + 1)))
      expect(now.length).toBeGreaterThanOrEqual(rows)
      rows = now.length
    }
    expect(rows).toBe(2)
    const [first] = await run.delegations()
    ;(first as { worker: string }).worker = 'changed'
    expect((await run.delegations())[0]!.worker).toBe('w1')
  })
  test('an unknown run is said to be one', async () => {
    const runtime = await runtimeOf([worker('w1')])
    await expect(runtime.handle('run_nowhere').delegations()).rejects.toMatchObject({ code: 'run.unknown' })
  })
})
