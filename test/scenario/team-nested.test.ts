/**
 * Teams in teams, below supervisors, in flows and as tools; with people outside who mean one of them. Spec team 1.7 to
 * 1.9, delegation L1.
 */
import { describe, expect, test } from 'vitest'
import { agent, asTool, delegate, interrupt, sequential, supervisor } from '@reeve/public'
import { isTeammate, teammate, type Agent } from '@reeve/agent'
import { asText, type Json, type PlanResults } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Run } from '@reeve/runtime'
import { team, type Subtask, type TeamOptions } from '@reeve/team'
import { calls, delegates, eventsOf, runtimeOf, scripted, waiting } from './team.ts'

type Doing = (ctx: Context, brief: string) => Promise<Json>
const doer = (doings: Readonly<Record<string, Doing>>, name = 'doer'): Agent =>
  agent({
    name,
    description: 'Does what its task says.',
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const task = brief.split('\n')[0]!
      return doings[task]?.(ctx, brief) ?? `${task} done`
    },
  })
const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })
const crew = (
  name: string,
  doings: Readonly<Record<string, Doing>>,
  subtasks: readonly Subtask[],
  more: Partial<TeamOptions<string>> = {},
): Agent =>
  team({
    name,
    description: `The ${name}.`,
    roles: { generalist: doer(doings, `${name}_doer`) },
    planner: { subtasks },
    ...more,
  })

const holds: Doing = async (ctx, brief) => `heard ${asText(await interrupt(ctx, brief.split('\n')[0]!))}`
async function letGo(run: Run, ...tasks: readonly string[]): Promise<void> {
  for (const each of tasks) {
    const asked = async (): Promise<string | undefined> =>
      (await waiting(run)).questions.find(({ body }) => (body as { question?: Json }).question === each)?.id
    await expect.poll(asked).toBeDefined()
    await run.answer({ interruptId: (await asked())!, value: 'go' })
  }
}
const start = async (root: Agent): Promise<Run> => {
  const runtime = await runtimeOf([root])
  return (await runtime.start(root, 'Go')) as unknown as Run
}
const resultsOf = (outcome: unknown): PlanResults => (outcome as { results: PlanResults }).results
const outputs = (outcome: unknown): Record<string, Json | undefined> =>
  Object.fromEntries(resultsOf(outcome).tasks.map((each) => [each.task, each.output]))

