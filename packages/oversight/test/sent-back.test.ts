/**
 * Work that an approver sends back is done again, and what it has completed is not: only effects that the decision
 * names are made once more, each with a key of its own.
 */
import { expect, test } from 'vitest'
import { agent, createRuntime, supervisor, team, tool, type Agent, type Run as AnyRun } from '@reeve/public'
import { asText } from '@reeve/core'
import { registerAgents } from '@reeve/runtime'
import { verifyJournal } from '@reeve/testing'

type Run = AnyRun<never> | AnyRun<unknown> | AnyRun

/** Every act: its arguments and the key that it was made with. */
interface Act {
  readonly input: unknown
  readonly key: string
}

const oversight = { mode: 'in-the-loop' } as const

/** Code that pays, and an agent whose model does; both report. */
type MakeWorker = (acts: Act[], doubtful: boolean) => Agent
const doubts = (doubtful: boolean) => (doubtful ? { assess: () => ({ confidence: 0.1 }) } : {})
const workers: Readonly<Record<string, MakeWorker>> = {
  code: (acts, doubtful) =>
    agent({
      name: 'payer',
      description: 'Pays.',
      run: async (ctx) => {
        const paid = await ctx.step('pay', ({ key }) => acts.push({ input: 'A', key }), { effect: 'once' })
        return `payed ${paid}`
      },
      ...doubts(doubtful),
    }),
  model: (acts, doubtful) =>
    agent({
      name: 'payer',
      description: 'Pays.',
      tools: [tool({ name: 'stamp', effect: 'once', execute: (input, { key }) => acts.push({ input, key }) })],
      model: ({ messages }) => {
        const asked = messages.findLastIndex(({ role }) => role === 'user')
        const result = messages.findLastIndex(({ role }) => role === 'tool')
        return result > asked
          ? `payed ${asText(messages[result]!.content)}`
          : { calls: [{ name: 'stamp', input: { invoice: 'A' } }] }
      },
      ...doubts(doubtful),
    }),
}

/** Where an approver can send work back. */
const places: Readonly<Record<string, (worker: Agent) => Agent>> = {
  'the result of a task': (worker) =>
    team({
      name: 'boss',
      roles: { generalist: worker },
      oversight,
      planner: { subtasks: [{ id: 'pay', description: 'Pay.', review: true }] },
    }),
  'a task before the one that is asked about': (worker) =>
    team({
      name: 'boss',
      roles: {
        generalist: worker,
        writer: agent({ name: 'writer', description: 'w', run: () => 'out' }),
      },
      oversight,
      planner: {
        subtasks: [
          { id: 'pay', description: 'Pay.' },
          { id: 'tell', role: 'writer', description: 'Tell.', action: 'publish_note', dependencies: ['pay'] },
        ],
      },
    }),
  'the result of a worker': (worker) =>
    supervisor({
      name: 'boss',
      workers: [worker],
      oversight,
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'done'
          : { calls: [{ name: 'delegate', input: { worker: 'payer', instructions: 'Pay.' } }] },
    }),
}

const cases = Object.keys(places).flatMap((place) => Object.keys(workers).map((kind) => [place, kind] as const))

const asked = async (run: Run) => {
  const state = await run.until('waiting')
  const [open] = 'waiting' in state ? state.waiting : []
  return open!
}

const replays = async (run: Run, root: Agent): Promise<void> => {
  const events = []
  for await (const event of run.events()) events.push(event)
  expect((await verifyJournal(events, registerAgents([root], [], 'move'))).problems).toEqual([])
}

test.each(cases)('%s (%s): what was completed is listed, and sent back it is not done again', async (place, kind) => {
  const acts: Act[] = []
  const root = places[place]!(workers[kind]!(acts, place === 'the result of a worker'))
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  const ids = new Set<string>()
  for (const round of [1, 2]) {
    const open = await asked(run)
    expect(open.done).toMatchObject([
      {
        name: kind === 'model' ? 'stamp' : 'pay',
        state: 'done',
        agent: 'payer',
        ...(kind === 'model' ? { input: { invoice: 'A' } } : {}),
        ...(place === 'the result of a worker' ? {} : { task: 'pay' }),
      },
    ])
    ids.add(open.done![0]!.id)
    await run.decide({ approvalId: open.id, decision: 'retry', approver: 'ann', comment: `Round ${round}.` })
  }
  await run.decide({ approvalId: (await asked(run)).id, decision: 'approve', approver: 'ann' })
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
  expect([acts.length, ids.size]).toEqual([1, 1])
  await replays(run, root)
})

