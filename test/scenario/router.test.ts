/**
 * Spec collaboration, section C: a router whose workers give control back by rule; how workers end, and what the lead
 * sees of it. Workers that fail and whole orders as workers are in router-outcomes.test.ts, routers inside routers and
 * questions to the outside in router-nested.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { agent, breakLoop, exit, tool, transferTo, type Agent } from '@reeve/agent'
import { exitTool, router, sequential, type TransferEdge } from '@reeve/flow'
import type { Message } from '@reeve/model'
import { code, leadTo, line, played, said, user, withoutSystem, worker, xfer } from './control.ts'
import { calls, scripted } from './team.ts'

/** The messages that stand for a transfer, as the one who called reads them. */
const own = (to: string, id: string, text = ''): Message[] => [
  { role: 'assistant', content: text, calls: [{ id, name: 'transfer_to_agent', input: { agent_name: to } }] },
  { role: 'tool', callId: id, name: 'transfer_to_agent', content: `successfully transferred to agent [${to}]` },
]
/** And as others do. */
const retold = (from: string, to: string): Message[] => [
  user(`For context: [${from}] called tool: \`transfer_to_agent\` with arguments: {"agent_name":"${to}"}.`),
  user(`For context: [${from}] \`transfer_to_agent\` tool returned result: successfully transferred to agent [${to}].`),
]

test('collaboration 38: the whole trace: order, paths, words, and every model input, message by message', async () => {
  const echo = tool({ name: 'echo', effect: 'read', execute: () => 'echoed' })
  const lead = scripted(xfer('W1', 's1'), xfer('W2', 's2'), xfer('W1', 's3'), 'final')
  const m1 = scripted({ text: 'thinking', ...calls(['echo', {}, 'w1']) }, 'w1 result', 'w1 second result')
  const m2 = scripted('w2 result')
  const sup = router({
    name: 'Sup',
    instructions: 'Lead.',
    model: lead,
    workers: [agent({ name: 'W1', description: 'One.', model: m1, tools: [echo] }), worker('W2', m2)],
    transfer: { transfers: 'shown' },
  })
  const { run, outcome, paths, heard } = await played(sup)
  expect(outcome).toMatchObject({ status: 'completed', output: 'final' })
  const way = ['Sup', 'W1', 'Sup', 'W2', 'Sup', 'W1', 'Sup']
  const p = way.map((_, i) => way.slice(0, i + 1).join('/'))
  expect(paths).toEqual(p)
  const call = (to: string) => `says: transfer_to_agent({"agent_name":"${to}"})`
  const result = (to: string) => `transfer_to_agent: "successfully transferred to agent [${to}]" > ${to}`
  expect(heard).toEqual([
    `Sup ${p[0]} ${call('W1')}`,
    `Sup ${p[0]} ${result('W1')}`,
    `W1 ${p[1]} says: thinking + echo({})`,
    `W1 ${p[1]} echo: "echoed"`,
    `W1 ${p[1]} says: w1 result`,
    `W1 ${p[1]} ${call('Sup')}`,
    `W1 ${p[1]} ${result('Sup')}`,
    `Sup ${p[2]} ${call('W2')}`,
    `Sup ${p[2]} ${result('W2')}`,
    `W2 ${p[3]} says: w2 result`,
    `W2 ${p[3]} ${call('Sup')}`,
    `W2 ${p[3]} ${result('Sup')}`,
    `Sup ${p[4]} ${call('W1')}`,
    `Sup ${p[4]} ${result('W1')}`,
    `W1 ${p[5]} says: w1 second result`,
    `W1 ${p[5]} ${call('Sup')}`,
    `W1 ${p[5]} ${result('Sup')}`,
    `Sup ${p[6]} says: final`,
  ])
  const made = (await said(run)).flatMap((each) =>
    each.type === 'assistant' && each.agent === 'W1' ? (each.calls ?? []) : [],
  )
  const back = made.find(({ name }) => name === 'transfer_to_agent')!.id

  const [begin, echoed] = [user('task'), { role: 'tool', callId: 'w1', name: 'echo', content: 'echoed' } as const]
  const thinking: Message = { role: 'assistant', content: 'thinking', calls: [{ id: 'w1', name: 'echo', input: {} }] }
  const s1 = retold('Sup', 'W1')
  const w1 = [
    user('For context: [W1] said: thinking. [W1] called tool: `echo` with arguments: {}.'),
    user('For context: [W1] `echo` tool returned result: echoed.'),
    user('For context: [W1] said: w1 result.'),
    ...retold('W1', 'Sup'),
  ]
  const s2 = retold('Sup', 'W2')
  const w2 = [user('For context: [W2] said: w2 result.'), ...retold('W2', 'Sup')]
  expect(m1.prompts).toEqual([
    [begin, ...s1],
    [begin, ...s1, thinking, echoed],
    [
      begin,
      ...s1,
      thinking,
      echoed,
      { role: 'assistant', content: 'w1 result' },
      ...own('Sup', back),
      ...s2,
      ...w2,
      ...retold('Sup', 'W1'),
    ],
  ])
  expect(m2.prompts).toEqual([[begin, ...s1, ...w1, ...s2]])
  const sup2 = [begin, ...own('W1', 's1'), ...w1]
  const sup3 = [...sup2, ...own('W2', 's2'), ...w2]
  const sup4 = [...sup3, ...own('W1', 's3'), user('For context: [W1] said: w1 second result.'), ...retold('W1', 'Sup')]
  expect(lead.prompts.map(withoutSystem)).toEqual([[begin], sup2, sup3, sup4])
  for (const prompt of lead.prompts)
    expect(prompt[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/^Lead\.\n\nAvailable other agents: \n/) as string,
    })
})

