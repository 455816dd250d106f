/** What fails in a planned team: spec team 1.10, C45 to C54; exact times are in packages/team/test/failure.test.ts. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { agent, step } from '@reeve/agent'
import { totalUsage, type Json } from '@reeve/core'
import { resolveModel } from '@reeve/model'
import { team } from '@reeve/team'
import { startFakeLlm, wires, type FakeLlm } from '../../packages/model/test/fake-llm.ts'
import { eventsOf, runtimeOf, scripted, store } from './team.ts'
import { quick } from './wire-team.ts'

const plan = (...ids: string[]) => ({ subtasks: ids.map((id) => ({ id, description: `Task ${id}` })) })

describe('team C45: one layer tries again', () => {
  let llm: FakeLlm
  beforeAll(async () => {
    llm = await startFakeLlm()
  })
  beforeEach(() => llm.reset())
  afterAll(() => llm.close())

  test('a model member whose model fails three times: three calls, not nine', async () => {
    const model = scripted(new Error('down'))
    const writer = agent({ name: 'writer', description: 'Writes.', model, retry: quick })
    const analysts = team({
      name: 'analysts',
      roles: { generalist: writer },
      planner: plan('a', 'b'),
      tolerance: 100,
      concurrency: 1,
    })
    const runtime = await runtimeOf([analysts])
    const outcome = await runtime.run(analysts, 'Go')
    expect(model.prompts).toHaveLength(6)
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'team.no-results' },
      results: {
        tasks: [
          { status: 'failed', attempts: 3 },
          { status: 'failed', attempts: 3 },
        ],
      },
    })
  })

  test.each(wires)('over the wire of $name: a provider that is down is asked three times', async ({ model }) => {
    llm.on({}, { failure: 'unavailable' })
    const writer = agent({
      name: 'writer',
      description: 'Writes.',
      model: resolveModel(model, llm.options),
      retry: quick,
    })
    const analysts = team({ name: 'analysts', roles: { generalist: writer }, planner: plan('a') })
    const runtime = await runtimeOf([analysts])
    const outcome = await runtime.run(analysts, 'Go')
    expect(llm.requests()).toHaveLength(3)
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { message: 'Too many subtask failures (1/1)' },
      results: { tasks: [{ attempts: 3 }] },
    })
  })
})

test('team C45: code that throws twice, then succeeds, had three attempts; its steps have their own', async () => {
  const ran: number[] = []
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    run: async (ctx) => {
      const attempt = ran.push(await step(ctx, 'work', () => ran.length))
      if (attempt < 3) throw new Error(`attempt ${attempt}`)
      return 'done'
    },
  })
  const analysts = team({
    name: 'analysts',
    roles: { generalist: worker },
    planner: plan('a'),
    retry: { backoffMs: 0 },
  })
  const runtime = await runtimeOf([analysts])
  const run = await runtime.start(analysts, 'Go')
  expect(await run.outcome()).toMatchObject({
    status: 'completed',
    results: { partial: false, tasks: [{ attempts: 3, status: 'succeeded' }] },
  })
  const retried = (await eventsOf(run)).flatMap((event) =>
    event.type === 'task.retried' ? [[event.attempt, event.delayMs]] : [],
  )
  expect(retried).toEqual([
    [1, 0],
    [2, 0],
  ])
})

test('team C52: given up while two work: both stop by their signal, results stay, one end', async () => {
  const aborted: string[] = []
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    run: async (ctx, brief: string): Promise<Json> => {
      if (brief === 'Task done') return 'done'
      if (brief === 'Task fails') {
        await step(ctx, 'wait', async () => (await Promise.all([one.promise, two.promise]), null))
        return { success: false, error: 'it cannot be done' }
      }
      return step(ctx, 'long', ({ signal }) => {
        ;(brief === 'Task one' ? one : two).resolve()
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push(brief)
            reject(signal.reason as Error)
          })
        })
      })
    },
  })
  const analysts = team({
    name: 'analysts',
    roles: { generalist: worker },
    planner: plan('done', 'one', 'two', 'fails'),
    tolerance: 0,
  })
  const runtime = await runtimeOf([analysts], { store: store() })
  const run = await runtime.start(analysts, 'Go')
  const outcome = await run.outcome()
  expect(aborted.toSorted()).toEqual(['Task one', 'Task two'])
  expect(outcome).toMatchObject({
    status: 'failed',
    failure: { code: 'team.too-many-failures', message: 'Too many subtask failures (1/4)' },
  })
  const results = outcome.status === 'failed' ? outcome.results! : undefined
  expect(results!.tasks.map(({ status, output }) => [status, output ?? null])).toEqual([
    ['succeeded', 'done'],
    ['cancelled', null],
    ['cancelled', null],
    ['failed', { success: false, error: 'it cannot be done' }],
  ])
  const events = await eventsOf(run)
  expect(
    events.filter((event) => event.type === 'activation.settled' && event.outcome.status === 'failed'),
  ).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'plan.aborted')).toMatchObject([
    { failed: 1, total: 4, failures: [{ task: 'fails' }] },
  ])
})

test('team C46: what failed tasks used counts', async () => {
  const model = scripted({ text: 'one', usage: { input: 5, output: 5 } }, new Error('down'))
  const writer = agent({ name: 'writer', description: 'Writes.', model, retry: { attempts: 1 } })
  const analysts = team({
    name: 'analysts',
    roles: { generalist: writer },
    planner: plan('a', 'b'),
    concurrency: 1,
    retry: { attempts: 2, backoffMs: 1 },
  })
  const runtime = await runtimeOf([analysts])
  const outcome = await runtime.run(analysts, 'Go')
  expect(outcome).toMatchObject({
    status: 'completed',
    output: expect.stringContaining('one') as string,
    results: { coverage: { succeeded: 1, planned: 2 } },
  })
  const [first, second] = outcome.status === 'completed' ? outcome.results!.tasks : []
  expect(totalUsage(first!.usage)).toMatchObject({ input: 5, output: 5 })
  expect(second).toMatchObject({ status: 'failed', attempts: 2 })
})
