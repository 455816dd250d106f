/**
 * A person as an agent, in every place where an agent may stand, and at the head of a team. Spec
 * team 1.16 (one awaited call), 1.19 (a human's result is told by its provenance alone).
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent, type AgentContext, type CodeAgentOptions } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import type { Question } from '@reeve/engine'
import { asTool, router, sequential } from '@reeve/flow'
import type { Channel, Notice } from '@reeve/oversight'
import type { Run } from '@reeve/runtime'
import { human, roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, waiting } from './team.ts'
import { xfer } from './control.ts'

type Asked = { readonly [name: string]: Json }
const bodyOf = ({ body }: Question): Json => (body as { readonly question: Json }).question

/** The one open question, with what it asks; another one than `before`. */
async function only(
  run: Run<never> | Run<unknown> | Run,
  before?: string,
): Promise<{ readonly id: string; readonly question: Asked }> {
  const open = async (): Promise<readonly Question[]> =>
    (await waiting(run)).questions.filter(({ id }) => id !== before)
  await expect.poll(async () => (await open()).length, { timeout: 10_000 }).toBe(1)
  const [question] = await open()
  return { id: question!.id, question: bodyOf(question!) as Asked }
}

/** Answers one question after the other; what was asked, in order. */
async function answers(run: Run<never> | Run<unknown> | Run, ...values: readonly Json[]): Promise<Asked[]> {
  const asked: Asked[] = []
  let before: string | undefined
  for (const value of values) {
    const { id, question } = await only(run, before)
    before = id
    asked.push(question)
    await run.answer({ interruptId: id, value, by: 'ann' })
  }
  return asked
}

/** The types of the events so far, of a run that waits. */
async function eventsSoFar(run: Run<never> | Run<unknown> | Run): Promise<string[]> {
  const types: string[] = []
  const { position } = await run.view()
  for await (const recorded of run.events()) {
    types.push(recorded.event.type)
    if (recorded.position >= position) break
  }
  return types
}

const ann = human({ name: 'ann', description: 'Knows.' })

/** Somebody is asked once, and the run ends. */
async function played(root: Agent, value: Json, input: Json = 'task') {
  const run = await (await runtimeOf([root])).start(root, input)
  const [question] = await answers(run, value)
  return { run, question, outcome: await run.outcome() }
}

