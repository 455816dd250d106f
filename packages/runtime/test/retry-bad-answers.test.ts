/**
 * A run that ended because of what a model answered: its retry asks the model again, with the prompt of today, and
 * repeats nothing that was done before that answer (K6, K10).
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { agent, tool, transferTo, type Agent } from '@reeve/agent'
import { loop, router, sequential } from '@reeve/flow'
import type { Recorded } from '@reeve/journal'
import type { ModelFunction } from '@reeve/model'
import type { BatchResult, Run } from '../src/index.ts'
import { roundtable } from '../../supervisor/src/conversation/roundtable.ts'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { judge } from '../../agent/src/judge.ts'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

type Prompt = 'the old prompt' | 'the new prompt'

let folder = ''
let store = ''
/** Prompts with which models were asked for an answer. */
const asked: Prompt[] = []
let paid = 0
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-retry-'))
  store = join(folder, 'x.db')
  asked.length = 0
  paid = 0
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

type Rule = ModelFunction
const promptIn = (messages: readonly { readonly role: string; readonly content: unknown }[]): Prompt =>
  messages.some(({ content }) => String(content).includes('the new prompt')) ? 'the new prompt' : 'the old prompt'

/** Pays once, then answers: well only with the new prompt. */
const answers =
  (good: string, bad: ReturnType<Rule>): Rule =>
  ({ messages }) => {
    if (!messages.some(({ role }) => role === 'tool')) return { calls: [{ name: 'pay', input: {} }] }
    const prompt = promptIn(messages)
    asked.push(prompt)
    return prompt === 'the new prompt' ? good : bad
  }
const pay = tool({ name: 'pay', effect: 'once', execute: () => `paid ${++paid}` })
const Out = z.object({ n: z.number() })
const facts = (instructions: Prompt) => ({ name: 'worker', description: 'Works.', instructions, tools: [pay] }) as const

/** How an answer turns out to be bad. */
const kinds: { readonly [Kind in string]: (prompt: Prompt) => Agent } = {
  'does not fit the schema': (prompt) => agent({ ...facts(prompt), output: Out, model: answers('{"n":1}', 'no JSON') }),
  'was filtered': (prompt) =>
    agent({
      ...facts(prompt),
      output: Out,
      model: answers('{"n":1}', { text: '', finish: 'content-filter' }),
    }),
  'is refused by a middleware': (prompt) =>
    agent({
      ...facts(prompt),
      model: answers('fine', 'bad'),
      middleware: [
        {
          name: 'guard',
          afterModel: async ({ text }, { ctx }) => {
            await ctx.step('looked up', () => 'the rules', { effect: 'read' })
            if (text === 'bad') throw new Error('not allowed to say this')
          },
        },
      ],
    }),
  'is refused at the end': (prompt) =>
    agent({
      ...facts(prompt),
      model: answers('fine', 'bad'),
      middleware: [
        {
          name: 'guard',
          after: (outcome) => {
            if (outcome.status === 'completed' && outcome.output === 'bad') throw new Error('not allowed')
          },
        },
      ],
    }),
}
/** These end as `limited`: the turns that their answers had used are free again before the first of them. */
const limiting: typeof kinds = {
  'never passes a scorer': (prompt) =>
    agent({
      ...facts(prompt),
      model: answers('fine', 'bad'),
      isComplete: { scorers: [{ name: 'length', score: ({ text }) => text.length > 3 }] },
      limits: { turns: 4 },
    }),
  'never passes a judge': (prompt) =>
    agent({
      ...facts(prompt),
      model: answers('fine', 'bad'),
      isComplete: {
        scorers: [
          judge({
            name: 'critic',
            criteria: 'It is fine.',
            model: ({ messages }) =>
              JSON.stringify({ score: JSON.stringify(messages.at(-1)).includes('fine') ? 1 : 0, reason: 'not fine' }),
          }),
        ],
      },
      limits: { turns: 4 },
    }),
  'asks for too many calls': (prompt) =>
    agent({
      ...facts(prompt),
      model: answers('fine', {
        calls: [
          { name: 'pay', input: {} },
          { name: 'pay', input: {} },
        ],
      }),
      limits: { calls: 1 },
    }),
}

