/**
 * Humans and the tasks of a plan: gates before them, reviews after them, who is asked and what follows. Spec team R-14
 * to R-16, C77 to C90.
 */
import { describe, expect, test } from 'vitest'
import { agent, teammate, type Agent } from '@reeve/agent'
import type { Failure, Json, PlanResults, TaskResult } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ApprovalView, JournalEvent } from '@reeve/journal'
import type { Run } from '@reeve/runtime'
import { team, type Subtask, type TeamOptions } from '@reeve/team'
import { eventsOf, runtimeOf } from './team.ts'

/** What was done, by the first word of the task; `fails …` fails. */
function crewOf(
  subtasks: readonly Subtask[],
  options: Partial<TeamOptions<string>> = {},
): { readonly root: Agent; readonly done: string[] } {
  const done: string[] = []
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const said = brief.split('\n')[0]!
      done.push(brief)
      if (said.startsWith('fails')) return { success: false, error: 'no luck' }
      if (said === 'report') return `report ${brief.length}`
      if (said.startsWith('recruits'))
        return await teammate(ctx).recruit({ role: 'scout', description: 'looks around' })
      return said
    },
  })
  const root = team({
    name: 'crew',
    roles: { generalist: worker },
    planner: { subtasks },
    retry: { attempts: 1 },
    ...options,
  })
  return { root, done }
}
const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })
const begun = async (root: Agent): Promise<Run> => (await (await runtimeOf([root])).start(root, 'Go')) as unknown as Run
const open = async (run: Run): Promise<readonly ApprovalView[]> =>
  (await run.view()).approvals.filter((each) => each.open)
/** Waits until so many are open. */
async function asked(run: Run, count = 1): Promise<readonly ApprovalView[]> {
  await expect.poll(async () => (await open(run)).length).toBe(count)
  return open(run)
}
type Said = 'approve' | 'reject' | 'retry'
async function says(run: Run, decision: Said, comment?: string): Promise<ApprovalView> {
  const [about] = await asked(run)
  await run.decide({
    approvalId: about!.id,
    decision,
    approver: 'anna',
    ...(comment === undefined ? undefined : { comment }),
  })
  await expect.poll(async () => (await open(run)).some(({ id }) => id === about!.id)).toBe(false)
  return about!
}
const tasksOf = (outcome: unknown): readonly TaskResult[] => (outcome as { results: PlanResults }).results.tasks
const statuses = (outcome: unknown): readonly string[] =>
  tasksOf(outcome).map(({ task: id, status }) => `${id} ${status}`)
const factsOf = async <T extends JournalEvent['type']>(
  run: Run,
  type: T,
): Promise<Extract<JournalEvent, { type: T }>[]> =>
  (await eventsOf(run)).flatMap((event) => (event.type === type ? [event as Extract<JournalEvent, { type: T }>] : []))

