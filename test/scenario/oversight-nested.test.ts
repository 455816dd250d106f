/**
 * Oversight where several work at once, where it nests, and where somebody proposes what is to be done: the same
 * questions, each once, with what speaks for them. Spec team, X28 to X37.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool, type Agent } from '@reeve/agent'
import type { Json, OversightMode } from '@reeve/core'
import type { Oversight } from '@reeve/edge'
import { asTool, parallel, router, sequential } from '@reeve/flow'
import { delegateToSeveral, reflect, roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { code, leadTo, worker } from './control.ts'
import { inOrder, noTo, overseen, yes } from './overseeing.ts'
import { calls, delegates, fatal, runtimeOf, scripted } from './team.ts'

const command: Oversight = { mode: 'in-command' }

describe('several at once', () => {
  test('in command: each worker with the same brief is asked about; the refused one alone does not work', async () => {
    const worked: string[] = []
    const made = ['a', 'b', 'c'].map((name) => code(name, () => (worked.push(name), name)))
    const boss = agent({
      name: 'boss',
      workers: made,
      run: async (ctx) => {
        await delegateToSeveral(ctx, made, 'go', { keep: 2 })
        return 'final'
      },
    })
    const { lines, outcome } = await overseen(boss, command, noTo('b'))
    expect(lines.toSorted()).toEqual(['work a by boss/a', 'work b by boss/b', 'work c by boss/c'])
    expect(worked.toSorted()).toEqual(['a', 'c'])
    expect(outcome.status).toBe('completed')
  })
  test('two calls of one turn are asked about side by side, and each decision reaches its own', async () => {
    const done: Json[] = []
    const send = tool({
      name: 'send',
      input: { type: 'object', properties: { n: { type: 'number' } } },
      execute: (input: Json) => (done.push(input), 'sent'),
    } as never)
    const root = agent({
      name: 'root',
      model: scripted(calls(['send', { n: 1 }], ['send', { n: 2 }]), 'end'),
      tools: [send],
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go', { oversight: {} })
    await expect.poll(async () => (await runtime.approvals()).length).toBe(2)
    const open = await runtime.approvals()
    for (const { id, input } of open.toReversed())
      await run.decide({ approvalId: id, decision: (input as { n: number }).n === 1 ? 'approve' : 'reject' })
    await run.outcome()
    expect(done).toEqual([{ n: 1 }])
  })
  test('side by side in a flow: all are asked, no one holds up another', async () => {
    const flow = parallel({ name: 'flow', agents: [worker('a'), worker('b'), worker('c')] })
    const runtime = await runtimeOf([flow])
    const run = await runtime.start(flow, 'go', { oversight: command })
    await expect.poll(async () => (await runtime.approvals()).length).toBe(3)
    for (const { id } of (await runtime.approvals()).toReversed())
      await run.decide({ approvalId: id, decision: 'approve' })
    expect((await run.outcome()).status).toBe('completed')
  })
})

describe('nesting', () => {
  const send = () => tool({ name: 'send_mail', execute: () => 'sent' })
  const inner = (more: object = {}): Agent =>
    agent({
      name: 'inner',
      description: 'In.',
      model: scripted(calls(['send_mail', {}]), 'done'),
      tools: [send()],
      ...more,
    })
  /** A supervisor over a team over a flow over an agent as a tool. */
  const deep = (ofFlow: object = {}, ofInner: object = {}): Agent => {
    const caller = agent({
      name: 'caller',
      description: 'Calls.',
      model: scripted(calls(['inner', { request: 'x' }]), 'called'),
      tools: [asTool(inner(ofInner))],
    })
    const flow = sequential({ name: 'flow', description: 'Flows.', agents: [worker('before'), caller], ...ofFlow })
    const planned = team({
      name: 'planned',
      description: 'Plans.',
      roles: { generalist: { agent: flow } },
      planner: { subtasks: [{ id: 't', description: 't' }] },
    })
    return supervisor({ name: 'boss', model: scripted(delegates(['planned', 'do it']), 'final'), workers: [planned] })
  }
  test('a supervisor over a team, a flow and an agent as a tool: in command each is asked once, from the top', async () => {
    const { lines, outcome } = await overseen(deep(), command)
    expect(lines.map((line) => line.split(' by ')[0])).toEqual([
      'work planned',
      'plan plan',
      'task t',
      'work before',
      'work caller',
      'call inner',
      'call send_mail',
    ])
    expect(outcome.status).toBe('completed')
  })
  test.each<[OversightMode, OversightMode, OversightMode, readonly string[]]>([
    ['on-the-loop', 'on-the-loop', 'on-the-loop', []],
    ['on-the-loop', 'on-the-loop', 'in-the-loop', ['call send_mail']],
    ['on-the-loop', 'in-the-loop', 'on-the-loop', ['call send_mail']],
    ['in-the-loop', 'on-the-loop', 'on-the-loop', ['call send_mail']],
    ['on-the-loop', 'on-the-loop', 'in-command', ['call send_mail']],
    ['in-the-loop', 'in-command', 'on-the-loop', ['work before', 'work caller', 'call inner', 'call send_mail']],
  ])(
    'X37: a run %s, a flow in it %s, an agent in that %s: the strictest above each holds',
    async (run, flow, last, due) => {
      const { lines } = await overseen(deep({ oversight: { mode: flow } }, { oversight: { mode: last } }), {
        mode: run,
      })
      // whoever is looked at more closely than its caller is asked about itself
      const expected = last === 'in-command' && flow !== 'in-command' ? ['work inner', ...due] : due
      expect(lines.map((line) => line.split(' by ')[0])).toEqual(expected)
    },
  )
  test('a refused beginning deep below is told up, and nothing of it is done', async () => {
    const { outcome, events } = await overseen(deep(), command, noTo('caller', 'not now'))
    expect(events.some((event) => event.type === 'tool.called')).toBe(false)
    expect(JSON.stringify(events)).toContain('not now')
    expect(outcome.status).toBe('completed')
  })
})

