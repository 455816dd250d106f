/**
 * What bounds a run for which nobody has said anything: model calls of the tree, calls of one answer, tasks of a plan.
 */
import { expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import { agent, tool } from '@reeve/agent'
import { defaultLimits } from '@reeve/edge'
import { team } from '@reeve/team'
import { calls, eventsOf, runtimeOf, scripted, store } from './team.ts'

let looks = 0
const look = tool({ name: 'look', effect: 'read', execute: () => ((looks += 1), 'seen') })
const tireless = agent({ name: 'w', description: 'W', tools: [look], model: scripted(calls(['look', {}])) })
/** Code that gives three workers work and says how each has ended. */
const boss = agent({
  name: 'boss',
  workers: [tireless],
  async run(ctx) {
    const ends = await Promise.all(['a', 'b', 'c'].map((brief) => ctx.delegate(tireless, brief)))
    return ends.map((end) => (end.status === 'limited' ? end.message : end.status))
  },
})
const bornWith = async (run: Parameters<typeof eventsOf>[0]): Promise<unknown> =>
  (await eventsOf(run)).flatMap((event) => (event.type === 'activation.started' ? [event.input] : []))[0]

test('defaults are recorded at the start, for code and model roots, and hold for all below', async () => {
  const thinker = agent({ name: 'thinker', model: () => 'ok' })
  const runtime = await runtimeOf([boss, thinker])
  const code = await runtime.start(boss, 'go')
  expect(await code.outcome()).toMatchObject({ status: 'completed' })
  expect(await bornWith(code)).toMatchObject({ limits: defaultLimits, root: { defaults: defaultLimits } })
  const births = (await eventsOf(code)).flatMap((event) => (event.type === 'activation.started' ? [event.input] : []))
  expect(births).toHaveLength(4)
  for (const edge of births) expect(edge).toMatchObject({ limits: defaultLimits })
  const { calls: most, tasks } = defaultLimits
  expect(await bornWith(await runtime.start(thinker, 'go'))).toMatchObject({
    limits: { turns: 20, calls: most, tasks },
    root: { defaults: { calls: most, tasks } },
  })
})

test('model calls of the tree end at the default; the failure names it and how to lift it', async () => {
  const runtime = await runtimeOf([boss], { limits: { turns: 25 } })
  const run = await runtime.start(boss, 'go')
  const outcome = await run.outcome()
  const lift = 'limits: { turns: … } at the start, of the root agent or of createRuntime allows more'
  const said = `the limit of 25 turns is reached (the turns limit of a leader); ${lift}`
  expect(outcome).toMatchObject({ status: 'completed', output: expect.arrayContaining([said]) as Json })
  const asked = (await eventsOf(run)).filter((event) => event.type === 'model.requested' && event.refused === undefined)
  expect(asked).toHaveLength(25)
  // a start that says how many has its own, and nobody speaks of a default
  const own = await runtime.run(boss, 'go', { limits: { turns: 29 } })
  const theirs = 'the limit of 29 turns is reached (the turns limit of a leader)'
  expect(own).toMatchObject({ status: 'completed', output: expect.arrayContaining([theirs]) as Json })
})

test('an answer that asks for more calls than are allowed ends its agent, and none of them is made', async () => {
  const many = (count: number) => calls(...Array.from({ length: count }, () => ['look', {}] as const))
  const greedy = (count: number) =>
    agent({
      name: `g${count}`,
      tools: [look],
      model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : many(count)),
    })
  const agents = [greedy(256), greedy(257)] as const
  const runtime = await runtimeOf([...agents])
  looks = 0
  expect(await runtime.run(agents[1], 'go')).toMatchObject({
    status: 'limited',
    limit: 'calls',
    message:
      'an answer of "g257" asks for 257 calls at once, and 256 are allowed: none of them was made (256 is the default of a run; limits: { calls: … } at the start, of the root agent or of createRuntime allows more)',
  })
  expect(looks).toBe(0)
  expect(await runtime.run(agents[0], 'go')).toMatchObject({ status: 'completed', output: 'done' })
  expect(looks).toBe(256)
  expect(await runtime.run(agents[1], 'go', { limits: { calls: 257 } })).toMatchObject({
    status: 'completed',
    output: 'done',
  })
})

test('a plan with more tasks than are allowed is refused before it is read; a start may allow more', async () => {
  const doer = agent({ name: 'generalist', description: 'W', run: () => 'done' })
  const tasks = Array.from({ length: 4 }, (_, i) => ({ id: `t${i}`, description: 'x' }))
  const crew = team({ name: 'crew', roles: { generalist: doer }, planner: { subtasks: tasks, complexity: 0.5 } })
  const runtime = await runtimeOf([crew], { limits: { tasks: 3 } })
  expect(await runtime.run(crew, 'go')).toMatchObject({
    status: 'failed',
    failure: {
      code: 'plan.invalid',
      details: {
        problems: [
          'the plan has 4 tasks; 3 are allowed in all (limits: { tasks: … } at the start, of the root agent or of createRuntime allows more)',
        ],
      },
    },
  })
  expect(await runtime.run(crew, 'go', { limits: { tasks: 4 } })).toMatchObject({
    results: { coverage: { succeeded: 4, planned: 4 } },
  })
})

test('an equal start is the same run, even if defaults changed; given limits stay part of it', async () => {
  const file = store()
  const idle = agent({ name: 'idle', run: () => 'ok' })
  const first = await runtimeOf([idle], { store: file, limits: { turns: 7 } })
  await first.run(idle, 'go', { runId: 'r1' })
  await first.run(idle, 'go', { runId: 'r2', limits: { turns: 3 } })
  await first.close()
  const later = await runtimeOf([idle], { store: file })
  expect(await later.run(idle, 'go', { runId: 'r1' })).toMatchObject({ status: 'completed', run: 'r1' })
  expect(await bornWith(later.handle('r1'))).toMatchObject({ limits: { turns: 7 } })
  const conflict = expect.objectContaining({ code: 'run.conflict' }) as Error
  await expect(later.start(idle, 'go', { runId: 'r2' })).rejects.toEqual(conflict)
  await expect(later.start(idle, 'go', { runId: 'r1', limits: { turns: 7, calls: 9 } })).rejects.toEqual(conflict)
})
