/**
 * Spec collaboration, section B: what a definition of a router refuses and allows, how long control may be handed on,
 * where it stands in a trace.
 */
import { describe, expect, test } from 'vitest'
import { agent, transferTo, type Agent } from '@reeve/agent'
import { asTool, parallel, router, sequential, type TransferEdge } from '@reeve/flow'
import { hops, leadTo, ways, worker, xfer } from './control.ts'
import { calls, eventsOf, runtimeOf, scripted, told } from './team.ts'

const lead = () => scripted('final')
/** What is wrong with what is defined here, one sentence each. */
async function problemsOf(define: () => Agent): Promise<string[]> {
  const thrown: unknown = await Promise.resolve()
    .then(() => runtimeOf([define()]))
    .catch((problem: unknown) => problem)
  expect(thrown).toMatchObject({ code: 'team.invalid' })
  return (thrown as Error).message.split('\n')
}

describe('names', () => {
  const another = (name: string) => agent({ name, description: 'Another one.', model: scripted('x') })

  test.each<[string, () => Agent]>([
    ['two siblings', () => router({ name: 'P', model: lead(), workers: [worker('W'), another('W')] })],
    [
      'the same agent twice',
      () => {
        const w = worker('W')
        return router({ name: 'P', model: lead(), workers: [w, w] })
      },
    ],
    ['a worker and its router', () => router({ name: 'W', model: lead(), workers: [another('W')] })],
    [
      'a worker and one further down',
      () => {
        const mid = router({ name: 'Mid', description: 'Leads.', model: lead(), workers: [another('W')] })
        return router({ name: 'P', model: lead(), workers: [worker('W'), mid] })
      },
    ],
    [
      'the router and one further down',
      () => {
        const mid = sequential({
          name: 'Mid',
          description: 'In order.',
          agents: [parallel({ name: 'All', agents: [another('W')] })],
        })
        return router({ name: 'W', model: lead(), workers: [mid] })
      },
    ],
  ])('collaboration 24: one name for %s: nothing is started, and the error says which name', async (_what, define) => {
    expect((await problemsOf(define)).join('\n')).toMatch(/"W" is named twice|two different agents are called "W"/)
  })

  test('collaboration 25: ours: one agent may work under several leaders; a team is fixed when it is defined', async () => {
    const model = scripted('w answers')
    const w = worker('W', model)
    const [one, two] = ['One', 'Two'].map((name) =>
      router({ name, description: 'Leads.', model: scripted(xfer('W'), `${name} final`), workers: [w] }),
    )
    const workers: Agent[] = [one!, two!]
    const top = router({ name: 'Top', model: scripted(xfer('One'), xfer('Two'), 'final'), workers })
    workers.pop() // it was read when Top was defined
    const runtime = await runtimeOf([top])
    const run = await runtime.start(top, 'task')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(ways(await run.view())).toEqual([
      'Top',
      'Top/One',
      'Top/One/W',
      'Top/One/W/One',
      'Top/One/Top',
      'Top/One/Top/Two',
      'Top/One/Top/Two/W',
      'Top/One/Top/Two/W/Two',
      'Top/One/Top/Two/Top',
    ])
    expect(await runtime.run(w, 'alone, after all that')).toMatchObject({ output: 'w answers' })
    expect(await (await runtimeOf([w])).run(w, 'and elsewhere')).toMatchObject({ output: 'w answers' })
  })

  test('collaboration 26: without a target: accepted, and there is no such tool', async () => {
    const model = lead()
    const alone = router({ name: 'P', instructions: 'Answer.', model, workers: [] })
    expect(await (await runtimeOf([alone])).run(alone, 'task')).toMatchObject({ output: 'final' })
    expect(model.tools).toEqual([[]])
    expect(model.prompts[0]![0]).toEqual({ role: 'system', content: 'Answer.' })
  })

  test('everything that is wrong is said at once', async () => {
    const bare = agent({ name: 'Bare', model: lead() })
    const wrong = {
      returns: 'sometimes',
      onFailure: 'panic',
      context: 'everything',
      shares: 'some',
      transfers: 'loud',
    } as unknown as TransferEdge
    const options = {
      name: 'P',
      model: lead(),
      workers: [worker('A'), worker('B'), bare],
      transfer: {
        followedBy: ['Ghost'],
        agents: { A: { ...wrong, followedBy: ['B', 'B', 'P'], permissions: { deny: ['a b'] } }, Stranger: {} },
      },
      routes: { P: ['A', 'Nobody'], A: ['A'], Who: [] },
    }
    const problems = await problemsOf(() => router(options as unknown as Parameters<typeof router>[0]))
    for (const says of [
      /"Bare" has no description/,
      /returns is the text "sometimes"/,
      /onFailure is the text "panic"/,
      /context is the text "everything"/,
      /shares is the text "some"/,
      /transfers is the text "loud"/,
      /followedBy names an agent twice: B, B, P/,
      /what follows every worker: unknown agent "Ghost"/,
      /what follows "A" names the router/,
      /permissions\.deny\[0\] is the text "a b"/,
      /unknown agent "Stranger"/,
      /the routes of "P": unknown agent "Nobody"/,
      /routes: unknown agent "Who"/,
      /the routes of "A" lead to itself/,
      /no agent can hand control to "Bare"/,
    ])
      expect(problems).toContainEqual(expect.stringMatching(says))
  })

  test('an agent that follows itself is refused; one that follows all others does not follow itself', async () => {
    const made = (transfer: object) =>
      router({ name: 'P', model: leadTo('A'), workers: [worker('A'), worker('B')], transfer })
    expect(await problemsOf(() => made({ agents: { A: { followedBy: ['B', 'A'] } } }))).toEqual([
      'router "P": what follows "A" names that agent itself',
    ])
    const run = await (await runtimeOf([made({ followedBy: ['B'] })])).start('P', 'task')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(ways(await run.view())).toEqual(['P', 'P/A', 'P/A/B', 'P/A/B/P'])
  })

  test.each(['constructor', 'toString', '__proto__'])('collaboration 13: an agent may be called %s', async (name) => {
    const top = router({
      name: 'Top',
      model: leadTo('W'),
      workers: [worker('W'), worker(name)],
      transfer: { agents: { W: { followedBy: [name] } } },
    })
    const run = await (await runtimeOf([top])).start(top, 'task')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(ways(await run.view())).toEqual(['Top', 'Top/W', `Top/W/${name}`, `Top/W/${name}/Top`])
  })

  test('a worker reached only by a rule or another worker is reachable; one without any route is not', async () => {
    const workers = () => [worker('A'), worker('B'), worker('C')]
    const fine = router({
      name: 'P',
      model: lead(),
      workers: workers(),
      transfer: { agents: { A: { followedBy: ['B'] } } },
      routes: { P: ['A'], B: ['C'] },
    })
    await expect(runtimeOf([fine])).resolves.toBeDefined()
    expect(
      await problemsOf(() => router({ name: 'P', model: lead(), workers: workers(), routes: { P: ['A'], B: ['C'] } })),
    ).toEqual(['router "P": no agent can hand control to "B"', 'router "P": no agent can hand control to "C"'])
    const led = { returns: 'never', followedBy: ['C'], onFailure: 'end', limits: { turns: 1 } } as const
    const said = await problemsOf(() =>
      router({
        name: 'P',
        model: lead(),
        workers: workers(),
        routes: { P: ['A', 'B'] },
        transfer: { agents: { P: led } },
      }),
    )
    expect(said).toEqual([
      ...Object.keys(led).map((option) => `router "P": ${option} is said of the router itself, and means its workers`),
      'router "P": no agent can hand control to "C"', // nothing follows the lead by rule
    ])
  })

  test('routers that lead to each other are refused, with the way', async () => {
    const one: Agent = router({ name: 'One', description: 'Leads.', model: lead(), workers: () => [two] })
    const two: Agent = router({ name: 'Two', description: 'Leads.', model: lead(), workers: () => [one] })
    expect(await problemsOf(() => one)).toContainEqual(
      expect.stringMatching(/agents contain each other: One > Two > One/),
    )
  })
})