describe('the gate before a task', () => {
  test('team C78: cheap tasks are asked in command only, sensitive ones on the loop too, required ones always', async () => {
    const kinds = {
      plain: {},
      sensitive: { action: 'send_mail' },
      always: { action: 'send_mail', requiresApproval: true },
    } as const
    const askedIn: string[] = []
    for (const mode of ['in-command', 'in-the-loop', 'on-the-loop'] as const)
      for (const [kind, more] of Object.entries(kinds)) {
        const { root } = crewOf([task('only', { ...more, mode })])
        const run = await begun(root)
        const ended = run.outcome().then(() => 'ended')
        const first = await Promise.race([ended, asked(run).then(() => 'asked')])
        if (first === 'asked') askedIn.push(`${mode} ${kind}`)
        if (first === 'asked') await says(run, 'approve')
        expect(await run.outcome()).toMatchObject({ status: 'completed' })
      }
    expect(askedIn).toEqual([
      'in-command plain',
      'in-command sensitive',
      'in-command always',
      'in-the-loop sensitive',
      'in-the-loop always',
      'on-the-loop always',
    ])
  })

  test('team C78, C82: unknown modes and risks, and approving deadlines for risk, are refused with the plan', async () => {
    const { root } = crewOf([
      task('a', { mode: 'foo' as 'in-command', risk: 'huge' as 'high', required: 'no' as unknown as boolean }),
      task('b', { risk: 'high', approval: { onTimeout: 'approve' } }),
      task('c', { approval: { timeoutMs: 'never' } }),
    ])
    const outcome = await (await begun(root)).outcome()
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'plan.invalid' } })
    const { details } = (outcome as { failure: Failure }).failure
    expect(details!['problems']).toEqual([
      expect.stringContaining('risk is the text "huge"'),
      expect.stringContaining('mode is the text "foo"'),
      expect.stringContaining('required is the text "no"'),
      expect.stringContaining('a deadline may not approve'),
      expect.stringContaining('only an approval of critical risk may wait without a deadline'),
    ])
  })

  test('team C79: two are open at once, and answered in reverse order each answer reaches its own task', async () => {
    const { root, done } = crewOf([
      task('a', { requiresApproval: true }),
      task('b', { requiresApproval: true, required: false }),
    ])
    const run = await begun(root)
    const [first, second] = await asked(run, 2)
    expect([first!.task, second!.task]).toEqual(['a', 'b'])
    await run.decide({ approvalId: second!.id, decision: 'reject', comment: 'no' })
    await run.decide({ approvalId: first!.id, decision: 'approve' })
    expect(statuses(await run.outcome())).toEqual(['a succeeded', 'b skipped'])
    expect(done).toHaveLength(1)
  })

  test('team C83: a rejected required task stops the work and keeps results; an optional one is skipped', async () => {
    const { root } = crewOf(
      [
        task('first'),
        task('pay', { action: 'pay_bill', dependencies: ['first'] }),
        task('waits', { requiresApproval: true }),
        task('last', { dependencies: ['pay'] }),
      ],
      { oversight: {} },
    )
    const run = await begun(root)
    const pay = (await asked(run, 2)).find((each) => each.task === 'pay')!
    await run.decide({ approvalId: pay.id, decision: 'reject', approver: 'anna', comment: 'too much' })
    const outcome = await run.outcome()
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'task.rejected', message: 'Required task rejected: "pay_bill" is sensitive: pay: too much' },
    })
    expect(statuses(outcome)).toEqual(['first succeeded', 'pay failed', 'waits cancelled', 'last cancelled'])
    expect(
      (await run.view()).approvals
        .map(({ resolution }) => String(resolution))
        .toSorted((one, other) => one.localeCompare(other)),
    ).toEqual(['cancelled', 'rejected'])

    const other = crewOf(
      [task('pay', { action: 'pay_bill', required: false }), task('last', { dependencies: ['pay'] })],
      { oversight: {} },
    )
    const second = await begun(other.root)
    await says(second, 'reject', 'too much')
    const ended = await second.outcome()
    expect(ended).toMatchObject({ status: 'completed', results: { partial: true } })
    expect(tasksOf(ended)).toMatchObject([
      { status: 'skipped', reason: 'rejected by anna: too much' },
      { status: 'succeeded' },
    ])
    expect((await second.view()).teams[0]!.plan.failed).toBe(0)
  })

  test('team C85: while one waits for a human the others work and end, and no permit is held', async () => {
    const { root, done } = crewOf(
      [task('asks', { requiresApproval: true }), task('b'), task('c'), task('d', { dependencies: ['c'] })],
      {
        concurrency: 1,
      },
    )
    const run = await begun(root)
    await expect.poll(() => done.length).toBe(3)
    await expect
      .poll(async () => (await run.view()).teams[0]!.plan.tasks.map(({ status }) => status))
      .toEqual(['awaiting_approval', 'succeeded', 'succeeded', 'succeeded'])
    await says(run, 'approve')
    expect(statuses(await run.outcome())).toEqual(['asks succeeded', 'b succeeded', 'c succeeded', 'd succeeded'])
  })

  test('team C87: sent back three times, the fourth offers no retry; no failure or attempt is counted', async () => {
    const { root, done } = crewOf([
      task('report'),
      task('post', { requiresApproval: true, required: false, dependencies: ['report'] }),
    ])
    const run = await begun(root)
    const choices: boolean[] = []
    for (const round of [1, 2, 3])
      choices.push((await says(run, 'retry', `change ${round}`)).options!.includes('retry'))
    const [last] = await asked(run)
    expect([...choices, last!.options!.includes('retry')]).toEqual([true, true, true, false])
    await run.decide({ approvalId: last!.id, decision: 'reject' })
    const outcome = await run.outcome()
    expect(tasksOf(outcome)).toMatchObject([{ status: 'succeeded', attempts: 4 }, { status: 'skipped' }])
    expect(done.map((brief) => /change \d/u.exec(brief)?.[0])).toEqual([undefined, 'change 1', 'change 2', 'change 3'])
    expect((await factsOf(run, 'task.reopened')).map(({ task: id, round, by }) => [id, round, by])).toEqual(
      [1, 2, 3].map((round) => ['report', round, 'anna']),
    )
    expect(new Set((await run.view()).approvals.map(({ id }) => id)).size).toBe(4)
  })

  test('team R-16: a task that acts on nothing is asked about again at once, and begins with the feedback', async () => {
    const { root, done } = crewOf([task('post', { requiresApproval: true })])
    const run = await begun(root)
    await says(run, 'retry', 'politely')
    expect(done).toEqual([])
    await says(run, 'approve')
    expect((await run.outcome()).status).toBe('completed')
    expect(done).toEqual([expect.stringContaining('politely')])
  })

  test('team R-16: an edited task runs as edited; an impossible one is asked again, with the reason', async () => {
    const { root, done } = crewOf([task('post', { requiresApproval: true })])
    const run = await begun(root)
    const [first] = await asked(run)
    expect(first).toMatchObject({ tool: 'post', kind: 'task', input: { task: 'post', description: 'post' } })
    await run.decide({ approvalId: first!.id, decision: 'edit', input: { description: ' ' } })
    await expect.poll(async () => (await open(run))[0]?.reason ?? '').toContain('cannot be done')
    const [second] = await asked(run)
    await run.decide({
      approvalId: second!.id,
      decision: 'edit',
      input: { description: 'whisper', toolParameters: { loud: false } },
    })
    expect(tasksOf(await run.outcome())).toMatchObject([{ output: 'whisper' }])
    expect(done).toEqual([expect.stringContaining('{"loud":false}')])
  })

  test('team R-16: a yes is for one attempt: what was approved is asked about again when it is tried again', async () => {
    let tries = 0
    const flaky = agent({
      name: 'flaky',
      description: 'Fails once.',
      run: (): Json => (++tries === 1 ? { success: false, error: { message: 'later', retryable: true } } : 'done'),
    })
    const root = team({
      name: 'crew',
      roles: { generalist: flaky },
      planner: { subtasks: [task('a', { requiresApproval: true })] },
      retry: { attempts: 2, backoffMs: 0 },
    })
    const run = await begun(root)
    await says(run, 'approve')
    await says(run, 'approve')
    expect(tasksOf(await run.outcome())).toMatchObject([{ status: 'succeeded', attempts: 2 }])
    expect((await run.view()).approvals).toHaveLength(2)
  })

  test('team R-15: the stricter of team, role and task decides; a role looks at its own tasks only', async () => {
    const worker = agent({ name: 'worker', description: 'Works.', run: (_ctx, brief: string) => brief })
    const root = team({
      name: 'crew',
      roles: { generalist: worker, treasurer: { agent: worker, oversight: { mode: 'in-command' } } },
      planner: {
        subtasks: [task('a', { mode: 'on-the-loop', role: 'treasurer' }), task('b'), task('c', { mode: 'in-command' })],
      },
      oversight: { mode: 'on-the-loop' },
    })
    const run = await begun(root)
    const both = await asked(run, 2)
    expect(both.map((each) => each.task)).toEqual(['a', 'c'])
    for (const { id } of both) await run.decide({ approvalId: id, decision: 'approve' })
    expect((await run.outcome()).status).toBe('completed')
  })
})

