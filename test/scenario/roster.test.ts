/** Who works for a leader, and in which version: spec team C38, C39, collaboration 24, delegation 88. */
import { expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { router } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { answer, asker, open as asked } from './asking.ts'
import { leadTo, ways, xfer } from './control.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, waiting } from './team.ts'

const worker = (name: string, model = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })
const recruits = (...names: string[]) =>
  calls(...names.map((name) => ['recruit', { worker: name, reason: 'needed' }] as const))

test('team C38: the team grows to its bound; later recruits are refused, even after others ended', async () => {
  const lead = scripted(recruits('s1'), delegates(['s1', 'work'], ['w1', 'work']), recruits('s2', 's3'), 'final')
  const boss = supervisor({
    name: 'boss',
    model: lead,
    workers: [worker('w1')],
    specialists: ['s1', 's2', 's3'].map((name) => worker(name)),
    maxTeamSize: 3,
  })
  const runtime = await runtimeOf([boss])
  const run = await runtime.start(boss, 'go')
  expect(await run.outcome()).toMatchObject({ output: 'final' })
  expect(told(lead.prompts[2])).toEqual(['s1 is done', 'w1 is done'])
  expect(told(lead.prompts[3])).toEqual([
    expect.stringContaining('"s2" has joined'),
    expect.stringMatching(/the team is full: 3/),
  ])
  expect((await run.view()).recruits.map((each) => each.worker)).toEqual(['s1', 's2'])
  expect((await eventsOf(run)).filter((event) => event.type === 'tool.refused')).toMatchObject([
    { tool: 'recruit', failure: { class: 'policy' } },
  ])
})

test('team C39: a team that begins above its bound works whole, without recruits', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `w${i}`)
  const lead = scripted(delegates(...names.map((name) => [name, 'work'] as const)), recruits('s1'), 'final')
  const boss = supervisor({
    name: 'boss',
    model: lead,
    workers: names.map((name) => worker(name)),
    specialists: [worker('s1')],
    maxTeamSize: 10,
  })
  const runtime = await runtimeOf([boss])
  expect(await runtime.run(boss, 'go')).toMatchObject({ output: 'final' })
  expect(told(lead.prompts[1])).toEqual(names.map((name) => `${name} is done`))
  expect(told(lead.prompts[2])).toEqual([expect.stringContaining('the team is full')])
})

test('collaboration 24: two agents of one name are refused where their team is made, at any depth', async () => {
  const deep = supervisor({
    name: 'mid',
    description: 'Leads.',
    model: scripted('x'),
    workers: [worker('same', scripted('another'))],
  })
  const refused = expect.objectContaining({
    code: 'team.invalid',
    message: expect.stringContaining('"same"') as string,
  }) as Error
  expect(() => supervisor({ name: 'boss', model: scripted('x'), workers: [worker('same'), deep] })).toThrow(refused)
  // who is given as a function is looked at when the runtime is made
  await expect(
    runtimeOf([supervisor({ name: 'boss', model: scripted('x'), workers: () => [worker('same'), deep] })]),
  ).rejects.toThrow(refused)
  expect(() => supervisor({ name: 'boss', model: scripted('x'), workers: [worker('same'), worker('same')] })).toThrow(
    /"same"/,
  )
})

test('delegation 88: a waiting run begun with version 1 goes on with it although version 2 exists', async () => {
  const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
  const version = (number: string) =>
    agent({
      name: 'payer',
      version: number,
      model: scripted(calls(['pay', {}]), `from version ${number}`),
      tools: [pay],
    })
  const [one, two] = [version('1'), version('2')]
  const before = await runtimeOf([one], { store: store() })
  const [open] = (await waiting(await before.start(one, 'go', { runId: 'r1' }))).waiting
  await before.close()
  const after = await runtimeOf([two], { store: store(), earlier: [one] })
  await after.decide({ approvalId: open!.id, decision: 'approve' })
  expect(await after.handle('r1').outcome()).toMatchObject({ output: 'from version 1' })
  expect((await eventsOf(after.handle('r1'))).some((event) => event.type === 'agent.moved')).toBe(false)
})

test('collaboration 100: a session’s waiting run goes on at its active agent, though the router lost it', async () => {
  const staff = (...names: string[]) => [asker('Q'), worker('W')].filter(({ name }) => names.includes(name))
  const desk = (...names: string[]) =>
    router({
      name: 'Desk',
      model: scripted(xfer('Q')),
      workers: staff(...names),
      transfer: { returns: 'never' },
      sticky: true,
    })
  const before = await runtimeOf([desk('Q', 'W')], { store: store() })
  const first = await before.start('Desk' as never, 'one', { session: 's' })
  await answer(first, (await asked(before, first, 1))[0]!, 'yes')
  await first.outcome()
  const second = await before.start('Desk' as never, 'two', { session: 's', runId: 'two' })
  const [question] = await asked(before, second, 1)
  await before.close()
  const after = await runtimeOf([desk('W'), asker('Q')], { store: store() })
  const run = after.handle('two')
  await answer(run, question!, 'still here')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'Q heard still here' })
  expect(ways(await run.view())).toEqual(['Desk', 'Desk/Q'])
})