describe('a worker by itself', () => {
  test('collaboration 28: a model agent has no such tool, and a call of it is content', async () => {
    const model = scripted(xfer('P'), 'then I answer')
    const w = worker('W', model)
    const desk = router({ name: 'P', model: lead(), workers: [w], transfer: { returns: 'on-request' } })
    expect(await (await runtimeOf([desk])).run(w, 'task')).toMatchObject({ output: 'then I answer' })
    expect(model.tools[0]).toEqual([])
    expect(told(model.prompts[1])).toEqual([expect.stringMatching(/no tool "transfer_to_agent"/)])
  })

  test('collaboration 28: code that hands over is told to run the router', async () => {
    const w = agent({ name: 'W', description: 'One.', run: () => transferTo('P') })
    const desk = router({ name: 'P', model: lead(), workers: [w], transfer: { returns: 'on-request' } })
    expect(await (await runtimeOf([desk])).run(w, 'task')).toMatchObject({
      status: 'failed',
      failure: { code: 'transfer.refused', hint: expect.stringMatching(/Run the router/) as string },
    })
  })
})

describe('how long', () => {
  /** Two that only hand control to each other. */
  const bouncing = (limits?: { transfers: number }, text = '') =>
    router({
      name: 'P',
      model: scripted({ text, ...xfer('C') }),
      workers: [worker('C', scripted({ text, ...xfer('P') }))],
      transfer: { returns: 'on-request' },
      ...(limits === undefined ? {} : { limits }),
    })

  test('collaboration 29: control that only goes round ends with the round', async () => {
    const desk = bouncing()
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    expect(await run.outcome()).toMatchObject({
      status: 'failed',
      failure: { code: 'transfer.loop', message: expect.stringContaining('P > C > P') as string },
    })
    expect((await run.view()).activations.length).toBeLessThan(10)
  })

  test('collaboration 29: a round of three is named as such', async () => {
    const desk = router({
      name: 'P',
      model: scripted(xfer('A')),
      workers: [worker('A', scripted(xfer('B'))), worker('B', scripted(xfer('P')))],
      routes: { P: ['A'], A: ['B'], B: ['P'] },
      transfer: { returns: 'on-request' },
    })
    expect(await (await runtimeOf([desk])).run(desk, 'task')).toMatchObject({
      failure: { code: 'transfer.loop', message: expect.stringContaining('P > A > B > P') as string },
    })
  })

  test('collaboration 29: code that goes round is found as well', async () => {
    const c = agent({ name: 'C', description: 'One.', run: () => transferTo('P') })
    const desk = router({ name: 'P', run: () => transferTo('C'), workers: [c], transfer: { returns: 'on-request' } })
    expect(await (await runtimeOf([desk])).run(desk, 'task')).toMatchObject({ failure: { code: 'transfer.loop' } })
  })

  test('collaboration 29: another task each time is no round', async () => {
    const desk = router({
      name: 'P',
      run: async (ctx) => {
        const n = Number(await ctx.values.update('n', (before) => Number(before ?? 0) + 1))
        return n <= 8 ? transferTo('C', { task: `part ${n}` }) : 'final'
      },
      workers: [agent({ name: 'C', description: 'One.', run: () => transferTo('P') })],
      transfer: { returns: 'on-request' },
    })
    expect(await (await runtimeOf([desk])).run(desk, 'task')).toMatchObject({ output: 'final' })
  })

  test.each([
    ['of the router', { transfers: 5 }, undefined],
    ['of this run', undefined, { transfers: 5 }],
    ['of both, the tighter', { transfers: 9 }, { transfers: 5 }],
  ])('collaboration 29: the limit %s ends it with the way that control took', async (_what, own, given) => {
    const desk = bouncing(own, 'Yours.') // they talk, so it is no empty round
    const run = await (await runtimeOf([desk])).start(desk, 'task', given === undefined ? {} : { limits: given })
    expect(await run.outcome()).toMatchObject({
      status: 'limited',
      limit: 'transfers',
      message: expect.stringMatching(/^5 transfers are used up: … P > C > P > C > P$/) as string,
    })
    expect(await hops(run)).toHaveLength(5)
  })

  test('collaboration 29: the limit is 50 by default, and 0 means none at all', async () => {
    const desk = bouncing(undefined, 'Yours.')
    const runtime = await runtimeOf([desk])
    const run = await runtime.start(desk, 'task')
    expect(await run.outcome()).toMatchObject({
      status: 'limited',
      message: expect.stringMatching(/^50 transfers/) as string,
    })
    expect(await runtime.run(desk, 'task', { limits: { transfers: 0 } })).toMatchObject({
      status: 'limited',
      limit: 'transfers',
    })
  })

  test('collaboration 29: transfers further in count for the whole run', async () => {
    const mid = router({
      name: 'Mid',
      description: 'Leads.',
      model: scripted(xfer('W'), 'mid answers'),
      workers: [worker('W')],
    })
    const top = router({ name: 'Top', model: scripted(xfer('Mid'), xfer('Mid', 't2'), 'final'), workers: [mid] })
    const runtime = await runtimeOf([top])
    expect(await runtime.run(top, 'task', { limits: { transfers: 2 } })).toMatchObject({
      status: 'limited',
      limit: 'transfers',
    })
  })

  test('collaboration 29: transfers of an earlier member of a fixed order count for the members after it', async () => {
    const mid = (name: string): Agent =>
      router({
        name,
        description: 'Leads.',
        model: scripted(xfer(`${name}w`), `${name} answers`),
        workers: [worker(`${name}w`)],
      })
    const order = (): Agent => sequential({ name: 'order', agents: [mid('A'), mid('B')] })
    const runtime = await runtimeOf([order()])
    const run = await runtime.start('order', 'task', { limits: { transfers: 1 } })
    expect(await run.outcome()).toMatchObject({ status: 'limited', limit: 'transfers' })
    expect((await hops(run)).filter((hop) => hop.endsWith('by model'))).toEqual(['A > Aw by model'])
    const other = await runtimeOf([order()])
    expect(await other.run('order', 'task', { limits: { transfers: 2 } })).toMatchObject({ output: 'B answers' })
  })

  test('collaboration 29: an inner router’s limit counts its own transfers and is content for the outer one', async () => {
    const mid = router({
      name: 'Mid',
      description: 'Leads.',
      model: scripted(xfer('W'), 'once', xfer('W'), 'twice', xfer('W'), xfer('W'), 'never'),
      workers: [worker('W')],
      limits: { transfers: 1 },
    })
    const above = scripted(xfer('Mid'), xfer('Mid'), xfer('Mid'), 'final')
    const top = router({ name: 'Top', model: above, workers: [mid] })
    expect(await (await runtimeOf([top])).run(top, 'task')).toMatchObject({ output: 'final' })
    expect(JSON.stringify(above.prompts[2])).not.toContain('limit')
    expect(above.prompts[3]!.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/"Mid" stopped at its limit of transfers/) as string,
    })
  })

  test('collaboration 29: a transfer refused by an inner limit counts for no router', async () => {
    const mid = router({
      name: 'Mid',
      description: 'M',
      model: leadTo('W', 'W'),
      workers: [worker('W')],
      limits: { transfers: 1 },
    })
    const top = router({ name: 'Top', model: leadTo('Mid', 'Z'), workers: [mid, worker('Z')] })
    const run = await (await runtimeOf([top])).start(top, 'task', { limits: { transfers: 3 } })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    expect((await hops(run)).filter((hop) => hop.endsWith('by model'))).toEqual([
      'Top > Mid by model',
      'Mid > W by model',
      'Top > Z by model',
    ])
  })

  test('collaboration 29, 35: a rule claims no success for whom the limit keeps from working', async () => {
    const workers = [worker('A'), worker('B')]
    const top = router({ name: 'Top', model: leadTo('A'), workers, transfer: { agents: { A: { followedBy: ['B'] } } } })
    const run = await (await runtimeOf([top])).start(top, 'task', { limits: { transfers: 1 } })
    expect(await run.outcome()).toMatchObject({ status: 'limited', limit: 'transfers' })
    expect(await hops(run)).toEqual(['Top > A by model'])
  })

  test('collaboration 29: below a call the rest of the limit is left, after any earlier transfers', async () => {
    const inner = router({
      name: 'Inner',
      description: 'Leads.',
      model: leadTo('I', 'I', 'I', 'I'),
      workers: [worker('I')],
    })
    const caller = scripted(calls(['Inner', { request: 'x' }]), 'told')
    const w = agent({ name: 'W', description: 'Calls.', model: caller, tools: [asTool(inner)] })
    const edge = { agents: { W: { limits: { transfers: 2 } } } }
    const top = router({ name: 'Top', model: leadTo('Z', 'Z', 'Z', 'W'), workers: [w, worker('Z')], transfer: edge })
    const run = await (await runtimeOf([top])).start(top, 'task')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect((await hops(run)).filter((hop) => hop === 'Inner > I by model')).toHaveLength(2)
    expect(told(caller.prompts[1])).toEqual([expect.stringMatching(/stopped at its limit of transfers: 2 transfers/)])
  })
})

test('collaboration 30: an agent with control begins below the run, not below the choosing model call', async () => {
  const desk = router({
    name: 'Sup',
    model: scripted(xfer('W1'), xfer('W2'), 'final'),
    workers: [worker('W1'), worker('W2')],
  })
  const run = await (await runtimeOf([desk])).start(desk, 'task')
  await run.outcome()
  const { activations } = await run.view()
  const [root, ...others] = activations
  expect(others.map(({ agent: name, parent }) => [name, parent])).toEqual(
    ['W1', 'Sup', 'W2', 'Sup'].map((name) => [name, root!.activation]),
  )
  const events = await eventsOf(run)
  const asked = events.flatMap((event) => (event.type === 'model.requested' ? [event.address] : []))
  const started = events.flatMap((event) => (event.type === 'worker.started' ? [event] : []))
  for (const { address, callId } of started) {
    expect(callId).toBeUndefined()
    expect(asked.some((step) => address.startsWith(step.slice(0, step.lastIndexOf('/'))))).toBe(false)
  }
  expect(started.map(({ agent: name }) => name)).toEqual(['W1', 'Sup', 'W2', 'Sup'])
})
