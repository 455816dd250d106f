/**
 * Spec collaboration, section B: a transfer among other calls of one turn: when control moves, and which call decides.
 */
import { describe, expect, test } from 'vitest'
import { tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { exitTool, router, type TransferEdge } from '@reeve/flow'
import { hops, lines, pay, worker } from './control.ts'
import { calls, pause, runtimeOf, scripted, waiting, type Scripted } from './team.ts'

/** P leads C1 and C2, who give control back if they choose to. */
function deskOf(
  lead: Scripted,
  c1: Scripted,
  c2: Scripted = scripted('c2 answers'),
  edge: TransferEdge = { returns: 'on-request' },
) {
  return router({
    name: 'P',
    description: 'Routes.',
    model: lead,
    workers: [worker('C1', c1), worker('C2', c2)],
    transfer: edge,
  })
}

describe('with other calls in one turn', () => {
  test('collaboration 22: control moves when the slow tool beside it ended, and the next agent sees its result', async () => {
    const slow = tool({ name: 'slow', effect: 'read', execute: async () => (await pause(30), 'slow result') })
    const c = scripted('c answers')
    for (const turn of [
      calls(['transfer_to_agent', { agent_name: 'C' }, 'p1'], ['slow', {}, 'p2']),
      calls(['slow', {}, 'p2'], ['transfer_to_agent', { agent_name: 'C' }, 'p1']),
    ]) {
      const desk = router({
        name: 'P',
        model: scripted(turn),
        tools: [slow],
        workers: [worker('C', c)],
        transfer: { returns: 'never' },
      })
      const run = await (await runtimeOf([desk])).start(desk, 'task')
      expect(await run.outcome()).toMatchObject({ output: 'c answers' })
      expect((await lines(run)).slice(1)).toEqual([
        'P P slow: "slow result"',
        'P P transfer_to_agent: "successfully transferred to agent [C]" > C',
        'C P/C says: c answers',
      ])
    }
    for (const prompt of c.prompts)
      expect(JSON.stringify(prompt)).toContain('`slow` tool returned result: slow result.')
  })

  test('collaboration 22: it waits for a human beside it as well, and then takes effect', async () => {
    const done: Json[] = []
    const c = scripted('c answers')
    const desk = router({
      name: 'P',
      model: scripted(calls(['transfer_to_agent', { agent_name: 'C' }], ['pay', { n: 1 }])),
      tools: [pay(done)],
      workers: [worker('C', c)],
      transfer: { returns: 'never' },
    })
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    const [open] = (await waiting(run)).waiting
    expect([done, c.prompts]).toEqual([[], []])
    await run.decide({ approvalId: open!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'c answers' })
    expect(done).toEqual([{ n: 1 }])
  })

  test.each([
    [
      'exit, then transfer',
      [
        ['exit', { final_result: 'bye' }],
        ['transfer_to_agent', { agent_name: 'C' }],
      ],
      'c answers',
      1,
    ],
    [
      'transfer, then exit',
      [
        ['transfer_to_agent', { agent_name: 'C' }],
        ['exit', { final_result: 'bye' }],
      ],
      'bye',
      0,
    ],
  ] as const)('collaboration 23: %s: the later call decides', async (_what, turn, output, worked) => {
    const c = scripted('c answers')
    const lead = scripted(calls(...turn), 'never said')
    const desk = router({
      name: 'P',
      model: lead,
      tools: [exitTool],
      workers: [worker('C', c)],
      transfer: { returns: 'never' },
    })
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    expect(await run.outcome()).toMatchObject({ output })
    expect(c.prompts).toHaveLength(worked)
    expect(lead.prompts).toHaveLength(1)
    expect(await hops(run)).toHaveLength(worked)
  })

  test.each(['C1', 'C2'])(
    'collaboration 23: of two transfers the later one is taken, and the other claims nothing: %s',
    async (last) => {
      const first = last === 'C1' ? 'C2' : 'C1'
      const models = { C1: scripted('answers'), C2: scripted('answers') }
      const lead = scripted(
        calls(['transfer_to_agent', { agent_name: first }, 'p1'], ['transfer_to_agent', { agent_name: last }, 'p2']),
        'final',
      )
      const desk = deskOf(lead, models.C1, models.C2, { transfers: 'shown' })
      const run = await (await runtimeOf([desk])).start(desk, 'task')
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect([models[first as 'C1'].prompts.length, models[last as 'C1'].prompts.length]).toEqual([0, 1])
      expect(lead.prompts[1]!.filter(({ role }) => role === 'tool')).toMatchObject([
        { callId: 'p1', isError: true, content: expect.stringMatching(/^\[not transferred/) as string },
        { callId: 'p2', content: `successfully transferred to agent [${last}]` },
      ])
      expect(await hops(run)).toEqual([`P > ${last} by model`, `${last} > P by rule`])
    },
  )

  test('collaboration 23: a refused transfer after a good one does not undo it', async () => {
    const c1 = scripted('c1 answers')
    const turn = calls(['transfer_to_agent', { agent_name: 'C1' }], ['transfer_to_agent', { agent_name: 'Nobody' }])
    const desk = deskOf(scripted(turn, 'final'), c1, undefined, { returns: 'never' })
    expect(await (await runtimeOf([desk])).run(desk, 'task')).toMatchObject({ output: 'c1 answers' })
  })
})
