/**
 * Forks over several processes: a worker dies, Restate cannot be told, two ask for the same fork. What was copied is
 * not done again.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runId } from '@reeve/core'
import { pieces } from './crew.ts'
import { Fleet, until } from './fleet.ts'
import { freshRestateServer, type TestServer } from './harness.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let shared: TestServer
beforeAll(async () => {
  shared = await freshRestateServer()
})
afterAll(() => shared.dispose())

test.each(['sqlite', 'postgres'] as const)(
  'K6: over %s: a fork in a fan-out whose worker dies: both runs go on, in-flight effects are asked about',
  async (store) => {
    await using fleet = await Fleet.create({ shared, store })
    const worker = await fleet.worker()
    const desk = await fleet.desk()
    const run = await desk.start('fan', 3)
    fleet.world.open('plan', 'piece0')
    await until('two are at work', () => ['piece1', 'piece2'].every((name) => fleet.world.count(`${name}>`) === 1))
    await until('one is recorded', async () =>
      (await run.view()).activations.some((each) => each.agent === 'piece' && each.outcome !== undefined),
    )
    const fork = await desk.fork({ run: run.id })
    await worker.end()
    await fleet.worker()
    const asked = await until('both are asked about', async () => {
      const open = await desk.questions({ run: fork.id })
      return open.length === 2 && open
    })
    const reason = `begun in run ${run.id}, and perhaps done`
    expect(asked).toMatchObject([
      { kind: 'in-doubt', body: { reason } },
      { kind: 'in-doubt', body: { reason } },
    ])
    const about = (worker: string): string => asked.find(({ activation }) => activation.includes(worker))!.id
    await fork.control.settleDoubt({ id: about('piece#2'), happened: true, value: 'told' })
    await fork.control.settleDoubt({ id: about('piece#1'), happened: false })
    fleet.world.open('piece1', 'piece2')
    const all = pieces(3).map((name) => `${name} is done`)
    expect(await fork.outcome()).toMatchObject({
      output: { plan: 'plan is done', sum: 3, ends: [all[0], all[1], 'told'] },
    })
    expect(await run.outcome()).toMatchObject({ output: { plan: 'plan is done', sum: 3, ends: all } })
    // of what was out, the origin has done both again, the fork one
    expect(['plan>', 'piece0>', 'piece1>', 'piece2>'].map((what) => fleet.world.count(what))).toEqual([1, 1, 3, 2])
  },
)

test('K5: a fork that Restate cannot be told of is taken up by a worker that looks for it', async () => {
  await using fleet = await Fleet.create({ shared })
  await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('publisher', 'x')
  await run.until('waiting')
  const deaf = await fleet.desk({ ingress: 'http://127.0.0.1:1' })
  const options = { run: run.id, at: (await run.view()).position, runId: 'kept' }
  const fork = await deaf.fork(options)
  const state = await fork.until('waiting')
  expect((await desk.fork(options)).id).toBe('kept')
  if ('waiting' in state) await fork.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  expect(await fork.outcome()).toMatchObject({ output: { published: true } })
  expect([fleet.world.count('draft'), fleet.world.count('publish')]).toEqual([1, 1])
  expect((await run.view()).approvals).toMatchObject([{ open: true }])
})

test('K2: simultaneous requests for the same fork make one', async () => {
  await using fleet = await Fleet.create({ shared, store: 'postgres' })
  await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('publisher', 'x')
  await run.until('waiting')
  const { position } = await run.view()
  const to = runId('one')
  const engines = [1, 2, 3].map(() => fleet.engine())
  try {
    const made = await Promise.all(
      [...engines, ...engines].map((engine) => engine.fork({ run: runId(run.id), at: position, to })),
    )
    expect(made.filter(({ created }) => created)).toHaveLength(1)
    expect(await desk.handle('one').until('waiting')).toMatchObject({ status: 'waiting' })
    expect((await engines[0]!.read(to)).filter(({ event }) => event.type === 'run.forked')).toHaveLength(1)
  } finally {
    for (const engine of engines) await engine.close()
  }
})
