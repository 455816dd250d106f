/**
 * Planning in a run: who plans, what becomes of an impossible plan, who has to agree. Spec team 1.1, 1.2, 1.3, R-16 for
 * plans.
 */
import { describe, expect, test } from 'vitest'
import { copy, failure, FailureError, type Json } from '@reeve/core'
import { agent, tool, teammate } from '@reeve/agent'
import { team, type PlanQuestion, type TeamOptions } from '@reeve/team'
import type { JournalEvent } from '@reeve/journal'
import { eventsOf, runtimeOf, scripted, waiting } from './team.ts'

type Options = Partial<TeamOptions<'analysts'>>

const begun: string[] = []
const worker = agent({
  name: 'worker',
  description: 'Works.',
  run: async (_ctx, brief: string) => {
    begun.push(brief)
    return `done: ${brief.split('\n')[0]}`
  },
})
const one = (id = 'a') => ({ id, description: `Do ${id}` })
const impossible = { subtasks: [{ ...one('a'), dependencies: ['b'] }, { ...one('b'), dependencies: ['a'] }, { ...one('c'), dependencies: ['c', 'x'] }] } // prettier-ignore
const threeProblems = [
  'task "c" depends on itself',
  'task "c" depends on "x", and there is no such task; there are a, b, c',
  'tasks wait for each other: a > b > a',
]

const analysts = (options: Options) => team({ name: 'analysts', roles: { generalist: worker }, ...options })
async function played(
  options: Options,
  question: Json = 'What is it?',
): Promise<{ outcome: Json; events: readonly JournalEvent[] }> {
  begun.length = 0
  const led = analysts(options)
  const runtime = await runtimeOf([led])
  const run = await runtime.start(led, question as string)
  const outcome = (await run.outcome()) as unknown as Json
  return { outcome, events: await eventsOf(run) }
}
const of = <T extends JournalEvent['type']>(events: readonly JournalEvent[], type: T) =>
  events.filter((each): each is Extract<JournalEvent, { type: T }> => each.type === type)

describe('impossible plans', () => {
  test('team C07: an impossible fixed plan is rejected with all its problems; no task begins', async () => {
    const { outcome, events } = await played({ planner: impossible })
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'plan.invalid', retryable: false, details: { problems: threeProblems } },
    })
    for (const problem of threeProblems)
      expect(outcome).toMatchObject({ failure: { message: expect.stringContaining(problem) } })
    expect(of(events, 'plan.rejected')).toMatchObject([{ problems: threeProblems, repair: false }])
    expect(of(events, 'worker.started')).toEqual([])
    expect(of(events, 'plan.created')).toEqual([])
    expect(begun).toEqual([])
  })

  test('team R-2: a function is asked once more, with all problems, and may mend its plan', async () => {
    const asked: PlanQuestion[] = []
    const planner = (question: PlanQuestion) => {
      asked.push(copy(question as unknown as Json) as unknown as PlanQuestion)
      return question.problems === undefined ? impossible : { subtasks: [one()] }
    }
    const { outcome, events } = await played({ planner })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(asked.map(({ problems }) => problems)).toEqual([undefined, threeProblems])
    expect(asked[0]).toMatchObject({ question: 'What is it?', roles: [{ name: 'generalist', description: 'Works.' }] })
    expect(of(events, 'plan.rejected')).toMatchObject([{ repair: true }])
    expect(of(events, 'plan.created')).toHaveLength(1)
  })

  test('team R-2: a model is told everything that is wrong with its plan, once; then the run fails', async () => {
    const model = scripted(JSON.stringify(impossible))
    const { outcome, events } = await played({ planner: { model } })
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'plan.invalid' } })
    expect(model.prompts).toHaveLength(2)
    const [, again] = model.prompts
    expect(again!.at(-2)).toMatchObject({ role: 'assistant', content: JSON.stringify(impossible) })
    for (const problem of threeProblems) expect(again!.at(-1)!.content).toContain(problem)
    expect(of(events, 'plan.rejected').map(({ repair }) => repair)).toEqual([true, false])
  })

  test('team R-2: how often a plan may be mended can be said', async () => {
    for (const repairs of [0, 3]) {
      const model = scripted(JSON.stringify(impossible))
      await played({ planner: { model, repairs } })
      expect(model.prompts).toHaveLength(1 + repairs)
    }
  })

  test('team R-2: with a fallback, impossible plans are replaced by the question; a fixed plan is not', async () => {
    const { outcome, events } = await played({ planner: () => impossible, fallback: true })
    expect(outcome).toMatchObject({ status: 'completed', output: 'done: What is it?' })
    expect(of(events, 'plan.created')).toMatchObject([{ route: 'simple', fallback: { code: 'plan.invalid' } }])
    expect((await played({ planner: impossible, fallback: true })).outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'plan.invalid' },
    })
  })

  test('team C08: a topic without a producer is a warning, and its consumer begins', async () => {
    const { outcome, events } = await played({ planner: { subtasks: [{ ...one(), consumes: ['facts'] }] } })
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 1, planned: 1 } } })
    expect(of(events, 'plan.created')[0]!.warnings).toEqual([
      'task "a" consumes "facts", which no other task produces: it is not waited for',
    ])
  })
})

