/**
 * What an agent leaves to those who come after it: its answer, whatever kind of agent it is and in whatever flow; and
 * what a tool or a worker has done, whoever decides. Cites K5, K6.
 */
import { describe, expect, test } from 'vitest'
import { agent, step, tool, type Agent, type Tool } from '@reeve/agent'
import type { Json, Outcome } from '@reeve/core'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import type { Message } from '@reeve/model'
import { human, roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { inOrder, scripted as script, simulate, teamScenario } from '@reeve/testing'
import { said, withoutSystem, xfer } from './control.ts'
import { calls, delegates, runtimeOf, scripted } from './team.ts'

const mate = (name: string): Agent =>
  agent({ name, description: `Is ${name}.`, model: () => `${name} found something` })
const planned = (synthesize: () => Json): Agent =>
  team({
    name: 'member',
    description: 'A team.',
    roles: { finder: mate('finder'), writer: mate('writer') },
    planner: {
      subtasks: [
        { id: 'a', role: 'finder', description: 'Find.' },
        { id: 'b', role: 'writer', description: 'Write.', dependencies: ['a'] },
      ],
    },
    synthesize,
  })
const about = { name: 'member', description: 'Answers.' } as const
/** An agent that somebody else has made: nothing but the interface. */
const foreign: Agent = {
  kind: 'agent',
  ...about,
  version: '1',
  orchestrate: () => Promise.resolve<Outcome>({ status: 'completed', output: 'THE ANSWER' }),
  related: () => [],
  problems: () => [],
}
const answering = agent({ name: 'inside', description: 'i', model: () => 'THE ANSWER' })

/** Every kind of agent; each answers the same. */
const kinds: readonly (readonly [string, () => Agent])[] = [
  ['a model', () => agent({ ...about, model: () => 'THE ANSWER' })],
  [
    'a model whose tool answers',
    () =>
      agent({
        ...about,
        model: () => calls(['say', {}]) as never,
        tools: [tool({ name: 'say', execute: () => 'THE ANSWER', action: 'return' })],
      }),
  ],
  [
    'a model with an agent as a tool',
    () =>
      agent({ ...about, model: script(calls(['inside', { request: 'x' }]), 'THE ANSWER'), tools: [asTool(answering)] }),
  ],
  ['code', () => agent({ ...about, run: () => 'THE ANSWER' })],
  ['a person', () => human({ ...about, timeoutMs: 1, onTimeout: { answer: 'THE ANSWER' } })],
  ['a planned team', () => planned(() => 'THE ANSWER')],
  ['a planned team that answers an object', () => planned(() => ({ report: 'THE ANSWER' }))],
  ['a round table', () => roundtable({ ...about, agents: [answering], speaker: 'round-robin', maxRounds: 1 })],
  [
    'a supervisor',
    () => supervisor({ ...about, model: script(delegates(['inside', 'x']), 'THE ANSWER'), workers: [answering] }),
  ],
  [
    'a supervisor that forwards',
    () =>
      supervisor({
        ...about,
        model: script(delegates(['inside', 'x']), calls(['forward_message', { worker: 'inside' }])),
        workers: [answering],
      }),
  ],
  [
    'a supervisor that is code',
    () =>
      supervisor({
        ...about,
        workers: [answering],
        run: async (_ctx, _brief, crew) => (await crew.delegate('inside', 'x')).text,
      }),
  ],
  ['a router', () => router({ ...about, model: inOrder(xfer('inside'), 'THE ANSWER'), workers: [answering] })],
  [
    'a handoff',
    () => router({ ...about, model: inOrder(xfer('inside')), workers: [answering], transfer: { returns: 'never' } }),
  ],
  ['a fixed order', () => sequential({ ...about, agents: [answering] })],
  ['a loop', () => loop({ ...about, agents: [answering], maxIterations: 1 })],
  ['branches', () => parallel({ ...about, agents: [answering] })],
  ['an agent of somebody else', () => foreign],
]

describe('every kind of agent leaves its answer', () => {
  test.each(kinds)(
    '%s: in a fixed order, a loop, branches and under a router, the next agent sees it',
    async (_kind, made) => {
      const shown: [string, readonly Message[] | undefined][] = []
      for (const [where, around] of [
        ['sequential', (member: Agent) => sequential({ name: 'flow', agents: [member] })],
        ['loop', (member: Agent) => loop({ name: 'flow', agents: [member], maxIterations: 1 })],
        ['parallel', (member: Agent) => parallel({ name: 'flow', agents: [member] })],
      ] as const) {
        const next = scripted('next')
        const root = sequential({ name: 'root', agents: [around(made()), agent({ name: 'next', model: next })] })
        await (await runtimeOf([root])).run(root, 'go')
        shown.push([where, next.prompts[0]])
      }
      const lead = scripted(xfer('member'), 'final')
      const root = router({ name: 'root', model: lead, workers: [made()] })
      await (await runtimeOf([root])).run(root, 'go')
      shown.push(['router', lead.prompts[1]])
      for (const [where, prompt] of shown)
        expect([where, withoutSystem(prompt).map(({ content }) => content)]).toEqual([
          where,
          expect.arrayContaining([expect.stringMatching(/^For context: \[(member|inside)\] .*THE ANSWER/)]),
        ])
    },
  )

  test('K5: a planned team in a fixed order: dead wherever it can die, the next agent is shown the same', async () => {
    const root = sequential({
      name: 'root',
      agents: [
        planned(() => 'THE ANSWER'),
        agent({ name: 'next', model: ({ messages }) => `after: ${JSON.stringify(messages.at(-1)!.content)}` }),
      ],
    })
    const { end, differences } = await simulate(teamScenario({ agents: [root], input: 'go' }))
    expect(end.outcome).toMatchObject({ output: 'after: "For context: [member] said: THE ANSWER."' })
    expect(differences).toEqual([])
  }, 60_000)
})

describe('an end that was given from outside', () => {
  const appraiser = (model: () => string): Agent => agent({ name: 'appraiser', description: 'a', model })
  const inFlow = (model: () => string, next: ReturnType<typeof scripted>): Agent =>
    sequential({ name: 'flow', agents: [appraiser(model), agent({ name: 'next', model: next })] })
  const underRouter = (model: () => string, next: ReturnType<typeof scripted>): Agent =>
    router({
      name: 'flow',
      model: scripted(
        xfer('appraiser'),
        ...['next', 'next'].map(
          (text) => (request: { messages: readonly Message[] }) => (
            void next.prompts.push([...request.messages]),
            text
          ),
        ),
      ),
      workers: [appraiser(model)],
    })

  test.each([
    ['a fixed order', inFlow],
    ['a router', underRouter],
  ] as const)(
    '%s: a fork with another outcome shows it as the agent’s answer, and not the old one',
    async (_where, made) => {
      for (const [model, isDone] of [
        [() => 'worth 100', true],
        [
          () => {
            throw new Error('no')
          },
          false,
        ],
      ] as const) {
        const next = scripted('next')
        const root = made(model, next)
        const runtime = await runtimeOf([root])
        const run = await runtime.start(root, 'The house.')
        await run.outcome()
        let at = 0
        for await (const { event, position } of run.events())
          if (event.type === 'worker.settled' && at === 0) at = position
        const before = next.prompts.length
        const options = {
          run: run.id,
          at,
          edit: { type: 'outcome', outcome: { status: 'completed', output: 'worth 900' } },
          runId: `fork-${isDone}`,
        } as const
        await (await runtime.fork(options)).outcome()
        expect(withoutSystem(next.prompts[before]).map(({ content }) => content)).toEqual([
          'The house.',
          'For context: [appraiser] said: worth 900.',
        ])
        // the same fork again is the same fork, and the journal has the edit as it was given
        const again = await runtime.fork(options)
        const edits: unknown[] = []
        for await (const { event } of again.events()) if (event.type === 'run.forked') edits.push(event.edit)
        expect(edits).toEqual([options.edit])
      }
    },
  )
})

describe('done work stands, whoever decides on control', () => {
  const book = (done: string[], action: object): Tool => {
    const made = {
      name: 'book',
      effect: 'once',
      execute: () => (done.push('flight'), 'flight LH1 booked'),
      ...action,
    } as const
    return tool(made as never)
  }
  const workers = ['billing', 'hotels'].map((name) =>
    agent({ name, description: name, model: () => `${name} answers` }),
  )

  test('K6: a tool whose transfer is overruled by a later call keeps its result, once', async () => {
    const done: string[] = []
    const hotels = scripted('hotels answer')
    const lead = scripted(calls(['book', {}, 'f'], ['transfer_to_agent', { agent_name: 'hotels' }, 't']), 'final')
    const root = router({
      name: 'desk',
      model: lead,
      tools: [book(done, { action: { transfer: 'billing' } })],
      workers: [workers[0]!, agent({ name: 'hotels', description: 'h', model: hotels })],
    })
    const run = await (await runtimeOf([root])).start(root, 'A trip.')
    await run.outcome()
    expect(done).toEqual(['flight'])
    for (const prompt of [hotels.prompts[0], lead.prompts[1]])
      expect(JSON.stringify(prompt)).toContain('The result was: flight LH1 booked')
    const result = lead.prompts[1]!.find((message) => message.role === 'tool' && message.callId === 'f')
    expect(result).not.toHaveProperty('isError')
    expect(
      (await said(run)).flatMap((each) => (each.type === 'tool' && each.callId === 'f' ? [each.content] : [])),
    ).toEqual(['flight LH1 booked'])
  })

  test.each([
    ['no such agent', { action: { transfer: 'nobody' } }, {}],
    [
      'an answer that does not fit',
      { action: 'return' },
      { output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
    ],
    [
      'a rule that throws',
      {
        action: () => {
          throw new Error('cannot say')
        },
      },
      {},
    ],
  ] as const)('a tool whose action is refused (%s) has its result, once, and no error', async (_why, action, more) => {
    const done: string[] = []
    const model = scripted(calls(['book', {}, 'f']), '{"n":1}')
    const root = agent({ name: 'a', model, tools: [book(done, action)], ...more })
    const run = await (await runtimeOf([root])).start(root, 'A trip.')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(model.prompts[1]!.at(-1)).toEqual({
      role: 'tool',
      callId: 'f',
      name: 'book',
      content: expect.stringMatching(/^\[.*The result was: flight LH1 booked\]$/) as string,
    })
    expect((await said(run)).flatMap((each) => (each.type === 'tool' ? [each.content] : []))).toEqual([
      'flight LH1 booked',
    ])
  })

  const slow = agent({
    name: 'slow',
    description: 's',
    run: (ctx) =>
      step(ctx, 'work', () => new Promise<string>((resolve) => setTimeout(() => resolve('THE RESULT'), 20))),
  })
  /** Works until it is stopped. */
  const endless = agent({
    name: 'slow',
    description: 's',
    run: (ctx) =>
      step(
        ctx,
        'work',
        ({ signal }) =>
          new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      ),
  })
  const fast = agent({ name: 'fast', description: 'f', model: () => 'fast result' })
  const both = delegates(['slow', 'go'], ['fast', 'go'])
  const boss = (...lines: Parameters<typeof scripted>): Agent =>
    supervisor({
      name: 'boss',
      description: 'b',
      model: script(...(lines as never[])),
      workers: [slow, fast],
      delegation: { background: ['slow'] },
    })
  const quick = (...lines: Parameters<typeof scripted>): Agent =>
    supervisor({
      name: 'boss',
      description: 'b',
      model: script(...(lines as never[])),
      workers: [endless, fast],
      delegation: { background: { workers: ['slow'], whenDone: 'stop' } },
    })

  test.each([
    [
      'that forwards',
      () => boss(both as never, calls(['forward_message', { worker: 'fast' }]) as never),
      /result: THE RESULT\.$/,
    ],
    [
      'that forwards and stops the rest',
      () => quick(both as never, calls(['forward_message', { worker: 'fast' }]) as never),
      /result: \[worker "slow" was cancelled/,
    ],
    ['that answers and stops the rest', () => quick(both as never, 'enough'), /result: \[worker "slow" was cancelled/],
  ] as const)(
    'a leader %s leaves the results of its background where they were promised',
    async (_how, made, result) => {
      const next = scripted('next')
      const root = sequential({ name: 'root', agents: [made(), agent({ name: 'next', model: next })] })
      await (await runtimeOf([root])).run(root, 'go')
      const shown = withoutSystem(next.prompts[0]).map(({ content }) => content)
      expect(shown).toEqual(expect.arrayContaining([expect.stringMatching(result)]))
      expect(JSON.stringify(shown)).not.toContain('will stand here')
    },
  )

  test('a leader that transfers leaves its background results too, under any crash (K5)', async () => {
    const other = agent({
      name: 'other',
      description: 'o',
      model: ({ messages }) =>
        `other heard: ${messages.filter(({ content }) => JSON.stringify(content).includes('THE RESULT')).length}`,
    })
    const lead = inOrder(xfer('boss'), 'final')
    const leader = supervisor({
      name: 'boss',
      description: 'b',
      model: inOrder(both, xfer('other')),
      workers: [slow, fast],
      delegation: { background: ['slow'] },
    })
    const root = router({
      name: 'desk',
      model: lead,
      workers: [leader, other],
      transfer: { returns: 'never' },
      routes: { boss: ['other'] },
    })
    const { end, differences } = await simulate(teamScenario({ agents: [root], input: 'go' }))
    expect(end.outcome).toMatchObject({ output: 'other heard: 1' })
    expect(differences).toEqual([])
  }, 60_000)
})