/** Who has the worker, and fails when it does. */
const leaders: { readonly [Shape in string]: (worker: Agent) => Agent } = {
  sequential: (worker) => sequential({ name: 'root', agents: [sequential({ name: 'inner', agents: [worker] })] }),
  loop: (worker) => loop({ name: 'root', agents: [worker], maxIterations: 1 }),
  router: (worker) =>
    router({
      name: 'root',
      workers: [worker],
      transfer: { returns: 'never', onFailure: 'end' },
      run: () => transferTo(worker),
    }),
}
/** Who has the worker, and fails in words of its own. */
const strangers: typeof leaders = {
  'code that passes it on': (worker) =>
    agent({
      name: 'root',
      workers: [worker],
      run: async (ctx) => {
        const end = await ctx.delegate(worker, 'Go')
        if (end.status !== 'completed') throw new Error('the worker was no good')
        return end.output
      },
    }),
  'code, with the worker apart': (worker) =>
    supervisor({
      name: 'root',
      workers: [worker],
      delegation: { workers: { worker: { place: 'apart' } } },
      run: async (ctx) => {
        const end = await ctx.delegate(worker, 'Go')
        if (end.status !== 'completed') throw new Error('the worker was no good')
        return end.output
      },
    }),
  'a task of a team': (worker) =>
    team({
      name: 'root',
      roles: { first: agent({ name: 'first', description: 'First.', run: () => 'done' }), worker },
      planner: {
        subtasks: [
          { id: 'a', description: 'a', role: 'first' },
          { id: 'b', description: 'b', role: 'worker', dependencies: ['a'], critical: true },
        ],
      },
    }),
}

const eventsOf = async (run: Run<unknown>): Promise<readonly Recorded[]> => {
  const events: Recorded[] = []
  for await (const recorded of run.events()) events.push(recorded)
  return events
}

/** Runs it with the old prompt, and retries it with the new one. */
async function retried(
  make: (prompt: Prompt) => Agent,
  { status = 'failed', session }: { readonly status?: string; readonly session?: string } = {},
) {
  let id = ''
  {
    const root = make('the old prompt')
    await using runtime = await runtimeUnderTest({ store, agents: [root], onWarning: () => {} })
    const run = await runtime.start(root, 'Go', session === undefined ? {} : { session })
    id = run.id
    expect((await run.outcome()).status).toBe(status)
  }
  asked.length = 0
  await using runtime = await runtimeUnderTest({
    store,
    agents: [make('the new prompt')],
    onWarning: () => {},
  })
  const retry = await runtime.retry(id)
  const outcome = await retry.outcome()
  return { retry, outcome, events: await eventsOf(retry) }
}

const table = [
  ...Object.entries(kinds).flatMap(([kind, make]) => [
    [kind, 'a run', make] as const,
    ...Object.entries({ ...leaders, ...strangers }).map(
      ([shape, around]) => [kind, shape, (prompt: Prompt) => around(make(prompt))] as const,
    ),
  ]),
  ...Object.entries(limiting).flatMap(([kind, make]) => [
    [kind, 'alone', make] as const,
    ...Object.entries(strangers).map(
      ([shape, around]) => [kind, shape, (prompt: Prompt) => around(make(prompt))] as const,
    ),
  ]),
]

