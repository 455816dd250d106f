/**
 * Tools that whoever calls does not wait for: the same placeholder, notes and ends as delegations in the background.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, type ToolIO } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool } from '@reeve/flow'
import type { Message } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, store, waiting, type Scripted } from './team.ts'
import { until } from './doors.ts'

/** A tool in the background that ends when the test lets it. */
function slow(name: string, more: object = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Json>()
  promise.catch(() => undefined)
  const seen = { began: 0, stopped: 0 }
  const made = tool({
    name,
    background: true,
    effect: 'idempotent',
    retry: { attempts: 1 },
    ...more,
    execute: (_input: unknown, io: ToolIO) => {
      seen.began++
      return new Promise<Json>((pass, fail) => {
        io.signal.addEventListener('abort', () => (seen.stopped++, fail(io.signal.reason as Error)))
        promise.then(pass, fail)
      })
    },
  } as never)
  return { tool: made, end: resolve, fail: reject, seen }
}

const results = (prompt: readonly Message[] | undefined): Json[] =>
  (prompt ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []))
const works = (label: string, name: string): string =>
  `[${label}: "${name}" works in the background; its result will stand here once it has ended]`
const lastOf = (model: Scripted): unknown => model.prompts.at(-1)!.at(-1)!.content

describe('a call without a waiter', () => {
  test('is answered at once; then its result stands where it was called, once, and a note says so', async () => {
    const search = slow('search')
    const model = scripted(calls(['search', {}, 'c1']), 'meanwhile', 'now I know')
    const A = agent({ name: 'A', model, tools: [search.tool] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await until(() => model.prompts.length === 2)
    expect(results(model.prompts[1])).toEqual([works('t1', 'search')])
    search.end({ found: 3 })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'now I know' })
    expect(results(model.prompts[2])).toEqual([{ found: 3 }])
    expect(lastOf(model)).toBe(
      'Ended since you were last asked: t1 ("search", completed), its result stands where you called it.',
    )
    expect((await eventsOf(run)).find((event) => event.type === 'fact.noted')).toMatchObject({
      name: 'tool.deferred',
      data: { tool: 'search', callId: 'c1', call: 't1' },
    })
    expect(search.seen).toEqual({ began: 1, stopped: 0 })
  })

  test('several end in any order; one that fails is told as a failure', async () => {
    const [one, two] = [slow('one'), slow('two')]
    const model = scripted(calls(['one', {}], ['two', {}]), 'waiting', 'still waiting', 'final')
    const A = agent({ name: 'A', model, tools: [one.tool, two.tool] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await until(() => model.prompts.length === 2)
    two.fail(new Error('out of order'))
    await until(() => model.prompts.length === 3)
    expect(results(model.prompts[2])).toEqual([works('t1', 'one'), expect.stringContaining('out of order')])
    expect(lastOf(model)).toMatch(/t2 \("two", failed\)/)
    one.end('good')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts[3])[0]).toBe('good')
  })

  test('arguments that do not fit are told at once', async () => {
    const search = slow('search', { input: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] } })
    const model = scripted(calls(['search', {}]), 'final')
    const A = agent({ name: 'A', model, tools: [search.tool] })
    expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ output: 'final' })
    expect(results(model.prompts[1])).toEqual([expect.stringContaining('do not fit')])
    expect(search.seen.began).toBe(0)
  })

  test('its approval is waited for in the background, too', async () => {
    const pay = tool({ name: 'pay', background: true, sensitive: true, execute: () => 'paid' })
    const model = scripted(calls(['pay', {}]), 'meanwhile', 'final')
    const A = agent({ name: 'A', model, tools: [pay] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await until(() => model.prompts.length === 2)
    const [open] = (await waiting(run)).waiting
    await run.decide({ approvalId: open!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts[2])).toEqual(['paid'])
  })

  test('a leader that fails or hits its limit stops it and ends after it', async () => {
    for (const [said, limits] of [
      [fatal('no'), {}],
      ['x', { turns: 1 }],
    ] as const) {
      const search = slow('search')
      const model = scripted(calls(['search', {}]), said)
      const A = agent({ name: 'A', model, tools: [search.tool], limits })
      const run = await (await runtimeOf([A])).start(A, 'go')
      expect((await run.outcome()).status).toBe('turns' in limits ? 'limited' : 'failed')
      const open = (await eventsOf(run)).filter((event) => event.type === 'tool.called').length
      const ended = (await eventsOf(run)).filter(
        (event) => event.type === 'step.settled' && event.outcome.status === 'cancelled',
      ).length
      expect([open, ended]).toEqual([1, 1])
    }
  })

  test('it outlives its process: the result is told in the next one', async () => {
    const before = slow('search')
    const early = scripted(calls(['search', {}]), 'meanwhile')
    const first = await runtimeOf([agent({ name: 'A', model: early, tools: [before.tool] })], { store: store() })
    await first.start('A', 'go', { runId: 'r1' })
    await until(() => early.prompts.length === 2)
    await first.close()
    const after = slow('search')
    after.end('late')
    const model = scripted('now I know')
    const second = await runtimeOf([agent({ name: 'A', model, tools: [after.tool] })], { store: store() })
    expect(await second.handle('r1').outcome()).toMatchObject({ output: 'now I know' })
    expect(results(model.prompts.at(-1))).toEqual(['late'])
  })

  const wrapped = async (wrap: (content: Json) => Json) => {
    const model = scripted(calls(['search', {}]), 'meanwhile', 'final')
    const around = {
      name: 'around',
      wrapTool: async (_call: unknown, run: () => Promise<{ content: Json }>) => ({
        content: wrap((await run()).content),
      }),
    }
    const search = tool({ name: 'search', background: true, execute: () => 'found' })
    const A = agent({ name: 'A', model, tools: [search], middleware: [around] })
    return { outcome: await (await runtimeOf([A])).run(A, 'go'), results: results(model.prompts.at(-1)) }
  }
  test('middlewares stand around it all the same', async () => {
    const played = await wrapped((content) => [content, 'wrapped'])
    expect(played.outcome.status).toBe('completed')
    expect(played.results).toEqual([['found', 'wrapped']])
  })
  test('a middleware that fails around it withholds the result, and the tool is done', async () => {
    const played = await wrapped(() => {
      throw new Error('no')
    })
    expect(played.outcome).toMatchObject({ status: 'completed' })
    expect(played.results).toEqual([expect.stringMatching(/done.*withheld|withheld.*done/s)])
  })

  test('an agent as a tool, and a tool of a supervisor beside its delegations', async () => {
    const helper = agent({ name: 'helper', description: 'Helps.', model: scripted('helped') })
    const w1 = agent({ name: 'w1', description: 'Works.', model: scripted('worked') })
    const model = scripted(
      calls(['helper', { request: 'x' }], ['delegate', { worker: 'w1', instructions: 'y' }]),
      'meanwhile',
      'final',
    )
    const boss = supervisor({ name: 'boss', model, workers: [w1], tools: [asTool(helper, { background: true })] })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(['meanwhile', 'final']).toContain(((await run.outcome()) as { output: string }).output)
    expect(results(model.prompts[1])[1]).toBe('worked')
    expect(results(model.prompts.at(-1))).toEqual(['helped', 'worked'])
  })
})

