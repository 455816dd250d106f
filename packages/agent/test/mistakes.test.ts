/** What is easily got wrong where agents work together is said in words, as early as it can be known. */
import { expect, test } from 'vitest'
import { agent, clientTool, delegate, tool, transferTo, type Agent } from '../src/index.ts'
import { asTool, loop, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { createRuntime } from '@reeve/runtime'
import { delegateToSeveral, supervisor } from '@reeve/supervisor'
import { any, del, ended, model, one, open, plain, refusal, saidOf, workers, type Wrong } from './refused.ts'

const writer = agent({ name: 'writer', description: 'Writes.', model })

test('a router or an order without a list of agents', () => {
  expect(() => router({ name: 'r', model: () => 'x' } as never)).toThrow(
    'router "r": workers is missing, expected a list of agents',
  )
  expect(() => sequential({ name: 's', agents: one } as never)).toThrow('sequential "s": agents is ')
  expect(() => loop({ name: 'l', maxIterations: 1 } as never)).toThrow('loop "l": agents is ')
})

test('a store without a name is not a store in memory', async () => {
  await expect(createRuntime({ agents: [writer], store: '' })).rejects.toMatchObject({
    code: 'config.invalid',
    message: 'createRuntime: store is empty, expected the path of a file or postgres://…',
  })
})

test.each([
  ['file::memory:', /in memory as SQLite writes it/, /':memory:'/],
  ['file::memory:?cache=shared', /in memory as SQLite writes it/, /one that several share, name a file/],
  ['sqlite::memory:', /in memory as SQLite writes it/, /':memory:'/],
  [':memory:?cache=shared', /in memory as SQLite writes it/, /':memory:'/],
  ['file:runs.db?mode=memory', /in memory as SQLite writes it/, /':memory:'/],
])('a store called %s is told what is supported', async (store, message, hint) => {
  await expect(createRuntime({ agents: [writer], store })).rejects.toMatchObject({
    code: 'config.invalid',
    message: expect.stringMatching(message) as string,
    hint: expect.stringMatching(hint) as string,
  })
})

test('a tool without a function, and a client tool with one, name the other maker', () => {
  expect(() => tool({ name: 't' } as never)).toThrow(
    'tool "t": give execute, or run; a tool that the page or the program of the user runs is a clientTool()',
  )
  expect(() => clientTool({ name: 't', execute: () => 1 } as never)).toThrow(
    'tool "t": the client runs a client tool; what this process runs is a tool()',
  )
})

test('an agent among the tools is told apart from a tool', () => {
  const wrong = expect.objectContaining({
    code: 'tool.invalid',
    message: '"one" among the tools is an agent',
    hint: expect.stringContaining('asTool') as string,
  })
  expect(() => agent({ name: 'a', model: () => 'x', tools: [one] as never })).toThrow(wrong)
  expect(() => agent({ name: 'a', model: () => 'x', tools: { one } as never })).toThrow(wrong)
})

test('an unknown action is not taken for an exit: the model is told', async () => {
  const odd = tool({ name: 'odd', execute: () => 1, action: (() => 'stop') as never })
  const a = agent({
    name: 'a',
    tools: [odd],
    model: ({ messages }) => {
      const last = messages.at(-1)!
      return last.role === 'tool' ? JSON.stringify(last.content) : { calls: [{ name: 'odd', input: {} }] }
    },
  })
  expect(await ended(a)).toMatchObject({
    output: expect.stringMatching(/the action of .*odd.* failed: invalid action .*stop/) as string,
  })
})

test('a code transfer to an unknown target lists the possible targets', async () => {
  const r = router({ name: 'r', run: () => transferTo('two'), workers: [one] })
  expect(await ended(r)).toMatchObject({ failure: { message: '"r" hands over to "two", and may only to one' } })
})

test('the limit of transfers names the way that control went, returns included', async () => {
  const r = router({ name: 'r', run: () => transferTo('one'), workers: [one], limits: { transfers: 3 } })
  expect(await ended(r)).toMatchObject({
    limit: 'transfers',
    message: '3 transfers are used up: … one > r > one > r > one',
  })
})

test.each<Wrong>([
  [
    'an agent without options',
    () => agent(any(undefined)),
    'agent.invalid',
    'agent() was given undefined, expected an object of options',
  ],
  ['a router without options', () => router(any(undefined)), 'team.invalid', /^router\(\) was given undefined/],
  ['a supervisor without options', () => supervisor(any([])), 'team.invalid', /^supervisor\(\) was given a list/],
  ['an order without options', () => sequential(any('s')), 'team.invalid', /^sequential\(\) was given the text "s"/],
  ['a loop without options', () => loop(any(null)), 'team.invalid', /^loop\(\) was given null/],
  ['a tool without options', () => tool(any(undefined)), 'tool.invalid', /^tool\(\) was given undefined/],
  [
    'a runtime without options',
    () => createRuntime(any('x')),
    'config.invalid',
    /^createRuntime\(\) was given the text "x"/,
  ],
  [
    'an agent without a name',
    () => agent(any({ model })),
    'team.invalid',
    /^agent "undefined": name is missing, expected a letter/,
  ],
  [
    'a middleware without a name',
    () => agent(any({ ...plain, middleware: [{}] })),
    'team.invalid',
    /middleware\[0\]\.name is missing/,
  ],
  [
    'middleware that is no list',
    () => agent(any({ ...plain, middleware: { name: 'm' } })),
    'team.invalid',
    'agent "a": middleware is an object, expected a list of middlewares',
  ],
  [
    'middleware that is undefined',
    () => agent(any({ ...plain, middleware: [undefined] })),
    'team.invalid',
    'agent "a": middleware[0] is missing, expected an object',
  ],
  [
    'a model and a run',
    () => agent(any({ ...plain, run: model })),
    'agent.invalid',
    'agent "a" has both a model and a run',
  ],
  [
    'a router with both',
    () => router(any({ name: 'r', model, run: model, workers })),
    'agent.invalid',
    'router "r" has both a model and a run',
  ],
  [
    'a run that is no function',
    () => agent(any({ name: 'a', run: 'x' })),
    'agent.invalid',
    'agent "a" has run the text "x", expected a function',
  ],
  [
    'neither',
    () => agent(any({ name: 'a', modl: model })),
    'agent.invalid',
    'agent "a" has no option "modl": did you mean "model"?',
  ],
  [
    'agents that are no list',
    () => createRuntime(any({ agents: one })),
    'config.invalid',
    'createRuntime: agents is the agent "one", expected a list of agents',
  ],
  [
    'agents, one of them undefined',
    () => createRuntime(any({ agents: [one, undefined] })),
    'team.invalid',
    'agents[1] is not an agent, but undefined',
  ],
  [
    'workers of a supervisor',
    () => supervisor(any({ name: 's', model, workers: one })),
    'team.invalid',
    'supervisor "s": workers is the agent "one", expected a list of agents',
  ],
  [
    'a name for a worker',
    () => supervisor(any({ name: 's', model, workers: ['one'] })),
    'team.invalid',
    'supervisor "s": workers[0] is not an agent, but the text "one"',
  ],
  [
    'specialists',
    () => supervisor(any({ name: 's', model, workers, specialists: one })),
    'team.invalid',
    /^supervisor "s": specialists is the agent "one", expected a list/,
  ],
  [
    'workers that are asked for',
    () => supervisor(any({ name: 's', model, workers: () => [undefined] })),
    'team.invalid',
    /^supervisor "s": workers\[0\] is not an agent, but undefined/,
  ],
  [
    'routed workers that are asked for',
    () => router(any({ name: 'r', model, workers: () => one })),
    'team.invalid',
    /^router "r": workers is .*, expected a list of agents/,
  ],
  [
    'workers of code',
    () => agent(any({ name: 'a', run: model, workers: [del] })),
    'team.invalid',
    /^agent "a": workers\[0\] is not an agent, but the tool "del"/,
  ],
  [
    'a tool in an order',
    () => sequential(any({ name: 's', agents: [del] })),
    'team.invalid',
    /^sequential "s": agents\[0\] is not an agent, but the tool "del"/,
  ],
  [
    'routes to a text',
    () => router(any({ name: 'r', model, workers, routes: { one: 'r' } })),
    'team.invalid',
    'router "r": routes.one is the text "r", expected a list of names',
  ],
  [
    'routes to a stranger',
    () => router(any({ name: 'r', model, workers, routes: { r: ['two', 'one'] } })),
    'team.invalid',
    'router "r": the routes of "r": unknown agent "two"; known: r, one',
  ],
  [
    'a text that follows',
    () => router(any({ name: 'r', model, workers, transfer: { followedBy: 'one' } })),
    'team.invalid',
    'router "r": transfer.followedBy is the text "one", expected a list of names',
  ],
  [
    'transfer that is null',
    () => router(any({ name: 'r', model, workers, transfer: null })),
    'team.invalid',
    'router "r": transfer is null, expected an object',
  ],
  [
    'exceptions for an unknown worker',
    () => supervisor(any({ name: 's', model, workers, delegation: { workers: { two: {} } } })),
    'team.invalid',
    'supervisor "s": delegation.workers: unknown worker "two"; known: one',
  ],
  [
    'an exception for somebody whose name is misspelled',
    () => supervisor(any({ name: 's', model, workers, delegation: { workers: { onee: {} } } })),
    'team.invalid',
    'supervisor "s": delegation.workers: unknown worker "onee": did you mean "one"?',
  ],
  [
    'a misspelled name in the background',
    () => supervisor(any({ name: 's', model, workers: [writer], delegation: { background: ['writr'] } })),
    'team.invalid',
    'supervisor "s": delegation.background[0]: unknown worker "writr": did you mean "writer"?',
  ],
  [
    'a misspelled name of a hedge',
    () =>
      supervisor(
        any({
          name: 's',
          model,
          workers: [writer],
          delegation: { workers: { writer: { hedge: { afterMs: 1, with: 'wrter' } } } },
        }),
      ),
    'team.invalid',
    'supervisor "s": delegation.workers.writer.hedge.with: unknown worker "wrter": did you mean "writer"?',
  ],
  [
    'a hedge in one memory',
    () =>
      supervisor(
        any({
          name: 's',
          model,
          workers: [writer],
          delegation: { memory: 'continue', workers: { writer: { hedge: { afterMs: 1 } } } },
        }),
      ),
    'team.invalid',
    /^supervisor "s": delegation\.workers\.writer: hedge would begin "writer" beside "writer", but delegations that share a memory come one at a time/,
  ],
  [
    'a background that is true',
    () => supervisor(any({ name: 's', model, workers, delegation: { background: true } })),
    'team.invalid',
    'supervisor "s": delegation.background is true, expected a list of names or { workers }',
  ],
  [
    'a scorer without a name',
    () => agent(any({ ...plain, isComplete: { scorers: [() => 1] } })),
    'team.invalid',
    /isComplete\.scorers\[0\] is a function without a name: write \{ name: '…', score: … \}$/,
  ],
  [
    'a version of nobody',
    () => createRuntime({ agents: [writer], versions: { writr: 'v1' } }),
    'config.invalid',
    'createRuntime: versions.writr: unknown agent "writr": did you mean "writer"?',
  ],
  [
    'permissions that are a text',
    () => asTool(one, any({ permissions: { deny: 'del' } })),
    'tool.invalid',
    /permissions\.deny is the text "del", expected a list/,
  ],
  [
    'no agent as a tool',
    () => asTool(any('one')),
    'tool.invalid',
    'asTool: the agent is the text "one", expected an agent',
  ],
  [
    'one tool for a list',
    () => agent(any({ ...plain, tools: del })),
    'tool.invalid',
    'tools is the tool "del", expected a list, or a record by name',
  ],
  [
    'undefined among the tools',
    () => agent(any({ ...plain, tools: [undefined] })),
    'tool.invalid',
    'tools[0] is not a tool, but undefined',
  ],
  [
    'an action that is none',
    () => tool(any({ name: 't', execute: model, action: 'exti' })),
    'tool.invalid',
    /^tool "t": action is the text "exti", expected "return", "exit", "break"/,
  ],
  [
    'one of several actions',
    () => tool(any({ name: 't', execute: model, action: ['break', { exit: 'all' }] })),
    'tool.invalid',
    /^tool "t": action is an object, expected/,
  ],
  [
    'a transfer to nobody',
    () => transferTo(any(undefined)),
    'input.invalid',
    'transferTo() takes the name of an agent, not undefined',
  ],
])('said in words: %s', async (_what, make, code, says) => {
  expect(await saidOf(make)).toMatchObject(refusal(code, says))
})

test.each<Wrong>([
  [
    'an agent for its name',
    () => router(any({ name: 'r', model, workers, routes: { r: [one] } })),
    'team.invalid',
    'router "r": routes.r[0] is the agent "one", expected a name',
  ],
  [
    'a hole in a list',
    () => sequential(any({ name: 's', agents: Array(1) })),
    'team.invalid',
    'sequential "s": agents[0] is not an agent, but undefined',
  ],
  [
    'an outputKey that is null',
    () => agent(any({ ...plain, outputKey: null })),
    'team.invalid',
    /^agent "a": outputKey is null/,
  ],
  [
    'a description that is null',
    () => supervisor(any({ name: 's', model, workers: [agent(any({ ...plain, description: null }))] })),
    'team.invalid',
    /^supervisor "s": worker "a" has no description/,
  ],
  [
    'limits that are null',
    () => agent(any({ ...plain, limits: null })),
    'team.invalid',
    'agent "a": limits is null, expected an object',
  ],
])('what a JSON file may hold is said in words: %s', async (_what, make, code, says) => {
  expect(await saidOf(make)).toMatchObject(refusal(code, says))
})

test('publish, grant and revoke for an unknown agent are refused', async () => {
  const runtime = await createRuntime({ agents: [writer] })
  open.push(runtime)
  for (const made of [
    runtime.versions.publish('writr', { version: 'v1' }),
    runtime.versions.draft('writr', { version: 'v1' }),
  ])
    await expect(made).rejects.toMatchObject({
      code: 'agent.not-registered',
      message: 'the agent "writr" is not registered with this runtime: did you mean "writer"?',
    })
  expect(await runtime.versions.revisions()).toEqual([])
  for (const [made, message] of [
    [
      () => runtime.grants.revoke(any({ sesssion: 's' })),
      'grants.revoke() has no option "sesssion": did you mean "session"?',
    ],
    [
      () => runtime.grants.revoke(any({ session: 's', grant: 7 })),
      'grants.revoke(): grant is 7, expected the id of a grant',
    ],
    [() => runtime.grants.of(any({})), 'grants.of(): expected { session } or { run }, and was given neither'],
    [
      () => runtime.grants.of(any({ session: 's', run: 'r' })),
      'grants.of(): expected { session } or { run }, and was given both',
    ],
    [() => runtime.grants.of(any({ session: 7 })), 'grants.of(): session is 7, expected an id'],
    [() => runtime.grants.of(any('s')), 'grants.of() is the text "s", expected an object'],
  ] as const)
    await expect(made()).rejects.toMatchObject({ code: 'input.invalid', message })
})

test('code that delegates to an unregistered agent gets an error that says what to do', async () => {
  const leader = agent({
    name: 'leader',
    run: async (ctx) => {
      const outcome = await delegate(ctx, one, 'go')
      const { all } = await delegateToSeveral(ctx, [one], 'go', { keep: 'first' })
      return [outcome, all[0]!.outcome]
        .map((each) => (each.status === 'failed' ? each.failure.hint : each.status))
        .join(' | ')
    },
  })
  const hint = 'Add it to the `workers` of its leader, or give it to createRuntime({ agents: [...] }).'
  expect(await ended(leader)).toMatchObject({ output: `${hint} | ${hint}` })
})

test('control may be handed to the agent itself instead of its name', async () => {
  const r = router({ name: 'r', run: () => transferTo(one), workers, transfer: { returns: 'never' } })
  expect(await ended(r)).toMatchObject({ output: 'one' })
})

test('a round of routers is said once, wherever it is entered', async () => {
  const make = (name: string, next: () => Agent): Agent =>
    router({ name, description: 'Leads.', model, workers: () => [next()] })
  const a: Agent = make('A', () => b)
  const b: Agent = make('B', () => c)
  const c: Agent = make('C', () => a)
  expect((await saidOf(() => a)).says).toEqual(['agents contain each other: A > B > C > A'])
})

test('an agent of another version is told apart from one that is not there', async () => {
  const runtime = await createRuntime({ agents: [one] })
  open.push(runtime)
  const other = agent({ name: 'one', description: 'Is one.', model: () => 'two', version: '2' })
  await expect(runtime.run(other, any('go'))).rejects.toMatchObject({
    code: 'agent.not-registered',
    message: `the agent "one" is registered in another version: this one is ${other.version}, registered is ${one.version}`,
  })
  await expect(runtime.run('two', 'go')).rejects.toMatchObject({
    hint: expect.stringMatching(/^Registered: one\./) as string,
  })
  await expect(runtime.run(any(undefined), 'go')).rejects.toMatchObject({
    message: 'expected an agent or its name, not undefined',
  })
})

test('a decision on a question, and an answer to an approval, say what is meant', async () => {
  const asking = agent({ name: 'asking', run: (ctx) => interrupt(ctx, 'Which?') })
  const careful = agent({
    name: 'careful',
    tools: [tool({ name: 'pay', sensitive: true, execute: () => 1 })],
    model: ({ messages }) => (messages.at(-1)!.role === 'tool' ? 'done' : { calls: [{ name: 'pay', input: {} }] }),
  })
  const runtime = await createRuntime({ agents: [asking, careful] })
  open.push(runtime)
  const [first, second] = [await runtime.start(asking, 'go'), await runtime.start(careful, 'go')]
  await Promise.all([first.until('waiting'), second.until('waiting')])
  const [question] = await runtime.questions({ run: first.id })
  const [approval] = await runtime.approvals({ run: second.id })
  await expect(first.decide({ approvalId: question!.id, decision: 'approve' })).rejects.toMatchObject({
    code: 'approval.unknown',
    message: `"${question!.id}" is a question, not an approval`,
    hint: 'Use run.answer({ interruptId, value }), or reeve answer. Nothing was changed.',
  })
  await expect(runtime.answer({ interruptId: approval!.id, value: 1 })).rejects.toMatchObject({
    code: 'interrupt.unknown',
    message: `"${approval!.id}" is an approval, not a question`,
    hint: 'Use run.decide({ approvalId, decision }), or reeve approve, reject, edit or retry. Nothing was changed.',
  })
  await first.answer({ interruptId: question!.id, value: 'this' })
  await second.decide({ approvalId: approval!.id, decision: 'approve' })
  expect([await first.outcome(), await second.outcome()]).toMatchObject([{ output: 'this' }, { output: 'done' }])
})
