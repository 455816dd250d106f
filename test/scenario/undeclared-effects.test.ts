/**
 * What says nothing of running twice: a tool without an `effect` is `once`; a step without one is repeated after a
 * crash, under its key, and not where it throws (decision 0016).
 */
import { tool as aiTool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, step, tool } from '@reeve/agent'
import type { Runtime } from '@reeve/runtime'
import { team } from '@reeve/team'
import { until } from './doors.ts'
import { calls, eventsOf, fastClock, runtimeOf, scripted, store, told, type Scripted } from './team.ts'

type Work = (io: { readonly signal: AbortSignal }) => unknown
type Declared = { readonly effect?: 'read' | 'idempotent' | 'once' }

const doubtsIn = async (runtime: Runtime) => (await runtime.questions()).filter(({ kind }) => kind === 'in-doubt')

/** A clerk whose only tool is of one of the kinds that there are. */
const kinds = {
  'a tool': (model: Scripted, work: Work, declared: Declared) =>
    agent({
      name: 'clerk',
      description: 'Mails.',
      model,
      tools: [tool({ name: 'mail', ...declared, execute: (_input, io) => work(io) })],
    }),
  'a tool of the AI SDK': (model: Scripted, work: Work, declared: Declared) => {
    const mail = aiTool({
      inputSchema: z.object({}),
      execute: (_input, { abortSignal }) => work({ signal: abortSignal! }),
    })
    return agent({ name: 'clerk', description: 'Mails.', model, tools: { mail: { ...mail, ...declared } } })
  },
}

/** Work that is out until its process is dead. */
function hanging() {
  const { promise, resolve } = Promise.withResolvers<string>()
  let begun = 0
  const work: Work = () => (++begun === 1 ? promise : 'sent again')
  return { work, begun: () => begun, hangUp: () => resolve('an answer that is lost') }
}

describe.each(Object.entries(kinds))('%s without an effect', (_kind, clerkOf) => {
  test('that throws is done once, and the model is told', async () => {
    let sent = 0
    const model = scripted(calls(['mail', {}]), 'told')
    const clerk = clerkOf(model, () => throwing(`no answer, mail ${++sent} is out`), {})
    const run = await (await runtimeOf([clerk], { clock: fastClock() })).start(clerk, 'Mail them.')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'told' })
    expect(sent).toBe(1)
    expect(JSON.stringify(told(model.prompts[1]))).toContain('no answer, mail 1 is out')
    expect((await run.view()).failedAttempts).toEqual([])
    expect(await eventsOf(run)).toContainEqual(expect.objectContaining({ type: 'tool.called', effect: 'once' }))
  })

  test.each([
    [{ happened: true, value: 'sent' }, 1, ['sent']],
    [{ happened: false }, 2, ['sent again']],
  ] as const)(
    'K6: after a crash in the middle of it, the run asks; told %j, it was done %d times',
    async (answer, times, results) => {
      const { work, begun, hangUp } = hanging()
      const model = scripted(calls(['mail', {}]), 'done')
      const clerk = clerkOf(model, work, {})
      let dead = false
      const first = await runtimeOf([clerk], { store: store(), leaseMs: 100, crash: () => dead })
      await first.start(clerk, 'Mail them.', { runId: 'r1' })
      await until(() => begun() === 1)
      dead = true
      hangUp()
      const second = await runtimeOf([clerk], { store: store(), leaseMs: 100 })
      await until(async () => (await doubtsIn(second)).length === 1)
      expect(begun()).toBe(1)
      const run = second.handle('r1')
      await run.control.settleDoubt({ id: (await doubtsIn(second))[0]!.id, ...answer })
      expect(await run.outcome()).toMatchObject({ output: 'done' })
      expect(begun()).toBe(times)
      expect(told(model.prompts.at(-1))).toEqual(results)
    },
  )

  test('with one that is added, it is tried three times, and a crash asks nobody', async () => {
    let tries = 0
    const flaky = clerkOf(scripted(calls(['mail', {}]), 'done'), () => (++tries < 3 ? throwing('busy') : 'sent'), {
      effect: 'idempotent',
    })
    const runtime = await runtimeOf([flaky], { clock: fastClock() })
    expect(await runtime.run(flaky, 'Mail them.')).toMatchObject({ output: 'done' })
    expect(tries).toBe(3)

    const { work, begun, hangUp } = hanging()
    const clerk = clerkOf(scripted(calls(['mail', {}]), 'done'), work, { effect: 'read' })
    let dead = false
    const first = await runtimeOf([clerk], { store: store(), leaseMs: 100, crash: () => dead })
    await first.start(clerk, 'Mail them.', { runId: 'r1' })
    await until(() => begun() === 1)
    dead = true
    hangUp()
    const second = await runtimeOf([clerk], { store: store(), leaseMs: 100 })
    expect(await second.handle('r1').outcome()).toMatchObject({ output: 'done' })
    expect(begun()).toBe(2)
  })
})