describe('a team as a role of a team', () => {
  test('each has its own mail, members and topics; nothing of one is heard in the other', async () => {
    const inner = crew(
      'inner',
      {
        x: async (ctx) => {
          const me = teammate(ctx)
          const sent = await me.send({ to: '*', content: 'inside' })
          const far = await me.send({ to: 'outer_1', content: 'outside?' })
          return { sent, far, team: (await me.team()).map((each) => each.member) }
        },
        y: async (ctx) => (await teammate(ctx).nextMail()).map(({ from, content }) => [from, content]),
      },
      [task('x'), task('y')],
    )
    const outer = crew('outer', {}, [task('a'), task('z', { role: 'inner' }), task('b', { dependencies: ['z'] })], {
      roles: {
        generalist: doer({
          a: async (ctx) => await teammate(ctx).send({ to: 'inner_1', content: 'for the whole of you' }),
          b: async (ctx) => (await teammate(ctx).inbox()) as unknown as Json,
        }),
        inner,
      },
    })
    const run = await start(outer)
    const outcome = await run.outcome()
    expect(outcome.status).toBe('completed')
    expect(outputs(outcome)).toMatchObject({ a: { accepted: true, seq: 1, recipients: ['inner_1'] }, b: [] })
    const [one, two] = (await run.view()).teams
    expect([one!.agent, two!.agent]).toEqual(['outer', 'inner'])
    expect(two!.mailbox).toMatchObject({ accepted: 2, dropped: 0 })
    expect(two!.mailbox.messages.map(({ to, recipients }) => [to, recipients])).toEqual([
      ['*', ['generalist_2']],
      ['outer_1', []],
    ])
    expect(one!.mailbox.unread).toEqual({ inner_1: 1 })
    expect(two!.members.map(({ member, status }) => [member, status])).toEqual([
      ['generalist_1', 'completed'],
      ['generalist_2', 'completed'],
    ])
  })

  test('people outside mean the outer one, unless they name the other', async () => {
    const inner = crew('inner', { x: holds }, [task('x')])
    const outer = crew('outer', {}, [task('z', { role: 'inner' })], { roles: { inner, generalist: doer({}) } })
    const run = await start(outer)
    await waiting(run)
    expect(await run.team.recruit({ description: 'outer help' })).toMatchObject({
      admitted: true,
      member: 'dynamic_generalist_1',
    })
    expect(await run.team.recruit({ description: 'inner help', team: 'inner' })).toMatchObject({
      admitted: true,
      member: 'dynamic_generalist_1',
    })
    expect(await run.team.post({ to: 'generalist_1', content: 'hello', team: 'inner' })).toBe('accepted')
    await expect(run.team.post({ to: '*', content: 1, team: 'nobody' })).rejects.toMatchObject({
      code: 'input.invalid',
    })
    expect(await run.team.retire({ member: 'generalist_1', team: 'inner' })).toEqual({ retired: true })
    expect(await run.team.retire({ member: 'generalist_1' })).toMatchObject({ retired: false, reason: 'unknown' })
    await letGo(run, 'x')
    expect((await run.outcome()).status).toBe('completed')
    const [one, two] = (await run.view()).teams
    expect(one!.plan.tasks.map((each) => each.task)).toEqual(['z', 'dynamic_generalist_1'])
    expect(two!.plan.tasks.map((each) => each.task)).toEqual(['x', 'dynamic_generalist_1'])
    expect(two!.members[0]).toMatchObject({ status: 'retired' })
    expect(two!.mailbox.accepted).toBe(1)
  })

  test('a wait for mail in vain is told so, and the other goes on; the outer team’s task has no one to write', async () => {
    const inner = crew(
      'inner',
      {
        x: async (ctx) =>
          teammate(ctx)
            .nextMail()
            .then(
              () => 'mail',
              (thrown: { failure: { code: string } }) => thrown.failure.code,
            ),
      },
      [task('x')],
    )
    const waits: Doing = async (ctx) =>
      teammate(ctx)
        .nextMail({ from: 'inner_1' })
        .then(
          () => 'mail',
          (thrown: { failure: { code: string } }) => thrown.failure.code,
        )
    const outer = team({
      name: 'outer',
      roles: { generalist: doer({ a: waits }), inner },
      planner: { subtasks: [task('a'), task('z', { role: 'inner' })] },
    })
    const outcome = await (await start(outer)).outcome()
    expect(outputs(outcome)).toEqual({ a: 'team.deadlock', z: 'team.deadlock' })
  })

  test('a failure of the inner plan is a failure of its task, with three attempts and no more', async () => {
    const inner = crew(
      'inner',
      {
        x: async () => {
          throw new Error('broken')
        },
      },
      [task('x')],
      { retry: { backoffMs: 0 } },
    )
    const outer = team({
      name: 'outer',
      roles: { inner, generalist: doer({}) },
      planner: { subtasks: [task('z', { role: 'inner' }), task('a')] },
      retry: { attempts: 2, backoffMs: 0 },
    })
    const run = await start(outer)
    const outcome = await run.outcome()
    expect(outcome.status).toBe('completed')
    expect(resultsOf(outcome)).toMatchObject({ coverage: { succeeded: 1, planned: 2 }, partial: true })
    expect((await eventsOf(run)).filter(({ type }) => type === 'plan.created')).toHaveLength(
      1 + resultsOf(outcome).tasks[0]!.attempts,
    )
  })

  test('a cancel reaches all members of both; neither view shows one at work', async () => {
    const inner = crew('inner', { x: holds }, [task('x'), task('y', { dependencies: ['x'] })])
    const outer = crew('outer', {}, [task('z', { role: 'inner' }), task('last', { dependencies: ['z'] })], {
      roles: { inner, generalist: doer({}) },
    })
    const run = await start(outer)
    await waiting(run)
    await run.control.cancel('enough', 'Ann')
    expect((await run.outcome()).status).toBe('cancelled')
    for (const { members, plan, state } of (await run.view()).teams) {
      expect(state).toBe('cancelled')
      expect(members.filter(({ status }) => !['cancelled', 'completed'].includes(status))).toEqual([])
      expect(plan.tasks.filter(({ status }) => status !== 'cancelled')).toEqual([])
    }
    expect(await run.team.post({ to: '*', content: 'late' })).toBe('closed')
    expect(await run.team.recruit({ description: 'late' })).toMatchObject({ admitted: false, reason: 'closed' })
    expect(await run.team.retire({ member: 'generalist_1', team: 'inner' })).toMatchObject({
      retired: false,
      reason: 'closed',
    })
  })

  test('a supervisor as a member: whom it delegates to is no member, and says so; its own tools may write', async () => {
    const helper = agent({
      name: 'helper',
      description: 'Helps.',
      run: async (ctx: Context) => String(isTeammate(ctx)),
    })
    const boss = supervisor({
      name: 'boss',
      description: 'Leads.',
      workers: [helper],
      model: scripted(delegates(['helper', 'help']), 'boss done'),
    })
    const outer = team({
      name: 'outer',
      roles: { boss, generalist: doer({}) },
      planner: { subtasks: [task('z', { role: 'boss' }), task('a', { dependencies: ['z'] })] },
    })
    const outcome = await (await start(outer)).outcome()
    expect(outcome.status).toBe('completed')
    expect(outputs(outcome)).toMatchObject({ z: 'boss done' })
  })
})

