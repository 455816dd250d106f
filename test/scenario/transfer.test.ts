/**
 * Spec collaboration, section B: control is handed on by whoever has it. Who may choose whom, what a choice looks like,
 * what is refused. Transfers among other calls of one turn are in transfer-turn.test.ts, what a definition refuses in
 * transfer-definition.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { agent, transferTo } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { router, type TransferEdge } from '@reeve/flow'
import type { Message, Model } from '@reeve/model'
import { hops, lines, ways, worker, xfer } from './control.ts'
import { calls, eventsOf, runtimeOf, scripted, told, waiting, type Scripted } from './team.ts'

const systemOf = (prompt: readonly Message[] | undefined): string =>
  (prompt ?? []).flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n')
const toolsOf = (model: Scripted, nth = 0): string[] => model.tools[nth]!.map(({ name }) => name)

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

describe('who is offered', () => {
  test('collaboration 13: P knows its workers, in order; a worker that may return knows P alone', async () => {
    const [lead, c1] = [scripted(xfer('C1')), scripted('c1 answers')]
    await (await runtimeOf([deskOf(lead, c1)])).run('P', 'task')
    expect(lead.tools[0]).toMatchObject([
      {
        name: 'transfer_to_agent',
        description: 'Transfer the question to another agent.',
        parameters: { required: ['agent_name'], properties: { agent_name: { type: 'string', enum: ['C1', 'C2'] } } },
      },
    ])
    expect(systemOf(lead.prompts[0])).toMatch(
      /^Available other agents: \n- Agent name: C1\n {2}Agent description: Does what C1 does\.\n- Agent name: C2\n {2}Agent description: Does what C2 does\.\n/,
    )
    expect(systemOf(lead.prompts[0])).toMatch(
      /call 'transfer_to_agent' with that agent's name\.\n\nWhen transferring: OUTPUT ONLY THE FUNCTION CALL$/,
    )
    expect(c1.tools[0]).toMatchObject([{ parameters: { properties: { agent_name: { enum: ['P'] } } } }])
    expect(systemOf(c1.prompts[0]).match(/Agent name: .*/g)).toEqual(['Agent name: P'])
    expect(systemOf(c1.prompts[0])).toContain('Agent description: Routes.')
  })

  test.each([
    ['gives control back by rule', 'always'],
    ['never gives it back', 'never'],
  ] as const)('collaboration 14: a worker that %s knows no target and has no such tool', async (_what, returns) => {
    const c1 = scripted('c1 answers')
    const plain = agent({ name: 'C1', description: 'One.', instructions: 'Be brief.', model: c1 })
    const lead = router({ name: 'P', model: scripted(xfer('C1'), 'final'), workers: [plain], transfer: { returns } })
    await (await runtimeOf([lead])).run(lead, 'task')
    expect(c1.prompts).toEqual([
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'task' },
      ],
    ])
    expect(c1.tools).toEqual([[]])
  })

  test('collaboration 14: an agent that may not use the tool has no text or tool for it; a call is refused', async () => {
    const lead = scripted(xfer('C1'), 'I do it myself')
    const c1 = scripted('c1 answers')
    const desk = deskOf(lead, c1)
    const outcome = await (await runtimeOf([desk])).run(desk, 'task', { permissions: { deny: ['transfer_to_agent'] } })
    expect(outcome).toMatchObject({ output: 'I do it myself' })
    expect(lead.tools[0]).toEqual([])
    expect(lead.prompts[0]).toEqual([{ role: 'user', content: 'task' }])
    expect(told(lead.prompts[1])).toEqual([expect.stringContaining('transfer_to_agent')])
    expect(c1.prompts).toEqual([])
  })

  test('collaboration 14: nor may code do what a model may not', async () => {
    const candidates: number[] = []
    const code = router({
      name: 'P',
      run: (_ctx, _brief, talk) => (candidates.push(talk.candidates.length), transferTo('C1')),
      workers: [worker('C1')],
      transfer: { agents: { P: { permissions: { deny: ['transfer_to_agent'] } } } },
    })
    expect(await (await runtimeOf([code])).run(code, 'task')).toMatchObject({
      status: 'failed',
      failure: { code: 'transfer.refused' },
    })
    expect(candidates.at(-1)).toBe(0)
  })

  test('an approval of the tool holds before control moves; rejected, the model is told and goes on', async () => {
    const lead = scripted(xfer('C1'), xfer('C2'), 'final')
    const [c1, c2] = [scripted('c1 answers'), scripted('c2 answers')]
    const desk = deskOf(lead, c1, c2, { returns: 'always' })
    const runtime = await runtimeOf([desk])
    const run = await runtime.start(desk, 'task', { permissions: { approval: ['transfer_to_agent'] } })
    const [first] = (await waiting(run)).waiting
    expect(first).toMatchObject({ tool: 'transfer_to_agent', input: { agent_name: 'C1' }, path: ['P'] })
    await run.decide({ approvalId: first!.id, decision: 'reject', comment: 'not C1' })
    await expect.poll(async () => (await runtime.approvals())[0]?.input).toEqual({ agent_name: 'C2' })
    const [second] = (await waiting(run)).waiting
    await run.decide({ approvalId: second!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(/rejected.*not C1/)])
    expect([c1.prompts.length, c2.prompts.length]).toEqual([0, 1])
  })
})

