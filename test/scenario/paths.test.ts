/**
 * Spec collaboration, section A: paths, the order of what is heard, and where a failure says it was, where control is
 * handed on. Cases 3 and 4, paths of fixed orders, are in workflows.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { agent, exit, tool, transferTo, type Agent } from '@reeve/agent'
import { asTool, exitTool, loop, parallel, router, sequential } from '@reeve/flow'
import { code, leadTo, lines, played, said, user, worker, xfer } from './control.ts'
import { calls, fatal, runtimeOf, scripted } from './team.ts'

/** P hands control to C and C keeps it. */
const pc = (name = 'P') =>
  router({
    name,
    description: 'Hands over.',
    model: scripted(xfer('C')),
    workers: [worker('C')],
    transfer: { returns: 'never' },
  })
const sup = (name: string, ...workers: Agent[]) =>
  router({
    name,
    description: 'Leads.',
    model: scripted(...workers.map((each) => xfer(each.name)), `${name} answers`),
    workers,
  })

describe('paths', () => {
  test.each<[string, () => Agent, string[]]>([
    ['nobody is handed anything', () => sup('P'), ['P']],
    ['a transfer', () => pc(), ['P', 'P/C']],
    [
      'a transfer and one back by choice',
      () =>
        router({
          name: 'P',
          model: scripted(xfer('C'), 'x'),
          workers: [worker('C', scripted(xfer('P')))],
          transfer: { returns: 'on-request' },
        }),
      ['P', 'P/C', 'P/C/P'],
    ],
    [
      'two workers in turn',
      () => sup('Sup', worker('W1'), worker('W2')),
      ['Sup', 'Sup/W1', 'Sup/W1/Sup', 'Sup/W1/Sup/W2', 'Sup/W1/Sup/W2/Sup'],
    ],
    [
      'a worker that is an order',
      () => sup('Sup', sequential({ name: 'Flow', description: 'A, B.', agents: [worker('A'), worker('B')] })),
      ['Sup', 'Sup/Flow', 'Sup/Flow/A', 'Sup/Flow/A/B', 'Sup/Flow/Sup'],
    ],
    [
      'a worker that leads',
      () => sup('Top', sup('Mid', worker('W'))),
      ['Top', 'Top/Mid', 'Top/Mid/W', 'Top/Mid/W/Mid', 'Top/Mid/Top'],
    ],
    [
      'as a step of an order',
      () => sequential({ name: 'Seq', agents: [worker('Pre'), sup('Sup', worker('W1')), worker('Next')] }),
      ['Seq', 'Seq/Pre', 'Seq/Pre/Sup', 'Seq/Pre/Sup/W1', 'Seq/Pre/Sup/W1/Sup', 'Seq/Pre/Sup/Next'],
    ],
    [
      'in a loop',
      () => loop({ name: 'L', agents: [pc()], maxIterations: 2 }),
      ['L', 'L/P', 'L/P/C', 'L/P/P', 'L/P/P/C'],
    ],
    [
      'in the branches of a parallel',
      () => parallel({ name: 'All', agents: [sup('S1', worker('A')), sup('S2', worker('B'))] }),
      ['All', 'All/S1', 'All/S1/A', 'All/S1/A/S1', 'All/S2', 'All/S2/B', 'All/S2/B/S2'],
    ],
  ])('collaboration 3, 5, 43: %s', async (_what, make, want) => {
    const { outcome, paths } = await played(make())
    expect(outcome.status).toBe('completed')
    expect(paths.toSorted()).toEqual(want.toSorted()) // branches begin at once
  })

  test('collaboration 5: a step that transferred does not lengthen the next one’s path, which sees its words', async () => {
    const d = scripted('d answers')
    const { outcome, paths } = await played(sequential({ name: 'S', agents: [pc(), worker('D', d)] }))
    expect(outcome).toMatchObject({ output: 'd answers' })
    expect(paths).toEqual(['S', 'S/P', 'S/P/C', 'S/P/D'])
    expect(d.prompts).toEqual([[user('task'), user('For context: [C] said: C result.')]])
  })
})

