/**
 * The modes at work, whatever the way of working together and however deep: before a tool is called, before somebody
 * begins. Spec team, C77, C78, X36, X37, X46.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Oversight } from '@reeve/edge'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import { reflect, roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { code, leadTo, worker } from './control.ts'
import { inOrder, noTo, overseen, yes } from './overseeing.ts'
import { calls, delegates, fatal, runtimeOf, scripted, told } from './team.ts'

const command: Oversight = { mode: 'in-command' }
const watch: Oversight = { mode: 'on-the-loop' }

/** A worker that calls one tool, and what the tool did. */
function busy(name: string, more: object = {}, at: string = name) {
  const done: Json[] = []
  const made = tool({ name, execute: (input: Json) => (done.push(input), 'did it'), ...more })
  const model = scripted(calls([name, { n: 1 }, 'c']), `${at} is done`)
  return { done, model, agent: agent({ name: at, description: 'Does it.', model, tools: [made] }) }
}

/** Every way in which `inner` may come to work below a root, and how its path reads. */
const ways: Record<string, (inner: Agent) => Agent> = {
  delegation: (inner) =>
    supervisor({ name: 'boss', model: scripted(delegates([inner.name, 'do it']), 'final'), workers: [inner] }),
  'delegation by code': (inner) =>
    agent({
      name: 'boss',
      workers: [inner],
      run: async (ctx) => ((await delegate(ctx, inner, 'do it')).status === 'completed' ? 'final' : 'told'),
    }),
  'delegation by a leader that is code': (inner) =>
    supervisor({
      name: 'boss',
      workers: [inner],
      run: async (_ctx, _brief, team) => (await team.delegate(inner.name, 'do it')).text,
    }),
  'delegation in the background': (inner) =>
    supervisor({
      name: 'boss',
      model: scripted(delegates([inner.name, 'do it']), 'I wait', 'final'),
      workers: [inner],
      delegation: { background: [inner.name] },
    }),
  transfer: (inner) => router({ name: 'boss', model: leadTo(inner.name), workers: [inner] }),
  sequential: (inner) => sequential({ name: 'boss', agents: [inner] }),
  parallel: (inner) => parallel({ name: 'boss', agents: [inner] }),
  loop: (inner) => loop({ name: 'boss', agents: [inner], maxIterations: 1 }),
  'a round table': (inner) => roundtable({ name: 'boss', agents: [inner], speaker: 'round-robin', maxRounds: 1 }),
  'an agent as a tool': (inner) =>
    agent({
      name: 'boss',
      model: scripted(calls([inner.name, { request: 'do it' }]), 'final'),
      tools: [asTool(inner)],
    }),
  reflection: (inner) => reflect(inner, { name: 'boss', judge: () => ({ score: 1 }), memory: false }),
  'depth 3': (inner) => {
    const low = supervisor({
      name: 'low',
      description: 'Low.',
      model: scripted(delegates([inner.name, 'do it']), 'low'),
      workers: [inner],
    })
    const mid = supervisor({
      name: 'mid',
      description: 'Mid.',
      model: scripted(delegates(['low', 'do it']), 'mid'),
      workers: [low],
    })
    return supervisor({ name: 'boss', model: scripted(delegates(['mid', 'do it']), 'final'), workers: [mid] })
  },
}
/** Where `inner` stands. */
const below = (way: string): string => (way === 'depth 3' ? 'boss/mid/low/' : 'boss/')

