/**
 * A name of an option that nobody knows is refused wherever options are given: passed over, it would leave open what it
 * was to close.
 */
import { expect, test } from 'vitest'
import { agent, delegate, tool, transferTo } from '../src/index.ts'
import { asTool, loop, router, sequential } from '@reeve/flow'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { any, del, ended, model, one, open, plain, refusal, saidOf, workers, type Wrong } from './refused.ts'

test.each<Wrong>([
  [
    'agent',
    () => agent(any({ ...plain, instruction: 'x' })),
    'team.invalid',
    'agent "a" has no option "instruction": did you mean "instructions"?',
  ],
  [
    'agent, by the name of another framework',
    () => agent(any({ ...plain, prompt: 'x' })),
    'team.invalid',
    'agent "a" has no option "prompt": did you mean "instructions"?',
  ],
  [
    'supervisor, by the name of another framework',
    () => supervisor(any({ name: 's', model, workers, hooks: {} })),
    'team.invalid',
    'supervisor "s" has no option "hooks": did you mean "delegation"?',
  ],
  [
    'supervisor, by the name of another framework for limits',
    () => supervisor(any({ name: 's', model, workers, maxSteps: 3 })),
    'team.invalid',
    'supervisor "s" has no option "maxSteps": did you mean "limits.ownTurns"?',
  ],
  [
    'tool, by the name of another framework',
    () => tool(any({ name: 't', inputSchema: {}, execute: () => 1 })),
    'tool.invalid',
    'tool "t" has no option "inputSchema": did you mean "input"?',
  ],
  [
    'code that has no such option either',
    () => agent(any({ name: 'a', run: () => 1, prompt: 'x' })),
    'team.invalid',
    /^agent "a" has no option "prompt"; it has name, .*, workers$/,
  ],
  [
    'code',
    () => agent(any({ name: 'a', run: () => 1, instructions: 'x' })),
    'team.invalid',
    /^agent "a" has no option "instructions"; it has name, .*, workers$/,
  ],
  [
    'limits',
    () => agent(any({ ...plain, limits: { turn: 1 } })),
    'team.invalid',
    'agent "a": limits has no option "turn": did you mean "turns"?',
  ],
  [
    'settings',
    () => agent(any({ ...plain, settings: { topp: 1 } })),
    'team.invalid',
    'agent "a": settings has no option "topp": did you mean "topP"?',
  ],
  [
    'retry',
    () => agent(any({ ...plain, retry: { attempt: 1 } })),
    'team.invalid',
    'agent "a": retry has no option "attempt": did you mean "attempts"?',
  ],
  [
    'a hook',
    () => agent(any({ ...plain, middleware: [{ name: 'm', afterModl: () => 1 }] })),
    'team.invalid',
    'agent "a": middleware[0] has no option "afterModl": did you mean "afterModel"?',
  ],
  [
    'router',
    () => router(any({ name: 'r', model, workers, delegation: {} })),
    'team.invalid',
    /^router "r" has no option "delegation"; it has name, /,
  ],
  [
    'router, workers',
    () => router(any({ name: 'r', model, worker: workers })),
    'team.invalid',
    'router "r" has no option "worker": did you mean "workers"?',
  ],
  [
    'router, model',
    () => router(any({ name: 'r', modl: model, workers })),
    'agent.invalid',
    'router "r" has no option "modl": did you mean "model"?',
  ],
  [
    'transfer',
    () => router(any({ name: 'r', model, workers, transfer: { return: 'never' } })),
    'team.invalid',
    'router "r": transfer has no option "return": did you mean "returns"?',
  ],
  [
    'transfer of one',
    () => router(any({ name: 'r', model, workers, transfer: { agents: { one: { share: 'answer' } } } })),
    'team.invalid',
    'router "r": transfer.agents.one has no option "share": did you mean "shares"?',
  ],
  [
    'permissions of a transfer',
    () => router(any({ name: 'r', model, workers, transfer: { permissions: { denied: ['del'] } } })),
    'team.invalid',
    'router "r": transfer.permissions has no option "denied"; it has tools, deny, approval',
  ],
  [
    'edge',
    () => sequential(any({ name: 's', agents: [one], edge: { returns: 'never' } })),
    'team.invalid',
    'sequential "s": edge has no option "returns"; it has context, shares, transfers, permissions, limits, oversight, agents',
  ],
  [
    'order',
    () => sequential(any({ name: 's', agents: [one], maxIterations: 2 })),
    'team.invalid',
    /^sequential "s" has no option "maxIterations"/,
  ],
  [
    'loop',
    () => loop(any({ name: 'l', agents: [one], maxIteration: 2 })),
    'team.invalid',
    'loop "l" has no option "maxIteration": did you mean "maxIterations"?',
  ],
  [
    'supervisor',
    () => supervisor(any({ name: 's', model, workers, routes: {} })),
    'team.invalid',
    /^supervisor "s" has no option "routes"/,
  ],
  [
    'supervisor, transfer',
    () => supervisor(any({ name: 's', model, workers, transfer: {} })),
    'team.invalid',
    /^supervisor "s" has no option "transfer"/,
  ],
  [
    'supervisor, run',
    () => supervisor(any({ name: 's', runs: model, workers })),
    'agent.invalid',
    /has no option "runs": did you mean "run"\?/,
  ],
  [
    'delegation',
    () => supervisor(any({ name: 's', model, workers, delegation: { permission: {} } })),
    'team.invalid',
    'supervisor "s": delegation has no option "permission": did you mean "permissions"?',
  ],
  [
    'delegation to one',
    () => supervisor(any({ name: 's', model, workers, delegation: { workers: { one: { limit: {} } } } })),
    'team.invalid',
    'supervisor "s": delegation.workers.one has no option "limit": did you mean "limits"?',
  ],
  [
    'permissions',
    () => supervisor(any({ name: 's', model, workers, delegation: { permissions: { denied: ['del'] } } })),
    'team.invalid',
    /permissions has no option "denied"/,
  ],
  [
    'asTool',
    () => asTool(one, any({ onFail: 'fail' })),
    'tool.invalid',
    'agent "one" as a tool has no option "onFail"; it has name, description, input, context, transfers, permissions, limits, oversight, onFailure, approval, action, background',
  ],
  [
    'asTool, permissions',
    () => asTool(one, any({ permissions: { denied: [] } })),
    'tool.invalid',
    /permissions has no option "denied"/,
  ],
  [
    'tool',
    () => tool(any({ name: 't', execute: model, sensitve: true })),
    'tool.invalid',
    'tool "t" has no option "sensitve": did you mean "sensitive"?',
  ],
  [
    'tool that is orchestration',
    () => tool(any({ name: 't', run: model, effect: 'once' })),
    'tool.invalid',
    /^tool "t" has no option "effect"/,
  ],
  [
    'approval',
    () => tool(any({ name: 't', execute: model, approval: { onTimeOut: 'reject' } })),
    'tool.invalid',
    'tool "t": approval has no option "onTimeOut": did you mean "onTimeout"?',
  ],
  [
    'runtime',
    () => createRuntime(any({ agent: [one] })),
    'config.invalid',
    'createRuntime has no option "agent": did you mean "agents"?',
  ],
  [
    'redact',
    () => createRuntime(any({ redact: { key: ['token'] } })),
    'config.invalid',
    'createRuntime: redact has no option "key": did you mean "keys"?',
  ],
  [
    'redact, by a pattern',
    () => createRuntime(any({ redact: { values: [/secret/] } })),
    'config.invalid',
    'createRuntime: redact.values is a list with something else in it, expected a list of texts',
  ],
  [
    'transferTo',
    () => transferTo('one', any({ tsk: 'x' })),
    'input.invalid',
    'transferTo has no option "tsk": did you mean "task"?',
  ],
])('an unknown option name is refused: %s', async (_what, make, code, says) => {
  expect(await saidOf(make)).toMatchObject(refusal(code, says))
})