describe('failures in a row', () => {
  const chain = (...ids: readonly string[]): readonly Subtask[] => ids.map((id, i) => task(`${id} ${i}`))
  const options = { strategy: 'sequential', tolerance: 100 } as const
  const hitsOf = async (run: Run): Promise<readonly string[]> =>
    (await factsOf(run, 'escalation.raised')).map(
      ({ name, hits, asks }) => `${name}: ${hits.map(({ code }) => code).join()} ${asks}`,
    )

  test('team C77: after three in a row a human is asked about the next, and the count begins anew', async () => {
    const { root } = crewOf(chain('fails', 'fails', 'fails', 'works', 'works'), { ...options, oversight: {} })
    const run = await begun(root)
    expect(await says(run, 'approve')).toMatchObject({
      task: 'works 3',
      reason: '3 failed in a row, and 3 are to be seen',
    })
    await run.outcome()
    expect(await hitsOf(run)).toEqual(['works 3: consecutive_failures true'])
  })
  test('team C77: a success in between ends the row', async () => {
    const { root } = crewOf(chain('fails', 'fails', 'works', 'fails', 'works'), { ...options, oversight: {} })
    const run = await begun(root)
    expect((await run.outcome()).status).toBe('completed')
    expect(await hitsOf(run)).toEqual([])
  })
  test('team C77, R-15: on the loop it is noted without a question', async () => {
    const { root } = crewOf(chain('fails', 'fails', 'fails', 'works'), {
      ...options,
      oversight: { mode: 'on-the-loop' },
    })
    const run = await begun(root)
    expect((await run.outcome()).status).toBe('completed')
    expect(await hitsOf(run)).toEqual(['works 3: consecutive_failures false'])
  })
})

