/**
 * Spec collaboration, section C: routers inside routers and other agents; workers that ask outside, also over a
 * restart; how far an exit goes; who stays active.
 */
import { describe, expect, test } from 'vitest'
import { agent, exit, step, tool, transferTo, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, exitTool, loop, parallel, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { scripted as byTurn, simulate, teamScenario } from '@reeve/testing'
import { code, hops, leadTo, line, pay, played, said, user, ways, withoutSystem, worker, xfer } from './control.ts'
import { calls, eventsOf, runtimeOf, scripted, store, waiting, type Scripted } from './team.ts'

const payer = (done: Json[], name = 'W') =>
  agent({ name, description: 'Pays.', model: scripted(calls(['pay', { n: 1 }]), `${name} paid`), tools: [pay(done)] })
/** Begins, waits for the one approval, goes on in another process, and gives it. */
async function approvedElsewhere(root: Agent, others: readonly Agent[] = []) {
  const agents = [root, ...others]
  const before = await runtimeOf(agents, { store: store() })
  const run = await before.start(root, 'task', { runId: 'r1' })
  const [open] = (await waiting(run)).waiting
  await before.close()
  const after = await runtimeOf(agents, { store: store() })
  const going = after.handle('r1')
  await going.decide({ approvalId: open!.id, decision: 'approve' })
  const outcome = await going.outcome()
  return { outcome, open: open!, run: going, paths: ways(await going.view()), events: await eventsOf(going) }
}

describe('a router under a router', () => {
  test('collaboration 43: the worker returns to Mid, Mid to Top, and the paths say so', async () => {
    const [w, mid, top] = [scripted('w answers'), scripted(xfer('W'), 'mid answers'), leadTo('Mid')]
    const inner = router({ name: 'Mid', description: 'Leads.', model: mid, workers: [worker('W', w)] })
    const { run, outcome, paths, moves } = await played(router({ name: 'Top', model: top, workers: [inner] }))
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual(['Top', 'Top/Mid', 'Top/Mid/W', 'Top/Mid/W/Mid', 'Top/Mid/Top'])
    expect(moves).toEqual(['Top > Mid by model', 'Mid > W by model', 'W > Mid by rule', 'Mid > Top by rule'])
    const back = (await said(run))
      .filter((each) => each.type === 'tool' && each.action?.type === 'transfer')
      .map(({ path }) => path.join('/'))
    expect(back).toEqual(['Top', 'Top/Mid', 'Top/Mid/W', 'Top/Mid'])
    expect(withoutSystem(top.prompts[1])).toEqual([
      user('task'),
      user('For context: [W] said: w answers.'),
      user('For context: [Mid] said: mid answers.'),
    ])
  })

  test('collaboration 43: three deep, with a rule in the middle; each leader is asked again once', async () => {
    const low = router({
      name: 'Low',
      description: 'Leads.',
      model: scripted(xfer('W'), 'low answers'),
      workers: [worker('W')],
    })
    const mid = router({
      name: 'Mid',
      description: 'Leads.',
      model: scripted(xfer('Low'), 'mid answers'),
      workers: [low, worker('Next')],
      transfer: { agents: { Low: { followedBy: ['Next'] } } },
    })
    const { outcome, paths } = await played(router({ name: 'Top', model: leadTo('Mid'), workers: [mid] }))
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual([
      'Top',
      'Top/Mid',
      'Top/Mid/Low',
      'Top/Mid/Low/W',
      'Top/Mid/Low/W/Low',
      'Top/Mid/Low/Next',
      'Top/Mid/Low/Next/Mid',
      'Top/Mid/Top',
    ])
  })

  test('collaboration 43: Mid may transfer up if it returns on request, and to a sibling if routes say so', async () => {
    const mid = scripted(xfer('W'), xfer('Other'))
    const inner = router({ name: 'Mid', description: 'Leads.', model: mid, workers: [worker('W')] })
    const top = router({
      name: 'Top',
      model: leadTo('Mid'),
      workers: [inner, worker('Other')],
      routes: { Mid: ['Top', 'Other'] },
    })
    const { outcome, paths } = await played(top)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual([
      'Top',
      'Top/Mid',
      'Top/Mid/W',
      'Top/Mid/W/Mid',
      'Top/Mid/W/Mid/Other',
      'Top/Mid/W/Mid/Other/Top',
    ])
    expect(mid.tools[0]).toMatchObject([
      { parameters: { properties: { agent_name: { enum: ['W', 'Top', 'Other'] } } } },
    ])
  })

  test('one agent further in and further out is offered once, and the nearer one is meant', async () => {
    const w = worker('W')
    const mid = scripted(xfer('W'), 'mid answers')
    const inner = router({ name: 'Mid', description: 'Leads.', model: mid, workers: [w] })
    const { paths } = await played(
      router({
        name: 'Top',
        model: leadTo('Mid'),
        workers: [inner, w],
        routes: { Top: ['Mid', 'W'], Mid: ['W', 'Top'] },
      }),
    )
    expect(mid.tools[0]).toMatchObject([{ parameters: { properties: { agent_name: { enum: ['W', 'Top'] } } } }])
    expect(paths).toEqual(['Top', 'Top/Mid', 'Top/Mid/W', 'Top/Mid/W/Mid', 'Top/Mid/Top'])
  })

  test.each<[string, Agent[], 'run' | 'supervisor', string, string]>([
    [
      'of the run, by the tool',
      [
        agent({
          name: 'Mid',
          description: 'One.',
          model: scripted(calls(['exit', { final_result: 'bye' }])),
          tools: [exitTool],
        }),
      ],
      'run',
      'bye',
      'Top/Mid',
    ],
    ['of the run, by code', [code('W', () => exit('bye'))], 'run', 'bye', 'Top/Mid/W'],
    ['of the nearest router', [code('W', () => exit('bye', 'supervisor'))], 'supervisor', 'final', 'Top/Mid/Top'],
  ])('collaboration 51: an exit %s', async (_what, workers, _scope, output, last) => {
    const [w] = workers
    const mid =
      w!.name === 'Mid'
        ? w!
        : router({ name: 'Mid', description: 'Leads.', model: scripted(xfer('W'), 'never'), workers: [w!] })
    const top = leadTo('Mid')
    const { outcome, paths } = await played(router({ name: 'Top', model: top, workers: [mid] }))
    expect(outcome).toMatchObject({ status: 'completed', output })
    expect(paths.at(-1)).toBe(last)
    expect(top.prompts).toHaveLength(output === 'bye' ? 1 : 2)
  })

  test.each(['run', 'supervisor'] as const)("collaboration 51: Mid's own lead exits: %s", async (scope) => {
    const leave = tool({
      name: 'leave',
      effect: 'read',
      execute: () => 'bye',
      action: scope === 'run' ? 'exit' : { exit: 'supervisor' },
    })
    const mid = router({
      name: 'Mid',
      description: 'Leads.',
      model: scripted(calls(['leave', {}])),
      tools: [leave],
      workers: [worker('W')],
    })
    const { outcome, paths, heard } = await played(router({ name: 'Top', model: leadTo('Mid'), workers: [mid] }))
    expect(outcome).toMatchObject({ output: scope === 'run' ? 'bye' : 'final' })
    expect(paths.at(-1)).toBe(scope === 'run' ? 'Top/Mid' : 'Top/Mid/Top')
    expect(heard).toContain(`Mid Top/Mid exit ${scope}`)
  })
})

test('collaboration 50: each activation begins once and ends once: Sup twice, W once', async () => {
  const { run } = await played(router({ name: 'Sup', model: leadTo('W'), workers: [worker('W')] }))
  const events = await eventsOf(run)
  const { activations } = await run.view()
  expect(events.flatMap((event) => (event.type === 'activation.started' ? [event.agent] : [])).toSorted()).toEqual([
    'Sup',
    'Sup',
    'W',
  ])
  expect(events.filter(({ type }) => type === 'activation.settled')).toHaveLength(3)
  expect(activations.map(({ agent: name, modelCalls }) => [name, modelCalls])).toEqual([
    ['Sup', 1],
    ['W', 1],
    ['Sup', 1],
  ])
})

describe('asked outside, and gone on in another process', () => {
  test('collaboration 34: no hand back while a worker waits; its last words follow the answer, then control', async () => {
    const done: Json[] = []
    const sup = router({ name: 'Sup', model: leadTo('W'), workers: [payer(done)] })
    const before = await runtimeOf([sup], { store: store() })
    const run = await before.start(sup, 'task', { runId: 'r1' })
    const [open] = (await waiting(run)).waiting
    const sofar: string[] = []
    for await (const each of run.messages()) {
      sofar.push(line(each))
      if (each.type === 'approval') break
    }
    expect(sofar.slice(2)).toEqual(['W Sup/W says: pay({"n":1})', 'W Sup/W approval'])
    expect(ways(await run.view())).toEqual(['Sup', 'Sup/W'])
    await before.close()
    const after = (await runtimeOf([sup], { store: store() })).handle('r1')
    await after.decide({ approvalId: open!.id, decision: 'approve' })
    expect(await after.outcome()).toMatchObject({ output: 'final' })
    expect((await said(after)).map(line).slice(4)).toEqual([
      'W Sup/W pay: "paid"',
      'W Sup/W says: W paid',
      'W Sup/W says: transfer_to_agent({"agent_name":"Sup"})',
      'W Sup/W transfer_to_agent: "successfully transferred to agent [Sup]" > Sup',
      'Sup Sup/W/Sup says: final',
    ])
    expect(done).toEqual([{ n: 1 }])
  })

  test('asked in the deepest tool, it goes on there, and control comes back to Mid and to Top', async () => {
    const done: Json[] = []
    const [mid, top] = [scripted(xfer('W'), 'mid answers'), leadTo('Mid')]
    const inner = router({ name: 'Mid', description: 'Leads.', model: mid, workers: [payer(done)] })
    const { outcome, open, paths } = await approvedElsewhere(router({ name: 'Top', model: top, workers: [inner] }))
    expect(outcome).toMatchObject({ output: 'final' })
    expect(open).toMatchObject({ path: ['Top', 'Mid', 'W'], tool: 'pay' })
    expect(paths).toEqual(['Top', 'Top/Mid', 'Top/Mid/W', 'Top/Mid/W/Mid', 'Top/Mid/Top'])
    expect([done, mid.prompts.length, top.prompts.length]).toEqual([[{ n: 1 }], 2, 2])
    expect(top.prompts[1]!.at(-1)).toEqual(user('For context: [Mid] said: mid answers.'))
  })

  test.each(['sequential', 'loop'] as const)(
    'a %s worker goes on in its second step, and nothing of the first is done again',
    async (kind) => {
      const [done, first]: [Json[], string[]] = [[], []]
      const a = code('A', (ctx) => step(ctx, 'first', () => (first.push('ran'), 'a did')))
      const order = { name: 'Flow', description: 'A, then B.', agents: [a, payer(done, 'B')] }
      const flow = kind === 'loop' ? loop({ ...order, maxIterations: 1 }) : sequential(order)
      const { outcome, paths, events } = await approvedElsewhere(
        router({ name: 'Sup', model: leadTo('Flow'), workers: [flow] }),
      )
      expect(outcome).toMatchObject({ output: 'final' })
      expect(paths).toEqual(['Sup', 'Sup/Flow', 'Sup/Flow/A', 'Sup/Flow/A/B', 'Sup/Flow/Sup'])
      expect([first, done]).toEqual([['ran'], [{ n: 1 }]])
      expect(events.filter(({ type }) => type === 'approval.requested')).toHaveLength(1)
    },
  )

  test('collaboration 46: while one branch asks the other ends; then the first goes on, and the lead sees both', async () => {
    const done: Json[] = []
    const [b, lead] = [scripted('b result'), leadTo('All')]
    const all = parallel({ name: 'All', description: 'Both.', agents: [payer(done, 'A'), worker('B', b)] })
    const sup = router({ name: 'Sup', model: lead, workers: [all] })
    const before = await runtimeOf([sup], { store: store() })
    const run = await before.start(sup, 'task', { runId: 'r1' })
    const [open] = (await waiting(run)).waiting
    const states = (await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)
    expect(states.toSorted()).toEqual(['A waiting', 'All waiting', 'B completed', 'Sup waiting'])
    await before.close()
    const after = (await runtimeOf([sup], { store: store() })).handle('r1')
    await after.decide({ approvalId: open!.id, decision: 'approve' })
    expect(await after.outcome()).toMatchObject({ output: 'final' })
    expect([b.prompts.length, done]).toEqual([1, [{ n: 1 }]])
    const seen = JSON.stringify(lead.prompts[1])
    expect(seen.indexOf('[A] said: A paid.')).toBeGreaterThan(0)
    expect(seen.indexOf('[B] said: b result.')).toBeGreaterThan(seen.indexOf('[A] said: A paid.'))
  })

  test('collaboration 49: as a step of an order: the next step sees what came of it', async () => {
    const [done, next]: [Json[], Scripted] = [[], scripted('next answers')]
    const sup = router({ name: 'Sup', description: 'Leads.', model: leadTo('W'), workers: [payer(done)] })
    const { outcome, paths, open } = await approvedElsewhere(
      sequential({ name: 'Seq', agents: [worker('Pre'), sup, worker('Next', next)] }),
    )
    expect(outcome).toMatchObject({ output: 'next answers' })
    expect(open.path).toEqual(['Seq', 'Pre', 'Sup', 'W'])
    expect(paths).toEqual(['Seq', 'Seq/Pre', 'Seq/Pre/Sup', 'Seq/Pre/Sup/W', 'Seq/Pre/Sup/W/Sup', 'Seq/Pre/Sup/Next'])
    expect(next.prompts[0]!.slice(-2)).toEqual([
      user('For context: [W] said: W paid.'),
      user('For context: [Sup] said: final.'),
    ])
    expect(done).toEqual([{ n: 1 }])
  })

  test('collaboration 49: as a tool: the one who called gets its answer and goes on', async () => {
    const done: Json[] = []
    const sup = router({ name: 'Sup', description: 'Leads.', model: leadTo('W'), workers: [payer(done)] })
    const outer = scripted(calls(['Sup', { request: 'pay' }]), 'outer answers')
    const { outcome, open, paths } = await approvedElsewhere(
      agent({ name: 'Outer', model: outer, tools: [asTool(sup)] }),
    )
    expect(outcome).toMatchObject({ output: 'outer answers' })
    expect(open.path).toEqual(['Outer', 'Sup', 'W'])
    expect(paths).toEqual(['Outer', 'Outer/Sup', 'Outer/Sup/W', 'Outer/Sup/W/Sup'])
    expect(outer.prompts[1]!.at(-1)).toMatchObject({ role: 'tool', content: 'final' })
    expect(done).toEqual([{ n: 1 }])
  })

  test('a question of code, and the choice it makes of the answer, hold over a restart', async () => {
    const sup = router({
      name: 'Sup',
      run: async (ctx, _brief, talk) =>
        talk.history.some((entry) => entry.agent === 'B')
          ? 'final'
          : transferTo((await interrupt(ctx, 'who?')) as string),
      workers: [worker('A'), worker('B')],
    })
    const before = await runtimeOf([sup], { store: store() })
    const [question] = (await waiting(await before.start(sup, 'task', { runId: 'r1' }))).questions
    await before.close()
    const run = (await runtimeOf([sup], { store: store() })).handle('r1')
    await run.answer({ interruptId: question!.id, value: 'B' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(await hops(run)).toEqual(['Sup > B by code', 'B > Sup by rule'])
  })
})

describe('who stays active in a session', () => {
  const desk = (sticky: boolean, lead: Scripted, w: Scripted) =>
    router({ name: 'Desk', model: lead, workers: [worker('W', w)], transfer: { returns: 'on-request' }, sticky })

  test('sticky: the next run begins with the last speaker, who knows the talk; back with the lead, the lead', async () => {
    const [lead, w] = [
      scripted(xfer('W'), 'lead answers', 'lead again'),
      scripted('w answers', 'w again', xfer('Desk')),
    ]
    const sticky = desk(true, lead, w)
    const runtime = await runtimeOf([sticky])
    const seen: [Json, string[]][] = []
    for (const input of ['one', 'two', 'three', 'four']) {
      const run = await runtime.start(sticky, input, { session: 's1' })
      const outcome = await run.outcome()
      seen.push([outcome.status === 'completed' ? outcome.output : outcome.status, ways(await run.view())])
    }
    expect(seen).toEqual([
      ['w answers', ['Desk', 'Desk/W']],
      ['w again', ['Desk', 'Desk/W']],
      ['lead answers', ['Desk', 'Desk/W', 'Desk/W/Desk']],
      ['lead again', ['Desk']],
    ])
    expect(withoutSystem(w.prompts[1])).toEqual([user('one'), { role: 'assistant', content: 'w answers' }, user('two')])
    expect(withoutSystem(lead.prompts[1])).toEqual([
      user('one'),
      user('For context: [W] said: w answers.'),
      user('two'),
      user('For context: [W] said: w again.'),
      user('three'),
    ])
    expect([lead.prompts.length, w.prompts.length]).toEqual([3, 3])
  })

  test('not sticky, or in another session, or in none: the lead begins', async () => {
    for (const [sticky, sessions] of [
      [false, ['s1', 's1']],
      [true, ['s1', 's2']],
      [true, [undefined, undefined]],
    ] as const) {
      const lead = scripted(xfer('W'), 'lead answers')
      const root = desk(sticky, lead, scripted('w answers'))
      const runtime = await runtimeOf([root])
      const outputs: Json[] = []
      for (const session of sessions) {
        const outcome = await runtime.run(root, 'task', session === undefined ? {} : { session })
        outputs.push(outcome.status === 'completed' ? outcome.output : outcome.status)
      }
      expect(outputs).toEqual(['w answers', 'lead answers'])
    }
  })
})

test('K5, K6: two routers, a rule and an exit die at every point and come to the same end', async () => {
  const echo = tool({ name: 'echo', effect: 'read', execute: () => 'echoed' })
  const w = agent({ name: 'W', description: 'One.', model: byTurn(calls(['echo', {}]), 'w result'), tools: [echo] })
  const mid = router({
    name: 'Mid',
    description: 'Leads.',
    model: byTurn(xfer('W', 'm1'), 'mid answers'),
    workers: [w, code('X', (_ctx, _brief, talk) => (talk.say('I follow'), 'x result'))],
    transfer: { transfers: 'shown', agents: { W: { followedBy: ['X'] } } },
  })
  const out = code('Out', () => exit('bye'))
  const lost = code('Lost', () => Promise.reject(new Error('no paper')))
  const top = router({
    name: 'Top',
    model: byTurn(xfer('Mid', 't1'), xfer('Lost', 't2', 'try'), xfer('Out', 't3')),
    workers: [mid, lost, out],
    transfer: { transfers: 'shown' },
  })
  const { end, differences, repeated, points } = await simulate(teamScenario({ agents: [top], input: 'go' }))
  const failures = [{ worker: 'Lost', code: 'orchestration.threw' }]
  expect(end.outcome).toEqual({ status: 'completed', output: 'bye', failures })
  expect(differences).toEqual([])
  expect(repeated).toEqual([])
  expect(points).toBeGreaterThan(30)
}, 60_000)