test('a start with unknown permissions or limits starts nothing', async () => {
  let ran = 0
  const a = agent({
    name: 'a',
    tools: [tool({ name: 'del', execute: () => ++ran })],
    model: ({ messages }) => (messages.at(-1)!.role === 'tool' ? 'done' : { calls: [{ name: 'del', input: {} }] }),
  })
  const runtime = await createRuntime({ agents: [a] })
  open.push(runtime)
  for (const [options, says] of [
    [{ permissions: { denied: ['del'] } }, 'start: permissions has no option "denied"; it has tools, deny, approval'],
    [{ permissions: { deny: 'del' } }, 'start: permissions.deny is the text "del", expected a list of tool names'],
    [{ permissions: null }, 'start: permissions is null, expected an object'],
    [{ limits: { turn: 1 } }, 'start: limits has no option "turn": did you mean "turns"?'],
    [{ limits: null }, 'start: limits is null, expected an object'],
    [{ permission: {} }, 'start has no option "permission": did you mean "permissions"?'],
    ['x', 'start is the text "x", expected an object'],
  ] as const)
    await expect(runtime.run(a, 'go', any(options))).rejects.toMatchObject({ code: 'input.invalid', message: says })
  expect([ran, await runtime.runs()]).toEqual([0, []])
  expect(await runtime.run(a, 'go')).toMatchObject({ output: 'done' })
})

test('a delegation by code with unknown permissions starts no worker', async () => {
  for (const [options, says] of [
    [{ permission: { deny: ['del'] } }, 'delegate has no option "permission": did you mean "permissions"?'],
    [
      { permissions: { denied: ['del'] } },
      'delegate: permissions has no option "denied"; it has tools, deny, approval',
    ],
    [{ limits: { turn: 1 } }, 'delegate: limits has no option "turn": did you mean "turns"?'],
  ] as const) {
    const leader = agent({
      name: 'leader',
      run: async (ctx) => String((await delegate(ctx, one, any('go'), any(options))).status),
      workers,
    })
    expect(await ended(leader)).toMatchObject({ status: 'failed', failure: { message: says } })
  }
})

test('everything that is wrong with one definition is said at once, and that nothing was started', async () => {
  const wrong = {
    name: 'r',
    model,
    workers: [one, del],
    limits: { turn: 1 },
    transfer: { return: 'never', permissions: { denied: [] } },
    sticki: true,
  }
  expect(await saidOf(() => router(any(wrong)))).toEqual({
    code: 'team.invalid',
    says: [
      'router "r" has no option "sticki": did you mean "sticky"?',
      'router "r": workers[1] is not an agent, but the tool "del", which belongs in tools',
      'router "r": transfer has no option "return": did you mean "returns"?',
      'router "r": transfer.permissions has no option "denied"; it has tools, deny, approval',
      'agent "r": limits has no option "turn": did you mean "turns"?',
    ],
    hint: 'Correct these 5 definitions. Nothing was started.',
  })
  expect(await saidOf(() => supervisor(any({ name: 's', model, workers, route: {} })))).toMatchObject({
    hint: 'Correct its definition. Nothing was started.',
  })
})

test('an instance of a class may be a middleware, with any fields of its own', async () => {
  class Counting {
    readonly name = 'counting'
    calls = 0
    beforeModel(): void {
      this.calls++
    }
  }
  const counting = new Counting()
  expect(await ended(agent({ ...plain, middleware: [counting] }))).toMatchObject({ output: 'x' })
  expect(counting.calls).toBe(1)
})