describe('no planner', () => {
  test('team C10: a planner that throws fails the run with what it threw; it is asked once', async () => {
    let asked = 0
    const planner = (): never => {
      asked++
      throw new Error('the planner is on holiday')
    }
    const { outcome, events } = await played({ planner })
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'plan.failed', message: 'planning failed: the planner is on holiday' },
    })
    expect(asked).toBe(1)
    expect(of(events, 'worker.started')).toEqual([])
  })

  test('team C10: with a fallback it is one task, on the simple route, and the journal says why', async () => {
    const planner = (): never => {
      throw new FailureError(
        failure('model.rate-limited', 'too much', 'rate-limit', { hint: 'Wait.', retryAfterMs: 5 }),
      )
    }
    const { outcome, events } = await played({ planner, fallback: true })
    expect(outcome).toMatchObject({
      status: 'completed',
      output: 'done: What is it?',
      results: { partial: false, coverage: { planned: 1 } },
    })
    expect(of(events, 'plan.created')).toMatchObject([
      {
        route: 'simple',
        complexity: 0.1,
        tasks: [{ description: 'What is it?', role: 'generalist' }],
        fallback: { code: 'plan.failed', hint: 'Wait.', retryAfterMs: 5, details: { cause: 'model.rate-limited' } },
      },
    ])
    expect(begun).toEqual(['What is it?'])
  })

  test('team C10: without a planner and with a fallback the question is the task', async () => {
    const { outcome } = await played({ fallback: true })
    expect(outcome).toMatchObject({ status: 'completed', output: 'done: What is it?' })
  })

  test('team C10: a planner that gives nothing that can be read is asked once more, then it has made no plan', async () => {
    for (const given of [null, 'a plan', [one()], 5]) {
      let asked = 0
      const { outcome } = await played({ planner: () => (asked++, given) as never })
      expect(outcome).toMatchObject({
        status: 'failed',
        failure: { code: 'plan.failed', message: expect.stringContaining('the plan is') },
      })
      expect(asked).toBe(2)
    }
    const knot: { self?: unknown } = {}
    knot.self = knot
    const { outcome } = await played({ planner: () => ({ subtasks: [{ ...one(), input: knot as Json }] }) })
    expect(outcome).toMatchObject({ failure: { code: 'plan.failed', details: { cause: 'input.not-json' } } })
  })

  test('team C10: an agent that fails, or reaches its limit, has made no plan', async () => {
    const failing = agent({
      name: 'failing',
      description: 'Fails.',
      run: async () => Promise.reject(new Error('no idea')),
    })
    expect((await played({ planner: failing })).outcome).toMatchObject({
      failure: { code: 'plan.failed', message: expect.stringContaining('no idea') },
    })
    const endless = agent({
      name: 'endless',
      description: 'Never ends.',
      model: scripted({ calls: [{ name: 'look', input: {} }] }),
      tools: [tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => 'nothing' })],
      limits: { turns: 2 },
    })
    expect((await played({ planner: endless })).outcome).toMatchObject({
      failure: { code: 'plan.failed', details: { limit: 'turns' } },
    })
  })

  test('team C10: a model that fails has made no plan; a passing cause may be tried again', async () => {
    const model = scripted(new FailureError(failure('model.bad-request', 'no such model', 'validation')))
    expect((await played({ planner: { model } })).outcome).toMatchObject({
      failure: {
        code: 'plan.failed',
        message: 'planning failed: no such model',
        retryable: false,
        details: { cause: 'model.bad-request' },
      },
    })
  })
})