describe('R-14: what is proposed', () => {
  test('X28: all hits of a result are recorded with priorities, weightiest first, and shown to the approver', async () => {
    const writer = agent({
      name: 'writer',
      run: () => 'text',
      assess: () => ({ confidence: 0.59, costUsd: 1.01, proposedAction: { name: 'deleteAll' }, cannotDo: 'no access' }),
    })
    const { asked, raised } = await overseen(writer, {})
    const due = [
      { code: 'sensitive_action', priority: 'highest' },
      { code: 'cost_limit', priority: 'high' },
      { code: 'low_confidence', priority: 'medium' },
      { code: 'out_of_scope', priority: 'low' },
    ]
    expect([raised[0]!.hits, asked[0]!.hits]).toMatchObject([due, due])
    expect(asked[0]).toMatchObject({ risk: 'high', kind: 'result' })
  })
  test('X31: unknown is not 0: what says nothing of confidence or cost is not looked at for it', async () => {
    for (const said of [undefined, {}, { costUsd: 0 }, { confidence: 1 }, { proposedAction: { name: 'read' } }]) {
      const writer = agent({ name: 'writer', run: () => 'text', assess: () => said })
      expect((await overseen(writer, {})).asked).toEqual([])
    }
    const sure = agent({ name: 'writer', run: () => 'text', assess: () => ({ confidence: 0 }) })
    expect((await overseen(sure, {})).asked).toHaveLength(1)
  })
  test('a cost of 0 is known, and no cost is more than 0 only where that is the limit', async () => {
    const root = (costUsd?: number) => {
      const look = tool({ name: 'look', execute: () => 'seen', ...(costUsd === undefined ? {} : { costUsd }) })
      return agent({ name: 'root', model: scripted(calls(['look', {}]), 'end'), tools: [look] })
    }
    const asked = async (costUsd: number | undefined) =>
      (await overseen(root(costUsd), { escalate: { costAboveUsd: 0 } })).asked.length
    expect([await asked(undefined), await asked(0), await asked(0.001)]).toEqual([0, 0, 1])
  })
  test('a rule of a tool that throws asks, in every mode', async () => {
    const when = (): boolean => {
      throw new Error('broken')
    }
    for (const mode of ['in-command', 'in-the-loop', 'on-the-loop'] as const) {
      const look = tool({ name: 'look', approval: when, execute: () => 'seen' })
      const root = agent({ name: 'root', model: scripted(calls(['look', {}]), 'end'), tools: [look] })
      expect((await overseen(root, { mode })).asked).toHaveLength(1)
    }
  })
})

