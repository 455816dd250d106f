/** Turns: who has how many left, wherever they were limited, and whose calls count. */
import { expect, test } from 'vitest'
import { agent, lastTurn, tool, type Iteration } from '@reeve/agent'
import type { Limits } from '@reeve/edge'
import { sequential } from '@reeve/flow'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, told } from './team.ts'

const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
/** Calls as long as there is something to call. */
const eager = () => scripted((request) => (request.tools.length > 0 ? calls(['look', {}]) : 'all I know'))

/** Where four turns may be given: in the definition, at the start, on the edge from a leader. */
const places: readonly (readonly [string, (limits: Limits) => { own?: Limits; start?: Limits; edge?: Limits }])[] = [
  ['by the definition', (limits) => ({ own: limits })],
  ['at the start', (limits) => ({ start: limits })],
  ['by a leader', (limits) => ({ edge: limits })],
]

for (const kind of ['turns', 'ownTurns'] as const)
  for (const [where, given] of places) {
    const { own, start, edge } = given({ [kind]: 4 })
    const limits = own === undefined ? {} : { limits: own }
    const run = async (worker: ReturnType<typeof agent>) => {
      const root =
        edge === undefined
          ? worker
          : supervisor({
              name: 'lead',
              model: scripted(delegates(['w', 'x']), ({ messages }) => told(messages)[0] as string),
              workers: [worker],
              delegation: { workers: { w: { limits: edge } } },
            })
      return (await runtimeOf([root])).run(root, 'go', start === undefined ? {} : { limits: start })
    }
    test(`${kind} ${where} are the turns told to hooks; a hook that wants more gets the answer so far`, async () => {
      const seen: string[] = []
      const onIterationComplete = ({ turn, maxTurns }: Iteration) => (
        seen.push(`${turn} of ${maxTurns}`),
        { continue: true }
      )
      const outcome = await run(
        agent({ name: 'w', description: 'W', model: () => 'good', onIterationComplete, ...limits }),
      )
      expect(outcome).toMatchObject({ status: 'completed', output: 'good' })
      expect(seen).toEqual(['1 of 4', '2 of 4', '3 of 4', '4 of 4'])
    })
    test(`${kind} ${where} are the turns of which the last is for an answer`, async () => {
      const model = eager()
      const outcome = await run(
        agent({ name: 'w', description: 'W', model, tools: [look], lastAnswer: true, ...limits }),
      )
      expect(outcome).toMatchObject({ status: 'completed', output: 'all I know' })
      expect(model.tools.map(({ length }) => length)).toEqual([1, 1, 1, 0])
    })
  }

test('workers cannot use the turn kept for their leader’s last answer, asked once and without tools', async () => {
  const w = agent({ name: 'w', description: 'W', model: () => 'W' })
  const model = scripted((request) =>
    request.tools.length > 0 ? delegates(['w', 'a'], ['w', 'b'], ['w', 'c'], ['w', 'd']) : 'the end',
  )
  const boss = supervisor({ name: 'boss', model, workers: [w], lastAnswer: true, limits: { turns: 4 } })
  const run = await (await runtimeOf([boss])).start(boss, 'go')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'the end' })
  expect(told(model.prompts[1]!.slice(0, -1)).filter((each) => each === 'W')).toHaveLength(2) // of four: its own first turn, and one that is kept
  expect(model.prompts[1]!.at(-1)).toEqual({ role: 'user', content: lastTurn })
  const asked = (await eventsOf(run)).flatMap((event) =>
    event.type === 'model.requested' && event.refused === undefined ? [event] : [],
  )
  expect(asked).toHaveLength(4)
})

test('a worker that keeps a turn of its own takes none that its leader keeps', async () => {
  const w = agent({
    name: 'w',
    description: 'W',
    model: eager(),
    tools: [look],
    lastAnswer: true,
    limits: { turns: 8 },
  })
  const model = scripted((request) =>
    request.tools.length > 0 ? delegates(['w', 'a']) : `W said ${JSON.stringify(told(request.messages.slice(0, -1)))}`,
  )
  const boss = supervisor({ name: 'boss', model, workers: [w], lastAnswer: true, limits: { turns: 4 } })
  const outcome = await (await runtimeOf([boss])).run(boss, 'go')
  expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('W said') as string })
})

test('an answer that a hook would improve stands if workers have used up the tree’s turns', async () => {
  const w = agent({ name: 'w', description: 'W', model: () => 'W' })
  const boss = supervisor({
    name: 'boss',
    model: scripted(delegates(['w', 'a'], ['w', 'b']), 'an answer'),
    workers: [w],
    limits: { turns: 4 },
    onIterationComplete: ({ finish }) => (finish === 'answer' ? { feedback: 'more' } : undefined),
  })
  expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ status: 'completed', output: 'an answer' })
  const flow = sequential({
    name: 'flow',
    agents: [boss, agent({ name: 'next', model: ({ messages }) => JSON.stringify(messages) })],
  })
  expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({
    output: expect.stringContaining('an answer') as string,
  })
})

test('own turns count the calls of the agent itself: its workers have theirs', async () => {
  const w = (name: string) =>
    agent({
      name,
      description: name,
      tools: [look],
      model: ({ messages }) => (messages.filter(({ role }) => role === 'tool').length < 4 ? calls(['look', {}]) : 'ok'),
    })
  const model = scripted(
    delegates(['a', 'x']),
    delegates(['b', 'x']),
    'end',
    delegates(['a', 'x']),
    delegates(['b', 'x']),
    'end',
  )
  const boss = supervisor({ name: 'boss', model, workers: [w('a'), w('b')], limits: { ownTurns: 3 } })
  const runtime = await runtimeOf([boss])
  const outcome = await runtime.run(boss, 'go')
  expect(outcome).toMatchObject({ status: 'completed', output: 'end' })
  expect(outcome.usage.reduce((sum, { calls: each }) => sum + each, 0)).toBe(13)
  expect(await runtime.run(boss, 'go', { limits: { turns: 10 } })).toMatchObject({ status: 'limited', limit: 'turns' })
})

test('own turns are for model agents: elsewhere they are refused', async () => {
  const code = agent({ name: 'code', run: () => 1, limits: { ownTurns: 1 } })
  await expect(runtimeOf([code])).rejects.toMatchObject({
    code: 'team.invalid',
    message: expect.stringContaining('limits.ownTurns') as string,
  })
  const flow = sequential({ name: 'flow', agents: [agent({ name: 'a', model: () => 'A' })] })
  await expect((await runtimeOf([flow])).run(flow, 'go', { limits: { ownTurns: 1 } })).rejects.toMatchObject({
    code: 'input.invalid',
  })
})