describe('a team below others', () => {
  test('as a worker of a supervisor, twice: outside, its name alone is not enough while both go on', async () => {
    const inner = crew('inner', { x: holds }, [task('x')])
    const root = supervisor({
      name: 'root',
      workers: [inner],
      model: scripted(delegates(['inner', 'one'], ['inner', 'two']), 'all done'),
    })
    const run = await start(root)
    await waiting(run)
    const both = (await run.view()).teams
    expect(both).toHaveLength(2)
    for (const named of [{}, { team: 'inner' }])
      await expect(run.team.recruit({ description: 'help', ...named })).rejects.toMatchObject({ code: 'input.invalid' })
    const [first, second] = both.map(({ activation }) => activation)
    expect(await run.team.recruit({ description: 'help', team: first! })).toMatchObject({ admitted: true })
    expect(await run.team.post({ to: '*', content: 'you', team: second! })).toBe('accepted')
    for (let left = 2; left > 0; left--) {
      const { questions } = await waiting(run)
      await run.answer({ interruptId: questions[0]!.id, value: 'go' })
      await expect
        .poll(async () => (await run.view()).teams.filter(({ state }) => state === 'completed').length)
        .toBe(3 - left)
    }
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all done' })
    const [one, two] = (await run.view()).teams
    expect([one!.members.length, two!.members.length]).toEqual([2, 1])
    expect([one!.mailbox.accepted, two!.mailbox.accepted]).toEqual([0, 1])
  })

  test('in a sequential: it is a step like any other, and people outside find it while it works', async () => {
    const inner = crew('inner', { x: holds }, [task('x')])
    const next = agent({ name: 'next', description: 'Next.', run: (_ctx: Context, input: string) => `then: ${input}` })
    const run = await start(sequential({ name: 'line', agents: [inner, next] }))
    await waiting(run)
    expect(await run.team.post({ to: '*', content: 'hello' })).toBe('accepted')
    await letGo(run, 'x')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'then: Go' })
    expect((await run.view()).teams[0]).toMatchObject({ state: 'completed', mailbox: { accepted: 1 } })
    expect((await run.view()).teams).toHaveLength(1)
  })

  test('as a tool: its answer is the result; its failure goes back to the model with the other results', async () => {
    const good = crew('good', {}, [task('x')])
    const bad = crew(
      'bad',
      {
        x: async () => {
          throw new Error('broken')
        },
      },
      [task('x')],
      { retry: { backoffMs: 0 } },
    )
    const model = scripted(calls(['good', { request: 'go' }], ['bad', { request: 'go' }]), 'the end')
    const root = agent({ name: 'root', model, tools: [asTool(good), asTool(bad)] as never })
    const run = await start(root)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'the end' })
    expect(Object.fromEntries((await run.view()).teams.map(({ agent: name, state }) => [name, state]))).toEqual({
      good: 'completed',
      bad: 'failed',
    })
    expect(JSON.stringify(model.prompts[1])).toContain('x done')
  })

  test('delegated to by code: the outcome has the results of the plan', async () => {
    const inner = crew('inner', { x: async () => ({ success: false, error: 'no' }) }, [task('x'), task('y')], {
      retry: { backoffMs: 0 },
    })
    const root = agent({
      name: 'root',
      workers: [inner],
      run: async (ctx: Context) => (await delegate(ctx, inner, 'go')) as unknown as Json,
    } as never) as unknown as Agent
    const outcome = await (await start(root)).outcome()
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(JSON.stringify((outcome as { output: Json }).output)).toContain('y done')
  })
})

