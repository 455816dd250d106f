/**
 * Agents in a fixed order: spec collaboration 3, 4, 9, 66 to 72, 75, 76, and 1.9. What is said of branches is in
 * workflows-parallel.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { agent, breakLoop, exit, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, exitTool, loop, parallel, router, sequential } from '@reeve/flow'
import { scripted as byTurn, simulate, teamScenario, type ScriptLine } from '@reeve/testing'
import { lines, worker, xfer } from './control.ts'
import { actions, breaks, echo, fails, played, says } from './played.ts'
import { calls, fatal, runtimeOf, scripted, store } from './team.ts'

describe('sequential', () => {
  test('after an exit no agent works, at any depth and in any flow', async () => {
    const deep = sequential({ name: 'S2', agents: [says('A', exit('enough')), worker('B')] })
    const flow = sequential({
      name: 'S',
      agents: [
        loop({
          name: 'L',
          agents: [sequential({ name: 'S1', agents: [deep, worker('C')] }), worker('D')],
          maxIterations: 3,
        }),
        worker('E'),
      ],
    })
    const { outcome, worked } = await played(flow)
    expect(outcome).toMatchObject({ status: 'completed', output: 'enough' })
    expect(worked).toEqual(['S', 'L', 'S1', 'S2', 'A'])
  })

  test('collaboration 118: the exit of a model is the same, also when other calls of the turn come after it', async () => {
    const a = agent({
      name: 'A',
      model: scripted(calls(['exit', { final_result: 'enough' }], ['echo', {}])),
      tools: [exitTool, echo],
    })
    const { outcome, worked, messages } = await played(sequential({ name: 'S', agents: [a, worker('B')] }))
    expect(outcome).toMatchObject({ output: 'enough' })
    expect(worked).toEqual(['S', 'A'])
    expect(messages.filter(({ type }) => type === 'tool')).toHaveLength(2)
  })

  test('an exit of the work under the nearest router ends that, and the steps around it go on', async () => {
    const sup = router({
      name: 'Sup',
      model: scripted(xfer('Flow'), 'never'),
      workers: [
        sequential({
          name: 'Flow',
          description: 'Works.',
          agents: [says('A', exit('enough', 'supervisor')), worker('B')],
        }),
      ],
    })
    const { outcome, worked } = await played(sequential({ name: 'S', agents: [sup, worker('C')] }))
    expect(outcome).toMatchObject({ output: 'C result' })
    expect(worked).toEqual(['S', 'Sup', 'Flow', 'A', 'C'])
  })

  test('collaboration 9: a step that fails ends it, with what it had said before, and the failure says where', async () => {
    const sour = agent({
      name: 'sour',
      run: (_ctx, _brief, talk) => {
        talk.say('I try')
        throw new Error('broken')
      },
    })
    const { outcome, worked, messages } = await played(
      sequential({ name: 'S', agents: [worker('A'), sour, worker('B')] }),
    )
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { message: 'broken', details: { agent: 'sour', path: ['S', 'A', 'sour'] } },
    })
    expect(worked).toEqual(['S', 'A', 'sour'])
    expect(messages.filter(({ agent: name }) => name === 'sour').map(({ type }) => type)).toEqual([
      'assistant',
      'error',
    ])
  })

  test('one agent twice: two activations, and the second knows what it said in the first', async () => {
    const model = scripted('one', 'two')
    const a = worker('A', model)
    const { outcome, paths } = await played(sequential({ name: 'S', agents: [a, a] }))
    expect(outcome).toMatchObject({ output: 'two' })
    expect(paths).toEqual(['S', 'S/A', 'S/A/A'])
    expect(model.prompts[1]!.slice(-2)).toEqual([
      { role: 'assistant', content: 'one' },
      { role: 'user', content: 'It is your turn again. Go on from here.' },
    ])
  })

  test('its output is that of its last step', async () => {
    const { outcome } = await played(sequential({ name: 'S', agents: [worker('A'), says('B', { n: [1] })] }))
    expect(outcome).toMatchObject({ status: 'completed', output: { n: [1] } })
  })
})

describe('loop', () => {
  test('collaboration 66: how often at most must be said', () => {
    for (const maxIterations of [0, -1, 1.5, NaN, undefined])
      expect(() => loop({ name: 'L', agents: [worker('A')], maxIterations: maxIterations as number })).toThrow(
        /maxIterations is .*expected/,
      )
  })

  test('collaboration 66: without an end it repeats until a break or a limit', async () => {
    const until = agent({
      name: 'until',
      run: (_ctx, _brief, { history }) => (history.length > 12 ? breakLoop('enough') : `round ${history.length}`),
    })
    const { outcome, worked } = await played(loop({ name: 'L', agents: [until], maxIterations: Infinity }))
    expect(outcome).toMatchObject({ output: 'enough' })
    expect(worked).toHaveLength(14)
    const { outcome: limited } = await played(
      loop({ name: 'L', agents: [worker('A')], maxIterations: Infinity, limits: { turns: 5 } }),
    )
    expect(limited).toMatchObject({ status: 'limited', limit: 'turns' })
  })

  test('collaboration 67: after a break in the second of three iterations no agent works; it names its author', async () => {
    const result = await played(
      loop({ name: 'L', agents: [says('A', 'first', breakLoop('second')), worker('B')], maxIterations: 3 }),
    )
    expect(result.outcome).toMatchObject({ output: 'second' })
    expect(result.worked).toEqual(['L', 'A', 'B', 'A'])
    expect(actions(result)).toEqual([
      ['A', { type: 'break' }],
      ['L', { type: 'loop-broken', from: 'A', iteration: 1 }],
    ])
  })

  test('collaboration 68: a model whose tool breaks goes on, all of it is heard, and then the loop ends', async () => {
    const a = agent({
      name: 'A',
      model: scripted(calls(['stop', {}]), { text: 'one more', ...calls(['echo', {}], ['stop', {}]) }, 'last words'),
      tools: [breaks, echo],
    })
    const { outcome, worked, run } = await played(loop({ name: 'L', agents: [a, worker('B')], maxIterations: 3 }))
    expect(outcome).toMatchObject({ output: 'last words' })
    expect(worked).toEqual(['L', 'A'])
    const heard = await lines(run)
    expect(heard.slice(-2)).toEqual(['A L/A says: last words', 'L L loop-broken'])
    expect(heard.filter((line) => line.endsWith(' break'))).toHaveLength(2)
    expect(heard.filter((line) => line.endsWith('loop-broken'))).toHaveLength(1) // several breaks end it once
  })

  test('collaboration 69: an inner sequential passes the break on: its later steps work, the loop’s do not', async () => {
    const line = sequential({ name: 'Seq', agents: [says('A', breakLoop('A breaks')), worker('B')] })
    const result = await played(loop({ name: 'L', agents: [line, worker('C')], maxIterations: 3 }))
    expect(result.outcome).toMatchObject({ output: 'B result' })
    expect(result.worked).toEqual(['L', 'Seq', 'A', 'B'])
    expect(actions(result).at(-1)).toEqual(['L', { type: 'loop-broken', from: 'A', iteration: 0 }])
  })

  test('collaboration 69: so does a parallel, when all its branches have ended, and a router', async () => {
    const beside = parallel({ name: 'P', agents: [says('A', breakLoop('A breaks')), worker('B')] })
    const first = await played(loop({ name: 'L', agents: [beside, worker('C')], maxIterations: 3 }))
    expect(first.outcome).toMatchObject({ output: ['A breaks', 'B result'] })
    expect(first.worked).toEqual(['L', 'P', 'A', 'B'])
    const sup = router({
      name: 'Sup',
      model: scripted(xfer('W'), 'final'),
      workers: [says('W', breakLoop('W breaks'))],
    })
    const second = await played(loop({ name: 'L', agents: [sup, worker('C')], maxIterations: 3 }))
    expect(second.outcome).toMatchObject({ output: 'final' })
    expect(second.worked).not.toContain('C')
  })

  test('collaboration 70: of nested loops the inner one ends, once in each iteration of the outer', async () => {
    const inner = loop({ name: 'Inner', agents: [says('A', breakLoop('A breaks')), worker('B')], maxIterations: 5 })
    const result = await played(loop({ name: 'Outer', agents: [inner, worker('C')], maxIterations: 2 }))
    expect(result.worked).toEqual(['Outer', 'Inner', 'A', 'C', 'Inner', 'A', 'C'])
    expect(actions(result).filter(([name]) => name !== 'A')).toEqual([
      ['Inner', { type: 'loop-broken', from: 'A', iteration: 0 }],
      ['Inner', { type: 'loop-broken', from: 'A', iteration: 0 }],
    ])
  })

  test('collaboration 70: the outer loop goes on, also if the inner one failed after the break and was handled', async () => {
    const inner = loop({
      name: 'Inner',
      description: 'Works.',
      agents: [sequential({ name: 'Seq', agents: [says('A', breakLoop('A breaks')), fails('B')] })],
      maxIterations: 5,
    })
    const sup = router({
      name: 'Sup',
      model: scripted(xfer('Inner'), 'without', xfer('Inner'), 'without again'),
      workers: [inner],
    })
    const { outcome, worked } = await played(loop({ name: 'Outer', agents: [sup], maxIterations: 2 }))
    expect(outcome).toMatchObject({ output: 'without again' })
    expect(worked.filter((name) => name === 'Inner')).toHaveLength(2)
  })

  test('an agent as a tool: a break, an exit or a failure of an agent that is called as a tool stays inside', async () => {
    const inside: readonly Agent[] = [
      says('X', breakLoop('X says')),
      says('X', exit('X says')),
      sequential({ name: 'X', description: 'Works.', agents: [says('Y', breakLoop('X says'))] }),
      fails('X'),
    ]
    for (const x of inside) {
      const outer = agent({
        name: 'outer',
        model: scripted(calls(['X', { request: 'x' }]), 'one', 'two'),
        tools: [asTool(x)],
      })
      const result = await played(loop({ name: 'L', agents: [outer, worker('B')], maxIterations: 2 }))
      expect(result.outcome).toMatchObject({ output: 'B result' })
      expect(result.worked.filter((name) => name === 'B')).toHaveLength(2)
      expect(actions(result).filter(([name]) => name === 'L')).toEqual([])
    }
  })

  test('collaboration 72: a break outside of any loop ends nothing', async () => {
    const result = await played(sequential({ name: 'S', agents: [says('A', breakLoop('A breaks')), worker('B')] }))
    expect(result.outcome).toMatchObject({ output: 'B result' })
    expect(actions(result)).toEqual([['A', { type: 'break' }]])
    const alone = says('A', breakLoop('A breaks'))
    expect((await played(alone)).outcome).toMatchObject({ status: 'completed', output: 'A breaks' })
  })

  test('a step that fails ends it, and so does an exit', async () => {
    const once = worker('A', scripted('one', fatal('broken')))
    const failed = await played(loop({ name: 'L', agents: [once, worker('B')], maxIterations: 3 }))
    expect(failed.outcome).toMatchObject({
      status: 'failed',
      failure: { details: { agent: 'A', path: ['L', 'A', 'B', 'A'] } },
    })
    const ended = await played(
      loop({ name: 'L', agents: [says('A', 'one', exit('two')), worker('B')], maxIterations: 3 }),
    )
    expect(ended.outcome).toMatchObject({ output: 'two' })
    expect(ended.worked).toEqual(['L', 'A', 'B', 'A'])
  })

  test('plan and execute: the replanner answers by a tool that breaks and returns, or makes a new plan', async () => {
    const respond = tool({
      name: 'respond',
      effect: 'read',
      input: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
      execute: (input) => (input as { answer: string }).answer,
      action: ['break', 'return'],
    })
    const plan = tool({ name: 'plan', effect: 'read', execute: (input) => input, action: 'return' })
    const executor = scripted('did one', 'did two')
    const replanner = scripted(calls(['plan', { steps: ['two'] }]), calls(['respond', { answer: 'all done' }]))
    const flow = sequential({
      name: 'PlanExecute',
      agents: [
        worker('planner', scripted('one, then two')),
        loop({
          name: 'Work',
          agents: [
            worker('executor', executor),
            agent({ name: 'replanner', model: replanner, tools: [respond, plan] }),
          ],
          maxIterations: 10,
        }),
      ],
    })
    const { outcome, worked } = await played(flow)
    expect(outcome).toMatchObject({ output: 'all done' })
    expect(worked).toEqual(['PlanExecute', 'planner', 'Work', 'executor', 'replanner', 'executor', 'replanner'])
    expect(executor.prompts[1]!.at(-1)!.content).toBe(
      'For context: [replanner] `plan` tool returned result: {"steps":["two"]}.',
    )
    expect(replanner.prompts).toHaveLength(2) // the tool's result is the answer, its model is not asked again
  })
})

describe('all three', () => {
  test('collaboration 75: an empty one ends at once, and the next agent works', async () => {
    const empty = [
      [sequential({ name: 'E1', agents: [] }), null],
      [loop({ name: 'E2', agents: [], maxIterations: Infinity }), null],
      [parallel({ name: 'E3', agents: [] }), []],
    ] as const
    for (const [flow, output] of empty) {
      const { outcome, messages } = await played(flow)
      expect(outcome).toMatchObject({ status: 'completed', output })
      expect(messages).toEqual([])
    }
    const { outcome } = await played(sequential({ name: 'S', agents: [...empty.map(([flow]) => flow), worker('A')] }))
    expect(outcome).toMatchObject({ output: 'A result' })
  })

  test('collaboration 76: an exit of an agent to whom a step has handed control ends the steps after it', async () => {
    const a = router({ name: 'A', model: scripted(xfer('C'), 'never'), workers: [says('C', exit('C ends it'))] })
    const { outcome, worked } = await played(sequential({ name: 'S', agents: [a, worker('D')] }))
    expect(outcome).toMatchObject({ output: 'C ends it' })
    expect(worked).toEqual(['S', 'A', 'C'])
  })

  test('collaboration 3, 4: the paths of nested orders', async () => {
    const one = (name: string): Agent => says(name)
    const flow = sequential({
      name: 'Seq',
      agents: [
        loop({ name: 'Loop', agents: [one('A1'), one('A2')], maxIterations: 2 }),
        one('A3'),
        parallel({ name: 'Par', agents: [one('A4'), one('A5'), one('A6')] }),
        one('A7'),
      ],
    })
    expect((await played(flow)).paths.toSorted()).toEqual(
      [
        'Seq',
        'Seq/Loop',
        'Seq/Loop/A1',
        'Seq/Loop/A1/A2',
        'Seq/Loop/A1/A2/A1',
        'Seq/Loop/A1/A2/A1/A2',
        'Seq/Loop/A3',
        'Seq/Loop/A3/Par',
        'Seq/Loop/A3/Par/A4',
        'Seq/Loop/A3/Par/A5',
        'Seq/Loop/A3/Par/A6',
        'Seq/Loop/A3/Par/A7',
      ].toSorted(),
    )
    const again = loop({
      name: 'Loop',
      agents: [parallel({ name: 'Par', agents: [one('A4'), one('A5')] }), one('B')],
      maxIterations: 2,
    })
    expect((await played(again)).paths.slice(4)).toEqual([
      'Loop/Par/B',
      'Loop/Par/B/Par',
      'Loop/Par/B/Par/A4',
      'Loop/Par/B/Par/A5',
      'Loop/Par/B/Par/B',
    ])
  })

  test('K5, K6: three levels of them die at every point and come to the same end', async () => {
    const modelAgent = (name: string, ...script: readonly ScriptLine[]): Agent =>
      agent({ name, description: name, model: byTurn(...script), tools: [breaks, echo] })
    const inner = loop({
      name: 'Inner',
      agents: [modelAgent('A', calls(['stop', {}]), 'A done'), modelAgent('B', 'never')],
      maxIterations: 2,
    })
    const lanes = parallel({ name: 'Lanes', agents: [inner, modelAgent('C', calls(['echo', {}]), 'C done')] })
    const flow = sequential({
      name: 'S',
      agents: [lanes, says('D', 'D done'), says('E', exit('E ends it')), modelAgent('F', 'never')],
    })
    const { end, differences, repeated, points } = await simulate(teamScenario({ agents: [flow], input: 'go' }))
    expect(end.outcome).toEqual({ status: 'completed', output: 'E ends it' })
    expect(differences).toEqual([])
    expect(repeated).toEqual([])
    expect(points).toBeGreaterThan(30)
  }, 60_000)
})

describe('a loop and its goal', () => {
  const counting = (until: number | undefined, onBound?: 'complete' | 'fail', name = 'L') => {
    let count = 0
    const step = agent({ name: `${name}_step`, description: 'Counts.', run: () => ++count })
    return loop({
      name,
      description: 'Counts.',
      agents: [step],
      maxIterations: 3,
      ...(until === undefined ? undefined : { until: (score: Json) => score === until }),
      ...(onBound === undefined ? undefined : { onBound }),
    })
  }
  const ended = async (flow: Agent) => {
    const runtime = await runtimeOf([flow], { store: store() })
    const run = await runtime.start(flow, 'go')
    const outcome = await run.outcome()
    const view = await run.view()
    expect(view.outcome).toEqual((({ run: _run, usage: _usage, ...rest }) => rest)(outcome))
    return { outcome, view }
  }

  test.each([
    ['until was true: reached', 2, { output: 2, reached: true }],
    ['it was true in the last iteration: reached', 3, { output: 3, reached: true }],
    ['it never was: not reached', 9, { output: 3, reached: false }],
  ])('%s', async (_what, until, expected) => {
    expect((await ended(counting(until))).outcome).toMatchObject({ status: 'completed', ...expected })
  })

  test('without until, or after a break, there is nothing to say', async () => {
    expect((await ended(counting(undefined))).outcome).not.toHaveProperty('reached')
    const broken = loop({
      name: 'B',
      agents: [says('A', breakLoop('enough'))],
      maxIterations: 3,
      until: () => false,
      onBound: 'fail',
    })
    const { outcome } = await ended(broken)
    expect(outcome).toMatchObject({ status: 'completed', output: 'enough' })
    expect(outcome).not.toHaveProperty('reached')
  })

  test('onBound: "fail" ends it as loop.not-reached; reached in time, it completes', async () => {
    expect((await ended(counting(9, 'fail'))).outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'loop.not-reached', message: '"L": until was not true after 3 iterations' },
    })
    expect((await ended(counting(2, 'fail'))).outcome).toMatchObject({ output: 2, reached: true })
    expect(() => loop({ name: 'L', agents: [worker('A')], maxIterations: 2, onBound: 'fail' })).toThrow(
      /onBound without until/,
    )
    expect(counting(9, 'fail').version).not.toBe(counting(9).version)
  })

  test.each([
    ['a sequential', (inner: Agent) => sequential({ name: 'S', agents: [inner] }), undefined],
    [
      'a loop with a goal of its own',
      (inner: Agent) => loop({ name: 'S', agents: [inner], maxIterations: 1, until: () => true }),
      true,
    ],
    [
      'a router that hands over to it',
      (inner: Agent) =>
        router({ name: 'S', model: scripted(xfer('L')), workers: [inner], transfer: { returns: 'never' } }),
      undefined,
    ],
  ])('%s says nothing of the loop in it; the end of the loop does', async (_what, around, reached) => {
    const { outcome, view } = await ended(around(counting(9)))
    expect(outcome).toMatchObject({ status: 'completed', output: 3 })
    expect((outcome as { readonly reached?: boolean }).reached).toBe(reached)
    expect(view.activations.find(({ agent: name }) => name === 'L')?.outcome).toMatchObject({ reached: false })
  })
})