describe('handing over', () => {
  test('collaboration 15, 16: call, result, then the other, who sees question and caller; P is not called again', async () => {
    const lead = scripted(xfer('C', 'p1'))
    const c = scripted('c answers')
    const child = agent({ name: 'C', description: 'One.', instructions: 'You are C.', model: c })
    const desk = router({
      name: 'P',
      model: lead,
      workers: [child],
      transfer: { returns: 'never', transfers: 'shown' },
    })
    const runtime = await runtimeOf([desk])
    const run = await runtime.start(desk, 'task')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'c answers' })
    expect(await lines(run)).toEqual([
      'P P says: transfer_to_agent({"agent_name":"C"})',
      'P P transfer_to_agent: "successfully transferred to agent [C]" > C',
      'C P/C says: c answers',
    ])
    const ids: (string | undefined)[] = []
    for await (const said of run.messages()) {
      if (said.type === 'assistant') ids.push(...(said.calls ?? []).map(({ id }) => id))
      if (said.type === 'tool') ids.push(said.callId)
    }
    expect(ids).toEqual(['p1', 'p1'])
    expect(c.prompts).toEqual([
      [
        { role: 'system', content: 'You are C.' },
        { role: 'user', content: 'task' },
        {
          role: 'user',
          content: 'For context: [P] called tool: `transfer_to_agent` with arguments: {"agent_name":"C"}.',
        },
        {
          role: 'user',
          content: 'For context: [P] `transfer_to_agent` tool returned result: successfully transferred to agent [C].',
        },
      ],
    ])
    expect(lead.prompts).toHaveLength(1)
  })

  test('collaboration 15: nothing of it is shown by default, and a task reaches the one who is handed it', async () => {
    const [lead, c1] = [
      scripted({ text: 'One moment.', ...xfer('C1', 'p1', 'count the beans') }, 'final'),
      scripted('12'),
    ]
    const desk = deskOf(lead, c1, undefined, { returns: 'always' })
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    await run.outcome()
    expect(c1.prompts[0]).toEqual([
      { role: 'user', content: 'task' },
      { role: 'user', content: 'For context: [P] said: One moment..' },
      { role: 'user', content: 'count the beans' },
    ])
    expect(lead.prompts[1]!.slice(1)).toEqual([
      { role: 'user', content: 'task' },
      { role: 'assistant', content: 'One moment.' },
      { role: 'user', content: 'For context: [C1] said: 12.' },
    ])
    expect(await eventsOf(run)).toContainEqual(
      expect.objectContaining({ type: 'agent.transferred', to: 'C1', task: 'count the beans' }),
    )
  })

  test('a task reaches the agents inside the one that gets control', async () => {
    const [w, mid] = [scripted('w answers'), scripted(xfer('W'), 'mid answers')]
    const inner = router({ name: 'Mid', description: 'Leads.', model: mid, workers: [worker('W', w)] })
    const top = router({
      name: 'Top',
      model: scripted(xfer('Mid', 't1', 'count the beans'), 'final'),
      workers: [inner],
    })
    expect(await (await runtimeOf([top])).run(top, 'task')).toMatchObject({ output: 'final' })
    for (const prompt of [mid.prompts[0]!.slice(1), w.prompts[0]!])
      expect(prompt).toEqual([
        { role: 'user', content: 'task' },
        { role: 'user', content: 'count the beans' },
      ])
    expect(mid.prompts[1]!.at(-1)).toEqual({ role: 'user', content: 'For context: [W] said: w answers.' })
  })

  test('collaboration 16: it goes on from hand to hand where routes say so, and the last one answers', async () => {
    const [c1, c2] = [scripted(xfer('C2')), scripted('c2 answers')]
    const lead = scripted(xfer('C1'))
    const desk = router({
      name: 'P',
      model: lead,
      workers: [worker('C1', c1), worker('C2', c2)],
      transfer: { returns: 'never' },
      routes: { P: ['C1'], C1: ['C2'] },
    })
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    expect(await run.outcome()).toMatchObject({ output: 'c2 answers' })
    expect(ways(await run.view())).toEqual(['P', 'P/C1', 'P/C1/C2'])
    expect(lead.tools[0]).toMatchObject([{ parameters: { properties: { agent_name: { enum: ['C1'] } } } }])
    expect(toolsOf(c2)).toEqual([])
  })

  test('collaboration 17: P sees all words of a worker that hands back; the path is P, C, P', async () => {
    const lead = scripted(xfer('C1', 'p1'), 'final')
    const c1 = scripted({ text: 'I cannot.', ...xfer('P', 'c1') })
    const desk = deskOf(lead, c1, undefined, { returns: 'on-request', transfers: 'shown' })
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(lead.prompts[1]!.slice(1)).toEqual([
      { role: 'user', content: 'task' },
      { role: 'assistant', content: '', calls: [{ id: 'p1', name: 'transfer_to_agent', input: { agent_name: 'C1' } }] },
      { role: 'tool', callId: 'p1', name: 'transfer_to_agent', content: 'successfully transferred to agent [C1]' },
      {
        role: 'user',
        content:
          'For context: [C1] said: I cannot.. [C1] called tool: `transfer_to_agent` with arguments: {"agent_name":"P"}.',
      },
      {
        role: 'user',
        content: 'For context: [C1] `transfer_to_agent` tool returned result: successfully transferred to agent [P].',
      },
    ])
    expect(ways(await run.view())).toEqual(['P', 'P/C1', 'P/C1/P'])
    expect(await hops(run)).toEqual(['P > C1 by model', 'C1 > P by model'])
  })

  test('collaboration 17: one that answers instead is the end of it', async () => {
    const lead = scripted(xfer('C1'))
    const desk = deskOf(lead, scripted('c1 answers'))
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    expect(await run.outcome()).toMatchObject({ output: 'c1 answers' })
    expect(lead.prompts).toHaveLength(1)
  })
})