describe.each(Object.entries(ways))('%s', (way, make) => {
  test('team C78: in command every beginning and every call is asked, also reads', async () => {
    const { agent: inner, done } = busy('look', { effect: 'read' }, 'inner')
    const { lines, outcome, asked } = await overseen(make(inner), command)
    const path = `${below(way)}inner`
    const begins = {
      'an agent as a tool': ['call inner by boss'],
      'depth 3': ['work mid by boss/mid', 'work low by boss/mid/low', `work inner by ${path}`],
    }
    expect(lines).toEqual([
      ...(begins[way as keyof typeof begins] ?? [`work inner by ${path}`]),
      `call look by ${path}`,
    ])
    expect(asked.at(-1)).toMatchObject({ reason: 'a human is in command: every action is approved', input: { n: 1 } })
    expect(asked.every(({ grantable }) => grantable === undefined)).toBe(true)
    expect([done.length, outcome.status]).toEqual([1, 'completed'])
  })

  test('team C78: in the loop what is sensitive by its name is asked, and nothing else', async () => {
    const { agent: inner, done } = busy('send_mail', {}, 'inner')
    const { lines, asked, raised } = await overseen(make(inner), {})
    expect(lines).toEqual([`call send_mail by ${below(way)}inner`])
    expect(asked[0]).toMatchObject({ risk: 'high', hits: [{ code: 'sensitive_action', priority: 'highest' }] })
    expect(raised).toMatchObject([
      { subject: 'action', name: 'send_mail', mode: 'in-the-loop', asks: true, callId: expect.any(String) as string },
    ])
    expect(done).toHaveLength(1)
  })

  test('team C78, X36: on the loop no approver is asked, and it is noted', async () => {
    const { agent: inner, done } = busy('send_mail', {}, 'inner')
    const { lines, raised } = await overseen(make(inner), watch)
    expect(lines).toEqual([])
    expect(raised).toMatchObject([{ name: 'send_mail', mode: 'on-the-loop', asks: false }])
    expect(done).toHaveLength(1)
  })

  test('team C78, X36: on the loop what always needs an approval is asked', async () => {
    const { agent: inner, done } = busy('send_mail', { approval: true }, 'inner')
    const { lines } = await overseen(make(inner), watch, noTo('send_mail'))
    expect(lines).toEqual([`call send_mail by ${below(way)}inner`])
    expect(done).toEqual([])
  })

  test('without oversight nothing changes', async () => {
    const { agent: inner, done } = busy('send_mail', {}, 'inner')
    const { lines, raised, events } = await overseen(make(inner), undefined)
    expect([lines, raised, done.length]).toEqual([[], [], 1])
    expect(events.filter(({ type }) => type === 'result.assessed')).toEqual([])
  })

  test('a refused start: no worker runs, and its leader is told', async () => {
    const { agent: inner, done, model } = busy('look', {}, 'inner')
    const { outcome, events } = await overseen(make(inner), command, noTo('inner', 'not today'))
    expect([done, model.prompts]).toEqual([[], []])
    const told = JSON.stringify([outcome, events])
    expect(told).toContain('work.rejected')
    expect(told).toContain('not today')
  })
})

describe('a call in the loop', () => {
  const alone = (made: ReturnType<typeof busy>) => made.agent

  test.each([
    [1, []],
    [1.01, ['cost_limit']],
    [(input: { n: number }) => input.n * 5, ['cost_limit']],
    [() => 0, []],
  ] as const)('team C76: that costs %s', async (costUsd, codes) => {
    const { asked } = await overseen(alone(busy('look', { costUsd })), {})
    expect(asked.flatMap(({ hits = [] }) => hits.map(({ code: is }) => is))).toEqual(codes)
  })

  test('whose price cannot be said is asked: a rule that fails opens nothing', async () => {
    const costUsd = () => {
      throw new Error('no price')
    }
    const { asked } = await overseen(alone(busy('look', { costUsd })), {})
    expect(asked).toMatchObject([{ reason: 'costUsd of "look" failed: no price' }])
    expect((await overseen(alone(busy('look', { costUsd })), undefined)).asked).toEqual([])
  })

  test('X28: all that speaks for it is said, the weightiest first', async () => {
    const { asked } = await overseen(
      alone(busy('publish', { costUsd: 3, approval: { reason: 'the editor wants to see it' } })),
      {},
    )
    expect(asked[0]!.reason).toBe(
      '"publish" is sensitive: publish; it costs $3, and more than $1 is to be seen; the editor wants to see it',
    )
  })

  test('X46: what is refused is told to the model, which goes on', async () => {
    const it = busy('publish')
    const { outcome } = await overseen(alone(it), {}, noTo('publish', 'too early'))
    expect(told(it.model.prompts[1])).toEqual(['[not done: a human rejected this call of "publish": too early]'])
    expect([it.done, outcome]).toMatchObject([[], { output: 'publish is done' }])
  })

  test('a grant lets later calls pass that are only dear, and never one that is sensitive by its name', async () => {
    const done: Json[] = []
    const look = tool({ name: 'look', costUsd: 2, execute: (input) => (done.push(input), 'seen') })
    const twice = scripted(calls(['look', {}]), 'first', calls(['look', {}]), 'second')
    const dear = agent({ name: 'look', model: twice, tools: [look] })
    const runtime = await runtimeOf([dear, busy('send', {}).agent])
    const start = (name: string) => runtime.start(name, 'go', { session: 's', oversight: {} })
    const first = await start('look')
    const [asked] = ((await first.until('waiting')) as unknown as { waiting: { id: string; grantable?: true }[] })
      .waiting
    expect(asked!.grantable).toBe(true)
    await first.decide({ approvalId: asked!.id, decision: 'approve', grant: 'session' })
    await first.outcome()
    const send = await start('send')
    const [other] = ((await send.until('waiting')) as unknown as { waiting: { id: string; grantable?: true }[] })
      .waiting
    expect(other!.grantable).toBe(false)
    await send.decide({ approvalId: other!.id, decision: 'reject' })
    await send.outcome()
    await (await start('look')).outcome() // nobody is asked any more
    expect(done).toHaveLength(2)
  })
})

