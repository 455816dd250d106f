/** Recruiting and retiring from outside, while a team works, is paused, has ended. Spec team 1.8 (R-8, R-8b), 1.13. */
import { describe, expect, test } from 'vitest'
import { agent, interrupt, supervisor, delegate } from '@reeve/public'
import { rename } from '@reeve/public/team'
import { teammate, type Agent, type Recruited, type RecruitRequest } from '@reeve/agent'
import { asText, type Json, type PlanResults, type TaskResult } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { JournalEvent } from '@reeve/journal'
import type { Run, Runtime } from '@reeve/runtime'
import { team, type Subtask, type TeamOptions } from '@reeve/team'
import { eventsOf, runtimeOf, store, waiting } from './team.ts'

/** Works until somebody outside says so; everything else is done at once. */
const worker = agent({
  name: 'worker',
  description: 'Works.',
  run: async (ctx: Context, brief: string): Promise<Json> => {
    const task = brief.split('\n')[0]!
    if (!task.startsWith('hold')) return task
    return `${task}: ${asText(await interrupt(ctx, task))}`
  },
})
const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })
const crew = (subtasks: readonly Subtask[], options: Partial<TeamOptions<string>> = {}): Agent =>
  team({
    name: 'crew',
    description: 'Works together.',
    roles: { generalist: worker },
    planner: { subtasks },
    ...options,
  })

const begun = async (
  root: Agent,
  options?: Parameters<typeof runtimeOf>[1],
): Promise<{ runtime: Runtime; run: Run }> => {
  const runtime = await runtimeOf([root], options)
  return { runtime, run: (await runtime.start(root, 'Go')) as unknown as Run }
}
/** Lets those go on whose task is this, as soon as they ask. */
async function letGo(run: Run, ...tasks: readonly string[]): Promise<void> {
  for (const each of tasks) {
    const asked = async (): Promise<string | undefined> =>
      (await waiting(run)).questions.find(({ body }) => (body as { question?: Json }).question === each)?.id
    await expect.poll(asked).toBeDefined()
    await run.answer({ interruptId: (await asked())!, value: 'done' })
  }
}
const factsOf = async <T extends JournalEvent['type']>(
  run: Run,
  type: T,
): Promise<Extract<JournalEvent, { type: T }>[]> =>
  (await eventsOf(run)).flatMap((event) => (event.type === type ? [event as Extract<JournalEvent, { type: T }>] : []))
const tasksOf = (outcome: unknown): readonly TaskResult[] => (outcome as { results: PlanResults }).results.tasks