describe('who plans', () => {
  const plan = { complexity: 0.5, subtasks: [one('a'), one('b')] }

  test('team 1.2: a model gets the rules, roles, instructions and the question, and no tools', async () => {
    const model = scripted(JSON.stringify(plan))
    const { outcome, events } = await played({
      planner: { model, instructions: 'You plan for Arakis.' },
      roles: { generalist: worker, analyst: { agent: worker, description: 'Numbers.' } },
    })
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2, planned: 2 } } })
    const [prompt] = model.prompts
    expect(prompt![0]).toMatchObject({ role: 'system' })
    for (const part of [
      'You plan for Arakis.',
      '- generalist: Works.',
      '- analyst: Numbers.',
      'Never make more than eight',
    ])
      expect(prompt![0]!.content).toContain(part)
    expect(prompt!.at(-1)).toMatchObject({ role: 'user', content: 'What is it?' })
    expect(model.tools[0]).toEqual([])
    expect(of(events, 'plan.created')).toMatchObject([{ route: 'dag', tasks: [{ task: 'a' }, { task: 'b' }] }])
  })

  test('team 1.2: the team’s model plans by default; words around the plan do not matter', async () => {
    const model = scripted(`\`\`\`json\n${JSON.stringify(plan)}\n\`\`\``, 'A', 'B')
    const { outcome, events } = await played({ model, roles: {} })
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2 } } })
    expect(of(events, 'teammate.joined').map(({ role }) => role)).toEqual(['generalist', 'generalist'])
  })

  test('team R-1, X3: a plan without tasks is the whole question as one task, also for a typed member', async () => {
    const question = 'x'.repeat(300)
    const counter = agent({
      name: 'counter',
      description: 'Counts.',
      input: { type: 'string' },
      run: (_ctx, input) => input,
    })
    for (const roles of [undefined, { generalist: counter }])
      for (const planner of [
        { model: scripted('{"complexity": 0.8, "subtasks": []}') },
        () => ({ complexity: 0.8, subtasks: [] }),
      ]) {
        const { outcome, events } = await played({ planner, ...(roles === undefined ? {} : { roles }) }, question)
        expect(outcome).toMatchObject({
          status: 'completed',
          output: roles === undefined ? `done: ${question}` : question,
        })
        expect(of(events, 'plan.created')).toMatchObject([
          { route: 'simple', tasks: [{ task: 'task-1', description: question }] },
        ])
      }
  })

  test('team 1.2: an agent plans as a worker of its own, by a value or by a text', async () => {
    for (const answer of [plan, `The plan: ${JSON.stringify(plan)}`]) {
      const briefs: string[] = []
      const planner = agent({
        name: 'planner',
        description: 'Plans.',
        ...(typeof answer === 'string' ? {} : { output: { type: 'object' } }),
        run: async (_ctx, brief: string) => {
          briefs.push(brief)
          return answer as never
        },
      })
      const { outcome, events } = await played({ planner })
      expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2, planned: 2 } } })
      expect(briefs).toHaveLength(1)
      for (const part of ['What is it?', '- generalist: Works.', '"subtasks"']) expect(briefs[0]).toContain(part)
      expect(of(events, 'worker.started').map(({ agent: name }) => name)).toEqual(['planner', 'worker', 'worker'])
    }
  })

  test('team 1.2: an agent with an input schema is given the question as it is, and what was wrong', async () => {
    const inputs: Json[] = []
    const planner = agent({
      name: 'planner',
      description: 'Plans.',
      input: { type: 'object', properties: { question: {}, roles: { type: 'array' } }, required: ['question'] },
      output: { type: 'object' },
      run: async (_ctx, input) => {
        inputs.push(input)
        return (inputs.length === 1 ? impossible : plan) as never
      },
    })
    const { outcome } = await played({ planner })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(inputs).toMatchObject([
      { question: 'What is it?', roles: [{ name: 'generalist' }] },
      { problems: threeProblems },
    ])
  })

  test('team 1.2: the conversation so far is shown to a planning model', async () => {
    const model = scripted(JSON.stringify({ subtasks: [one()] }))
    const led = analysts({ planner: { model } })
    const runtime = await runtimeOf([led])
    await runtime.run(led, 'First?', { session: 'ses_plan' })
    await runtime.run(led, 'And second?', { session: 'ses_plan' })
    expect(model.prompts[1]!.map(({ content }) => content)).toContain('First?')
    expect(model.prompts[1]!.filter(({ content }) => content === 'And second?')).toHaveLength(1)
  })
})