test('collaboration 100: a rule that names a newer member changes no begun run', async () => {
  const before = await runtimeOf(
    [router({ name: 'Sup', model: leadTo('Q', 'W'), workers: [asker('Q'), worker('W')] })],
    { store: store() },
  )
  const run = await before.start('Sup' as never, 'go', { runId: 'one' })
  const [question] = await asked(before, run, 1)
  await before.close()
  const now = router({
    name: 'Sup',
    model: scripted(xfer('W'), 'final'),
    workers: [asker('Q'), worker('W'), worker('New')],
    transfer: { agents: { W: { followedBy: ['New'] } } },
  })
  const after = await runtimeOf([now], { store: store() })
  await answer(after.handle('one'), question!, 'yes')
  expect(await after.handle('one').outcome()).toMatchObject({ status: 'completed', output: 'final' })
  expect(ways(await after.handle('one').view())).toEqual([
    'Sup',
    'Sup/Q',
    'Sup/Q/Sup',
    'Sup/Q/Sup/W',
    'Sup/Q/Sup/W/Sup',
  ])
})

test('delegation 88: a router leads in the version it began with, also in later turns', async () => {
  const version = (number: string) =>
    router({
      name: 'Sup',
      version: number,
      model: scripted(xfer('Q'), `from version ${number}`),
      workers: [asker('Q')],
    })
  const [one, two] = [version('1'), version('2')]
  const before = await runtimeOf([one], { store: store() })
  const run = await before.start(one, 'go', { runId: 'r1' })
  const [question] = await asked(before, run, 1)
  await before.close()
  const after = await runtimeOf([two], { store: store(), earlier: [one] })
  await answer(after.handle('r1'), question!, 'yes')
  expect(await after.handle('r1').until('waiting')).toMatchObject({ output: 'from version 1' })
  const { activations } = await after.handle('r1').view()
  expect(activations.filter(({ agent: name }) => name === 'Sup').map((each) => each.version)).toEqual([
    one.version,
    one.version,
  ])
})

test('a worker replaced while a runtime is open works at any depth, even if only functions differ', async () => {
  const made = (name: string, said: string, description = 'Works.') => agent({ name, description, run: () => said })
  const lead = (name: string, to: string) => {
    const model = scripted((request) => (told(request.messages)[0] as string | undefined) ?? delegates([to, 'x']))
    return supervisor({ name, description: 'Leads.', model, workers: [made('w', 'old'), made('other', 'other')] })
  }
  const inner = lead('inner', 'w')
  const outer = supervisor({
    name: 'outer',
    model: scripted((request) => (told(request.messages)[0] as string | undefined) ?? delegates(['inner', 'x'])),
    workers: [inner],
  })
  const runtime = await runtimeOf([outer])
  expect(await runtime.run(outer, 'go')).toMatchObject({ output: 'old' })
  for (const next of [made('w', 'new'), made('w', 'newer', 'Works better.')]) {
    inner.remove('w')
    inner.add(next)
    expect(inner.related().find(({ name }) => name === 'w')?.version).toBe(made('w', 'old').version)
    expect(await runtime.run(outer, 'go')).toMatchObject({ output: next.description === 'Works.' ? 'new' : 'newer' })
    expect(await runtime.run(inner, 'go')).toMatchObject({ output: next.description === 'Works.' ? 'new' : 'newer' })
  }
})

test('another team’s agent of that name is refused before anything begins', async () => {
  const shared = agent({ name: 'w', description: 'Works.', run: () => 'old' })
  const [one, two] = ['one', 'two'].map((name) =>
    supervisor({ name, model: scripted(delegates(['w', 'x']), 'end'), workers: [shared] }),
  ) as [ReturnType<typeof supervisor>, ReturnType<typeof supervisor>]
  const runtime = await runtimeOf([one, two])
  one.remove('w')
  one.add(agent({ name: 'w', description: 'Works.', run: () => 'new' }))
  await expect(runtime.run(one, 'go')).rejects.toMatchObject({
    code: 'team.invalid',
    message: expect.stringContaining('two different agents are called "w"') as string,
  })
  expect(await runtime.runs()).toEqual([])
})