describe('control comes back', () => {
  test.each<[string, Agent, string]>([
    ['a model agent', worker('Ada', scripted('done')), 'done'],
    ['code', code('Ada', () => 'done'), 'done'],
    ['code whose output is no text', code('Ada', () => ({ n: 1 })), '{"n":1}'],
  ])(
    'collaboration 31: %s says "done"; a JSON call with a fresh id and its result follow, as its own',
    async (_what, ada, answer) => {
      const boss = router({ name: 'Boss', model: leadTo('Ada', 'Ada'), workers: [ada] })
      const { run, outcome } = await played(boss)
      expect(outcome).toMatchObject({ output: 'final' })
      const mine = (await said(run)).filter((each) => each.agent === 'Ada')
      expect(mine.map(line).slice(0, 3)).toEqual([
        `Ada Boss/Ada says: ${answer}`,
        'Ada Boss/Ada says: transfer_to_agent({"agent_name":"Boss"})',
        'Ada Boss/Ada transfer_to_agent: "successfully transferred to agent [Boss]" > Boss',
      ])
      const ids = mine.flatMap((each) => (each.type === 'assistant' ? (each.calls ?? []).map(({ id }) => id) : []))
      expect(mine.flatMap((each) => (each.type === 'tool' ? [each.callId] : []))).toEqual(ids)
      expect(new Set(ids).size).toBe(2)
    },
  )

  test.each<[string, Agent]>([
    ['code', code('W', () => null)],
    ['a model agent', worker('W', scripted(''))],
    ['an empty order', sequential({ name: 'W', description: 'Nothing.', agents: [] })],
  ])('collaboration 32: a silent worker (%s) gives control back too, and the lead is told so', async (_what, w) => {
    const lead = leadTo('W')
    const { outcome, heard, paths } = await played(router({ name: 'Sup', model: lead, workers: [w] }))
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual(['Sup', 'Sup/W', 'Sup/W/Sup'])
    expect(heard.slice(2).filter((each) => !each.endsWith('says: '))).toEqual([
      'W Sup/W says: transfer_to_agent({"agent_name":"Sup"})',
      'W Sup/W transfer_to_agent: "successfully transferred to agent [Sup]" > Sup',
      'Sup Sup/W/Sup says: final',
    ])
    expect(withoutSystem(lead.prompts[1])).toEqual([user('task'), user('[worker "W" finished without an answer]')])
  })

  test.each<[string, Agent, string]>([
    ['by code', code('W', () => exit('bye')), 'Sup/W'],
    [
      'by the exit tool',
      agent({
        name: 'W',
        description: 'One.',
        model: scripted(calls(['exit', { final_result: 'bye' }])),
        tools: [exitTool],
      }),
      'Sup/W',
    ],
    [
      'in the last step of an order',
      sequential({ name: 'W', description: 'Two.', agents: [code('A', () => 'a'), code('B', () => exit('bye'))] }),
      'Sup/W/A/B',
    ],
    [
      'further in',
      router({ name: 'W', description: 'Leads.', run: () => transferTo('D'), workers: [code('D', () => exit('bye'))] }),
      'Sup/W/D',
    ],
  ])('collaboration 33: a worker that exits (%s) ends the run, without a way back', async (_what, w, last) => {
    const lead = leadTo('W')
    const { outcome, paths, moves } = await played(
      router({ name: 'Sup', model: lead, workers: [w, worker('Next')], transfer: { followedBy: ['Next'] } }),
    )
    expect(outcome).toMatchObject({ status: 'completed', output: 'bye' })
    expect(paths.at(-1)).toBe(last)
    expect(moves.filter((move) => move.endsWith('by rule'))).toEqual([])
    expect(lead.prompts).toHaveLength(1)
  })

  test('a break outside of a loop is nothing', async () => {
    const { outcome, paths } = await played(
      router({ name: 'Sup', model: leadTo('W'), workers: [code('W', () => breakLoop('x'))] }),
    )
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual(['Sup', 'Sup/W', 'Sup/W/Sup'])
  })

  test('collaboration 36: a choice by a worker without targets does not count; the rule does', async () => {
    const other = scripted('never')
    const lead = leadTo('W')
    const w = code('W', (_ctx, _brief, talk) =>
      transferTo('Other', { output: `${talk.candidates.length} to choose from` }),
    )
    const { outcome, moves } = await played(router({ name: 'Sup', model: lead, workers: [w, worker('Other', other)] }))
    expect(outcome).toMatchObject({ output: 'final' })
    expect(moves).toEqual(['Sup > W by model', 'W > Sup by rule'])
    expect(other.prompts).toEqual([])
    expect(lead.prompts[1]!.at(-1)).toEqual(user('For context: [W] said: 0 to choose from.'))
  })
})