describe('a person does the work', () => {
  test('as a root: the brief is shown, the answer is the output with its author, views show the wait', async () => {
    const run = await (await runtimeOf([ann])).start(ann, 'Which colour?')
    const { id, question } = await only(run)
    expect(question).toEqual({ type: 'work', brief: 'Which colour?' })
    const view = await run.view()
    expect([view.status, view.interrupts.map(({ agent: name, open }) => [name, open])]).toEqual([
      'waiting',
      [['ann', true]],
    ])
    await run.answer({ interruptId: id, value: 'red', by: 'ann@example.org' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'red', by: 'ann@example.org' })
    expect((await run.view()).interrupts).toMatchObject([
      { open: false, outcome: { output: 'red', by: 'ann@example.org' } },
    ])
  })
  test.each<[string, Json]>([
    ['false', false],
    ['0', 0],
    ['an empty text', ''],
    ['null', null],
    ['an object', { a: [1] }],
  ])('an answer that is %s arrives as it is', async (_name, value) => {
    expect((await played(ann, value)).outcome).toMatchObject({ status: 'completed', output: value })
  })
  test('an answer that does not fit is asked for again, with what is wrong with it', async () => {
    const counter = human({
      name: 'counter',
      output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    })
    const run = await (await runtimeOf([counter])).start(counter, 'How many?')
    const [first, second] = await answers(run, { n: 'many' }, { n: 3 })
    expect(first).toMatchObject({ type: 'work', brief: 'How many?', output: { required: ['n'] } })
    expect(second).toEqual({
      question: first,
      problem: 'the last answer does not fit: "n" must be a number, got a string',
    })
    expect(await run.outcome()).toMatchObject({ output: { n: 3 } })
  })
  test('the shown text may be made of the brief; an invalid input reaches no person', async () => {
    const checker = human({
      name: 'checker',
      input: { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
      prompt: (brief) => `Read ${(brief as { page: string }).page}.`,
    })
    expect((await played(checker, 'fine', { page: 'p1' })).question).toEqual({ type: 'work', brief: 'Read p1.' })
    const lead = agent({
      name: 'lead',
      workers: [checker],
      run: async (ctx) => {
        const end = await ctx.delegate(checker, { page: 1 })
        return end.status === 'failed' ? end.failure.code : end.status
      },
    })
    expect(await (await runtimeOf([lead])).run(lead, 'x')).toMatchObject({ output: 'input.invalid' })
  })
  test('as a worker: the leader reads the answer as that of any worker', async () => {
    const lead = scripted(delegates(['ann', 'Which colour?']), 'final')
    const { question, outcome, run } = await played(supervisor({ name: 'boss', model: lead, workers: [ann] }), 'red')
    expect([question, told(lead.prompts[1]), outcome]).toMatchObject([
      { type: 'work', brief: 'Which colour?' },
      ['red'],
      { output: 'final' },
    ])
    expect((await run.view()).interrupts).toMatchObject([{ path: ['boss', 'ann'] }])
  })
  test('as an agent among tools', async () => {
    const model = scripted(calls(['ann', { request: 'Which colour?' }]), 'final')
    const { question, outcome } = await played(agent({ name: 'asker', model, tools: [asTool(ann)] }), 'red')
    expect([question!['type'], told(model.prompts[1]), outcome]).toMatchObject(['work', ['red'], { output: 'final' }])
  })
  test('as a step of a fixed order: sees the earlier words, and the next step hears it', async () => {
    const writer = agent({ name: 'writer', description: 'Writes.', model: scripted('a draft') })
    const last = scripted('the end')
    const editor = agent({ name: 'editor', description: 'Edits.', model: last })
    const { question, outcome } = await played(
      sequential({ name: 'line', agents: [writer, ann, editor] }),
      'shorter',
      'Write.',
    )
    expect(question).toEqual({
      type: 'work',
      brief: 'Write.',
      history: [{ text: 'Write.' }, { agent: 'writer', text: 'a draft' }],
    })
    expect(last.prompts[0]!.at(-1)).toEqual({ role: 'user', content: 'For context: [ann] said: shorter.' })
    expect(outcome).toMatchObject({ output: 'the end' })
  })
  test('as a speaker at a round table', async () => {
    const bob = agent({ name: 'bob', description: 'Talks.', model: scripted('I say red') })
    const table = roundtable({ name: 'table', agents: [bob, ann], speaker: 'round-robin', maxRounds: 2 })
    const { question, outcome, run } = await played(table, 'blue', 'Which colour?')
    expect(question!['history']).toEqual(expect.arrayContaining([{ agent: 'bob', text: 'I say red' }]))
    expect([outcome.status, (await run.view()).activations.map((each) => each.agent)]).toEqual([
      'completed',
      ['table', 'bob', 'ann'],
    ])
  })
  test('as a worker of a router: a transfer to an unknown agent is asked again, a valid one moves control', async () => {
    const clerk = agent({ name: 'clerk', description: 'Files.', model: scripted('filed') })
    const desk = router({
      name: 'desk',
      model: scripted(xfer('ann'), 'final'),
      workers: [ann, clerk],
      routes: { ann: ['clerk'], clerk: [] },
      transfer: { agents: { ann: { returns: 'never' }, clerk: { returns: 'never' } } },
    })
    const run = await (await runtimeOf([desk])).start(desk, 'task')
    const [first, second] = await answers(run, { transfer: 'nobody' }, { transfer: 'clerk', task: 'File it.' })
    expect(first!['candidates']).toEqual(expect.arrayContaining([{ name: 'clerk', description: 'Files.' }]))
    expect(second!['problem']).toMatch(/"transfer" is the text "nobody", expected one of .*clerk/)
    expect(await run.outcome()).toMatchObject({ output: 'filed' })
  })
  test('as a task of a plan: others work meanwhile, and dependents get the answer', async () => {
    const writer = agent({
      name: 'writer',
      description: 'Writes.',
      run: (_ctx, brief) => `written: ${JSON.stringify(brief).includes('red')}`,
    })
    const crew = team({
      name: 'crew',
      planner: () => ({
        complexity: 0.6,
        subtasks: [
          { id: 'ask', role: 'ann', description: 'Which colour?', produces: ['colour'] },
          { id: 'write', role: 'writer', description: 'Write.', dependencies: ['ask'] },
        ],
      }),
      roles: { ann, writer },
      output: { type: 'string' },
    })
    const { outcome, question } = await played(crew, 'red')
    expect(question).toMatchObject({ type: 'work', brief: expect.stringContaining('Which colour?') as string })
    expect(outcome).toMatchObject({
      status: 'completed',
      results: {
        tasks: [
          { task: 'ask', status: 'succeeded', output: 'red' },
          { task: 'write', status: 'succeeded' },
        ],
      },
    })
  })
  test('they hold no permit while they think: with one permit the other worker works', async () => {
    const done: string[] = []
    const bob = agent({ name: 'bob', description: 'Works.', run: () => (done.push('bob'), 'done') })
    const lead = scripted(delegates(['ann', 'think'], ['bob', 'work']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [ann, bob], concurrency: 1 })
    const run = await (await runtimeOf([boss])).start(boss, 'task')
    await only(run)
    expect(done).toEqual(['bob'])
    await answers(run, 'well')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual(['well', 'done'])
  })
  test('the same question over a restart, and its answer', async () => {
    const first = await runtimeOf([ann], { store: store() })
    const run = await first.start(ann, 'Which colour?')
    const before = await only(run)
    await first.close()
    const resumed = (await runtimeOf([ann], { store: store() })).handle(run.id)
    expect(await only(resumed)).toEqual(before)
    await resumed.answer({ interruptId: before.id, value: 'red' })
    expect(await resumed.outcome()).toMatchObject({ output: 'red' })
  })
  test('unanswered in time: it fails as timed out, or goes on with the default answer', async () => {
    const late = human({ name: 'late', timeoutMs: 20 })
    const runtime = await runtimeOf([late])
    expect(await runtime.run(late, 'quick')).toMatchObject({ status: 'failed', failure: { code: 'effect.timed-out' } })
    const kind = human({ name: 'kind', timeoutMs: 0, onTimeout: { answer: 'no' } })
    const ended = await (await runtimeOf([kind])).run(kind, 'quick')
    expect(ended).toMatchObject({ status: 'completed', output: 'no' })
    expect(ended).not.toHaveProperty('by')
  })
  test('K8: a cancel ends the wait for a person, and the question is closed', async () => {
    const lead = supervisor({ name: 'boss', model: scripted(delegates(['ann', 'think'])), workers: [ann] })
    const run = await (await runtimeOf([lead])).start(lead, 'task')
    const { id } = await only(run)
    await run.control.cancel('not needed', 'eve')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect((await run.view()).interrupts).toMatchObject([{ open: false }])
    await expect(run.answer({ interruptId: id, value: 1 })).rejects.toMatchObject({
      code: 'interrupt.expired',
      message: expect.stringContaining(`the interrupt "${id}" was taken back before it was answered`) as string,
    })
  })
  test('who answers gives a name or none', async () => {
    const run = await (await runtimeOf([ann])).start(ann, 'Which colour?')
    const { id } = await only(run)
    await expect(run.answer({ interruptId: id, value: 1, by: '' })).rejects.toMatchObject({ code: 'interrupt.invalid' })
    await run.answer({ interruptId: id, value: 1 })
    expect(await run.outcome()).not.toHaveProperty('by')
  })
})

describe('a person leads', () => {
  const finder = agent({ name: 'finder', description: 'Finds.', run: (_ctx, brief) => `found ${brief}` })
  const adder = agent({
    name: 'adder',
    description: 'Adds.',
    input: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
    run: (_ctx, given) => String((given as { a: number }).a + 1),
  })
  const broken = agent({
    name: 'broken',
    description: 'Breaks.',
    run: () => {
      throw new Error('no luck')
    },
  })
  const boss = human({ name: 'boss', workers: [finder, adder, broken] })

  test('they are shown the team and what has come of it, delegate to one or several at once, and answer', async () => {
    const run = await (await runtimeOf([boss])).start(boss, 'task')
    const [first, second, third] = await answers(
      run,
      { delegate: { worker: 'finder', instructions: 'ravens' } },
      {
        delegate: [
          { worker: 'adder', input: { a: 1 } },
          { worker: 'broken', instructions: 'try' },
        ],
      },
      { answer: 'enough' },
    )
    expect(first).toMatchObject({
      type: 'lead',
      brief: 'task',
      workers: [
        { name: 'finder', description: 'Finds.' },
        { name: 'adder', input: { required: ['a'] } },
        { name: 'broken' },
      ],
      results: [],
    })
    expect(second!['results']).toEqual([
      { delegation: 'd1', worker: 'finder', status: 'completed', text: 'found ravens' },
    ])
    expect(third!['results']).toMatchObject([
      {},
      { delegation: 'd2', text: '2' },
      { delegation: 'd3', worker: 'broken', status: 'failed' },
    ])
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'enough', by: 'ann' })
  })
  test('forwarded word for word', async () => {
    const run = await (await runtimeOf([boss])).start(boss, 'task')
    await answers(run, { delegate: { worker: 'finder', instructions: 'ravens' } }, { forward: 'd1' })
    expect(await run.outcome()).toMatchObject({ output: 'found ravens' })
    expect((await eventsOf(run)).find(({ type }) => type === 'output.forwarded')).toMatchObject({ worker: 'finder' })
  })
  test.each<[string, Json, RegExp]>([
    [
      'an unknown worker',
      { delegate: { worker: 'nobody', instructions: 'x' } },
      /delegate: "worker" is the text "nobody", expected one of finder, adder, broken/,
    ],
    ['no instructions', { delegate: { worker: 'finder' } }, /"finder" takes "instructions"/],
    [
      'a wrong input',
      { delegate: [{ worker: 'adder', input: { a: 'x' } }] },
      /delegate\[0\]: the input of "adder": "a" must be a number/,
    ],
    [
      'instructions instead of an input',
      { delegate: { worker: 'adder', instructions: 'x' } },
      /"adder" takes an "input"/,
    ],
    ['several mistakes', { delegate: [{ worker: 'x' }, 1] }, /delegate\[0\]: .*; delegate\[1\]: it is 1/],
    ['nobody', { delegate: [] }, /"delegate" is an empty list/],
    ['turns that are none', { delegate: { worker: 'finder', instructions: 'x', turns: 0 } }, /"turns" is 0/],
    ['a field that nobody knows', { delegate: { worker: 'finder', instructions: 'x', note: 1 } }, /"note" is unknown/],
    ['nothing to forward', { forward: 'd1' }, /there is no output of "d1" to forward/],
    ['a number to forward', { forward: 1 }, /"forward" is 1/],
    ['no word', 'go on', /say \{ delegate:/],
    ['two words', { answer: 1, forward: 'd1' }, /say \{ delegate:/],
  ])('%s is asked for again, and nothing is begun', async (_name, wrong, problem) => {
    const run = await (await runtimeOf([boss])).start(boss, 'task')
    const [, second] = await answers(run, wrong, { answer: 'enough' })
    expect(second!['problem']).toMatch(problem)
    expect(await run.outcome()).toMatchObject({ output: 'enough' })
    expect((await run.view()).activations).toHaveLength(1)
  })
  test('what the leader answers must fit, also what it forwards', async () => {
    const typed = human({ name: 'typed', workers: [finder], output: { type: 'number' } })
    const run = await (await runtimeOf([typed])).start(typed, 'task')
    const asked = await answers(
      run,
      { delegate: { worker: 'finder', instructions: 'x' } },
      { forward: 'finder' },
      { answer: 'many' },
      { answer: 3 },
    )
    expect(asked.map((each) => each['problem'])).toMatchObject([
      undefined,
      undefined,
      expect.stringMatching(/the output of "finder" cannot be the answer/),
      expect.stringMatching(/"answer": /),
    ])
    expect(await run.outcome()).toMatchObject({ output: 3 })
  })
  test('every leader’s hooks apply: one that ends the work asks no person', async () => {
    const ended = human({ name: 'ended', workers: [finder], delegation: { onComplete: () => ({ bail: true }) } })
    const run = await (await runtimeOf([ended])).start(ended, 'task')
    await answers(run, { delegate: { worker: 'finder', instructions: 'x' } })
    expect(await run.outcome()).toMatchObject({ status: 'bailed' })
  })
  test('a person leads under a model, over another person', async () => {
    const head = human({ name: 'head', description: 'Leads.', workers: [ann] })
    const lead = scripted(delegates(['head', 'Which colour?']), 'final')
    const top = supervisor({ name: 'top', model: lead, workers: [head] })
    const run = await (await runtimeOf([top])).start(top, 'task')
    const asked = await answers(run, { delegate: { worker: 'ann', instructions: 'Say a colour.' } }, 'red', {
      forward: 'ann',
    })
    expect(asked.map(({ type, brief }) => [type, brief])).toEqual([
      ['lead', 'Which colour?'],
      ['work', 'Say a colour.'],
      ['lead', 'Which colour?'],
    ])
    await run.outcome()
    expect(told(lead.prompts[1])).toEqual(['red'])
  })
  test('the deadline answers in their place', async () => {
    const slow = human({ name: 'slow', workers: [finder], timeoutMs: 0, onTimeout: { answer: 'by itself' } })
    expect(await (await runtimeOf([slow])).run(slow, 'task')).toMatchObject({
      status: 'completed',
      output: 'by itself',
    })
  })
})

/** Asks for two things at once, in the place where it stands. */
const both = async (ctx: AgentContext): Promise<string> => {
  const [yes, value] = await Promise.all([
    ctx.approve('rename', { input: { to: 'b' }, reason: 'it is old' }),
    ctx.interrupt('why?'),
  ])
  return `${yes.approved} ${JSON.stringify(value)}`
}

/** Whatever is open is decided and answered. */
async function bothAnswered(root: Agent, input: Json = 'task') {
  const run = await (await runtimeOf([root])).start(root, input)
  const { questions } = await waiting(run)
  expect(questions.map(({ kind }) => kind).sort()).toEqual(['approval', 'interrupt'])
  for (const { id, kind } of questions)
    await (kind === 'approval'
      ? run.decide({ approvalId: id, decision: 'approve' })
      : run.answer({ interruptId: id, value: 0 }))
  return run.outcome()
}

describe('asking reads like an ordinary call', () => {
  const code = agent({ name: 'code', description: 'Asks.', run: both })
  test('two at once need no scopes: in an agent that is code', async () => {
    expect(await bothAnswered(code)).toMatchObject({ output: 'true 0' })
  })
  test('in a tool that is orchestration', async () => {
    const model = scripted(calls(['ask', {}]), 'final')
    await bothAnswered(agent({ name: 'thinker', model, tools: [tool({ name: 'ask', run: both })] }))
    expect(told(model.prompts[1])).toEqual(['true 0'])
  })
  test('in a supervisor and a router that are code, and in a scope', async () => {
    const lead = supervisor({ name: 'lead', workers: [code], run: (ctx) => both(ctx.scope('inner')) })
    expect(await bothAnswered(lead)).toMatchObject({ output: 'true 0' })
    expect(await bothAnswered(router({ name: 'desk', workers: [code], run: both }))).toMatchObject({ output: 'true 0' })
  })
  test('in a hook', async () => {
    const heard: string[] = []
    const model = scripted('said')
    const watched = agent({
      name: 'watched',
      model,
      middleware: [{ name: 'ask', before: async (_given, { ctx }) => void heard.push(await both(ctx)) }],
    })
    expect(await bothAnswered(watched)).toMatchObject({ output: 'said' })
    expect(heard.at(-1)).toBe('true 0')
  })
  test('where a worker asks', async () => {
    const { askSupervisor } = await import('@reeve/agent')
    const asker = agent({
      name: 'asker',
      description: 'Asks.',
      run: async (ctx) => (await askSupervisor(ctx, 'well?')).text,
    })
    const lead = agent({
      name: 'lead',
      workers: [asker],
      run: async (ctx) => {
        const end = await ctx.delegate(asker, 'x', { onQuestion: (_question, own) => both(own) })
        return end.status === 'completed' ? end.output : end.status
      },
    })
    expect(await bothAnswered(lead)).toMatchObject({ output: 'true 0' })
  })
  test('steps and sleeps are methods, too, under the addresses of the functions', async () => {
    const worker = agent({
      name: 'worker',
      run: async (ctx) => [await ctx.step('one', () => 1), (await ctx.sleep(1)) ?? null, 'end'],
    })
    const run = await (await runtimeOf([worker])).start(worker, 'x')
    expect(await run.outcome()).toMatchObject({ output: [1, null, 'end'] })
    const addresses = (await eventsOf(run)).flatMap((event) =>
      event.type === 'step.begun' || event.type === 'timer.set' ? [event.address] : [],
    )
    expect(addresses).toEqual(['one', 'sleep'])
  })
  test.each<[string, object, object]>([
    [
      'a no is a value with what they say',
      { decision: 'reject', comment: 'too loud' },
      { approved: false, how: 'rejected', feedback: 'too loud', approver: 'bob' },
    ],
    [
      'a no without a word',
      { decision: 'reject' },
      { approved: false, how: 'rejected', feedback: 'a human rejected "publish"', approver: 'bob' },
    ],
    [
      'another one is wanted',
      { decision: 'retry', comment: 'shorter' },
      { approved: false, how: 'retry', feedback: 'shorter', approver: 'bob' },
    ],
    [
      'a yes, and what it is good for',
      { decision: 'approve' },
      {
        approved: true,
        input: { text: 'a' },
        edited: false,
        by: 'human',
        approver: 'bob',
        capability: { tool: 'publish', path: ['press'], approvers: ['bob'] },
      },
    ],
    [
      'a yes to something else',
      { decision: 'edit', input: { text: 'b' } },
      { approved: true, input: { text: 'b' }, edited: true, by: 'human', approver: 'bob' },
    ],
  ])('team 1.16: %s', async (_name, decision, answer) => {
    const press = agent({
      name: 'press',
      run: (ctx) => ctx.approve('publish', { input: { text: 'a' }, reason: 'it goes out' }),
    })
    const run = await (await runtimeOf([press])).start(press, 'x')
    const { waiting: open } = await waiting(run)
    expect(open).toMatchObject([
      { tool: 'publish', input: { text: 'a' }, reason: 'it goes out', risk: 'medium', onTimeout: 'reject' },
    ])
    await run.decide({ approvalId: open[0]!.id, approver: 'bob', ...decision } as never)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: answer })
  })
  test('a deadline is a value, too', async () => {
    const press = agent({ name: 'press', run: (ctx) => ctx.approve('publish', { timeoutMs: 0 }) })
    expect(await (await runtimeOf([press])).run(press, 'x')).toMatchObject({
      output: { approved: false, how: 'timed-out', feedback: 'nobody approved "publish" in time' },
    })
  })
  test('edited arguments that do not fit are asked for again, and count as rejected in the end', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const press = agent({
      name: 'press',
      run: (ctx) => ctx.approve('count', { input: { n: 1 }, schema, reason: 'why not' }),
    })
    const run = await (await runtimeOf([press])).start(press, 'x')
    const reasons: string[] = []
    const seen: string[] = []
    for (let round = 0; round < 3; round++) {
      const open = async () => (await waiting(run)).waiting.find(({ id }) => !seen.includes(id))
      await expect.poll(open, { timeout: 10_000 }).toBeDefined()
      const { id, reason } = (await open())!
      reasons.push(reason)
      seen.push(id)
      await run.decide({ approvalId: id, decision: 'edit', input: { n: 'x' } })
    }
    expect(reasons).toEqual([
      'why not',
      ...Array<unknown>(2).fill('why not (the edited arguments do not fit: "n" must be a number, got a string)'),
    ])
    expect(await run.outcome()).toMatchObject({
      output: { approved: false, how: 'rejected', feedback: expect.stringMatching(/do not fit/) as string },
    })
  })
  test('the rules of its oversight hold: who is asked, for how long, what is sensitive by its name', async () => {
    const press = agent({
      name: 'press',
      oversight: { approval: { timeoutMs: 60_000, approvers: [{ who: ['chief'] }] } },
      run: (ctx) => ctx.approve('publish_page'),
    })
    const run = await (await runtimeOf([press])).start(press, 'x')
    const { waiting: open } = await waiting(run)
    const requested = (await run.view()).approvals
    expect(open).toMatchObject([
      { risk: 'high', reason: expect.stringContaining('"publish_page" is sensitive') as string },
    ])
    expect(requested[0]!.until! - requested[0]!.askedAt).toBe(60_000)
    await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'chief' })
    expect(await run.outcome()).toMatchObject({ output: { approved: true, approver: 'chief' } })
  })
  test('invalid options are refused, all at once', async () => {
    const fails = async (run: CodeAgentOptions<string, undefined, undefined, unknown>['run']): Promise<unknown> => {
      const bad = agent({ name: 'bad', run })
      const outcome = await (await runtimeOf([bad])).run(bad, 'x')
      return outcome.status === 'failed' ? outcome.failure.message : outcome
    }
    expect(await fails((ctx) => ctx.approve('', { reson: 'x' } as never))).toMatch(
      /no option "reson": did you mean "reason"\?; approve: the action has no name/,
    )
    expect(await fails((ctx) => ctx.approve('x', { risk: 'high', onTimeout: 'approve' }))).toMatch(/may not approve/)
    expect(await fails((ctx) => ctx.approve('x', { input: 1, schema: { type: 'string' } }))).toMatch(
      /input does not fit its schema/,
    )
    expect(await fails((ctx) => ctx.interrupt('x', { untill: 1 } as never))).toMatch(
      /interrupt has no option "untill": did you mean "until"\?/,
    )
  })
  test('a time in milliseconds and an answer for it', async () => {
    const asker = agent({ name: 'asker', run: (ctx) => ctx.interrupt('x', { timeoutMs: 0, otherwise: 'nothing' }) })
    expect(await (await runtimeOf([asker])).run(asker, 'x')).toMatchObject({ output: 'nothing' })
  })
})

