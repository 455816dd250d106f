/**
 * What models are sent: a team of ten delegations costs little more than the plainest framework sends, and each request
 * goes on where an earlier one ended, so that providers can cache it.
 */
import { expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import { agent, supervisor, tool } from '@reeve/public'
import {
  strictProvider,
  strictProviderNames,
  type ProviderAnswer,
  type ProviderRequest,
} from '../../packages/testing/src/providers/index.ts'
import plainest from '../../bench/context/plainest.json' with { type: 'json' }
import { isWorkers, resultsIn } from '../../bench/context/caching.ts'
import { requestsOfReeve } from '../../bench/context/reeve.ts'
import { delegations } from '../../bench/context/script.ts'
import { sentIn } from '../../bench/context/sent.ts'
import { runtimeOf } from './team.ts'

test('ten delegations: at most 1.05 times what the plainest framework sends, and no more that no cache can hold', async () => {
  const sent = sentIn(await requestsOfReeve())
  expect(sent.requests).toBe(31)
  expect(sent.characters / plainest.characters).toBeLessThanOrEqual(1.05)
  expect(sent.notCacheable / plainest.notCacheable).toBeLessThanOrEqual(1.05)
})

/** What stands before the conversation, and the conversation, on whatever wire it came. */
function conversationIn({ body }: ProviderRequest): { readonly before: Json; readonly items: readonly Json[] } {
  const { messages, input, contents, ...before } = body
  return { before, items: (messages ?? input ?? contents) as readonly Json[] }
}

test.each(strictProviderNames)(
  '%s: each request of a leader or worker goes on where the last one ended',
  async (preset) => {
    const answer = (request: ProviderRequest): ProviderAnswer => {
      const results = resultsIn(request)
      if (isWorkers(request))
        return results > 0 ? { text: 'found it' } : { calls: [{ name: 'look_up', input: { what: 'it' } }] }
      if (results === delegations) return { text: 'done' }
      const worker = ['left', 'right'][results % 2]!
      return { calls: [{ name: 'delegate', input: { worker, instructions: `piece ${results}` } }] }
    }
    await using provider = await strictProvider({ preset, answer })
    const model = provider.resolve()
    const look = tool({ name: 'look_up', description: 'Looks it up.', effect: 'read', execute: () => 'found' })
    const workers = ['left', 'right'].map((name) =>
      agent({ name, description: `Works on the ${name}.`, instructions: `Work ${name}.`, model, tools: [look] }),
    )
    const boss = supervisor({ name: 'boss', instructions: 'Lead.', model, workers, limits: { turns: 100 } })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'done' })
    expect(provider.refused).toEqual([])

    const leads = provider.requests.filter((request) => !isWorkers(request)).map(conversationIn)
    expect(leads).toHaveLength(delegations + 1)
    leads.slice(1).forEach(({ before, items }, i) => {
      expect(before).toEqual(leads[i]!.before)
      expect(items.slice(0, leads[i]!.items.length)).toEqual(leads[i]!.items)
    })
    const works = provider.requests.filter(isWorkers).map(conversationIn)
    expect(works).toHaveLength(2 * delegations)
    for (let i = 0; i < works.length; i += 2) {
      expect(works[i + 1]!.before).toEqual(works[i]!.before)
      expect(works[i + 1]!.items.slice(0, works[i]!.items.length)).toEqual(works[i]!.items)
    }
  },
)

test('other words of Reeve are no other version of a team: those of 0.2.0 stand for them', () => {
  const w = agent({ name: 'w', description: 'Works.', model: () => 'x' })
  const versionOf = (more: { readonly instructions?: string }): string =>
    supervisor({ name: 'boss', model: () => 'x', workers: [w], ...more }).version
  expect([versionOf({ instructions: 'Lead.' }), versionOf({})]).toEqual(['1+2849d40fbd38', '1+1b004ae869e6'])
})