describe('who follows by rule', () => {
  const workers = ['W', 'X', 'Y', 'Z'].map((name) => worker(name))
  const follow = (agents: { readonly [name: string]: TransferEdge }, all: TransferEdge = {}) =>
    router({
      name: 'Sup',
      model: leadTo('W'),
      workers,
      transfer: { ...all, agents },
      routes: { Sup: ['W', 'X', 'Y', 'Z'] },
    })

  test('collaboration 35: two pairs run in order, once each, and then control comes back', async () => {
    const { outcome, paths, moves, heard } = await played(follow({ W: { followedBy: ['X', 'Y'] } }))
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual(['Sup', 'Sup/W', 'Sup/W/X', 'Sup/W/X/Y', 'Sup/W/X/Y/Sup'])
    expect(moves).toEqual(['Sup > W by model', 'W > X by rule', 'W > Y by rule', 'Y > Sup by rule'])
    expect(heard.filter((each) => each.startsWith('W Sup/W ')).slice(1)).toEqual([
      'W Sup/W says: transfer_to_agent({"agent_name":"X"})',
      'W Sup/W transfer_to_agent: "successfully transferred to agent [X]" > X',
      'W Sup/W says: transfer_to_agent({"agent_name":"Y"})',
      'W Sup/W transfer_to_agent: "successfully transferred to agent [Y]" > Y',
    ])
  })

  test.each<[string, Agent, string]>([
    [
      'a chain',
      follow({ W: { followedBy: ['X'] }, X: { followedBy: ['Y'] }, Y: { followedBy: ['Z'] } }),
      'Sup/W/X/Y/Z/Sup',
    ],
    [
      'those who follow a follower come before the next one',
      follow({ W: { followedBy: ['X', 'Y'] }, X: { followedBy: ['Z'] } }),
      'Sup/W/X/Z/Y/Sup',
    ],
    ['one that two name', follow({ W: { followedBy: ['X', 'Y'] }, X: { followedBy: ['Y', 'Z'] } }), 'Sup/W/X/Z/Y/Sup'],
    ['two that follow each other', follow({ W: { followedBy: ['X'] }, X: { followedBy: ['W'] } }), 'Sup/W/X/Sup'],
    ['one that follows everybody', follow({}, { followedBy: ['Z'] }), 'Sup/W/Z/Sup'],
    ['a last one that does not return', follow({ W: { followedBy: ['X'] }, X: { returns: 'never' } }), 'Sup/W/X'],
  ])('collaboration 35: each once: %s', async (_what, sup, last) => {
    expect((await played(sup)).paths.at(-1)).toBe(last)
  })

  test('collaboration 35: a follower that hands control on itself voids what was left of the rule', async () => {
    const { outcome, paths, moves } = await played(
      router({
        name: 'Sup',
        model: leadTo('W'),
        workers: [worker('W'), code('X', () => transferTo('Z')), worker('Y'), worker('Z')],
        routes: { Sup: ['W'], X: ['Z'] },
        transfer: { agents: { W: { followedBy: ['X', 'Y'] } } },
      }),
    )
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths.at(-1)).toBe('Sup/W/X/Z/Sup')
    expect(moves).toContain('X > Z by code')
  })

  test('collaboration 35: a follower’s failure is content for the lead, and remaining rules are void', async () => {
    const lead = leadTo('W')
    const bad = code('X', () => {
      throw new Error('no paper')
    })
    const sup = router({
      name: 'Sup',
      model: lead,
      workers: [worker('W'), bad, worker('Y')],
      transfer: { agents: { W: { followedBy: ['X', 'Y'] } } },
    })
    const { outcome, paths } = await played(sup)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths.at(-1)).toBe('Sup/W/X/Sup')
    expect(lead.prompts[1]!.at(-1)).toEqual(user('[worker "X" failed: its code failed]'))
  })
})