/** A channel that keeps what it is told, or cannot tell anybody. */
const channel = (name: string, told: Notice[], fails = false): Channel => ({
  name,
  notify: (notice) => {
    if (fails) throw new FailureError(failure('notice.failed', 'nobody is there', 'transport', { retryable: false }))
    told.push(notice)
  },
})

describe('people are told of a pending question', () => {
  test('over a person’s channels; a failed channel blocks nothing, and the journal says so', async () => {
    const heard: Notice[] = []
    const reachable = human({ name: 'reachable', channel: ['desk', 'dead'], timeoutMs: 60_000 })
    const runtime = await runtimeOf([reachable], { channels: [channel('desk', heard), channel('dead', [], true)] })
    const run = await runtime.start(reachable, 'Which colour?')
    const { id } = await only(run)
    await expect
      .poll(async () => (await eventsSoFar(run)).filter((type) => type.startsWith('notice.')).sort())
      .toEqual(['notice.failed', 'notice.sent'])
    expect(heard).toMatchObject([
      {
        type: 'interrupt',
        id,
        run: run.id,
        path: ['reachable'],
        title: 'reachable asks for an answer',
        input: { brief: 'Which colour?' },
      },
    ])
    expect(heard[0]!.until! - heard[0]!.askedAt).toBe(60_000)
    await run.answer({ interruptId: id, value: 'red' })
    expect(await run.outcome()).toMatchObject({ output: 'red' })
  })
  test('over those of the oversight, unless the person names others', async () => {
    const heard: Record<'desk' | 'other', Notice[]> = { desk: [], other: [] }
    const asker = agent({
      name: 'asker',
      oversight: { approval: { notify: ['desk'] } },
      run: async (ctx) => [
        await ctx.interrupt('one'),
        await ctx.interrupt('two', { notify: ['other'] }),
        await ctx.interrupt('three', { notify: [] }),
      ],
    })
    const runtime = await runtimeOf([asker], { channels: [channel('desk', heard.desk), channel('other', heard.other)] })
    const run = await runtime.start(asker, 'x')
    let before: string | undefined
    for (const count of [1, 2, 2]) {
      const { id } = await only(run, before)
      await expect.poll(() => heard.desk.length + heard.other.length, { timeout: 10_000 }).toBe(count)
      await run.answer({ interruptId: (before = id), value: 1 })
    }
    expect(await run.outcome()).toMatchObject({ output: [1, 1, 1] })
    expect([heard.desk.map(({ text }) => text), heard.other.map(({ text }) => text)]).toEqual([['one'], ['two']])
  })
  test('an unregistered channel is found when the runtime is made', async () => {
    const lost = human({ name: 'lost', channel: 'dsk' })
    await expect(runtimeOf([lost], { channels: [channel('desk', [])] })).rejects.toMatchObject({
      code: 'config.invalid',
      message:
        'createRuntime: the agent "lost": channel names the channel "dsk", which is not registered: did you mean "desk"?',
    })
  })
})