describe('the simple route', () => {
  test('team C03: the answer of a simple task is returned as it is', async () => {
    const value = { deep: [1, { ü: '🙂', null: null }] }
    const thinker = agent({
      name: 'thinker',
      description: 'Thinks.',
      output: { type: 'object' },
      run: async () => value as never,
    })
    const { outcome, events } = await played({
      roles: { generalist: thinker },
      planner: { complexity: 0.29, subtasks: [one()] },
      output: { type: 'object' } as never,
    })
    expect(outcome).toMatchObject({ status: 'completed', output: value })
    expect(of(events, 'plan.created')).toMatchObject([{ route: 'simple', tasks: [{ task: 'a', description: 'Do a' }] }])
  })

  test('team X3: without tasks the question goes to one member, at any complexity', async () => {
    for (const complexity of [0, 0.9]) {
      const { outcome, events } = await played({ planner: { complexity, subtasks: [] } })
      expect(outcome).toMatchObject({
        status: 'completed',
        output: 'done: What is it?',
        results: { coverage: { succeeded: 1, planned: 1 } },
      })
      expect(of(events, 'plan.created')).toMatchObject([{ route: 'simple' }])
    }
    expect(begun).toEqual(['What is it?'])
  })

  test('team X3: without a generalist the existing role does it; a typed member gets the question as a value', async () => {
    const counter = agent({
      name: 'counter',
      description: 'Counts.',
      input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      run: async (_ctx, input) => `n is ${(input as { n: number }).n}`,
    })
    const { outcome } = await played({ roles: { counter }, planner: { subtasks: [] } }, { n: 3 })
    expect(outcome).toMatchObject({ status: 'completed', output: 'n is 3' })
  })

  test('team R-1: a requested route is taken: simple for many tasks is one, with the whole question', async () => {
    const { outcome, events } = await played({
      route: 'simple',
      planner: { complexity: 1, subtasks: [one('a'), { ...one('b'), dependencies: ['a'] }] },
    })
    expect(outcome).toMatchObject({ output: 'done: What is it?', results: { coverage: { planned: 1 } } })
    expect(of(events, 'plan.created')).toMatchObject([{ route: 'simple', reasons: ['the caller asks for "simple"'] }])
  })
})

describe('roles', () => {
  test('team C11: roles by place in a run; each member is told its role, and has an id by it', async () => {
    const { events } = await played({
      roles: { generalist: worker, researcher: worker },
      planner: { subtasks: [one('a'), one('b'), one('c')], agentTypes: ['researcher', ''] },
    })
    expect(of(events, 'teammate.joined').map(({ member, role }) => [member, role])).toEqual([
      ['researcher_1', 'researcher'],
      ['generalist_1', 'generalist'],
      ['generalist_2', 'generalist'],
    ])
    const led = await played({
      roles: { generalist: worker, analyst: worker },
      defaultRole: 'analyst',
      planner: { subtasks: [one('a'), one('b'), one('c')], agentTypes: ['researcher', ''] },
    })
    expect(of(led.events, 'teammate.joined').map(({ role, resolved }) => [role, resolved])).toEqual([
      ['researcher', 'generalist'],
      ['analyst', undefined],
      ['analyst', undefined],
    ])
  })

  test('team C12: roles too many are one warning in the plan', async () => {
    const { events } = await played({ planner: { subtasks: [one()], agentTypes: ['generalist', 'x', 'y'] } })
    expect(of(events, 'plan.created')[0]!.warnings).toEqual([
      'agentTypes has 3 roles for 1 task: the last 2 are ignored',
    ])
  })

  test('team R-3: a member that is a model is told its role, and is offered only the tools of it', async () => {
    const model = scripted('done')
    const offered = (name: string) => tool({ name, description: name, input: { type: 'object' }, execute: () => 'x' })
    const { outcome } = await played({
      model,
      tools: [offered('search'), offered('write')],
      roles: { researcher: { description: 'Finds.', instructions: 'Name your sources.', tools: ['sea*'] } },
      planner: { subtasks: [{ ...one(), role: 'Researcher' }] },
    })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(model.tools[0]!.map(({ name }) => name)).toEqual(['search'])
    expect(model.prompts[0]![0]).toMatchObject({
      role: 'system',
      content: expect.stringContaining('Your role on a team: Researcher. Name your sources.'),
    })
  })

  test('team R-3: a role’s limits hold for each of its tasks; a role may have its own model', async () => {
    const own = scripted({ calls: [{ name: 'look', input: {} }] })
    const { outcome } = await played({
      model: scripted('never asked'),
      tools: [tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => 'x' })],
      roles: { analyst: { description: 'A.', model: own, limits: { turns: 2 } } },
      planner: { subtasks: [{ ...one(), role: 'analyst' }] },
    })
    expect(own.prompts).toHaveLength(2)
    expect(outcome).toMatchObject({
      status: 'failed',
      results: { tasks: [{ status: 'failed', failure: { code: 'limit.reached', details: { limit: 'turns' } } }] },
    })
  })

  test('team R-3: two teams with the same roles and models work in one runtime', async () => {
    const model = scripted('{"complexity":0.1,"subtasks":[]}', 'one', '{"complexity":0.1,"subtasks":[]}', 'two')
    const led = ['x'.repeat(64), `${'x'.repeat(63)}y`].map((name) => team({ name, description: 'T', model }))
    const runtime = await runtimeOf(led)
    expect(await runtime.run(led[0]!, 'Q')).toMatchObject({ status: 'completed', output: 'one' })
    expect(await runtime.run(led[1]!, 'Q')).toMatchObject({ status: 'completed', output: 'two' })
  })
})