describe('refused before anything is claimed', () => {
  const refusals: readonly (readonly [what: string, input: Json, says: RegExp])[] = [
    ['collaboration 18: an unknown name', { agent_name: 'Nobody' }, /unknown agent "Nobody".*Agents are: C1, C2\./],
    ['collaboration 18: a name in other letters', { agent_name: 'c1' }, /unknown agent "c1".*Agents are: C1, C2\./],
    ['collaboration 19: itself', { agent_name: 'P' }, /unknown agent "P".*Agents are: C1, C2\./],
    ['collaboration 20: no name', {}, /"agent_name" is missing.*Agents are: C1, C2\./],
    ['collaboration 20: an empty name', { agent_name: '' }, /"agent_name" is missing/],
    ['collaboration 20: a name that is no text', { agent_name: 7 }, /"agent_name" is missing/],
    ['collaboration 20: a list', ['C1'], /"agent_name" is missing/],
    ['collaboration 20: a bare text', 'C1', /"agent_name" is missing/],
    ['collaboration 20: a task that is no text', { agent_name: 'C1', task: { a: 1 } }, /"task" must be a text/],
  ]
  test.each(refusals)('%s: the model is told who there is, and may try again', async (_what, input, says) => {
    const lead = scripted(calls(['transfer_to_agent', input, 'p1']), xfer('C2', 'p2'), 'final')
    const [c1, c2] = [scripted('c1 answers'), scripted('c2 answers')]
    const desk = deskOf(lead, c1, c2, { returns: 'always' })
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(lead.prompts[1]!.at(-1)).toMatchObject({
      role: 'tool',
      callId: 'p1',
      isError: true,
      content: expect.stringMatching(says) as string,
    })
    expect([c1.prompts.length, c2.prompts.length]).toEqual([0, 1])
    expect((await lines(run)).filter((each) => each.includes('successfully'))).toHaveLength(2)
    expect((await eventsOf(run)).filter(({ type }) => type === 'tool.refused')).toMatchObject([
      { failure: { code: 'transfer.refused' } },
    ])
  })

  /** What a router is told of arguments that are no JSON. */
  async function toldOf(invalid: string) {
    const asked: Message[][] = []
    const model: Model = {
      id: 'test/garbled',
      call: ({ messages }) => {
        asked.push([...messages])
        const call = { id: 'p1', name: 'transfer_to_agent', input: null, invalid }
        return Promise.resolve({
          text: asked.length === 1 ? '' : 'final',
          calls: asked.length === 1 ? [call] : [],
          finish: 'stop',
          model: model.id,
        })
      },
    }
    const desk = router({ name: 'P', model, workers: [worker('C1')] })
    expect(await (await runtimeOf([desk])).run(desk, 'task')).toMatchObject({ output: 'final' })
    return told(asked[1])
  }

  test('collaboration 20: arguments that are no JSON', async () => {
    expect(await toldOf('{"agent_name": "C1')).toEqual([expect.stringMatching(/not JSON/)])
  })

  test('arguments that are no JSON are told with how many characters were left out', async () => {
    expect(await toldOf('x'.repeat(1_000))).toEqual([expect.stringMatching(/are not JSON: x+…\+80\d\./)])
  })

  test.each(['C2', 'Top', 'C1'])(
    'collaboration 19: a worker cannot choose %s: a sibling, a grandparent, itself',
    async (to) => {
      const c1 = scripted(xfer(to, 'c1'), 'c1 answers')
      const mid = router({
        name: 'Mid',
        description: 'Leads.',
        model: scripted(xfer('C1'), 'mid answers'),
        workers: [worker('C1', c1), worker('C2')],
        transfer: { returns: 'on-request' },
      })
      const top = router({ name: 'Top', model: scripted(xfer('Mid'), 'final'), workers: [mid] })
      expect(await (await runtimeOf([top])).run(top, 'task')).toMatchObject({ output: 'final' })
      expect(told(c1.prompts[1])).toEqual([
        expect.stringMatching(new RegExp(`unknown agent "${to}".*Agents are: Mid\\.`)),
      ])
    },
  )

  test.each(['Nobody', 'P', 'Top'])(
    'collaboration 18, 19: code that hands over to %s fails, and the failure says who did and where',
    async (to) => {
      const desk = router({ name: 'P', run: () => transferTo(to), workers: [worker('C1')] })
      expect(await (await runtimeOf([desk])).run(desk, 'task')).toMatchObject({
        status: 'failed',
        failure: {
          code: 'transfer.refused',
          message: expect.stringContaining(`"P" hands over to "${to}"`) as string,
          details: { agent: 'P', path: ['P'] },
        },
      })
    },
  )

  test('collaboration 18: a code worker that names an unknown target is content for P', async () => {
    const lead = scripted(xfer('C'), 'final')
    const lost = agent({ name: 'C', description: 'Lost.', run: () => transferTo('Nobody') })
    const desk = router({ name: 'P', model: lead, workers: [lost], transfer: { returns: 'on-request' } })
    expect(await (await runtimeOf([desk])).run(desk, 'task')).toMatchObject({ output: 'final' })
    expect(lead.prompts[1]!.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/worker "C" failed: "C" hands over to "Nobody"/) as string,
    })
  })
})