describe('from outside', () => {
  test('team C34: a recruit joins, works and is part of the answer', async () => {
    const { run } = await begun(crew([task('hold')]))
    const answer = await run.team.recruit({ description: 'help', role: 'scout', by: 'Ann' })
    expect(answer).toEqual({ admitted: true, member: 'dynamic_scout_1', duplicate: false })
    await letGo(run, 'hold')
    const outcome = await run.outcome()
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('help') as string })
    expect(tasksOf(outcome)[1]).toMatchObject({ task: 'dynamic_scout_1', status: 'succeeded', recruited: true })
    expect((await factsOf(run, 'teammate.joined'))[1]).toMatchObject({ by: 'Ann', join: 'run' })
  })

  test('team C38: four besides a plan of six; the fifth is one too many; each has an answer of its own', async () => {
    const { run } = await begun(crew([task('hold'), ...['b', 'c', 'd', 'e', 'f'].map((id) => task(id))]))
    const answers: Recruited[] = []
    for (let i = 0; i < 5; i++) answers.push(await run.team.recruit({ description: `help ${i}` }))
    expect(answers.map((each) => each.admitted || each.reason)).toEqual([true, true, true, true, 'team_size'])
    await letGo(run, 'hold')
    expect((await run.outcome()).status).toBe('completed')
  })

  test('team C38: many at once, from several processes: never more than there is room for', async () => {
    const root = crew([task('hold')])
    const { run, runtime } = await begun(root, { store: store() })
    const other = (await runtimeOf([], { store: store(), drive: false })).handle(run.id)
    const all = await Promise.all(
      Array.from({ length: 14 }, (_, i) =>
        (i % 2 === 0 ? run : other).team.recruit({ description: `help ${i}`, requestId: `r${i}` }),
      ),
    )
    expect(all.filter((each) => each.admitted)).toHaveLength(9)
    const members = all.flatMap((each) => (each.admitted ? [each.member] : []))
    expect(new Set(members).size).toBe(9)
    await letGo(runtime.handle(run.id), 'hold')
    expect((await run.outcome()).status).toBe('completed')
  })

  test('team C41: the same request, also twice at once and after the end, has one answer and one member', async () => {
    const { run } = await begun(crew([task('hold')]))
    const wish: RecruitRequest = { description: 'help', requestId: 'r1' }
    const both = await Promise.all([run.team.recruit(wish), run.team.recruit(wish)])
    await letGo(run, 'hold')
    await run.outcome()
    const all = [...both, await run.team.recruit(wish)]
    expect(all).toEqual(all.map(() => ({ admitted: true, member: 'dynamic_generalist_1', duplicate: false })))
    expect(await factsOf(run, 'recruit.decided')).toHaveLength(1)
  })

  test('team C36: what is no wish is refused by the team; what is no call at all, before it is said', async () => {
    const { run } = await begun(crew([task('hold')]))
    expect(await run.team.recruit({ description: ' ' })).toMatchObject({ admitted: false, reason: 'invalid' })
    expect(await run.team.recruit({ description: 'x', parentTask: 'nowhere' })).toMatchObject({
      admitted: false,
      reason: 'invalid',
    })
    expect(await run.team.recruit({ description: 'x', join: 'parent' })).toMatchObject({
      admitted: false,
      reason: 'invalid',
    })
    for (const wrong of [
      undefined,
      null,
      'x',
      { description: 'x', roll: 'y' },
      { description: 'x', requestId: '' },
      { description: 'x', by: 7 },
    ])
      await expect(run.team.recruit(wrong as never)).rejects.toMatchObject({ code: 'input.invalid' })
    await expect(run.team.retire({ member: 'x', now: true } as never)).rejects.toMatchObject({ code: 'input.invalid' })
    await letGo(run, 'hold')
    expect(tasksOf(await run.outcome())).toHaveLength(1)
  })

  test('after the end it is closed', async () => {
    const { run } = await begun(crew([task('a')]))
    await run.outcome()
    expect(await run.team.recruit({ description: 'help' })).toMatchObject({ admitted: false, reason: 'closed' })
    expect(await run.team.retire({ member: 'generalist_1' })).toMatchObject({ retired: false, reason: 'closed' })
  })

  test('at once after the start, when there is no plan yet', async () => {
    const root = crew([], { planner: async () => ({ subtasks: [task('hold')] }) })
    const { run } = await begun(root)
    expect(await run.team.recruit({ description: 'help' })).toMatchObject({ admitted: true })
    await letGo(run, 'hold')
    expect(tasksOf(await run.outcome())).toHaveLength(2)
  })

  test('a run that ended without a team says closed; a waiting one without a team says so', async () => {
    const { run } = await begun(agent({ name: 'alone', run: async () => 'done' }))
    expect(await run.team.recruit({ description: 'help' })).toMatchObject({ admitted: false, reason: 'closed' })
    const asking = agent({ name: 'asking', run: async (ctx) => interrupt(ctx, 'why') })
    const { run: waits } = await begun(asking)
    await waiting(waits)
    await expect(waits.team.recruit({ description: 'help' })).rejects.toMatchObject({ code: 'input.invalid' })
    await expect((await runtimeOf([])).handle('run_nowhere').team.recruit({ description: 'x' })).rejects.toMatchObject({
      code: 'run.unknown',
    })
    await waits.control.cancel()
    await waits.outcome()
  })
})

