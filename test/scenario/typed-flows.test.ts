/**
 * Typed fixed orders: an agent with an input of its own takes the output of the one before it; what cannot fit is
 * refused when it is defined. `until` of a loop.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { loop, parallel, sequential } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { diesEverywhere } from '../replay/dying.ts'
import { completed } from '@reeve/core'
import { teamScenario } from '@reeve/testing'
import { worker } from './control.ts'
import { calls, runtimeOf, scripted } from './team.ts'

const outline = z.object({ title: z.string(), points: z.array(z.string()) })
const outliner = agent({
  name: 'outliner',
  input: z.object({ topic: z.string() }),
  output: outline,
  run: (_ctx, { topic }) => ({ title: topic, points: ['a', 'b'] }),
})
const counter = agent({ name: 'counter', input: outline, output: z.number(), run: (_ctx, { points }) => points.length })
const doubler = agent({ name: 'doubler', input: z.number(), output: z.number(), run: (_ctx, n) => n * 2 })

async function ended(flow: Agent, input: Json) {
  const run = await (await runtimeOf([flow])).start(flow, input)
  return run.outcome()
}

describe('a chain', () => {
  test('hands each output on as the next input; its own input is that of the first, checked before anything begins', async () => {
    const chain = sequential({ name: 'chain', agents: [outliner, counter, doubler] })
    const runtime = await runtimeOf([chain])
    // the compiler knows both: an input of another form, or another output, does not compile
    const outcome = await runtime.run(chain, { topic: 'ravens' })
    const output: number | undefined = outcome.status === 'completed' ? outcome.output : undefined
    expect(output).toBe(4)
    await expect(runtime.start(chain, 'ravens' as never)).rejects.toMatchObject({ code: 'input.invalid' })
    expect(chain.inputSchema?.json).toEqual(outliner.inputSchema?.json)
    expect(chain.outputSchema?.json).toEqual(doubler.outputSchema?.json)
  })

  test('an agent without an input reads what was said, and the next typed one takes its output', async () => {
    const text = agent({
      name: 'text',
      output: outline,
      model: scripted(JSON.stringify({ title: 't', points: ['x'] })),
    })
    const chain = sequential({ name: 'chain', agents: [outliner, text, counter] })
    expect(await ended(chain, { topic: 'ravens' })).toMatchObject({ output: 1 })
  })

  test('is a typed worker: its leader gives the input of the first agent', async () => {
    const chain = sequential({ name: 'chain', description: 'Counts points.', agents: [outliner, counter] })
    const lead = supervisor({
      name: 'lead',
      workers: [chain],
      model: scripted(calls(['delegate_chain', { topic: 'ravens' }]), 'done'),
    })
    const run = await (await runtimeOf([lead])).start(lead, 'go')
    await run.outcome()
    const settled = (await run.journal()).flatMap(({ event }) =>
      event.type === 'worker.settled' ? [event.outcome] : [],
    )
    expect(settled.at(-1)).toMatchObject({ status: 'completed', output: 2 })
  })

  test('what cannot fit is refused when it is defined, with the agents and the member', () => {
    const texter = worker('texter')
    expect(() => sequential({ name: 'chain', agents: [texter, counter as Agent] })).toThrow(
      'sequential "chain": "counter" does not take what "texter" before it gives: the value is string, expected object',
    )
    const other = agent({
      name: 'other',
      output: z.object({ title: z.number(), points: z.array(z.string()) }),
      run: () => ({ title: 1, points: [] }),
    })
    // @ts-expect-error the title is a number there
    expect(() => sequential({ name: 'chain', agents: [other, counter] })).toThrow('"title" is number, expected string')
    const less = agent({ name: 'less', output: z.object({ title: z.string() }), run: () => ({ title: 'x' }) })
    // @ts-expect-error the points are missing
    expect(() => sequential({ name: 'chain', agents: [less, counter] })).toThrow('"points" is missing')
    // @ts-expect-error a loop goes from its last agent to its first
    expect(() => loop({ name: 'again', agents: [outliner, counter], maxIterations: 2 })).toThrow(
      'loop "again": "outliner" does not take what "counter" before it gives',
    )
    // one iteration comes to no second
    expect(sequential({ name: 'chain', agents: [outliner, counter] }).problems()).toEqual([])
  })

  test('what turns out not to fit ends it where it happened, with both names', async () => {
    const json = agent({ name: 'json', run: (): Json => ({ title: 1 }) })
    expect(await ended(sequential({ name: 'chain', agents: [json, counter] }), 'go')).toMatchObject({
      status: 'failed',
      failure: {
        code: 'input.invalid',
        message: expect.stringMatching(/^"counter" does not take what "json" gave: /) as string,
      },
    })
  })
})

describe('at once', () => {
  test('all that have an input take that of the whole; its outputs are a list with their types', async () => {
    const namer = agent({
      name: 'namer',
      input: z.object({ topic: z.string(), by: z.string() }),
      run: (_ctx, { by }) => by,
    })
    const both = parallel({ name: 'both', agents: [outliner, namer, worker('reader')] })
    const runtime = await runtimeOf([both])
    const outcome = await runtime.run(both, { topic: 'ravens', by: 'ann' })
    const output = outcome.status === 'completed' ? outcome.output : undefined
    const by: Json | undefined = output?.[1]
    expect([output?.[0].points, by]).toEqual([['a', 'b'], 'ann'])
    await expect(runtime.start(both, { topic: 'ravens' } as never)).rejects.toMatchObject({ code: 'input.invalid' })
  })
})

describe('until', () => {
  const upTo = (most: number, asked: number[] = []) =>
    loop({
      name: 'more',
      agents: [doubler],
      maxIterations: 10,
      until: async (n, { iteration }) => {
        asked.push(iteration)
        return n >= most
      },
    })

  test('ends a loop with the output that it was shown; each iteration takes the output of the last', async () => {
    const asked: number[] = []
    expect(await ended(upTo(20, asked), 3)).toMatchObject({ output: 24 })
    expect(asked).toEqual([0, 1, 2])
    expect(await ended(upTo(Infinity), 1)).toMatchObject({ output: 1024 })
  })

  test('that throws, or says neither true nor false, fails the loop and names itself', async () => {
    const failing = loop({
      name: 'l',
      agents: [doubler],
      maxIterations: 2,
      until: () => Promise.reject(new Error('no')),
    })
    expect(await ended(failing, 1)).toMatchObject({
      status: 'failed',
      failure: { code: 'hook.failed', hint: expect.stringContaining('reeve events') as string },
    })
    const odd = loop({ name: 'l', agents: [doubler], maxIterations: 2, until: () => 'yes' as never })
    expect(await ended(odd, 1)).toMatchObject({
      failure: { message: 'until failed: it returned the text "yes"; expected true or false' },
    })
    expect(() => loop({ name: 'l', agents: [doubler], maxIterations: 2, until: 7 as never })).toThrow('until')
  })

  test('a failed iteration is not asked about', async () => {
    const asked: number[] = []
    const fails = agent({ name: 'fails', output: z.number(), run: () => Promise.reject(new Error('broken')) })
    const flow = loop({
      name: 'l',
      agents: [fails],
      maxIterations: 3,
      until: (_n, { iteration }) => asked.push(iteration) > 0,
    })
    expect(await ended(flow, 'go')).toMatchObject({ status: 'failed' })
    expect(asked).toEqual([])
  })

  // K3: its reply is recorded
  diesEverywhere(teamScenario({ name: 'a loop until enough', agents: [upTo(20)], input: 3 }), completed(24), 20)
})
