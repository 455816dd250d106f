/** Versions: a run ends with the code that it began with, or moves by rule (K4). */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  agent,
  asTool,
  interrupt,
  loop,
  parallel,
  router,
  sequential,
  supervisor,
  type Agent,
  type RuntimeOptions,
} from '@reeve/public'
import { fingerprints, inOrder } from '@reeve/testing'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

const asker = (version: string): Agent =>
  agent({
    name: 'asker',
    description: 'Asks once.',
    version,
    run: async (ctx) => {
      await interrupt(ctx, 'go on?')
      return `ended by version ${version}`
    },
  })

/** Begins with version 1, goes on with what the options register, and tells how it ended. */
async function upgraded(options: Pick<RuntimeOptions, 'agents' | 'earlier' | 'onMissingVersion'>) {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-versions-')), 'reeve.db')
  const first = await createRuntime({ store, agents: [asker('1')], strict: true })
  await first.start('asker', 'begin', { runId: 'r' })
  await expect.poll(() => first.questions()).toHaveLength(1)
  await first.close()
  const second = await createRuntime({ store, ...options, strict: true })
  const [question] = await second.questions()
  await second.answer({ interruptId: question!.id, value: 'yes' })
  return { second, run: second.handle('r'), store }
}

test('K4: with its version still registered, a run ends by the code that it began with', async () => {
  const { second, run } = await upgraded({ agents: [asker('2')], earlier: [asker('1')] })
  expect(await run.outcome()).toMatchObject({ output: 'ended by version 1' })
  await second.close()
})

test('K4: without it, the run moves to the newest version and says so', async () => {
  const { second, run } = await upgraded({ agents: [asker('2')] })
  expect(await run.outcome()).toMatchObject({ output: 'ended by version 2' })
  const moved = []
  for await (const { event } of run.events())
    if (event.type === 'agent.moved') moved.push([event.from.split('+')[0], event.to.split('+')[0]])
  expect(moved).toEqual([['1', '2']])
  await second.close()
})

test('K4: a new run begins with the newest registered version', async () => {
  await using runtime = await createRuntime({ agents: [asker('2')], earlier: [asker('1')], strict: true })
  const run = await runtime.start('asker', 'begin')
  await expect.poll(() => runtime.questions()).toHaveLength(1)
  await run.answer({ interruptId: (await runtime.questions())[0]!.id, value: 'yes' })
  expect(await run.outcome()).toMatchObject({ output: 'ended by version 2' })
})

test('K4: asked to park instead, it waits until its version is back', async () => {
  const { second, run } = await upgraded({ agents: [asker('2')], onMissingVersion: 'park' })
  await expect.poll(async () => (await second.runs())[0]?.status).toBe('stuck')
  await run.control.cancel('no longer needed')
  expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
  await second.close()
})

test('K4: asked to park, a process without the version leaves the run to the one that has it', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-versions-')), 'reeve.db')
  const options = { store, onMissingVersion: 'park', strict: true } as const
  const old = await createRuntime({ ...options, agents: [asker('1')] })
  const run = await old.start('asker', 'begin', { runId: 'r' })
  await expect.poll(() => old.questions()).toHaveLength(1)
  const deployed = await createRuntime({ ...options, agents: [asker('2')] })
  await deployed.answer({ interruptId: (await deployed.questions())[0]!.id, value: 'yes' })
  expect(await run.outcome()).toMatchObject({ output: 'ended by version 1' })
  expect(await deployed.handle('r').view()).toMatchObject({ status: 'completed' })
  await old.close()
  await deployed.close()
})

test('K4: a run stuck without its version goes on in the first process that has it, early or late', async () => {
  const { second, run, store } = await upgraded({ agents: [asker('2')], onMissingVersion: 'park' })
  await expect.poll(async () => (await second.runs())[0]?.status).toBe('stuck')
  const third = await createRuntime({ store, agents: [asker('1')], onMissingVersion: 'park', strict: true })
  expect(await run.outcome()).toMatchObject({ output: 'ended by version 1' })
  await second.close()
  await third.close()
})

const worker = (name: string): Agent => agent({ name, description: 'Works.', run: async () => 'done' })
const [w, v] = [worker('w'), worker('v')]
const desk = (more: object): Agent => router({ name: 'desk', workers: [w, v], model: () => 'x', ...more })
const flow = (more: object): Agent => sequential({ name: 'flow', agents: [w, v], ...more })
const lead = (more: object): Agent => supervisor({ name: 'lead', workers: [w, v], model: () => 'x', ...more })
const coded = (more: object): Agent => supervisor({ name: 'coded', workers: [w, v], run: async () => 'x', ...more })

test.each<[string, (more: object) => Agent, object, object]>([
  ['how control returns', desk, { transfer: { returns: 'always' } }, { transfer: { returns: 'never' } }],
  ['how it returns from one worker', desk, {}, { transfer: { agents: { w: { returns: 'never' } } } }],
  ['the routes', desk, { routes: { w: ['v'] } }, { routes: { w: ['v', 'desk'] } }],
  ['who follows', desk, {}, { transfer: { agents: { w: { followedBy: ['v'] } } } }],
  ['what becomes of a failure', desk, {}, { transfer: { onFailure: 'end' } }],
  ['who is asked first in a session', desk, {}, { sticky: true }],
  ['what is shown', desk, {}, { transfer: { context: 'answers' } }],
  ['what a member may do', flow, {}, { edge: { permissions: { deny: ['pay'] } } }],
  ['what a member is shown', flow, {}, { edge: { agents: { v: { context: 'brief' } } } }],
  ['what a worker may do', lead, {}, { delegation: { permissions: { deny: ['pay'] } } }],
  ['what a worker is shown', lead, {}, { delegation: { context: 'answers' } }],
  ['that a hook is asked', lead, {}, { delegation: { onStart: () => undefined } }],
  ['what a worker of code may do', coded, {}, { delegation: { workers: { w: { permissions: { approval: 'all' } } } } }],
])('the version of a leader says who has control and what is allowed: %s', (_what, make, one, other) => {
  expect(make(one).version).not.toBe(make(other).version)
  expect(make(one).version).toBe(make({ ...one }).version)
})