describe('which team', () => {
  const two = (): Agent => {
    const [one, other] = ['red', 'blue'].map((name) => rename(crew([task(`hold ${name}`)]), name))
    return supervisor({
      name: 'boss',
      workers: [one!, other!],
      run: async (ctx: Context) => {
        await Promise.all([delegate(ctx.scope('1'), one!, 'Go'), delegate(ctx.scope('2'), other!, 'Go')])
        return 'done'
      },
    })
  }

  test('of several, the one that is named, by its agent or its activation; without a name nothing is done', async () => {
    const { run } = await begun(two())
    const { questions } = await waiting(run)
    expect(questions).toHaveLength(2)
    await expect(run.team.recruit({ description: 'help' })).rejects.toMatchObject({
      code: 'input.invalid',
      message: expect.stringMatching(/several teams(?=.*"red").*"blue"/) as string,
    })
    await expect(run.team.retire({ member: 'x', team: 'green' })).rejects.toMatchObject({ code: 'input.invalid' })
    expect(await run.team.recruit({ description: 'help', team: 'blue' })).toMatchObject({ admitted: true })
    const activation = (await run.view()).activations.find((each) => each.agent === 'red')?.activation
    expect(await run.team.recruit({ description: 'help', team: activation! })).toMatchObject({ admitted: true })
    expect(await run.team.retire({ member: 'nobody', team: 'red' })).toMatchObject({ reason: 'unknown' })
    await letGo(run, 'hold red')
    await expect
      .poll(async () => (await run.view()).activations.find((each) => each.agent === 'red')?.outcome?.status)
      .toBe('completed')
    // one has ended: the other is the only one that goes on
    expect(await run.team.recruit({ description: 'more' })).toMatchObject({ admitted: true })
    expect(await run.team.recruit({ description: 'more', team: 'red' })).toMatchObject({
      admitted: false,
      reason: 'closed',
    })
    await letGo(run, 'hold blue')
    expect((await run.outcome()).status).toBe('completed')
  })
})

