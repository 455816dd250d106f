/**
 * Parallel work under a limit in tokens: a call that only waits until others have used less than was set aside for them
 * waits; it is refused once it cannot fit any more.
 */
import { describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { totalUsage } from '@reeve/core'
import type { Model, ModelRequest } from '@reeve/model'
import type { Run } from '@reeve/runtime'
import { supervisor, type Delegation } from '@reeve/supervisor'
import { until } from './doors.ts'
import { delegates, fastClock, runtimeOf, told } from './team.ts'

const names = ['a', 'b', 'c', 'd', 'e'] as const
/**
 * Five workers at once under 8,000 tokens. Each of their calls sets 2,000 aside, and its prompt: three fit. Each uses
 * as many as are said, once the gate is open.
 */
function crew(uses: number, limits = { tokens: 8_000 }, delegation: Delegation<(typeof names)[number]> = {}) {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const seen = { calls: 0, out: 0, most: 0, told: [] as unknown[] }
  const call = async ({ signal }: ModelRequest) => {
    seen.calls++
    seen.most = Math.max(seen.most, ++seen.out)
    await Promise.race([
      gate,
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    ])
    seen.out--
    return { text: 'done', calls: [], finish: 'stop' as const, model: 'm', usage: { input: uses, output: 0 } }
  }
  const model: Model = { id: 'm', call }
  let asked = 0
  const leading = ({ messages }: ModelRequest) => {
    const usage = { input: 10, output: 0 }
    if (asked++ === 0) return { ...(delegates(...names.map((name) => [name, 'go'] as const)) as object), usage }
    seen.told = told(messages)
    return { text: 'all in', usage }
  }
  const workers = names.map((name) => agent({ name, description: `Is ${name}.`, model }))
  return { S: supervisor({ name: 'S', model: leading, workers, limits, delegation }), seen, open }
}
const short = async (run: Pick<Run, 'view'>): Promise<readonly string[]> =>
  (await run.view()).activations.flatMap(({ agent: name, shortOf }) =>
    shortOf === undefined ? [] : [`${name} ${shortOf.limit} ${shortOf.max}`],
  )

describe('work at once, and room for three', () => {
  test('two wait visibly and are called when there is room: none is refused, and the limit holds', async () => {
    const { S, seen, open } = crew(10)
    const runtime = await runtimeOf([S], { clock: fastClock() })
    const run = await runtime.start(S, 'Go')
    await until(async () => (await short(run)).length === 2)
    expect(await short(run)).toEqual(
      Array.from({ length: 2 }, () => expect.stringMatching(/^[a-e] tokens 8000$/) as string),
    )
    const called = (await run.view()).activations.map(
      ({ modelCalls, shortOf }) => modelCalls + (shortOf === undefined ? 0 : 1),
    )
    expect(called).toEqual([1, 1, 1, 1, 1, 1])
    open()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all in' })
    expect(seen).toMatchObject({ calls: 5, most: 3, told: names.map(() => 'done') })
    expect(await short(run)).toEqual([])
    expect(totalUsage((await run.outcome()).usage)).toMatchObject({ input: 70 })
  })

  test('calls use all that was reserved: the two waiting ones are refused, not called, after the last end', async () => {
    const { S, seen, open } = crew(2_000)
    const runtime = await runtimeOf([S], { clock: fastClock() })
    const run = await runtime.start(S, 'Go')
    await until(async () => (await short(run)).length === 2)
    open()
    await run.outcome()
    expect(seen).toMatchObject({ calls: 3, most: 3 })
    const ends = (await run.view()).activations.flatMap(({ parent, outcome }) =>
      parent === undefined ? [] : [outcome!.status],
    )
    expect(ends.toSorted()).toEqual(['completed', 'completed', 'completed', 'limited', 'limited'])
  })

  test('what cannot fit even if all others used nothing is refused at once', async () => {
    const { S, seen } = crew(10, { tokens: 40 })
    const runtime = await runtimeOf([S], { clock: fastClock() })
    const run = await runtime.start(S, 'Go')
    expect(await run.outcome()).toMatchObject({ status: 'limited', limit: 'tokens' })
    expect(seen.calls).toBe(0)
  })

  test('a fork of a run in which some wait goes on from there', async () => {
    const { S, seen, open } = crew(10)
    const runtime = await runtimeOf([S], { clock: fastClock() })
    const run = await runtime.start(S, 'Go')
    await until(async () => (await short(run)).length === 2)
    const { position } = await run.view()
    open()
    await run.outcome()
    const fork = await runtime.fork({ run: run.id, at: position })
    expect(await fork.outcome()).toMatchObject({ status: 'completed' })
    expect(seen.most).toBe(3)
  })

  test('no call waits beyond its own timeout, or after the calls ahead of it were stopped', async () => {
    const workers = Object.fromEntries(names.map((name) => [name, { timeoutMs: 300_000 }]))
    const { S, seen } = crew(10, { tokens: 8_000 }, { workers })
    const runtime = await runtimeOf([S], { clock: fastClock() })
    const run = await runtime.start(S, 'Go')
    await until(async () => (await short(run)).length === 2)
    await run.outcome()
    const ends = (await run.view()).activations.flatMap(({ parent, outcome }) =>
      parent === undefined ? [] : [outcome!.status],
    )
    // a call that was stopped has used what was set aside for it: who looks between the two has no room any more
    const late = ends.filter((status) => status === 'timed-out').length
    expect(late + ends.filter((status) => status === 'limited').length).toBe(5)
    expect(late).toBeGreaterThanOrEqual(3)
    expect(seen.calls).toBe(3)
  })

  test('a cancel reaches waiting calls', async () => {
    const { S, seen } = crew(10)
    const runtime = await runtimeOf([S], { clock: fastClock() })
    const run = await runtime.start(S, 'Go')
    await until(async () => (await short(run)).length === 2)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(seen.calls).toBe(3)
    expect(await short(run)).toEqual([])
  })

  test('a pause keeps those who wait from looking', async () => {
    const { S, seen, open } = crew(10)
    const runtime = await runtimeOf([S], { clock: fastClock() })
    const run = await runtime.start(S, 'Go')
    await until(async () => (await short(run)).length === 2)
    await run.control.pause()
    open()
    await until(async () => (await run.view()).status === 'paused')
    // whose time is up is held, before it looks or just after; some may have got through before the pause took hold of
    // them
    const held = async (): Promise<boolean> => {
      const { activations, status } = await run.view()
      const left = activations.filter(({ parent, outcome }) => parent !== undefined && outcome === undefined)
      const waits = left.some(({ open: all }) => all.length === 0 || all.some(({ kind }) => kind === 'timer'))
      return status === 'paused' && !waits && left.length === 5 - seen.calls
    }
    await until(held)
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'all in' })
    expect(seen.calls).toBe(5)
  })
})