test('a definition that says nothing of control has the same data of its own as before that counted', () => {
  expect(
    [
      desk({}),
      flow({}),
      lead({}),
      coded({}),
      loop({ name: 'l', agents: [w], maxIterations: 2 }),
      parallel({ name: 'p', agents: [w, v] }),
    ].map(({ ownVersion }) => ownVersion),
  ).toEqual([
    '1+37d3d93bd982',
    '1+06dfc880b117',
    '1+8ff55837a6f0',
    '1+e21bae4b3749',
    '1+2160e2dff7fa',
    '1+181d9769c4dc',
  ])
})

/** A leader of these agents, which may be declared later. */
const over = (name: string, agents: () => readonly Agent[]): Agent =>
  agent({ name, description: 'Leads.', workers: agents, run: async () => 'x' })

test('a version covers all agents below: another worker of the same name makes other versions of all above it', () => {
  const above = (lowest: Agent) => {
    const middle = sequential({ name: 'middle', description: 'Leads.', agents: [lowest, v] })
    return [supervisor({ name: 'top', workers: [middle], model: () => 'x' }), middle].map(({ version }) => version)
  }
  const other = agent({ name: 'w', description: 'Works.', version: '2', run: async () => 'done' })
  expect(above(worker('w'))).toEqual(above(w))
  const [top, middle] = above(other)
  expect(above(w)).not.toContain(top)
  expect(above(w)).not.toContain(middle)
  expect([top, middle]).toEqual([
    expect.stringMatching(/^1\+[0-9a-f]{12}$/),
    expect.stringMatching(/^1\+[0-9a-f]{12}$/),
  ])
})

test('the version of an agent with nobody below it is that of its own data', () => {
  expect(w.version).toBe(w.ownVersion)
  expect(lead({}).version).not.toBe(lead({}).ownVersion)
})

test('a declared version stays in front, whatever is in it', () => {
  expect(lead({ version: '2.0+build' }).version).toMatch(/^2\.0\+build\+[0-9a-f]{12}$/)
})

test('agents that reach each other have the same versions whichever is asked first', () => {
  const pair = (below: Agent): readonly [Agent, Agent] => {
    const one: Agent = over('one', () => [two, below])
    const two: Agent = over('two', () => [one])
    return [one, two]
  }
  const [one, two] = pair(w)
  const forth = [one.version, two.version]
  const [third, fourth] = pair(worker('w'))
  const back = [fourth.version, third.version].reverse()
  expect(back).toEqual(forth)
  const changed = pair(agent({ name: 'w', description: 'Works.', version: '2', run: async () => 'done' }))
  expect(changed.map(({ version }) => version).filter((each) => forth.includes(each))).toEqual([])
})

test('a router whose lead reaches the router itself has a version', () => {
  const around: Agent = over('around', () => [looped])
  const looped: Agent = desk({ tools: [asTool(around)] })
  expect(looped.version).toMatch(/^1\+[0-9a-f]{12}$/)
  expect(around.version).not.toBe(around.ownVersion)
})

test('an agent that is not one of Reeve has its version as given, and what it reaches counts', () => {
  const foreign = (version: string, below: Agent): Agent => ({
    kind: 'agent',
    name: 'foreign',
    description: 'Works.',
    version,
    orchestrate: () => Promise.resolve({ status: 'completed', output: 'x' }),
    related: () => [below],
    problems: () => [],
  })
  const made = (version: string, below: Agent): string => over('top', () => [foreign(version, below)]).version
  const other = agent({ name: 'w', description: 'Works.', version: '2', run: async () => 'done' })
  expect(new Set([made('1', w), made('2', w), made('1', other), made('1', worker('w'))]).size).toBe(3)
})

test('a run that waits under one rule of control ends under it, or not at all', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-versions-')), 'reeve.db')
  const model = inOrder(
    { calls: [{ name: 'transfer_to_agent', input: { agent_name: 'asks' } }] },
    'the lead has the last word',
  )
  const asks = agent({ name: 'asks', description: 'Asks.', run: (ctx) => interrupt(ctx, '?') })
  const made = (returns: 'always' | 'never'): Agent =>
    router({ name: 'desk', model, workers: [asks], transfer: { returns } })
  const first = await createRuntime({ store, agents: [made('always')] })
  await (await first.start('desk', 'x', { runId: 'r' })).until('waiting')
  await first.close()
  const then = await createRuntime({
    store,
    agents: [made('never')],
    earlier: [made('always')],
    onMissingVersion: 'park',
  })
  const [question] = await then.questions()
  await then.answer({ interruptId: question!.id, value: 'w says' })
  expect(await then.handle('r').outcome()).toMatchObject({ status: 'completed', output: 'the lead has the last word' })
  await then.close()
})

test('a code agent whose function has changed under the same version shows in its fingerprint', () => {
  const [one, other] = [async () => 'one', async () => 'other'].map((run) =>
    agent({ name: 'code', description: 'Works.', run }),
  )
  expect(one!.version).toBe(other!.version)
  const [before, after] = [one!, other!].map((each) =>
    fingerprints([supervisor({ name: 'top', workers: [each], model: () => 'x' })]),
  )
  expect(before!['code']!.code).not.toBe(after!['code']!.code)
  expect(before!['top']).toEqual(after!['top'])
  expect(before!['top']).not.toHaveProperty('code')
})