describe('K10: a retry after a bad answer asks the model again', () => {
  test.each(table)('an answer that %s: %s', async (kind, shape, make) => {
    const status = shape === 'alone' && kind in limiting ? 'limited' : 'failed'
    const { retry, outcome, events } = await retried(make, { status })
    expect(outcome.status).toBe('completed')
    expect(asked.length).toBeGreaterThan(0)
    expect(new Set(asked)).toEqual(new Set(['the new prompt']))
    expect(paid).toBe(1)
    expect(retry.from).toMatchObject({ agent: 'worker', redoes: 'model-call' })
    expect(retry.discarded.modelCalls).toBeGreaterThan(0)
    const first = events.findIndex(({ event }) => event.type === 'run.forked')
    expect(events.slice(first).filter(({ event }) => event.type === 'tool.called')).toEqual([])
    expect(events.some(({ event }) => event.type === 'agent.moved')).toBe(true)
  })

  test('in a session', async () => {
    const { outcome } = await retried(kinds['does not fit the schema']!, { session: 's' })
    expect([outcome.status, new Set(asked), paid]).toEqual(['completed', new Set(['the new prompt']), 1])
  })

  test('every correction is left: the first new answer may be bad, too', async () => {
    let replies = 0
    const make = (prompt: Prompt) =>
      agent({
        name: 'worker',
        instructions: prompt,
        output: Out,
        model: ({ messages }) => {
          asked.push(promptIn(messages))
          return promptIn(messages) === 'the new prompt' && ++replies === 3 ? '{"n":1}' : 'no JSON'
        },
      })
    const { outcome, retry } = await retried(make)
    expect([outcome.status, asked.length, retry.discarded]).toEqual(['completed', 3, { modelCalls: 3, effects: 0 }])
  })

  test('a retry that fails by its answers is retried in turn', async () => {
    let replies = 0
    const worker = agent({ name: 'worker', output: Out, model: () => (++replies === 7 ? '{"n":1}' : 'no JSON') })
    await using runtime = await runtimeUnderTest({ agents: [worker] })
    const run = await runtime.start(worker, 'Go')
    await run.outcome()
    const first = await runtime.retry(run.id)
    expect([(await first.outcome()).status, replies]).toEqual(['failed', 6])
    expect([(await (await runtime.retry(first.id)).outcome()).status, replies]).toEqual(['completed', 7])
  })

  test('`once` work that followed a bad answer is asked about, not repeated', async () => {
    let isGood = false
    const worker = agent({
      name: 'worker',
      output: Out,
      tools: [pay],
      model: ({ messages }) => {
        const last = messages.at(-1)!
        if (last.role === 'tool') return isGood ? '{"n":1}' : 'no JSON'
        if (messages.length === 1) return { calls: [{ name: 'pay', input: {} }] }
        return isGood ? '{"n":1}' : 'no JSON'
      },
      middleware: [
        {
          name: 'guard',
          afterModel: async ({ text }, { ctx }) => {
            if (text === 'no JSON') await ctx.step('report', () => `paid ${++paid}`, { effect: 'once' })
          },
        },
      ],
    })
    await using runtime = await runtimeUnderTest({ agents: [worker] })
    const run = await runtime.start(worker, 'Go')
    await run.outcome()
    expect(paid).toBe(4)
    const retry = await runtime.retry(run.id)
    expect(retry.discarded).toEqual({ modelCalls: 3, effects: 3 })
    const state = await retry.until('waiting')
    if (!('questions' in state)) throw new Error(`it ended as ${state.status}`)
    expect(state.questions.map(({ kind }) => kind)).toEqual(['in-doubt'])
    isGood = true
    await retry.control.settleDoubt({ id: state.questions[0]!.id, happened: true })
    expect((await retry.outcome()).status).toBe('completed')
    expect(paid).toBe(4)
  })
})

describe('the answers of those who decide', () => {
  /** Says the second once the prompt is new. */
  const says = (bad: string, good: string) => (prompt: Prompt) => ({
    name: 'helper',
    description: 'Helps.',
    instructions: prompt,
    model: (({ messages }) => {
      asked.push(promptIn(messages))
      return promptIn(messages) === 'the new prompt' ? good : bad
    }) satisfies Rule,
  })
  const clerk = agent({ name: 'clerk', description: 'Works.', run: () => `paid ${++paid}` })
  const plan = JSON.stringify({ subtasks: [{ id: 'a', description: 'a', role: 'clerk' }] })
  const badPlan = JSON.stringify({ subtasks: [{ id: 'a', description: 'a', role: 'clerk', dependencies: ['x'] }] })
  const crew = { name: 'crew', roles: { clerk } }
  const done = JSON.stringify({ speaker: 'nobody' })

  const cases: { readonly [Case in string]: readonly [make: (prompt: Prompt) => Agent, agent: string, paid: number] } =
    {
      'a plan that cannot be read, by a model': [
        (prompt) => team({ ...crew, planner: { instructions: prompt, model: says('no JSON', plan)(prompt).model } }),
        'crew',
        1,
      ],
      'a plan that cannot be carried out, by a model': [
        (prompt) => team({ ...crew, planner: { instructions: prompt, model: says(badPlan, plan)(prompt).model } }),
        'crew',
        1,
      ],
      'an empty plan': [
        (prompt) => team({ ...crew, planner: { instructions: prompt, model: says('', plan)(prompt).model } }),
        'crew',
        1,
      ],
      'a plan that cannot be carried out, by an agent': [
        (prompt) => team({ ...crew, planner: agent(says(badPlan, plan)(prompt)) }),
        'helper',
        1,
      ],
      'a synthesis that does not fit, by an agent': [
        (prompt) =>
          team({
            ...crew,
            output: Out,
            planner: { subtasks: [{ id: 'a', description: 'a', role: 'clerk' }] },
            synthesize: agent(says('no JSON', '{"n":1}')(prompt)),
          }),
        'helper',
        1,
      ],
      'a task that says of itself that it did not succeed': [
        (prompt) =>
          team({
            name: 'crew',
            roles: {
              helper: agent({
                ...says('{"success":false,"error":"no idea"}', '{"success":true}')(prompt),
                output: z.object({ success: z.boolean(), error: z.string().optional() }),
              }),
              clerk,
            },
            planner: {
              subtasks: [
                { id: 'a', description: 'a', role: 'clerk' },
                { id: 'b', description: 'b', role: 'helper', dependencies: ['a'], critical: true },
              ],
            },
          }),
        'helper',
        1,
      ],
      'an answer that does not fit the output of its router': [
        (prompt) =>
          router({
            name: 'desk',
            output: Out,
            workers: [agent(says('no JSON', '{"n":1}')(prompt))],
            transfer: { returns: 'never' },
            run: () => transferTo('helper'),
          }),
        'helper',
        0,
      ],
      'an answer that does not fit the output of its roundtable': [
        (prompt) =>
          roundtable({
            name: 'table',
            output: Out,
            agents: [agent(says(done, '{"n":1}')(prompt))],
            speaker: 'round-robin',
            maxRounds: 1,
          }),
        'helper',
        0,
      ],
    }

  test.each(Object.entries(cases))('%s', async (_case, [make, name, payments]) => {
    const { retry, outcome } = await retried(make)
    expect(outcome.status).toBe('completed')
    expect(new Set(asked)).toEqual(new Set(['the new prompt']))
    expect(retry.from).toMatchObject({ agent: name, redoes: 'model-call' })
    expect(paid).toBe(payments)
  })
})

