/** Versions: a run ends with the code that it began with, or moves by rule (DESIGN §3.2, K4). */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agent, interrupt, type Agent, type RuntimeOptions } from '../../src/index.ts'
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

test('K4: a new run begins with the newest version, whatever is registered beside it', async () => {
  await using runtime = await createRuntime({ agents: [asker('2')], earlier: [asker('1')], strict: true })
  const run = await runtime.start('asker', 'begin')
  await expect.poll(() => runtime.questions()).toHaveLength(1)
  await run.answer({ interruptId: (await runtime.questions())[0]!.id, value: 'yes' })
  expect(await run.outcome()).toMatchObject({ output: 'ended by version 2' })
})

test('K4: asked to park instead, it waits until its version is back', async () => {
  const { second, run } = await upgraded({ agents: [asker('2')], onMissingVersion: 'park' })
  await expect.poll(async () => (await second.runs())[0]?.status).toBe('stuck')
  await run.cancel('no longer needed')
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

test('K4: a run that is stuck without its version goes on in the first process that has it, whether it came before or after', async () => {
  const { second, run, store } = await upgraded({ agents: [asker('2')], onMissingVersion: 'park' })
  await expect.poll(async () => (await second.runs())[0]?.status).toBe('stuck')
  const third = await createRuntime({ store, agents: [asker('1')], onMissingVersion: 'park', strict: true })
  expect(await run.outcome()).toMatchObject({ output: 'ended by version 1' })
  await second.close()
  await third.close()
})
