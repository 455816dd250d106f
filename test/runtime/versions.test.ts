/** Versions: a run ends with the code that it began with, or moves by rule (DESIGN §3.2, K4). */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  agent,
  interrupt,
  loop,
  parallel,
  router,
  sequential,
  supervisor,
  type Agent,
  type RuntimeOptions,
} from '../../src/index.ts'
import { fingerprints, inOrder } from '../../src/testing/index.ts'
import { runtimeUnderTest as createRuntime } from '../engine-under-test.ts'

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

test('a definition that says nothing of control keeps the version that it had before that counted', () => {
  expect(
    [
      desk({}),
      flow({}),
      lead({}),
      coded({}),
      loop({ name: 'l', agents: [w], maxIterations: 2 }),
      parallel({ name: 'p', agents: [w, v] }),
    ].map(({ version }) => version),
  ).toEqual([
    '1+37d3d93bd982',
    '1+06dfc880b117',
    '1+8ff55837a6f0',
    '1+e21bae4b3749',
    '1+2160e2dff7fa',
    '1+181d9769c4dc',
  ])
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
