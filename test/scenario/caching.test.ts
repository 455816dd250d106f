/**
 * Prompt caching as a setting, and what usage tells apart: what was read from a cache, what was written to one, and what
 * of the output was reasoning; on the wires of strict providers.
 */
import { describe, expect, test } from 'vitest'
import { isObject, totalUsage, type Json } from '@reeve/core'
import { agent } from '@reeve/public'
import { strictProvider, strictProviderNames } from '../../packages/testing/src/providers/index.ts'
import { isWorkers, tenDelegations } from '../../bench/context/caching.ts'
import { runtimeOf, store } from './team.ts'

/** The marks of a request, with where they stand. */
function marksIn(value: Json, at = ''): readonly string[] {
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((each, i, { length }) => marksIn(each, `${at}/${i - length}`))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, each]) =>
    name === 'cache_control' ? [`${at} ${JSON.stringify(each)}`] : marksIn(each ?? null, `${at}/${name}`),
  )
}

describe('the setting cache, on Claude', () => {
  test('ten delegations read most of their prompts from the cache, and cost less than half', async () => {
    const [plain, kept, hour] = await Promise.all(
      [undefined, true, '1h' as const].map((cache) =>
        tenDelegations('anthropic', cache === undefined ? undefined : { cache }, 'claude-sonnet-5-5'),
      ),
    )
    expect(plain!.usage).toMatchObject({ calls: 31, cached: 0, unpriced: 0 })
    expect(plain!.usage.cacheWrite).toBeUndefined()
    expect(plain!.requests.every(({ body }) => marksIn(body).length === 0)).toBe(true)
    for (const { usage } of [kept!, hour!]) {
      expect(usage.input).toBe(plain!.usage.input)
      // the first prompts of both agents are written, and what is new of each later one
      expect(usage.cached / usage.input).toBeGreaterThan(0.7)
      expect(usage.cacheWrite! / usage.input).toBeLessThan(0.25)
      expect(usage.unpriced).toBe(0)
    }
    expect(kept!.usage.usd / plain!.usage.usd).toBeLessThan(0.5)
    // an hour costs more to write
    expect(hour!.usage.usd).toBeGreaterThan(kept!.usage.usd)
    expect(hour!.usage.usd / plain!.usage.usd).toBeLessThan(0.6)
  })

  test('marks stand on the system text, where the last request ended, and at the end; never more than four', async () => {
    const { requests } = await tenDelegations('anthropic', { cache: '1h' })
    const mark = '{"type":"ephemeral","ttl":"1h"}'
    const [first, , third] = requests.filter((request) => !isWorkers(request)).map(({ body }) => marksIn(body))
    expect(first).toEqual([`/system/-1 ${mark}`, `/messages/-1/content/-1 ${mark}`])
    expect(third).toEqual([`/system/-1 ${mark}`, `/messages/-3/content/-1 ${mark}`, `/messages/-1/content/-1 ${mark}`])
    expect(Math.max(...requests.map(({ body }) => marksIn(body).length))).toBe(3)
  })

  test('provider options that say what is cached come first', async () => {
    const cacheControl = { type: 'ephemeral' }
    const { requests } = await tenDelegations('anthropic', {
      cache: '1h',
      providerOptions: { anthropic: { cacheControl } },
    })
    for (const { body } of requests) expect(marksIn(body)).toEqual([' {"type":"ephemeral"}'])
  })

  test('false is the default, in words', async () => {
    const { requests } = await tenDelegations('anthropic', { cache: false })
    for (const { body } of requests) expect(marksIn(body)).toEqual([])
  })
})

test.each(strictProviderNames.filter((name) => name !== 'anthropic'))(
  '%s is sent nothing about a cache',
  async (preset) => {
    const [plain, kept] = [await tenDelegations(preset, undefined), await tenDelegations(preset, { cache: true })]
    expect(kept.requests.map(({ body }) => Object.keys(body))).toEqual(
      plain.requests.map(({ body }) => Object.keys(body)),
    )
    expect(kept.requests.flatMap(({ body }) => marksIn(body))).toEqual([])
  },
)

test('a time that no cache has is refused where the agent is defined', async () => {
  await using provider = await strictProvider({ preset: 'anthropic', answer: [] })
  const settings = { cache: '2h' as '1h' }
  const boss = agent({ name: 'boss', model: provider.resolve(), settings })
  await expect(runtimeOf([boss])).rejects.toThrow('settings.cache: "2h", expected true, false, "5m" or "1h"')
})

test.each(strictProviderNames)('%s: reasoning is told apart, and is the same after a restart', async (preset) => {
  const usage = { input: 20, output: 12, reasoning: 7 }
  await using provider = await strictProvider({ preset, answer: () => ({ text: 'done', usage }) })
  const file = store()
  const solo = agent({ name: 'solo', model: provider.resolve() })
  const run = await (await runtimeOf([solo], { store: file })).start(solo, 'go')
  await run.outcome()
  const outcome = await (await runtimeOf([solo], { store: file })).handle(run.id).outcome()
  expect(outcome.usage).toMatchObject([{ agent: 'solo', calls: 1, input: 20, output: 12, reasoning: 7, unknown: 0 }])
})

test.each(strictProviderNames)('%s: what a provider does not tell of reasoning is not known', async (preset) => {
  const usage = { input: 20, output: 12 }
  await using provider = await strictProvider({ preset, answer: () => ({ text: 'done', usage }) })
  const solo = agent({ name: 'solo', model: provider.resolve() })
  const outcome = await (await runtimeOf([solo])).run(solo, 'go')
  // the wire of responses always says it
  expect(totalUsage(outcome.usage).reasoning).toBe(preset === 'openai' ? 0 : undefined)
})