describe('results, plans, recruits', () => {
  test('team R-16: a result sent back is made again; edited it counts as it was edited', async () => {
    const { root, done } = crewOf([task('draft', { review: true }), task('next', { dependencies: ['draft'] })])
    const run = await begun(root)
    expect(await says(run, 'retry', 'warmer')).toMatchObject({ kind: 'result', task: 'draft', input: 'draft' })
    const [second] = await asked(run)
    await run.decide({ approvalId: second!.id, decision: 'edit', input: 'a warm draft' })
    expect(tasksOf(await run.outcome())).toMatchObject([
      { output: 'a warm draft', attempts: 2 },
      { status: 'succeeded' },
    ])
    expect(done[1]).toContain('warmer')
    expect(done[2]).toContain('a warm draft')
  })

  test('team C83: a rejected result fails the run if its task is required, else it is missing', async () => {
    const required = await begun(crewOf([task('draft', { review: true })]).root)
    await says(required, 'reject', 'nonsense')
    expect(await required.outcome()).toMatchObject({
      status: 'failed',
      failure: { code: 'task.rejected', message: expect.stringContaining('nonsense') as string },
    })
    const optional = await begun(
      crewOf([task('draft', { review: true, required: false }), task('next', { dependencies: ['draft'] })]).root,
    )
    await says(optional, 'reject')
    expect(statuses(await optional.outcome())).toEqual(['draft skipped', 'next succeeded'])
  })

  test('team R-15: in command plan, tasks and recruits are approved once, by the oversight’s approvers', async () => {
    const oversight = { mode: 'in-command', approval: { timeoutMs: 60_000, approvers: [{ who: ['anna'] }] } } as const
    const { root } = crewOf([task('recruits')], { oversight, route: 'team' })
    const run = await begun(root)
    const seen: (readonly [string | undefined, string | undefined])[] = []
    for (let i = 0; i < 3; i++) {
      const { kind, task: about, until, askedAt, approvers } = await says(run, 'approve')
      expect([until! - askedAt, approvers]).toEqual([60_000, ['anna']])
      seen.push([kind, about])
    }
    expect(seen).toEqual([
      ['plan', undefined],
      ['task', 'recruits'],
      ['recruit', undefined],
    ])
    expect(statuses(await run.outcome())).toEqual(['recruits succeeded', 'dynamic_scout_1 succeeded'])
  })

  test('team C89: cancelled while a human is asked, it ends cancelled, and the question with it', async () => {
    const { root, done } = crewOf([task('post', { requiresApproval: true })])
    const run = await begun(root)
    const [about] = await asked(run)
    await run.control.cancel('enough')
    expect((await run.outcome()).status).toBe('cancelled')
    await expect(run.decide({ approvalId: about!.id, decision: 'approve' })).rejects.toThrow(/ended|decided|cancelled/u)
    expect(done).toEqual([])
  })

  test('team R-17: without oversight nothing is looked at, and nothing is recorded of it', async () => {
    const { root } = crewOf([task('pay', { action: 'pay_bill', risk: 'critical', estimate: { usd: 100 } })])
    const run = await begun(root)
    expect((await run.outcome()).status).toBe('completed')
    const types = new Set((await eventsOf(run)).map(({ type }) => type))
    expect(
      ['escalation.raised', 'approval.requested'].filter((type) => types.has(type as JournalEvent['type'])),
    ).toEqual([])
    expect((await factsOf(run, 'plan.created'))[0]!.tasks).toMatchObject([{ action: 'pay_bill', risk: 'critical' }])
  })
})

