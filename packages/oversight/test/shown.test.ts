/**
 * What a human is shown of what is asked: over a channel as in the view, before anybody begins, and of two who do the
 * same at once. Spec team R-16, C84.
 */
import { expect, test } from 'vitest'
import { agent, createRuntime, supervisor, team, tool, type Run } from '@reeve/public'
import { planGraph } from '@reeve/public/views'
import type { Notice } from '../src/index.ts'

async function openOf(run: Run) {
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error(`nobody is asked: ${state.status}`)
  return state.waiting
}

test('R-16: a notice says what its approval is about, acts on, allows and follows', async () => {
  const notices: Notice[] = []
  const worker = agent({ name: 'worker', description: 'w', run: () => 'THE REPORT' })
  const subtasks = [
    { id: 'write', description: 'write' },
    { id: 'publish', description: 'publish it', action: 'publish_report', risk: 'critical', dependencies: ['write'] },
  ] as const
  const oversight = { mode: 'in-the-loop', approval: { notify: ['desk'] } } as const
  const crew = team({ name: 'crew', roles: { generalist: worker }, planner: { subtasks }, oversight })
  const channels = [{ name: 'desk', notify: (notice: Notice) => void notices.push(notice) }]
  await using runtime = await createRuntime({ agents: [crew], channels })
  const run = await runtime.start(crew, 'Go')
  const [first] = await openOf(run)
  await run.decide({ approvalId: first!.id, decision: 'approve', approver: 'ann' })
  await expect.poll(() => notices.length).toBe(2)
  const approvals = (await run.view()).approvals
  for (const [i, notice] of notices.entries()) {
    const { id, kind, task, description, context, options, follows, excludes, input, hits, risk } = approvals[i]!
    expect(notice).toMatchObject(
      JSON.parse(
        JSON.stringify({ id, kind, task, description, context, options, follows, excludes, input, hits, risk }),
      ) as object,
    )
  }
  expect(notices).toMatchObject([
    { kind: 'task', task: 'publish', context: { write: 'THE REPORT' } },
    { follows: first!.id, excludes: ['ann'], options: ['approve', 'reject', 'edit', 'retry'] },
  ])
  await run.control.cancel()
})

test('R-16: equal delegations at once are told apart by name and brief; a long brief says how much is cut', async () => {
  const notices: Notice[] = []
  const payer = agent({
    name: 'payer',
    description: 'p',
    tools: [tool({ name: 'pay', approval: true, execute: () => 'paid' })],
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'end' : { calls: [{ name: 'pay', input: {} }] }),
  })
  const long = `the hotel ${'x'.repeat(600)}`
  const call = (instructions: string) => ({ name: 'delegate', input: { worker: 'payer', instructions } })
  const root = supervisor({
    name: 'root',
    workers: [payer],
    oversight: { mode: 'in-the-loop', approval: { notify: ['desk'] } },
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'end' : { calls: [call('the flight'), call(long)] }),
  })
  const channels = [{ name: 'desk', notify: (notice: Notice) => void notices.push(notice) }]
  await using runtime = await createRuntime({ agents: [root], channels })
  const run = await runtime.start(root, 'Go')
  await expect.poll(() => notices.length).toBe(2)
  const works = [
    { delegation: 'd1', brief: 'the flight' },
    { delegation: 'd2', brief: `${long.slice(0, 500)} … (110 more characters)` },
  ]
  expect((await run.view()).approvals).toMatchObject(works)
  expect(notices.map(({ work }) => work)).toEqual(works)
  await run.control.cancel()
})

test('R-15: a plan says from its start which tasks are approved and reviewed, and how closely', async () => {
  const worker = agent({ name: 'worker', description: 'w', run: () => 'ok' })
  const subtasks = [
    { id: 'a', description: 'a', requiresApproval: true, review: true, mode: 'in-command' },
    { id: 'b', description: 'b' },
  ] as const
  const crew = team({ name: 'crew', roles: { generalist: worker }, planner: { subtasks }, concurrency: 1 })
  await using runtime = await createRuntime({ agents: [crew] })
  const run = await runtime.start(crew, 'Go')
  await openOf(run)
  const events = []
  for await (const { event } of run.events()) {
    if (event.type === 'plan.created') events.push(...event.tasks)
    if (event.type === 'approval.requested') break
  }
  const gates = { requiresApproval: true, review: true, mode: 'in-command' }
  expect(events.map(({ requiresApproval, review, mode }) => ({ requiresApproval, review, mode }))).toEqual([gates, {}])
  const [view] = (await run.view()).teams
  expect(view!.plan.tasks).toMatchObject([{ task: 'a', ...gates }, { task: 'b' }])
  expect(planGraph(view!)).toContain('needs approval<br/>result is reviewed<br/>in-command')
  await run.control.cancel()
})