describe('collaboration 7: events inside an agent as a tool carry its path and move no control outside', () => {
  const kinds: readonly (readonly [string, Agent, string])[] = [
    ['it answers', worker('Sub', scripted('sub answers')), 'sub answers'],
    [
      'it exits',
      agent({
        name: 'Sub',
        description: 'One.',
        model: scripted(calls(['exit', { final_result: 'bye' }])),
        tools: [exitTool],
      }),
      'bye',
    ],
    ['it exits by code', code('Sub', () => exit('bye')), 'bye'],
  ]
  test.each(kinds)('%s', async (_what, sub, answer) => {
    const secret = tool({ name: 'secret', effect: 'read', execute: () => 'hidden inside' })
    const inner = router({
      name: 'Inner',
      description: 'Leads.',
      model: scripted({ text: 'inside', ...calls(['secret', {}]) }, xfer('Sub')),
      tools: [secret],
      workers: [sub],
      transfer: { returns: 'never' },
    })
    const outer = scripted(calls(['Inner', { request: 'x' }]), 'outer answers')
    const root = agent({ name: 'Outer', model: outer, tools: [asTool(inner)] })
    const { run, outcome, paths } = await played(root)
    expect(outcome).toMatchObject({ status: 'completed', output: 'outer answers' })
    expect(paths).toEqual(['Outer', 'Outer/Inner', 'Outer/Inner/Sub'])
    const heard = await said(run)
    expect([...new Set(heard.filter((each) => each.inner === true).map(({ path }) => path.join('/')))]).toEqual([
      'Outer/Inner',
      'Outer/Inner/Sub',
    ])
    expect(heard.at(-1)).toMatchObject({ type: 'assistant', agent: 'Outer', text: 'outer answers' })
    expect(outer.prompts[1]!.at(-1)).toMatchObject({ role: 'tool', name: 'Inner', content: answer })
    expect(JSON.stringify(outer.prompts[1])).not.toMatch(/inside|transfer_to_agent/)
  })

  test('nor where the outer one is a worker itself', async () => {
    const inner = sup(
      'Inner',
      code('Sub', () => exit('bye')),
    )
    const outer = agent({
      name: 'Outer',
      description: 'One.',
      model: scripted(calls(['Inner', { request: 'x' }]), 'outer answers'),
      tools: [asTool(inner)],
    })
    const { outcome, paths, moves } = await played(
      router({ name: 'Top', model: leadTo('Outer'), workers: [outer, worker('Sub2')] }),
    )
    expect(outcome).toMatchObject({ output: 'final' })
    expect(paths).toEqual(['Top', 'Top/Outer', 'Top/Outer/Inner', 'Top/Outer/Inner/Sub', 'Top/Outer/Top'])
    expect(moves).toEqual(['Top > Outer by model', 'Inner > Sub by model', 'Outer > Top by rule'])
  })
})