describe('no way round', () => {
  test('team C89b: a simple plan whose caller requires an approval is asked about', async () => {
    const one = await begun(crewOf([task('hello', { requiresApproval: true })]).root)
    expect(await says(one, 'approve')).toMatchObject({ task: 'hello' })
    expect((await one.outcome()).status).toBe('completed')
    const several = await begun(
      crewOf([task('a', { action: 'send_mail' }), task('b', { requiresApproval: true, risk: 'high' })], {
        route: 'simple',
      }).root,
    )
    expect(await says(several, 'approve')).toMatchObject({ task: 'task-1', tool: 'send_mail', risk: 'high' })
    expect((await several.outcome()).status).toBe('completed')
  })

  test('team R-16: a role with a typed input also gets the requested changes', async () => {
    const told: (string | undefined)[] = []
    const writer = agent({
      name: 'writer',
      description: 'Writes.',
      input: { type: 'object', properties: { words: { type: 'number' } } },
      run: (ctx): Json => (told.push(teammate(ctx).feedback), 'text'),
    })
    const root = team({
      name: 'crew',
      roles: { writer },
      planner: { subtasks: [task('text', { role: 'writer', input: { words: 3 }, review: true })] },
    })
    const run = await begun(root)
    await says(run, 'retry', 'fewer')
    await says(run, 'approve')
    expect((await run.outcome()).status).toBe('completed')
    expect(told).toEqual([undefined, 'fewer'])
  })

  test('team R-17: a planner that is a model is told of what humans look at, where they do', async () => {
    const asked: string[] = []
    const planner = {
      model: ({ system = '', messages }: { system?: string; messages: unknown }) => {
        asked.push(system + JSON.stringify(messages))
        return JSON.stringify({
          complexity: 0.1,
          subtasks: [
            { id: 'a', description: 'a', action: 'publish_page', requires_approval: true, risk_level: 'high' },
          ],
        })
      },
    }
    const run = await begun(crewOf([], { planner: planner as never, oversight: {} }).root)
    expect(await says(run, 'approve')).toMatchObject({ tool: 'publish_page', risk: 'high' })
    expect((await run.outcome()).status).toBe('completed')
    expect(asked).toHaveLength(1)
  })
})

test('team R-16, C86: an approval holds for what was seen: later changes are asked again', async () => {
  const { root } = crewOf([
    task('report'),
    task('publish', { requiresApproval: true, dependencies: ['report'] }),
    task('tell', { requiresApproval: true, dependencies: ['report'] }),
  ])
  const run = await begun(root)
  const [publish, tell] = await asked(run, 2)
  await run.decide({ approvalId: publish!.id, decision: 'retry', comment: 'shorter' })
  await expect
    .poll(async () => (await open(run)).find((each) => each.task === 'publish')?.id ?? publish!.id)
    .not.toBe(publish!.id)
  await run.decide({ approvalId: tell!.id, decision: 'approve' })
  await expect
    .poll(async () => (await open(run)).find((each) => each.task === 'tell')?.id ?? tell!.id)
    .not.toBe(tell!.id)
  for (const { id } of await asked(run, 2)) await run.decide({ approvalId: id, decision: 'approve' })
  expect(statuses(await run.outcome())).toEqual(['report succeeded', 'publish succeeded', 'tell succeeded'])
})