describe('which oversight holds', () => {
  test('an agent is overseen by the strictest of its definition, its leader and the run', async () => {
    const look = tool({ name: 'look', execute: () => 'seen' })
    const inner = (more: object) =>
      agent({ name: 'inner', description: 'In.', model: scripted(calls(['look', {}]), 'done'), tools: [look], ...more })
    const under = (more: object, delegation: object = {}) =>
      supervisor({
        name: 'boss',
        model: scripted(delegates(['inner', 'go']), 'final'),
        workers: [inner(more)],
        delegation,
      })
    const both = ['work inner by boss/inner', 'call look by boss/inner']
    expect((await overseen(under({ oversight: command }), undefined)).lines).toEqual(both)
    expect((await overseen(under({}, { oversight: command }), watch)).lines).toEqual(both)
    expect((await overseen(under({}, { workers: { inner: { oversight: command } } }), {})).lines).toEqual(both)
    expect((await overseen(under({ oversight: watch }), command)).lines).toEqual(both)
    expect((await overseen(under({ oversight: watch }), undefined)).lines).toEqual([])
  })

  test('a member of a flow, and an agent as a tool, may be looked at more closely there', async () => {
    const one = sequential({
      name: 'boss',
      agents: [worker('a'), worker('b')],
      edge: { agents: { b: { oversight: command } } },
    })
    expect((await overseen(one, undefined)).lines).toEqual(['work b by boss/a/b'])
    const two = agent({
      name: 'boss',
      model: scripted(calls(['a', { request: 'x' }]), 'final'),
      tools: [asTool(worker('a'), { oversight: command })],
    })
    expect((await overseen(two, undefined)).lines).toEqual(['work a by boss/a'])
  })
})

describe('a beginning', () => {
  test('is approved with another brief: that is what is worked on', async () => {
    const inner = worker('inner')
    const model = scripted('done')
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['inner', 'write a poem']), 'final'),
      workers: [agent({ name: 'inner', description: inner.description, model })],
    })
    const { asked } = await overseen(boss, command, inOrder({ decision: 'edit', input: 'write a short poem' }))
    expect(asked[0]).toMatchObject({ kind: 'work', tool: 'inner', input: 'write a poem' })
    expect(JSON.stringify(model.prompts[0])).toContain('write a short poem')
  })

  test('is approved with another brief in the middle of a conversation', async () => {
    const model = scripted('done')
    const flow = sequential({ name: 'boss', agents: [worker('a'), agent({ name: 'b', model })] })
    await overseen(flow, command, ({ tool: name }) =>
      name === 'b' ? { decision: 'edit', input: 'something else' } : yes(),
    )
    expect(model.prompts[0]!.map(({ content }) => content)).toEqual([
      'something else',
      'For context: [a] said: a result.',
    ])
  })

  test('with a brief that does not fit is asked again, with the problem', async () => {
    const inner = agent({
      name: 'inner',
      description: 'In.',
      input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      run: (_ctx, brief) => brief,
    })
    const boss = agent({
      name: 'boss',
      workers: [inner],
      run: async (ctx) => JSON.stringify(await delegate(ctx, inner, { n: 1 })),
    })
    const { asked, outcome } = await overseen(
      boss,
      command,
      inOrder({ decision: 'edit', input: { n: 'x' } }, { decision: 'edit', input: { n: 2 } }),
    )
    expect(asked[1]!.reason).toMatch(/what was put in its place does not fit: "n" must be a number/)
    // who delegated is told that a person has changed the work
    expect(JSON.parse((outcome as unknown as { output: string }).output)).toEqual({
      status: 'completed',
      output: { n: 2 },
      reviewed: expect.stringMatching(/^a person \("ann"\) changed this work before it ran, .*\{"n":2\}$/),
    })
  })

  test('a leader is asked to change it and try again; the worker has not begun', async () => {
    const model = scripted('done')
    const lead = scripted(delegates(['inner', 'x']), 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [agent({ name: 'inner', description: 'In.', model })],
    })
    await overseen(boss, command, inOrder({ decision: 'retry', comment: 'say more' }))
    expect(model.prompts).toEqual([])
    expect(JSON.stringify(told(lead.prompts[1]))).toMatch(
      /refused to let .*inner.* asks you to change it and try again: say more/,
    )
  })
})