describe('a worker that has such tools', () => {
  const crew = (delegation: object) => {
    const search = slow('search')
    const w1 = agent({
      name: 'w1',
      description: 'Works.',
      model: scripted(calls(['search', {}]), 'waiting', 'found it'),
      tools: [search.tool],
    })
    const model = scripted(delegates(['w1', 'go']), 'meanwhile', 'final')
    return { search, model, boss: supervisor({ name: 'boss', model, workers: [w1], delegation }) }
  }
  test('works in the background for a leader that says nothing of it', async () => {
    const { search, model, boss } = crew({ background: { react: 'all' } })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await until(() => model.prompts.length === 2)
    expect(results(model.prompts[1])).toEqual([works('d1', 'w1')])
    expect(model.tools[0]!.map(({ name }) => name)).toContain('stop_delegation')
    search.end('x')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts[2])).toEqual(['found it'])
  })
  test('and is waited for where the leader says so', async () => {
    const { search, model, boss } = crew({ workers: { w1: { background: false } } })
    search.end('x')
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'meanwhile' })
    expect(results(model.prompts[1])).toEqual(['found it'])
  })
})

test('what makes no sense is refused where the tool is made', () => {
  const execute = (): Json => null
  expect(() => tool({ name: 'a', background: true, action: 'return', execute })).toThrow(
    /with background: true cannot have an action/,
  )
  expect(() => tool({ name: 'a', background: 'deferred' as never, execute })).toThrow(
    /background is the text "deferred", expected true or false/,
  )
})