test('an effect that a tool of the AI SDK was given is checked', () => {
  const mail = { ...aiTool({ inputSchema: z.object({}), execute: () => 'sent' }), effect: 'idempotant' }
  expect(() => agent({ name: 'clerk', model: () => 'hi', tools: { mail } })).toThrow(
    expect.objectContaining({ code: 'tool.invalid', message: expect.stringContaining('effect') as string }),
  )
})

test('the next attempt at a task takes the result of an equal call of a tool without an effect', async () => {
  let sent = 0
  const mail = tool({ name: 'mail', execute: () => `mail ${++sent}` })
  const model = scripted(calls(['mail', {}]), new Error('a slip'), calls(['mail', {}]), 'done')
  const clerk = agent({ name: 'clerk', description: 'Mails.', model, tools: [mail], retry: { attempts: 1 } })
  const crew = team({
    name: 'crew',
    roles: { generalist: clerk },
    planner: { subtasks: [{ id: 'mail', description: 'mail the customer' }] },
    retry: { backoffMs: 0 },
  })
  expect(await (await runtimeOf([crew])).run(crew, 'Go')).toMatchObject({ status: 'completed' })
  expect(sent).toBe(1)
  expect(told(model.prompts.at(-1))).toEqual(['mail 1'])
})

describe('a step', () => {
  test.each([
    ['without an effect', {}, 1],
    ['that is once', { effect: 'once' }, 1],
    ['that is idempotent', { effect: 'idempotent' }, 3],
    ['that only reads', { effect: 'read' }, 3],
    ['with a retry', { retry: { attempts: 2 } }, 2],
  ] as const)('%s that throws', async (_what, options, times) => {
    let tries = 0
    const clerk = agent({
      name: 'clerk',
      run: (ctx) => step(ctx, 'mail', () => throwing(`try ${++tries}`), options),
    })
    const run = await (await runtimeOf([clerk], { clock: fastClock() })).start(clerk, 'Mail them.')
    expect(await run.outcome()).toMatchObject({ status: 'failed', failure: { message: `try ${times}` } })
    expect(tries).toBe(times)
  })

  test('without an effect is repeated after a crash, under its key, and nobody is asked', async () => {
    const keys: string[] = []
    const { promise, resolve } = Promise.withResolvers<string>()
    const clerk = agent({
      name: 'clerk',
      run: (ctx) => step(ctx, 'mail', ({ key }) => (keys.push(key) === 1 ? promise : 'sent')),
    })
    let dead = false
    const first = await runtimeOf([clerk], { store: store(), leaseMs: 100, crash: () => dead })
    await first.start(clerk, 'Mail them.', { runId: 'r1' })
    await until(() => keys.length === 1)
    dead = true
    resolve('an answer that is lost')
    const second = await runtimeOf([clerk], { store: store(), leaseMs: 100 })
    expect(await second.handle('r1').outcome()).toMatchObject({ output: 'sent' })
    expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  })
})

function throwing(message: string): never {
  throw new Error(message)
}