describe('errors in their order', () => {
  const broken = tool({
    name: 'broken',
    retry: { attempts: 1 },
    execute: () => {
      throw new Error('disk full')
    },
  })

  test('collaboration 9: an error and what is said after it are both heard', async () => {
    const root = agent({ name: 'A', model: scripted(calls(['broken', {}]), 'all the same'), tools: [broken] })
    const { outcome, heard } = await played(root)
    expect(outcome).toMatchObject({ output: 'all the same' })
    expect(heard).toEqual([
      'A A says: broken({})',
      expect.stringMatching(/^A A broken: "\[tool \\"broken\\" failed: /),
      'A A says: all the same',
    ])
  })

  test('collaboration 9: as a step of an order its failure is the last thing, and no later step works', async () => {
    const later = scripted('never')
    const fails = agent({
      name: 'B',
      description: 'One.',
      model: scripted({ text: 'I try', ...calls(['broken', {}]) }, fatal('quota')),
      tools: [broken],
    })
    const { outcome, heard, paths } = await played(
      sequential({ name: 'S', agents: [worker('A'), fails, worker('Later', later)] }),
    )
    expect(outcome).toMatchObject({ status: 'failed', failure: { details: { agent: 'B', path: ['S', 'A', 'B'] } } })
    expect(heard.at(-1)).toMatch(/^B S\/A\/B error: model\./)
    expect(paths).toEqual(['S', 'S/A', 'S/A/B'])
    expect(later.prompts).toEqual([])
  })

  test('collaboration 10: a transfer is heard before the failure that comes of it', async () => {
    const lost = router({
      name: 'P',
      run: () => transferTo('Nobody', { output: 'Nobody knows.' }),
      workers: [worker('C')],
    })
    const { outcome, heard } = await played(sequential({ name: 'S', agents: [lost, worker('D')] }))
    expect(outcome).toMatchObject({ failure: { code: 'transfer.refused', details: { agent: 'P', path: ['S', 'P'] } } })
    expect(heard).toEqual(['P S/P says: Nobody knows.', 'P S/P error: transfer.refused'])
  })

  test('collaboration 10: and so is one that was taken by an agent which then fails', async () => {
    const failing = router({
      name: 'P',
      model: scripted(xfer('C')),
      workers: [worker('C', scripted(fatal('quota')))],
      transfer: { returns: 'never' },
    })
    const { heard } = await played(sequential({ name: 'S', agents: [failing, worker('D')] }))
    expect(heard).toEqual([
      'P S/P says: transfer_to_agent({"agent_name":"C"})',
      'P S/P transfer_to_agent: "successfully transferred to agent [C]" > C',
      expect.stringMatching(/^C S\/P\/C error: model\./),
    ])
  })
})

describe('collaboration 11: every failure says in whom and where it happened', () => {
  const broken = () => {
    throw new Error('no idea')
  }
  const thrower = (name: string) => code(name, () => Promise.reject(new Error('no paper')))
  test.each<[string, () => Agent, string, string[]]>([
    [
      'a refused transfer in an order',
      () => sequential({ name: 'S', agents: [code('A', () => transferTo('B')), worker('B')] }),
      'A',
      ['S', 'A'],
    ],
    ['a refused transfer of a lead', () => sup0(() => transferTo('Nobody')), 'P', ['P']],
    [
      'a refused transfer of a worker that does not return',
      () => never(code('C', () => transferTo('Nobody'))),
      'C',
      ['P', 'C'],
    ],
    [
      'a rewriter for a step',
      () => sequential({ name: 'S', agents: [worker('A'), worker('B')], edge: { agents: { B: { context: broken } } } }),
      'B',
      ['S', 'A', 'B'],
    ],
    [
      'a rewriter for a worker',
      () =>
        router({
          name: 'P',
          model: leadTo('C'),
          workers: [worker('C')],
          transfer: { onFailure: 'end', agents: { C: { context: broken } } },
        }),
      'C',
      ['P', 'C'],
    ],
    [
      'a rewriter for the lead',
      () =>
        router({
          name: 'P',
          model: leadTo('C'),
          workers: [worker('C')],
          transfer: { agents: { P: { context: broken } } },
        }),
      'P',
      ['P'],
    ],
    ['a branch that throws', () => parallel({ name: 'All', agents: [worker('A'), thrower('B')] }), 'B', ['All', 'B']],
    [
      'deep inside',
      () =>
        sequential({
          name: 'S',
          agents: [loop({ name: 'L', agents: [parallel({ name: 'All', agents: [thrower('B')] })], maxIterations: 1 })],
        }),
      'B',
      ['S', 'L', 'All', 'B'],
    ],
    ['a worker of a worker', () => never(never(thrower('D'), 'C')), 'D', ['P', 'C', 'D']],
  ])('%s', async (_what, make, name, path) => {
    const { outcome } = await played(make())
    expect(outcome).toMatchObject({ status: 'failed', failure: { details: { agent: name, path } } })
  })

  test('and a lead that throws at once is the one that is heard', async () => {
    const root = sup0(() => Promise.reject(new Error('no paper')))
    const run = await (await runtimeOf([root])).start(root, 'task')
    expect(await run.outcome()).toMatchObject({ status: 'failed', failure: { message: 'no paper' } })
    expect((await lines(run)).at(-1)).toBe('P P error: orchestration.threw')
  })

  const sup0 = (run: () => unknown) => router({ name: 'P', run, workers: [worker('C')] })
  function never(w: Agent, name = 'P'): Agent {
    return router({
      name,
      description: 'Hands over.',
      run: () => transferTo(w.name),
      workers: [w],
      transfer: { returns: 'never' },
    })
  }
})
