/**
 * The generators of `npm run providers`: the same for the same seed, so that what was refused can be played again; and
 * what a run counts is what the provider saw.
 */
import { expect, test } from 'vitest'
import { playConversation, stageFor, type PlayedConversation } from './conversations.ts'
import { strictProviderNames } from '../../../testing/src/providers/index.ts'
import { playTeam } from './teams.ts'

test('a conversation with the same seed sends the same requests', async () => {
  const bodies: string[][] = []
  for (let time = 0; time < 2; time++) {
    const stage = await stageFor('ollama')
    // the AI SDK makes an id for a call that came without one
    for (let seed = 1; seed <= 25; seed++) await playConversation(stage, seed)
    bodies.push(stage.provider.requests.map(({ text }) => text.replaceAll(/(id":")[A-Za-z0-9]{16}"/g, '$1made"')))
    await stage.provider.close()
  }
  expect(bodies[0]?.length).toBeGreaterThan(25)
  expect(bodies[0]).toEqual(bodies[1])
})

test('what came of a conversation is what the provider saw', async () => {
  const stage = await stageFor('openai-chat')
  const played: PlayedConversation[] = []
  for (let seed = 1; seed <= 40; seed++) played.push(await playConversation(stage, seed))
  await stage.provider.close()
  const sum = (of: (one: PlayedConversation) => number) => played.reduce((total, one) => total + of(one), 0)
  expect(sum(({ requests }) => requests)).toBe(stage.provider.requests.length)
  expect(played.flatMap(({ refused }) => refused)).toEqual(stage.provider.refused)
  expect(new Set(played.map(({ requests }) => requests)).size).toBeGreaterThan(1)
})

test('teams of every form run, and leave their requests with the provider', async () => {
  const stage = await stageFor('ollama')
  const shapes = new Set<string>()
  for (let seed = 1; seed <= 16; seed++) shapes.add((await playTeam(stage, seed)).shape)
  await stage.provider.close()
  expect(shapes.size).toBeGreaterThan(4)
  expect(stage.provider.requests.length).toBeGreaterThan(16)
})

test.each(strictProviderNames)('%s refuses no request of random conversations and teams', async (preset) => {
  const stage = await stageFor(preset)
  const played: PlayedConversation[] = []
  for (let seed = 1; seed <= 40; seed++) played.push(await playConversation(stage, seed))
  for (let seed = 1; seed <= 4; seed++) played.push(await playTeam(stage, seed))
  await stage.provider.close()
  expect(played.flatMap(({ refused }) => refused.map(({ rule, why }) => `${rule}: ${why}`))).toEqual([])
  expect(played.flatMap(({ failed }) => failed)).toEqual([])
  expect(stage.provider.requests.length).toBeGreaterThan(60)
})