describe('who has to agree', () => {
  const cheap = { complexity: 0.1, subtasks: [one()] }
  const asks: Options['policy'] = ({ action }) =>
    action === 'plan' ? { verdict: 'ask', reason: 'every plan is shown' } : 'allow'

  test('team C89b: a cheap plan without tools is shown to a human on request, before any task begins', async () => {
    const led = analysts({ planner: cheap, approvePlan: true })
    begun.length = 0
    const runtime = await runtimeOf([led])
    const run = await runtime.start(led, 'What is it?')
    const { waiting: open } = await waiting(run)
    expect(open).toMatchObject([{ tool: 'plan', input: { subtasks: [{ id: 'a', role: 'generalist' }] } }])
    expect(begun).toEqual([])
    await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done: Do a' })
  })

  test.each(['simple', 'dag', 'team'] as const)(
    'team C06: the route "%s" does not go round the policy',
    async (route) => {
      const led = analysts({ planner: cheap, policy: asks, route })
      begun.length = 0
      const runtime = await runtimeOf([led])
      const run = await runtime.start(led, 'What is it?')
      const { waiting: open } = await waiting(run)
      expect(open).toMatchObject([{ tool: 'plan', reason: 'every plan is shown' }])
      expect(begun).toEqual([])
      await run.decide({ approvalId: open[0]!.id, decision: 'approve' })
      const events = await eventsOf(run)
      expect(of(events, 'plan.created')).toMatchObject([{ route }])
      const names = events.map(({ type }) => type)
      expect(names.indexOf('approval.resolved')).toBeLessThan(names.indexOf('plan.created'))
    },
  )

  test('team C06: a makeshift plan is shown, too', async () => {
    const led = analysts({ fallback: true, approvePlan: true })
    const runtime = await runtimeOf([led])
    const run = await runtime.start(led, 'What is it?')
    const { waiting: open } = await waiting(run)
    await run.decide({ approvalId: open[0]!.id, decision: 'reject', comment: 'not today', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({
      status: 'failed',
      failure: {
        code: 'work.rejected',
        class: 'rejected',
        retryable: false,
        message: 'the plan was rejected by ann: not today (asked because: every plan of this team is approved)',
        details: { how: 'rejected', approver: 'ann', comment: 'not today' },
      },
    })
    const events = await eventsOf(run)
    expect(of(events, 'plan.rejected')).toHaveLength(1)
    expect(of(events, 'worker.started')).toEqual([])
  })

  test('team C06: a policy that says no, says nothing, or throws, has said no; one question for each plan', async () => {
    const questions: Json[] = []
    for (const [word, said] of [
      [{ verdict: 'deny', reason: 'too dear' }, 'too dear'],
      ['deny', 'the policy does not allow it'],
      [undefined, 'the policy said undefined'],
      [true, 'the policy said true'],
      [new Error('down'), 'the policy failed: down'],
    ] as const) {
      const policy = (question: unknown): never => {
        questions.push(question as Json)
        if (word instanceof Error) throw word
        return word as never
      }
      const { outcome, events } = await played({ planner: cheap, policy })
      expect(outcome).toMatchObject({
        status: 'failed',
        failure: { code: 'work.rejected', class: 'policy', message: expect.stringContaining(said) },
      })
      expect(of(events, 'worker.started')).toEqual([])
      expect(of(events, 'approval.requested')).toEqual([])
    }
    expect(questions).toHaveLength(5)
    expect(questions[0]).toMatchObject({
      action: 'plan',
      actor: 'lead',
      description: 'What is it?',
      teamSize: 1,
      details: { plan: { subtasks: [{ id: 'a' }] } },
    })
  })

  test('team R-16: an edited plan is checked again: shown once more if impossible, else carried out', async () => {
    const led = analysts({ planner: cheap, approvePlan: true })
    const runtime = await runtimeOf([led])
    const run = await runtime.start(led, 'What is it?')
    const first = (await waiting(run)).waiting[0]!
    await run.decide({ approvalId: first.id, decision: 'edit', input: impossible as unknown as Json })
    let second = first
    while (second.id === first.id) second = (await waiting(run)).waiting[0]!
    expect(second.reason).toContain('tasks wait for each other: a > b > a')
    await run.decide({
      approvalId: second.id,
      decision: 'edit',
      input: { subtasks: [one('x'), one('y')] } as unknown as Json,
    })
    expect(await run.outcome()).toMatchObject({
      status: 'completed',
      results: { tasks: [{ task: 'x' }, { task: 'y' }] },
    })
    expect(of(await eventsOf(run), 'plan.rejected')).toMatchObject([{ problems: threeProblems, repair: true }])
  })

  test('team R-16: a human’s wish for another plan is told to the planner; a fixed plan cannot change', async () => {
    const problems: unknown[] = []
    const planner = (question: PlanQuestion) => {
      problems.push(question.problems)
      return { subtasks: [one(`p${problems.length}`)] }
    }
    const led = analysts({ planner, approvePlan: true })
    const runtime = await runtimeOf([led])
    const run = await runtime.start(led, 'What is it?')
    const first = (await waiting(run)).waiting[0]!
    await run.decide({ approvalId: first.id, decision: 'retry', comment: 'shorter' })
    let second = first
    while (second.id === first.id) second = (await waiting(run)).waiting[0]!
    expect(second.input).toMatchObject({ subtasks: [{ id: 'p2' }] })
    await run.decide({ approvalId: second.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(problems).toEqual([undefined, ['shorter']])

    const fixed = team({ name: 'fixed', roles: { generalist: worker }, planner: cheap, approvePlan: true })
    const other = await runtimeOf([fixed])
    const stuck = await other.start(fixed, 'What is it?')
    await stuck.decide({ approvalId: (await waiting(stuck)).waiting[0]!.id, decision: 'retry', comment: 'shorter' })
    expect(await stuck.outcome()).toMatchObject({
      failure: { code: 'work.rejected', message: 'another plan is wanted, and this one is fixed: shorter' },
    })
  })
})

describe('what a member is told of the whole', () => {
  test('a model is shown the question after its task; code has it at hand', async () => {
    const prompts: string[] = []
    const asked: unknown[] = []
    const thinker = agent({
      name: 'thinker',
      description: 'Thinks.',
      model: ({ messages }) => {
        prompts.push(JSON.stringify(messages.filter(({ role }) => role === 'user')))
        return 'thought'
      },
    })
    const coder = agent({
      name: 'coder',
      description: 'Codes.',
      run: (ctx, brief) => {
        asked.push([teammate(ctx).question, brief])
        return 'coded'
      },
    })
    await played({
      roles: { thinker, coder },
      planner: {
        subtasks: [
          { ...one('a'), role: 'thinker' },
          { ...one('b'), role: 'coder' },
        ],
      },
    })
    expect(prompts).toEqual([expect.stringMatching(/Do a.*## What your team was asked.*What is it\?/)])
    expect(asked).toEqual([['What is it?', 'Do b']])
  })

  test('the planner decides: a function’s simple task is the question, a written plan stays as it is', async () => {
    for (const [planner, told] of [
      [{ complexity: 0.1, subtasks: [one()] }, 'Do a'],
      [() => ({ complexity: 0.1, subtasks: [one()] }), 'What is it?'],
    ] as const) {
      const { events } = await played({ planner })
      expect(of(events, 'plan.created')).toMatchObject([{ route: 'simple', tasks: [{ description: told }] }])
    }
  })
})
