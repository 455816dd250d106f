/**
 * Routers where they meet something else: sessions and calls, work without words, other names, typed workers, branches
 * that say nothing.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, delegate, rename, step, transferTo, type Agent, type AgentContext } from '@reeve/agent'
import { asTool, parallel, router, sequential, sessionValue } from '@reeve/flow'
import { withoutSystem, xfer } from './control.ts'
import { calls, runtimeOf, scripted, told } from './team.ts'

const weather = agent({ name: 'weather', description: 'w', model: () => 'weather answers' })
const sticky = (): Agent =>
  router({
    name: 'desk',
    description: 'd',
    sticky: true,
    transfer: { returns: 'never' },
    workers: [weather],
    model: ({ messages }) =>
      JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content).includes('weather')
        ? xfer('weather')
        : 'desk answers',
  })

describe('sticky is for the next run of a session', () => {
  test('a call below another agent begins with the lead, with a session and without', async () => {
    for (const session of [undefined, 's1']) {
      const model = scripted(
        calls(['desk', { request: 'the weather?' }]),
        calls(['desk', { request: 'a joke' }]),
        'final',
      )
      const outer = agent({ name: 'outer', tools: [asTool(sticky())], model })
      const runtime = await runtimeOf([outer])
      await runtime.run(outer, 'x', session === undefined ? {} : { session })
      expect([told(model.prompts[1]), told(model.prompts[2])]).toEqual([['weather answers'], ['desk answers']])
    }
  })

  test('a run that does not complete changes nothing', async () => {
    const refusing = {
      oversight: { mode: 'in-the-loop', escalate: { confidenceBelow: 0.6 } },
      assess: () => ({ confidence: 0.1 }),
    } as const
    const lead = scripted(xfer('weather'), 'desk answers')
    const desk = router({
      name: 'desk',
      sticky: true,
      transfer: { returns: 'never' },
      workers: [weather],
      model: lead,
      ...refusing,
    })
    const runtime = await runtimeOf([desk])
    const outcomes = []
    for (const decision of ['reject', 'approve'] as const) {
      const run = await runtime.start(desk, 'x', { session: 's' })
      const state = await run.until('waiting')
      if ('waiting' in state) await run.decide({ approvalId: state.waiting[0]!.id, decision })
      outcomes.push(await run.outcome())
    }
    expect(outcomes).toMatchObject([{ status: 'failed' }, { status: 'completed', output: 'desk answers' }])
  })
})

describe('work without words is no round', () => {
  const queue = sessionValue('queue', { schema: z.array(z.string()), initial: ['a', 'b', 'c', 'd', 'e'] })
  const other = agent({ name: 'other', description: 'o', run: () => null })
  const ways: readonly (readonly [string, (ctx: AgentContext) => Promise<unknown>])[] = [
    ['a step', (ctx) => step(ctx, 'handle', () => null)],
    ['a delegation', (ctx) => delegate(ctx, other, 'x')],
    ['a written value', (ctx) => ctx.values.update('seen', (seen) => (typeof seen === 'number' ? seen + 1 : 1))],
  ]
  const led = (worker: Agent, done: (ctx: AgentContext) => Promise<boolean>): Agent =>
    router({
      name: 'root',
      run: async (ctx) => ((await done(ctx)) ? 'all done' : transferTo(worker.name)),
      workers: [worker],
    })

  test.each(ways)('%s, in a worker and in a flow around it', async (_way, act) => {
    const worker = agent({
      name: 'worker',
      description: 'w',
      workers: [other],
      run: async (ctx) => (await act(ctx), null),
    })
    for (const member of [worker, sequential({ name: 'flow', description: 'f', agents: [worker] })]) {
      let asked = 0
      const root = led(member, () => Promise.resolve(++asked > 4))
      expect(await (await runtimeOf([root])).run(root, 'x')).toMatchObject({ status: 'completed', output: 'all done' })
    }
  })

  test('a queue is worked off', async () => {
    const done: string[] = []
    const worker = agent({
      name: 'worker',
      description: 'w',
      run: async (ctx) => {
        const [first] = await queue.get(ctx)
        await step(ctx, 'handle', () => void done.push(first!))
        await queue.update(ctx, (list) => list.slice(1))
      },
    })
    const root = led(worker, async (ctx) => (await queue.get(ctx)).length === 0)
    expect(await (await runtimeOf([root])).run(root, 'x')).toMatchObject({ status: 'completed' })
    expect(done).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('who only looks and waits goes round', async () => {
    const worker = agent({
      name: 'worker',
      description: 'w',
      run: async (ctx) => (await ctx.values.get('x'), await ctx.sleep(1), null),
    })
    const root = led(worker, () => Promise.resolve(false))
    expect(await (await runtimeOf([root])).run(root, 'x')).toMatchObject({
      status: 'failed',
      failure: { code: 'transfer.loop' },
    })
  })
})

test('a router that names itself can have another name', async () => {
  const w = agent({ name: 'w', description: 'w', model: () => xfer('desk2') })
  const desk = router({
    name: 'desk',
    model: scripted(xfer('w'), 'desk answers'),
    workers: [w],
    transfer: { returns: 'never', agents: { desk: { context: 'answers' } } },
    routes: { w: ['desk'], desk: ['w'] },
  })
  const other = rename(desk, 'desk2')
  expect(await (await runtimeOf([other])).run(other, 'x')).toMatchObject({
    status: 'completed',
    output: 'desk answers',
  })
})

test('a worker with a typed input gets the task as that input; the transferring agent is told its form', async () => {
  const typed = agent({
    name: 'typed',
    description: 'Knows cities.',
    input: z.object({ city: z.string() }),
    run: (_ctx, { city }) => `it is ${city}`,
  })
  const lead = scripted(xfer('typed', 'c1', 'no JSON'), xfer('typed', 'c2', '{"city":"Riga"}'), 'final')
  const root = router({ name: 'root', workers: [typed], model: lead })
  expect(await (await runtimeOf([root])).run(root, 'x')).toMatchObject({ output: 'final' })
  expect(lead.prompts[0]![0]!.content).toMatch(/Knows cities\. Its task is JSON of this form: \{.*"city".*\}/)
  expect(withoutSystem(lead.prompts[1]).at(-1)!.content).toMatch(/worker "typed" failed: the input does not fit/)
  expect(withoutSystem(lead.prompts[2]).at(-1)!.content).toBe('For context: [typed] said: it is Riga.')
})

test('a lead is told of a silent worker in any form', async () => {
  const quiet = (name: string): Agent => agent({ name, description: 'q', run: () => null })
  for (const w of [quiet('w'), parallel({ name: 'w', description: 'w', agents: [quiet('a'), quiet('b')] })]) {
    const lead = scripted(xfer('w'), 'final')
    const root = router({ name: 'root', model: lead, workers: [w] })
    await (await runtimeOf([root])).run(root, 'x')
    expect(withoutSystem(lead.prompts[1]).map(({ content }) => content)).toEqual([
      'x',
      '[worker "w" finished without an answer]',
    ])
  }
})
