/** What an operator does to Restate behind Reeve's back, and what becomes of the runs: invocations killed, purged and cancelled, everything wiped. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Runtime } from '../../src/runtime/index.ts'
import { pieces } from './crew.ts'
import { Fleet, until } from './fleet.ts'
import { freshRestateServer, type TestServer } from './harness.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let shared: TestServer
beforeAll(async () => {
  shared = await freshRestateServer()
})
afterAll(() => shared.dispose())

const fanned = (n: number) => ({
  status: 'completed',
  output: { plan: 'plan is done', sum: n, ends: pieces(n).map((name) => `${name} is done`) },
})
const begun = (fleet: Fleet, n: number): Promise<unknown> =>
  until('all are at work', () => pieces(n).every((name) => fleet.world.count(`${name}>`) > 0))
const children = async (desk: Runtime, run: string): Promise<string[]> =>
  (await desk.handle(run).view()).activations.filter(({ agent }) => agent === 'piece').map(({ activation }) => activation)
const recorded = (desk: Runtime, run: string, n: number): Promise<unknown> =>
  until(`${n} pieces are recorded`, async () => {
    const { activations } = await desk.handle(run).view()
    return activations.filter(({ agent, outcome }) => agent === 'piece' && outcome !== undefined).length >= n
  })

test('K6: the invocation of a worker is killed: it goes on in another one, its leader knows nothing of it', async () => {
  await using fleet = await Fleet.create({ shared })
  const worker = await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('fan', 3)
  fleet.world.open('plan')
  await begun(fleet, 3)
  await fleet.client.kill(await fleet.invocationOf((await children(desk, run.id))[0]!))
  await until('it is seen', () => worker.lines.some((line) => line.startsWith('engine.invocation-lost')))
  fleet.world.open(...pieces(3))
  expect(await run.outcome()).toMatchObject(fanned(3))
  expect(fleet.world.count('plan>')).toBe(1)
  expect(fleet.world.count('sum')).toBe(1)
})

test.each(['kill', 'kill and purge'])('K6: %s of the root while it waits and while it works: it goes on where it was', async (how) => {
  await using fleet = await Fleet.create({ shared })
  await fleet.worker()
  const desk = await fleet.desk()
  const end = async (run: string): Promise<void> => {
    const id = await fleet.invocationOf(`act_${run}`)
    await fleet.client.kill(id)
    if (how === 'kill') return
    await until('it has ended', async () => [undefined, 'completed'].includes((await fleet.client.invocationStatus([id])).get(id)))
    await fleet.client.purge(id).catch(() => undefined)
  }
  const waits = await desk.start('publisher', 'x')
  const state = await waits.until('waiting')
  const works = await desk.start('fan', 2)
  await until('it plans', () => fleet.world.count('plan>') > 0)
  await end(waits.id)
  await end(works.id)
  if ('waiting' in state) await waits.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  fleet.world.open('plan', ...pieces(2))
  expect(await waits.outcome()).toMatchObject({ output: { published: true } })
  expect(await works.outcome()).toMatchObject(fanned(2))
  expect(fleet.world.count('draft')).toBe(1)
  expect(fleet.world.count('publish')).toBe(1)
  expect(fleet.world.count('sum')).toBe(1)
})

test('K8: an invocation is cancelled through the admin API: its activation is cancelled, its leader is told and goes on', async () => {
  await using fleet = await Fleet.create({ shared })
  await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('fan', 3)
  fleet.world.open('plan', 'piece1', 'piece2')
  await begun(fleet, 3)
  await recorded(desk, run.id, 2)
  await fleet.client.cancel(await fleet.invocationOf((await children(desk, run.id))[0]!))
  expect(await run.outcome()).toMatchObject({
    status: 'completed',
    output: { sum: 2, ends: ['cancelled', 'piece1 is done', 'piece2 is done'] },
  })
  expect(fleet.world.count('piece0!')).toBe(1)
  const events = []
  for await (const { event } of run.events()) if (event.type === 'cancel.received') events.push(event)
  expect(events).toEqual([{ type: 'cancel.received', reason: 'its invocation was cancelled' }])
})

test('K8: the invocation of a root is cancelled: the run is, with everybody in it', async () => {
  await using fleet = await Fleet.create({ shared })
  await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('fan', 2)
  fleet.world.open('plan')
  await begun(fleet, 2)
  await fleet.client.cancel(await fleet.invocationOf(`act_${run.id}`))
  expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
  await until('both are stopped', () => fleet.world.count('piece0!') === 1 && fleet.world.count('piece1!') === 1)
  const { activations } = await run.view()
  expect(activations.map(({ outcome }) => outcome?.status)).toEqual(['cancelled', 'cancelled', 'cancelled'])
})

test('K8: an invocation is paused with Restate and nobody resumes it: as soon as there is something for it, the sweeper does', async () => {
  await using fleet = await Fleet.create({ shared })
  await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('publisher', 'x')
  const state = await run.until('waiting')
  const id = await fleet.invocationOf(`act_${run.id}`)
  await fleet.client.pause(id)
  await until('it is paused', async () => (await fleet.client.invocationStatus([id])).get(id) === 'paused')
  if ('waiting' in state) await run.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  expect(await run.outcome()).toMatchObject({ output: { published: true } })
})

test('K6: Restate is wiped with runs in flight: they go on from the store', async () => {
  await using fleet = await Fleet.create({ server: {} })
  await fleet.worker()
  const desk = await fleet.desk()
  const [waits, works] = [await desk.start('publisher', 'x'), await desk.start('fan', 4)]
  fleet.world.open('plan', 'piece0', 'piece1')
  await begun(fleet, 4)
  await recorded(desk, works.id, 2)
  const state = await waits.until('waiting').catch(() => undefined)
  fleet.server.kill()
  await fleet.server.exited
  rmSync(join(fleet.server.dir, 'n1'), { recursive: true })
  await fleet.server.start()
  fleet.world.open(...pieces(4))
  expect(await works.outcome()).toMatchObject(fanned(4))
  if (state !== undefined && 'waiting' in state) await waits.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  expect(await waits.outcome()).toMatchObject({ output: { published: true } })
  for (const what of ['plan>', 'piece0>', 'piece1>', 'draft', 'publish', 'sum']) expect([what, fleet.world.count(what)]).toEqual([what, 1])
  // And what begins now does.
  expect(await desk.run('fan', 1)).toMatchObject(fanned(1))
})

test('K8: a leader hears of a quick worker while a long effect of its own and of the other one go on; cancel aborts them at once', async () => {
  await using fleet = await Fleet.create({ shared })
  await fleet.worker({ options: { parkAfterMs: 500 } })
  const desk = await fleet.desk()
  const run = await desk.start('foreman', 'go')
  await until('the long ones are out', () => fleet.world.count('own>') + fleet.world.count('dig>') === 2)
  await new Promise((resolve) => setTimeout(resolve, 2_000)) // far longer than an attempt that rests stays
  const opened = Date.now()
  fleet.world.open('peck')
  await until('the leader has heard', () => fleet.world.count('heard completed') === 1, 3_000)
  expect(Date.now() - opened).toBeLessThan(1_500)
  expect(fleet.world.deeds().filter(({ what }) => what === 'own<' || what === 'dig<')).toEqual([])
  const cancelled = Date.now()
  await run.cancel('enough')
  expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
  await until('both are aborted', () => fleet.world.count('own!') === 1 && fleet.world.count('dig!') === 1)
  for (const what of ['own!', 'dig!']) expect(fleet.world.deeds(what)[0]!.at - cancelled).toBeLessThan(1_000)
  expect(fleet.world.count('own>') + fleet.world.count('dig>')).toBe(2)
})