describe('what stays as it was', () => {
  test('code that fails by itself is run again from its journal: its worker is not asked again', async () => {
    let isBroken = true
    const worker = agent({
      name: 'worker',
      description: 'Works.',
      model: ({ messages }) => {
        asked.push(promptIn(messages))
        return 'fine'
      },
    })
    const root = agent({
      name: 'root',
      workers: [worker],
      run: async (ctx) => {
        const end = await ctx.delegate(worker, 'Go')
        if (isBroken) throw new Error('a mistake')
        return end.status
      },
    })
    await using runtime = await runtimeUnderTest({ agents: [root], onWarning: () => {} })
    const run = await runtime.start(root, 'Go')
    await run.outcome()
    isBroken = false
    const retry = await runtime.retry(run.id)
    expect(await retry.outcome()).toMatchObject({ status: 'completed' })
    expect(asked).toHaveLength(1)
    expect(retry).toMatchObject({
      from: { agent: 'root', redoes: 'code' },
      discarded: { modelCalls: 0, effects: 0 },
    })
  })

  test('a run at a limit is refused where going back frees nothing: its calls did work', async () => {
    const looks = tool({ name: 'look', effect: 'read', input: { type: 'object' }, execute: () => 'nothing yet' })
    const root = agent({
      name: 'looker',
      tools: [looks],
      limits: { turns: 3 },
      model: () => ({ calls: [{ name: 'look', input: {} }] }),
    })
    await using runtime = await runtimeUnderTest({ agents: [root] })
    const run = await runtime.start(root, 'Go')
    expect((await run.outcome()).status).toBe('limited')
    await expect(runtime.retry(run.id)).rejects.toThrow('reached its limit of turns')
  })
})

test('many at once: all runs that failed by a bad prompt are completed by the mended one', async () => {
  const make = kinds['does not fit the schema']!
  const count = 30
  {
    const root = make('the old prompt')
    await using runtime = await runtimeUnderTest({ store, agents: [root] })
    for (let n = 0; n < count; n++) await runtime.run(root, 'Go')
  }
  asked.length = 0
  await using runtime = await runtimeUnderTest({ store, agents: [make('the new prompt')] })
  const results: BatchResult[] = []
  for await (const result of (await runtime.batch('retry', { status: ['failed'] })).results()) results.push(result)
  expect(results).toHaveLength(count)
  for (const result of results) {
    if (result.status !== 'done') throw new Error(`${result.run} was not retried`)
    expect(result).toMatchObject({ from: { redoes: 'model-call' }, discarded: { modelCalls: 3, effects: 0 } })
    expect((await runtime.handle(result.retry!).outcome()).status).toBe('completed')
  }
  expect(asked).toEqual(results.map(() => 'the new prompt'))
  expect(paid).toBe(count)
})
