/**
 * A yes is good for a day, whatever it was said to: work that was held for longer is asked about again, and begins
 * once. Spec team R-16, C86.
 */
import { expect, test } from 'vitest'
import { agent, createRuntime, supervisor, team, tool, type Agent } from '@reeve/public'
import { teammate } from '@reeve/public/team'
import type { Oversight } from '@reeve/public/oversight'
import { manualClock } from '@reeve/testing'

const day = 86_400_000
const strict: Oversight = { mode: 'in-command', approval: { timeoutMs: 10 * day } }
const alert: Oversight = { mode: 'in-the-loop', approval: { timeoutMs: 10 * day } }

const cases: Readonly<Record<string, (done: () => string) => Agent>> = {
  'a task of a plan': (done) => {
    const worker = agent({ name: 'worker', description: 'w', run: done })
    const planner = { subtasks: [{ id: 'publish', description: 'publish', action: 'publish' }] }
    return team({ name: 'root', roles: { generalist: worker }, planner, oversight: alert })
  },
  'a recruit': (done) => {
    const worker = agent({ name: 'worker', description: 'w', run: done })
    const asks = agent({
      name: 'asks',
      description: 'a',
      run: async (ctx) => JSON.stringify(await teammate(ctx).recruit({ description: 'help', role: 'worker' })),
    })
    return team({
      name: 'root',
      roles: { generalist: asks, worker },
      planner: { subtasks: [{ id: 'a', description: 'a' }] },
      recruit: { policy: ({ action }) => (action === 'recruit' ? 'ask' : 'allow') },
      oversight: alert,
    })
  },
  'a plan as a whole': (done) =>
    team({
      name: 'root',
      roles: { generalist: agent({ name: 'worker', description: 'w', run: done }) },
      planner: { subtasks: [{ id: 'a', description: 'a' }] },
      approvePlan: true,
      oversight: alert,
    }),
  mail: (done) => {
    const writes = agent({
      name: 'writes',
      description: 'a',
      run: (ctx) => (teammate(ctx).post({ to: 'reads_1', content: 'x' }), 'sent'),
    })
    const reads = agent({
      name: 'reads',
      description: 'b',
      run: async (ctx) => (await teammate(ctx).nextMail(), done()),
    })
    return team({
      name: 'root',
      roles: { writes, reads },
      planner: { subtasks: ['writes', 'reads'].map((id) => ({ id, description: id, role: id })) },
      route: 'team',
      policy: ({ action }) => (action === 'message' ? 'ask' : 'allow'),
      oversight: alert,
    })
  },
  'a retirement': (done) => {
    const idle = agent({ name: 'idle', description: 'i', run: (ctx) => ctx.sleep(20 * day) })
    const asks = agent({
      name: 'asks',
      description: 'a',
      run: async (ctx) => {
        const { retired } = await teammate(ctx).retire({ member: 'idle_1', mode: 'force', reassign: false })
        return retired ? done() : 'no'
      },
    })
    return team({
      name: 'root',
      roles: { asks, idle },
      planner: { subtasks: ['asks', 'idle'].map((id) => ({ id, description: id, role: id })) },
      route: 'team',
      policy: ({ action }) => (action === 'retire' ? 'ask' : 'allow'),
      oversight: alert,
      timeoutMs: 0,
      tolerance: 100,
    })
  },
  'a delegation': (done) =>
    supervisor({
      name: 'root',
      workers: [agent({ name: 'worker', description: 'w', run: done })],
      oversight: strict,
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'end'
          : { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: 'x' } }] },
    }),
  'a verb that permissions name': (done) =>
    supervisor({
      name: 'root',
      workers: [
        supervisor({
          name: 'lead',
          description: 'l',
          workers: [agent({ name: 'worker', description: 'w', run: done })],
          model: ({ messages }) =>
            messages.at(-1)?.role === 'tool'
              ? 'end'
              : { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: 'x' } }] },
        }),
      ],
      delegation: { workers: { lead: { permissions: { approval: ['delegate'] } } } },
      oversight: { approval: { timeoutMs: 10 * day } },
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'end'
          : { calls: [{ name: 'delegate', input: { worker: 'lead', instructions: 'x' } }] },
    }),
  'a call of a tool': (done) =>
    agent({
      name: 'root',
      oversight: alert,
      tools: [tool({ name: 'publish', sensitive: true, execute: done })],
      model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'end' : { calls: [{ name: 'publish', input: {} }] }),
    }),
}

/** A run whose question was answered with yes in a pause, and that goes on so much later. */
async function heldFor(ms: number, make: (done: () => string) => Agent) {
  const seen = { done: 0 }
  const root = make(() => `done ${++seen.done}`)
  const clock = manualClock()
  const runtime = await createRuntime({ agents: [root], clock })
  const run = await runtime.start(root, 'Go')
  await run.until('waiting')
  await run.control.pause()
  await expect.poll(async () => (await run.view()).status).toBe('paused')
  const yes = async (): Promise<void> => {
    const open = (await run.view()).approvals.find((each) => each.open)
    await run.decide({ approvalId: open!.id, decision: 'approve', approver: 'ann' })
  }
  const answers = async (): Promise<unknown> => (await run.view()).approvals.map(({ resolution }) => resolution)
  await yes()
  await expect.poll(answers).toEqual(['approved'])
  clock.advance(ms)
  await run.control.resume()
  return { runtime, run, seen, yes, answers }
}

test.each(Object.entries(cases))(
  'R-16: a yes to %s that a pause kept waiting for three days is asked for again, with the reason',
  async (_name, make) => {
    const { runtime, run, seen, yes, answers } = await heldFor(3 * day, make)
    await using _closing = runtime
    await expect.poll(answers).toEqual(['approved', undefined])
    expect((await run.view()).approvals[1]!.reason).toContain('was good until ')
    expect(seen.done).toBe(0)
    await yes()
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect([seen.done, await answers()]).toEqual([1, ['approved', 'approved']])
  },
)

test.each(Object.entries(cases))('R-16: a yes to %s that was kept waiting for an hour holds', async (_name, make) => {
  const { runtime, run, seen, answers } = await heldFor(3_600_000, make)
  await using _closing = runtime
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
  expect([seen.done, await answers()]).toEqual([1, ['approved']])
})