describe('humans inside', () => {
  test('a member that waits for an approval holds no slot: with one slot, all others end', async () => {
    const subtasks = [
      task('hold'),
      task('b'),
      task('c'),
      task('d', { dependencies: ['b', 'c'] }),
      task('e', { dependencies: ['hold'] }),
    ]
    const run = await start(crew('outer', { hold: holds }, subtasks, { concurrency: 1 }))
    await waiting(run)
    const statuses = async (): Promise<unknown> => (await run.view()).teams[0]!.plan.tasks.map(({ status }) => status)
    await expect.poll(statuses).toEqual(['awaiting_approval', 'succeeded', 'succeeded', 'succeeded', 'waiting'])
    await letGo(run, 'hold')
    expect((await run.outcome()).status).toBe('completed')
  })

  test('stop of a task that waits for a human: it failed, and its dependents go on without', async () => {
    const run = await start(
      crew('outer', { hold: holds, e: async (ctx) => teammate(ctx).inputs['hold']!.status }, [
        task('hold'),
        task('b'),
        task('e', { dependencies: ['hold'] }),
      ]),
    )
    await waiting(run)
    await run.control.stop({ delegation: 'hold' })
    const outcome = await run.outcome()
    expect(outcome.status).toBe('completed')
    expect(resultsOf(outcome).tasks.map(({ status }) => status)).toEqual(['failed', 'succeeded', 'succeeded'])
    expect(outputs(outcome)['e']).toBe('missing')
    expect(await run.until('waiting')).toMatchObject({ status: 'completed' })
    await expect(run.control.stop({ delegation: 'hold' })).rejects.toMatchObject({ code: 'delegation.ended' })
    await expect(run.control.stop({ delegation: 'nobody' })).rejects.toMatchObject({ code: 'delegation.unknown' })
  })

  test('stop: a name at work in two teams is refused with both; an activation is enough; idle tasks say so', async () => {
    const inner = crew('inner', { x: holds, same: holds }, [
      task('x'),
      task('same'),
      task('later', { dependencies: ['x'] }),
    ])
    const outer = crew('outer', { same: holds }, [task('z', { role: 'inner' }), task('same')], {
      roles: { inner, generalist: doer({ same: holds }) },
    })
    const run = await start(outer)
    await waiting(run)
    for (const name of ['same', 'generalist_1']) {
      const said = await run.control.stop({ delegation: name }).then(
        () => undefined,
        (thrown: { code: string; message: string }) => thrown,
      )
      expect(said).toMatchObject({ code: 'input.invalid', message: expect.stringContaining('act_') as string })
    }
    await expect(run.control.stop({ delegation: 'later' })).rejects.toMatchObject({
      code: 'delegation.unknown',
      message: expect.stringContaining('no member works') as string,
    })
    await run.control.stop({ delegation: 'x' })
    const inside = async (): Promise<unknown> => (await run.view()).teams[1]!.plan.tasks.map(({ status }) => status)
    await expect.poll(inside).toEqual(['failed', 'awaiting_approval', 'succeeded'])
    await run.control.stop({ delegation: (await run.view()).teams[1]!.plan.tasks[1]!.activation! })
    await expect.poll(inside).toEqual(['failed', 'failed', 'succeeded'])
    await run.control.stop({ delegation: 'same' })
    expect((await run.outcome()).status).toBe('failed')
    expect((await run.view()).teams.map(({ plan }) => plan.tasks.map(({ status }) => status))).toEqual([
      ['failed', 'failed'],
      ['failed', 'failed', 'succeeded'],
    ])
  })
})