describe('agents that score or summarize', () => {
  test('is not asked about: it is no work of the team', async () => {
    const scorer = agent({ name: 'scorer', model: () => JSON.stringify({ score: 1 }), output: { type: 'object' } })
    const inner = agent({
      name: 'inner',
      description: 'In.',
      model: scripted('done'),
      isComplete: { scorers: [scorer] },
    })
    const boss = supervisor({ name: 'boss', model: scripted(delegates(['inner', 'go']), 'final'), workers: [inner] })
    const scored = await overseen(boss, command)
    expect(scored.events.filter(({ type }) => type === 'completion.scored')).toMatchObject([{ passed: true }])
    expect(scored.lines).toEqual(['work inner by boss/inner'])
    const judged = await overseen(reflect(worker('inner'), { name: 'boss', judge: scorer, memory: false }), command)
    expect(judged.lines).toEqual(['work inner by boss/inner'])
  })
})

describe('a planned team in command', () => {
  test('team C78: plan and tasks are approved once; workers below a member, and every call, are asked about', async () => {
    const look = tool({ name: 'look', execute: () => 'seen' })
    const busyOne = (name: string) =>
      agent({ name, description: 'Looks.', model: scripted(calls(['look', {}]), 'done'), tools: [look] })
    const planned = team({
      name: 'T',
      roles: {
        generalist: busyOne('g'),
        lead: supervisor({
          name: 'sup',
          description: 'Leads.',
          model: scripted(delegates(['low', 'x']), 'ok'),
          workers: [busyOne('low')],
        }),
      },
      planner: {
        subtasks: [
          { id: 'a', description: 'A' },
          { id: 'b', description: 'B', role: 'lead' },
        ],
      },
    })
    const { lines, outcome } = await overseen(planned, command)
    expect(lines.toSorted()).toEqual([
      'call look by T/g',
      'call look by T/sup/low',
      'plan plan by T',
      'task a by T',
      'task b by T',
      'work low by T/sup/low',
    ])
    expect(outcome.status).toBe('completed')
  })
})

describe('failures in a row', () => {
  const oversight: Oversight = { escalate: { consecutiveFailures: 2 } }
  const broken = (name: string): Agent => worker(name, scripted(fatal(`${name} is broken`)))
  const one = (script: string, lead: Oversight = oversight) => {
    const names = script.split(' ')
    const boss = supervisor({
      name: 'boss',
      model: scripted(...names.map((name) => delegates([name, 'go'])), 'final'),
      workers: [...new Set(names)].map((name) => (name.startsWith('bad') ? broken(name) : worker(name))),
      oversight: lead,
    })
    return overseen(boss, undefined)
  }

  test.each([
    ['bad bad2 ok', ['work ok by boss/ok']],
    ['bad ok bad ok', []],
    ['bad bad2 bad bad2 ok', ['work bad by boss/bad', 'work ok by boss/ok']],
  ])('team C77: after %s', async (script, lines) => {
    const it = await one(script)
    expect(it.lines).toEqual(lines)
    const due = lines.map(() => ({ kind: 'work', hits: [{ code: 'consecutive_failures' }] }))
    expect(it.asked).toMatchObject(due)
  })

  test('team C77: on the loop it is noted', async () => {
    const { lines, raised } = await one('bad bad2 ok', { ...oversight, mode: 'on-the-loop' })
    expect([lines, raised]).toMatchObject([
      [],
      [{ subject: 'work', name: 'ok', asks: false, hits: [{ code: 'consecutive_failures' }] }],
    ])
  })

  test('team C77: a leader that is code counts, a router and a round table too', async () => {
    const members = [broken('bad'), broken('bad2'), worker('ok')]
    const coded = agent({
      name: 'boss',
      workers: members,
      run: async (ctx) => {
        for (const each of members) await delegate(ctx, each, 'go')
        return 'final'
      },
    })
    expect((await overseen(coded, oversight)).lines).toEqual(['work ok by boss/ok'])
    const routed = router({ name: 'boss', model: leadTo('bad', 'bad2', 'ok'), workers: members })
    expect((await overseen(routed, oversight)).lines.map((line) => line.split(' by ')[0])).toEqual(['work ok'])
    const table = roundtable({ name: 'boss', agents: members, speaker: 'round-robin', maxRounds: 3 })
    expect((await overseen(table, oversight)).lines).toEqual(['work ok by boss/ok'])
  })

  test('a human’s refused start counts as a look and as no failure', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['a', 'go']), delegates(['b', 'go']), delegates(['c', 'go']), 'final'),
      workers: ['a', 'b', 'c'].map((name) => code(name, () => name)),
    })
    const { raised } = await overseen(boss, { ...command, ...oversight }, inOrder({ decision: 'reject' }))
    expect(raised).toEqual([])
  })
})
