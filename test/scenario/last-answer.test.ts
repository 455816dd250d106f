/** `lastAnswer`: the last turn is for an answer (spec collaboration 115, #755). */
import { expect, test } from 'vitest'
import { agent, lastTurn, tool } from '@reeve/agent'
import { router, sequential } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, told } from './team.ts'

const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
/** Calls as long as there is something to call. */
const eager = (last: Parameters<typeof scripted>[0] = 'all I know') =>
  scripted((request) =>
    request.tools.length > 0
      ? { ...calls(['look', {}]), text: 'so far' }
      : typeof last === 'function'
        ? last(request)
        : (last as string),
  )

test('collaboration 115: the graceful variant: the last of two turns asks without tools for an answer', async () => {
  const model = eager()
  const A = agent({ name: 'A', model, tools: [look], limits: { turns: 2 }, lastAnswer: true })
  const run = await (await runtimeOf([A])).start(A, 'go')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all I know' })
  expect(model.tools.map((tools) => tools.length)).toEqual([1, 0])
  expect(model.prompts[1]!.slice(-2)).toMatchObject([
    { role: 'tool', content: 'seen' },
    { role: 'user', content: lastTurn },
  ])
  expect((await eventsOf(run)).filter((event) => event.type === 'model.requested')).toHaveLength(2)
})

test('who answers before is not asked so; who has one turn only has no tools at all', async () => {
  const model = scripted(calls(['look', {}]), 'early')
  const A = agent({ name: 'A', model, tools: [look], limits: { turns: 3 }, lastAnswer: true })
  expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ output: 'early' })
  expect(JSON.stringify(model.prompts)).not.toContain(lastTurn)
  const single = eager('at once')
  const B = agent({ name: 'B', model: single, tools: [look], limits: { turns: 1 }, lastAnswer: true })
  expect(await (await runtimeOf([B])).run(B, 'go')).toMatchObject({ output: 'at once' })
  expect(single.prompts[0]).toEqual([
    { role: 'user', content: 'go' },
    { role: 'user', content: lastTurn },
  ])
})

test('a call in it is refused, stays within the hard limit, and keeps the text so far', async () => {
  const seen: number[] = []
  const counts = tool({ name: 'look', execute: () => seen.push(1) })
  const model = eager(() => ({ ...calls(['look', {}]), text: 'one more' }))
  const A = agent({ name: 'A', model, tools: [counts], limits: { turns: 2 }, lastAnswer: true })
  expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({
    status: 'limited',
    limit: 'turns',
    partial: 'one more',
  })
  expect([model.prompts.length, seen.length]).toEqual([2, 1])
})

test('an answer that does not have the promised form is no answer: there is no turn left to correct it', async () => {
  const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
  const make = (last: string) =>
    agent({ name: 'A', model: eager(last), tools: [look], output, limits: { turns: 2 }, lastAnswer: true })
  expect(await (await runtimeOf([make('{"n":1}')])).run('A', 'go')).toMatchObject({
    status: 'completed',
    output: { n: 1 },
  })
  expect(await (await runtimeOf([make('none')])).run('A', 'go')).toMatchObject({
    status: 'limited',
    limit: 'turns',
    partial: 'none',
  })
})

test('without a limit of its own it holds for the twentieth turn', async () => {
  const model = eager()
  const A = agent({ name: 'A', model, tools: [look], lastAnswer: true })
  expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ output: 'all I know' })
  expect(model.prompts).toHaveLength(20)
})

test('leaders too, and Reeve’s verbs with the tools: supervisors, and a router’s lead each time', async () => {
  const w = agent({ name: 'w', description: 'Works.', model: scripted('worked') })
  const lead = scripted((request) => (request.tools.length > 0 ? delegates(['w', 'x']) : 'final'))
  const boss = supervisor({ name: 'boss', model: lead, workers: [w], lastAnswer: true, limits: { turns: 4 } })
  // its own turns and the worker's are of one account; the last one is kept for it
  expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ status: 'completed', output: 'final' })
  const within = sequential({
    name: 'flow',
    agents: [supervisor({ name: 'boss', model: lead, workers: [w], lastAnswer: true })],
  })
  expect(await (await runtimeOf([within])).run(within, 'go')).toMatchObject({ output: 'final' })
  const sup = scripted((request) =>
    request.tools.length > 0 ? calls(['transfer_to_agent', { agent_name: 'w' }]) : 'final',
  )
  const Sup = router({ name: 'Sup', model: sup, workers: [w], lastAnswer: true, limits: { turns: 1 } })
  expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'final' })
  expect(sup.tools).toEqual([[]])
})

test('workers use up the tree’s turns but the last: it is kept for the answer of the limit’s leader', async () => {
  const worker = agent({
    name: 'w',
    description: 'Works.',
    model: scripted(calls(['look', {}]), calls(['look', {}]), 'worked'),
    tools: [look],
  })
  const lead = scripted({ ...delegates(['w', 'x']), text: 'I ask w' }, 'with what there is')
  const boss = supervisor({ name: 'boss', model: lead, workers: [worker], lastAnswer: true, limits: { turns: 4 } })
  expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({
    status: 'completed',
    output: 'with what there is',
  })
  expect(lead.tools.map(({ length }) => length > 0)).toEqual([true, false])
  expect(told(lead.prompts[1]!.slice(0, -1))).toEqual([expect.stringContaining('stopped at its limit of turns')])
  const patient = agent({
    name: 'w',
    description: 'Works.',
    model: eager('the worker’s last'),
    tools: [look],
    lastAnswer: true,
    limits: { turns: 2 },
  })
  const leads = scripted(delegates(['w', 'x']), 'final')
  const over = supervisor({ name: 'boss', model: leads, workers: [patient] })
  await (await runtimeOf([over])).run(over, 'go')
  expect(told(leads.prompts[1])).toEqual(['the worker’s last'])
})

test('the note is no part of what others are shown', async () => {
  const next = scripted('final')
  const A = agent({ name: 'A', model: eager(), tools: [look], limits: { turns: 2 }, lastAnswer: true })
  const flow = sequential({ name: 'flow', agents: [A, agent({ name: 'B', model: next })] })
  await (await runtimeOf([flow])).run(flow, 'go')
  expect(JSON.stringify(next.prompts[0])).toContain('all I know')
  expect(JSON.stringify(next.prompts[0])).not.toContain(lastTurn)
})