describe('paused', () => {
  test('team C34: a recruit pauses and resumes with the team; one requested meanwhile begins after', async () => {
    const { run } = await begun(crew([task('hold')]))
    expect(await run.team.recruit({ description: 'hold help' })).toMatchObject({ admitted: true })
    await expect.poll(async () => (await waiting(run)).questions.length).toBe(2)
    await run.control.pause({ reason: 'lunch' })
    await expect.poll(async () => (await run.view()).status).toBe('paused')
    const answer = run.team.recruit({ description: 'more' })
    await run.control.resume()
    expect(await answer).toMatchObject({ admitted: true, member: 'dynamic_generalist_2' })
    await letGo(run, 'hold', 'hold help')
    const outcome = await run.outcome()
    expect(tasksOf(outcome).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  })

  test('a recruit is cancelled with the run', async () => {
    const { run } = await begun(crew([task('hold')]))
    await run.team.recruit({ description: 'hold help' })
    await expect.poll(async () => (await waiting(run)).questions.length).toBe(2)
    await run.control.cancel('enough')
    expect((await run.outcome()).status).toBe('cancelled')
    const ends = (await factsOf(run, 'activation.settled')).map(({ outcome }) => outcome.status)
    expect(ends).toEqual(['cancelled', 'cancelled', 'cancelled'])
  })
})

describe('retiring from outside', () => {
  test('team C44: gracefully: the task is done, then it has retired', async () => {
    const { run } = await begun(crew([task('hold')]))
    await waiting(run)
    const statuses = async (): Promise<readonly string[]> =>
      (await run.view()).teams[0]!.members.map(({ status }) => status)
    expect(await run.team.retire({ member: 'generalist_1', reason: 'holidays', by: 'Ann' })).toEqual({ retired: true })
    expect(await statuses()).toEqual(['running'])
    await letGo(run, 'hold')
    await run.outcome()
    expect(await statuses()).toEqual(['retired'])
    expect(tasksOf(await run.outcome())[0]).toMatchObject({ status: 'succeeded', member: 'generalist_1' })
    expect(await factsOf(run, 'teammate.retired')).toMatchObject([
      { member: 'generalist_1', mode: 'graceful', by: 'Ann', reason: 'holidays' },
    ])
  })

  test('team C44: by force: a new member does the task, without a failure', async () => {
    const { run } = await begun(crew([task('hold')], { tolerance: 0 }))
    await waiting(run)
    expect(await run.team.retire({ member: 'generalist_1', mode: 'force' })).toEqual({ retired: true })
    expect(await run.team.retire({ member: 'generalist_1', mode: 'force' })).toMatchObject({
      retired: false,
      reason: 'ended',
    })
    await expect.poll(async () => (await run.view()).interrupts.filter(({ open }) => open).length).toBe(1)
    await letGo(run, 'hold')
    expect(tasksOf(await run.outcome())[0]).toMatchObject({ status: 'succeeded', member: 'generalist_2', attempts: 1 })
  })

  test('team C44: unknown, and ended', async () => {
    const { run } = await begun(crew([task('hold'), task('b', { role: 'writer' })]))
    await waiting(run)
    expect(await run.team.retire({ member: 'writer_2' })).toMatchObject({ retired: false, reason: 'unknown' })
    expect(await run.team.retire({ member: 'writer_1' })).toMatchObject({ retired: false, reason: 'ended' })
    await letGo(run, 'hold')
    await run.outcome()
  })
})

test('waiting for a decision can be called off; the wish stands', async () => {
  const { run, runtime } = await begun(crew([task('hold')], { recruit: { policy: () => 'ask' } }))
  const enough = new AbortController()
  const answer = run.team.recruit({ description: 'help', requestId: 'r1', signal: enough.signal })
  await expect.poll(async () => (await runtime.approvals()).length).toBe(1)
  enough.abort(new Error('no time'))
  await expect(answer).rejects.toThrow('no time')
  await run.decide({ approvalId: (await runtime.approvals())[0]!.id, decision: 'approve' })
  expect(await run.team.recruit({ description: 'help', requestId: 'r1' })).toMatchObject({ admitted: true })
  await letGo(run, 'hold')
  expect(tasksOf(await run.outcome())).toHaveLength(2)
})

test('a member is told what became of its wish', async () => {
  const asks = agent({
    name: 'asks',
    description: 'Asks for help.',
    run: async (ctx: Context): Promise<Json> => {
      const me = teammate(ctx)
      const recruited = await me.recruit({ description: 'help' })
      return recruited.admitted ? recruited.member : recruited.reason
    },
  })
  const root = crew([task('a', { role: 'asker' })], { roles: { generalist: worker, asker: asks } })
  const outcome = await (await runtimeOf([root])).run(root, 'Go')
  expect(tasksOf(outcome)[0]?.output).toBe('dynamic_generalist_1')
})

test('a pending decision on a recruit or retirement does not hold the team: it ends, the request closes', async () => {
  const { run, runtime } = await begun(crew([task('hold')], { recruit: { policy: () => 'ask' } }))
  await waiting(run)
  const wishes = [
    run.team.recruit({ description: 'help', join: 'none' }),
    run.team.retire({ member: 'generalist_1', mode: 'force' }),
  ]
  await expect.poll(async () => (await runtime.approvals()).length).toBe(2)
  await letGo(run, 'hold')
  expect(await Promise.all(wishes)).toMatchObject([{ reason: 'closed' }, { reason: 'closed' }])
  expect(tasksOf(await run.outcome())).toMatchObject([{ status: 'succeeded', member: 'generalist_1' }])
  expect(await runtime.approvals()).toEqual([])
})

test('the team waits for a human who is asked about a recruit whose work is part of the answer', async () => {
  const { run, runtime } = await begun(crew([task('hold')], { recruit: { policy: () => 'ask' } }))
  const wish = run.team.recruit({ description: 'help' })
  await expect.poll(async () => (await runtime.approvals()).length).toBe(1)
  await letGo(run, 'hold')
  await run.decide({ approvalId: (await waiting(run)).waiting[0]!.id, decision: 'approve' })
  expect(await wish).toMatchObject({ admitted: true })
  expect(tasksOf(await run.outcome()).map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
})
