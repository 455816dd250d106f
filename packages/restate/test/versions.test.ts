/**
 * Code changes under runs in flight: versions side by side, code that is missing, and the same address with changed
 * agents (K4).
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RunId } from '@reeve/core'
import type { Run } from '@reeve/runtime'
import { Fleet, until, type Worker } from './fleet.ts'
import { freePort, freshRestateServer, type TestServer } from './harness.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let shared: TestServer
beforeAll(async () => {
  shared = await freshRestateServer()
})
afterAll(() => shared.dispose())

/** The question that a run waits with, when it is not the one before. */
async function question(run: Run, before = ''): Promise<string> {
  return until(`${run.id} asks`, async () => {
    const state = await run.until('waiting')
    const id = 'waiting' in state ? state.questions[0]?.id : 'ended'
    return id === before ? undefined : id
  })
}
const events = async (run: Run, type: string): Promise<unknown[]> => {
  const list: unknown[] = []
  for await (const { event } of run.events()) if (event.type === type) list.push(event)
  return list
}

test('K4: a run stays with its version, whichever worker Restate calls first', async () => {
  await using fleet = await Fleet.create({ shared })
  const worker = async (version: '1' | '2'): Promise<Worker> =>
    fleet.worker({
      crew: version,
      label: version,
      onMissingVersion: 'park',
      options: { listen: { port: await freePort() } },
    })
  const v1 = await worker('1')
  const [one, two] = [await fleet.desk({}, '1'), await fleet.desk({}, '2')]
  const old = await one.start('changed', 'go')
  const id = await question(old)
  // From now on Restate calls the newer worker.
  const v2 = await worker('2')
  const fresh = await two.start('changed', 'go')
  const other = await question(fresh)
  await old.answer({ interruptId: id, value: 'yes' })
  await fresh.answer({ interruptId: other, value: 'yes' })
  expect(await old.outcome()).toMatchObject({ output: { first: 'old by 1', inserted: null, last: 'last by 1' } })
  expect(await fresh.outcome()).toMatchObject({
    output: { first: 'renamed by 2', inserted: 'inserted by 2', last: 'last by 2' },
  })
  expect([...(await events(old, 'agent.moved')), ...(await events(fresh, 'agent.moved'))]).toEqual([])
  const pids = (name: string): number[] => fleet.world.deeds(name).map(({ pid }) => pid)
  expect([pids('old'), pids('renamed'), new Set(pids('last'))]).toEqual([[v1.pid], [v2.pid], new Set([v1.pid, v2.pid])])
})

test('K4: an agent, or a version of it, that no worker has: the run waits until a worker comes that has it', async () => {
  await using fleet = await Fleet.create({ shared })
  const worker = await fleet.worker({ onMissingVersion: 'park' })
  const engine = fleet.engine()
  const input = { brief: { instructions: 'x' }, depth: 0, maxDepth: 4 }
  await engine.start({ run: 'ghost' as RunId, agent: 'ghost', version: '1', input })
  const desk = await fleet.desk({}, '2')
  await desk.start('publisher', 'x', { runId: 'later' })
  const state = await desk.handle('later').until('waiting')
  const reason = expect.stringMatching(/version 2\+\w+ of "publisher" is not registered/) as string
  expect(state).toMatchObject({ status: 'stuck', reason })
  await worker.end('SIGTERM')
  await fleet.worker({ crew: '2' })
  expect(await desk.handle('later').until('waiting')).toMatchObject({ status: 'waiting' })
  await until('it asks', async () => (await desk.approvals({ run: 'later' })).length === 1)
  // No worker has taken it up, and it is still there.
  expect(await engine.summary('ghost' as RunId)).toMatchObject({ status: 'running' })
  expect(await engine.read('ghost' as RunId)).toHaveLength(1)
  await engine.close()
})

describe('the same address, changed code', () => {
  test('K4: a step inserted, one renamed: recorded ones are not repeated, the run goes on in the new code', async () => {
    await using fleet = await Fleet.create({ shared })
    const before = await fleet.worker({ label: '1' })
    const desk = await fleet.desk()
    const run = await desk.start('changed', 'go')
    const id = await question(run)
    await before.end()
    await fleet.worker({ crew: '2', label: '2' })
    await run.answer({ interruptId: id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({
      status: 'completed',
      output: { first: 'old by 1', inserted: 'inserted by 2', answer: 'yes', last: 'last by 2' },
    })
    expect(['old', 'renamed', 'inserted', 'last'].map((what) => fleet.world.count(what))).toEqual([1, 0, 1, 1])
    expect(await events(run, 'agent.moved')).toHaveLength(1)
  })

  test('K4: a recorded step is gone from the code: the run goes on, or it asks; it never does it again', async () => {
    await using fleet = await Fleet.create({ shared })
    const before = await fleet.worker({ crew: '2', label: '2' })
    const desk = await fleet.desk({}, '2')
    const run = await desk.start('changed', 'go')
    const id = await question(run)
    await before.end()
    // Version 1 has no `inserted`, and `old` for `renamed`, without a word on how they belong together.
    await fleet.worker({ crew: '1', label: '1' })
    await run.answer({ interruptId: id, value: 'yes' })
    const asked = await until('it is stuck', async () =>
      (await desk.questions({ run: run.id })).find(({ kind }) => kind === 'diverged'),
    )
    expect((await desk.runs()).find((each) => each.run === run.id)).toMatchObject({ status: 'stuck' })
    await run.control.settleDivergence({ id: asked.id, action: 'map', to: 'renamed', by: 'ann' })
    const outcome = run.outcome()
    for (let settled = false; !settled;) {
      const next = (await desk.questions({ run: run.id })).find(({ kind }) => kind === 'diverged')
      if (next !== undefined && next.id !== asked.id)
        await run.control.settleDivergence({ id: next.id, action: 'execute' }).catch(() => undefined)
      settled = await Promise.race([
        outcome.then(() => true),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 50)),
      ])
    }
    expect(await outcome).toMatchObject({
      status: 'completed',
      output: { first: 'renamed by 2', answer: 'yes', last: 'last by 1' },
    })
    expect(['old', 'renamed', 'inserted', 'last'].map((what) => fleet.world.count(what))).toEqual([0, 1, 1, 1])
  })

  test('K4: the old code comes back before the run was looked at: nothing has moved', async () => {
    await using fleet = await Fleet.create({ shared })
    const before = await fleet.worker({ label: '1' })
    const desk = await fleet.desk()
    const run = await desk.start('changed', 'go')
    const id = await question(run)
    await before.end()
    const after = await fleet.worker({ crew: '2', label: '2', onMissingVersion: 'park' })
    await run.answer({ interruptId: id, value: 'yes' })
    await until('it is stuck', async () => (await desk.runs()).find((each) => each.run === run.id)?.status === 'stuck')
    await after.end()
    await fleet.worker({ label: '1' })
    expect(await run.outcome()).toMatchObject({
      output: { first: 'old by 1', inserted: null, answer: 'yes', last: 'last by 1' },
    })
    expect(fleet.world.count('renamed') + fleet.world.count('inserted')).toBe(0)
  })
})