describe('R-14: failures in a row, under any leader', () => {
  const limit: Oversight = { escalate: { consecutiveFailures: 2 } }
  const bad = (name: string): Agent => worker(name, scripted(fatal(`${name} is broken`)))
  const hits = (lines: readonly { readonly subject: string; readonly name: string }[]) =>
    lines.map(({ subject, name }) => `${subject} ${name}`)

  test('agents as tools count, and the next of them is asked about', async () => {
    const root = agent({
      name: 'root',
      model: scripted(
        calls(['a', { request: 'x' }]),
        calls(['b', { request: 'x' }]),
        calls(['c', { request: 'x' }]),
        'end',
      ),
      tools: [asTool(bad('a')), asTool(bad('b')), asTool(worker('c'))],
    })
    const { raised } = await overseen(root, limit)
    expect(hits(raised)).toEqual(['work c'])
  })
  test('of a leader its own workers count, not those of another', async () => {
    const low = supervisor({
      name: 'low',
      description: 'Low.',
      model: scripted(delegates(['a', 'go']), 'low'),
      workers: [bad('a')],
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['low', 'go']), delegates(['b', 'go']), delegates(['c', 'go']), 'final'),
      workers: [low, bad('b'), worker('c')],
    })
    expect((await overseen(boss, limit)).raised).toEqual([])
  })
  test('a human who lets the next one begin has looked: one more failure is not the second', async () => {
    const members = ['a', 'b', 'c', 'd'].map(bad)
    const boss = agent({
      name: 'boss',
      workers: members,
      run: async (ctx) => {
        for (const each of members) await delegate(ctx, each, 'go')
        return 'final'
      },
    })
    const { raised } = await overseen(boss, limit)
    expect(hits(raised)).toEqual(['work c'])
  })
})

describe('routers and round tables', () => {
  test('a router and a round table in command: each beginning is asked, each time', async () => {
    const desk = router({ name: 'desk', model: leadTo('a', 'a'), workers: [worker('a')] })
    expect((await overseen(desk, command)).lines).toHaveLength(2)
    const table = roundtable({
      name: 'table',
      agents: [worker('a'), worker('b')],
      speaker: 'round-robin',
      maxRounds: 2,
    })
    expect((await overseen(table, command)).lines.map((line) => line.split(' by ')[0])).toEqual(['work a', 'work b'])
  })
  test('reflection in command: each try is asked', async () => {
    let n = 0
    const tried = reflect(worker('inner'), {
      name: 'again',
      judge: () => ({ score: n++ === 0 ? 0.1 : 1 }),
      memory: false,
    } as never)
    expect((await overseen(tried, command)).lines.length).toBeGreaterThanOrEqual(2)
  })
  test('C87: a result sent back in a router or flow is redone where it was made and asked under a new id', async () => {
    const writer = (): Agent =>
      agent({ name: 'writer', description: 'W.', model: scripted('one', 'two'), assess: () => ({ confidence: 0.1 }) })
    const ways: readonly Agent[] = [
      router({ name: 'desk', model: leadTo('writer'), workers: [writer()] }),
      sequential({ name: 'flow', agents: [writer(), worker('after')] }),
      parallel({ name: 'wide', agents: [writer(), worker('beside')] }),
      roundtable({ name: 'table', agents: [writer()], speaker: 'round-robin', maxRounds: 1 }),
    ]
    for (const root of ways) {
      const { asked } = await overseen(root, {}, inOrder({ decision: 'retry', comment: 'better' }, yes()))
      expect(asked.map(({ input }) => input)).toEqual(['one', 'two'])
      expect(new Set(asked.map(({ id }) => id)).size).toBe(2)
    }
  })
})

describe('C78: a mode that there is not', () => {
  test.each(['foo', '', 'IN-COMMAND', 'human_in_command', null, 7, {}])(
    '%j is refused where a run begins, and where a runtime is made of who says it',
    async (mode) => {
      const root = worker('a')
      const runtime = await runtimeOf([root])
      await expect(runtime.start(root, 'go', { oversight: { mode } } as never)).rejects.toThrow(/oversight\.mode/)
      await expect(
        runtimeOf([agent({ name: 'b', model: scripted('x'), oversight: { mode } } as never)]),
      ).rejects.toThrow(/oversight\.mode/)
      expect((await runtime.runs()).length).toBe(0)
    },
  )
})