test.each(cases)('%s (%s): an effect that the decision names is made once more, once', async (place, kind) => {
  const acts: Act[] = []
  const root = places[place]!(workers[kind]!(acts, place === 'the result of a worker'))
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  const open = await asked(run)
  const back = { approvalId: open.id, decision: 'retry', approver: 'ann', comment: 'Pay again.' } as const
  await expect(run.decide({ ...back, repeat: ['eff_unknown'] })).rejects.toMatchObject({
    code: 'approval.invalid',
    message: expect.stringContaining('lists no effect "eff_unknown"') as string,
  })
  await run.decide({ ...back, repeat: [open.done![0]!.id] })
  const again = await asked(run)
  expect(again.done).toHaveLength(2)
  expect(new Set(acts.map(({ key }) => key)).size).toBe(2)
  await run.decide({ approvalId: again.id, decision: 'retry', approver: 'ann', comment: 'The wording.' })
  const last = await asked(run)
  expect([last.done!.length, acts.length]).toEqual([2, 2])
  await run.decide({ approvalId: last.id, decision: 'approve', approver: 'ann' })
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
  expect((await run.view()).approvals[0]).toMatchObject({ resolution: 'retry' })
  const audit = JSON.stringify(await runtime.audit(run.id))
  expect(audit).toContain(`"repeat":["${open.done![0]!.id}"]`)
  await replays(run, root)
})

test('only `retry` takes a repeat', async () => {
  const root = places['the result of a task']!(workers['code']!([], false))
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  const { id } = await asked(run)
  await expect(run.decide({ approvalId: id, decision: 'approve', repeat: [] } as never)).rejects.toMatchObject({
    code: 'approval.invalid',
  })
})

test('a task that was sent back and done twice is undone once, as it ended last', async () => {
  const undone: unknown[] = []
  let round = 0
  const root = team({
    name: 'boss',
    roles: { generalist: agent({ name: 'payer', description: 'p', run: () => `round ${++round}` }) },
    oversight,
    planner: {
      subtasks: [
        { id: 'first', description: 'First.' },
        { id: 'second', description: 'Second.', action: 'publish_note', dependencies: ['first'] },
      ],
    },
    undo: (_ctx, { task, output }) => void undone.push([task, output]),
  })
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  const back = { approvalId: (await asked(run)).id, decision: 'retry', approver: 'ann', comment: 'Better.' } as const
  await run.decide(back)
  expect((await asked(run)).context).toEqual({ first: 'round 2' })
  await run.control.cancel()
  await run.outcome()
  expect(undone).toEqual([['first', 'round 2']])
})

test('a yes that is given while the input of its task is being done again does not count for the new input', async () => {
  const rounds = new Map<string, number>()
  let letGo = (): void => undefined
  const gate = new Promise<void>((resolve) => (letGo = resolve))
  const seen: unknown[] = []
  const before = agent({
    name: 'writer',
    description: 'w',
    run: async (ctx) => {
      const n = (rounds.get('draft') ?? 0) + 1
      rounds.set('draft', n)
      if (n > 1) await ctx.step('wait', () => gate, { effect: 'read' })
      return `draft ${n}`
    },
  })
  const after = agent({
    name: 'publisher',
    description: 'p',
    run: (_ctx, brief) => (seen.push(brief), 'out'),
  })
  const root = team({
    name: 'boss',
    roles: { generalist: before, publisher: after },
    oversight,
    planner: {
      subtasks: [
        { id: 'draft', description: 'Draft.' },
        { id: 'paper', role: 'publisher', description: 'Paper.', action: 'publish_paper', dependencies: ['draft'] },
        { id: 'web', role: 'publisher', description: 'Web.', action: 'publish_web', dependencies: ['draft'] },
      ],
    },
  })
  await using runtime = await createRuntime({ agents: [root] })
  const run = await runtime.start(root, 'Go')
  const open = async () => (await runtime.approvals()).map(({ id, task, context }) => ({ id, task, context }))
  await expect.poll(async () => (await open()).length).toBe(2)
  const idOf = async (task: string) => (await open()).find((each) => each.task === task)!.id
  const staleYes = await idOf('paper')
  await run.decide({ approvalId: await idOf('web'), decision: 'retry', approver: 'ann', comment: 'Shorter.' })
  // the input is being done again, and the other question is still open
  await expect.poll(() => rounds.get('draft')).toBe(2)
  await run.decide({ approvalId: staleYes, decision: 'approve', approver: 'bob' })
  await expect.poll(open).toEqual([])
  letGo()
  await expect
    .poll(async () => new Map((await open()).map(({ task, context }) => [task, context])))
    .toEqual(
      new Map([
        ['paper', { draft: 'draft 2' }],
        ['web', { draft: 'draft 2' }],
      ]),
    )
  expect(seen).toEqual([])
  for (const { id } of await open()) await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
  expect(seen).toHaveLength(2)
})
