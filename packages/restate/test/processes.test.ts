/**
 * Worker processes and the Restate server die and come back in the middle of runs: no recorded step happens again,
 * nothing is lost, the outcome is the same.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Run, Runtime } from '@reeve/runtime'
import { pieces } from './crew.ts'
import { Fleet, until, type Worker } from './fleet.ts'
import { freshRestateServer, type TestServer } from './harness.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let shared: TestServer
beforeAll(async () => {
  shared = await freshRestateServer({ streamsPerConnection: 1 })
})
afterAll(() => shared.dispose())

const fanned = (n: number) => ({
  status: 'completed',
  output: { plan: 'plan is done', sum: n, ends: pieces(n).map((name) => `${name} is done`) },
})
const two = (fleet: Fleet): Promise<[Worker, Worker]> =>
  Promise.all([fleet.worker({ label: 'a' }), fleet.worker({ label: 'b' })])

/** The question that a run waits with. */
async function asked(desk: Runtime, run: string): Promise<string> {
  const state = await desk.handle(run).until('waiting')
  if (!('waiting' in state) || state.questions[0] === undefined)
    throw new Error(`it did not ask: ${JSON.stringify(state)}`)
  return state.questions[0].id
}

/** Of these effects, what began more than once. */
const repeated = (fleet: Fleet, names: readonly string[]): string[] =>
  names.filter((name) => fleet.world.count(`${name}>`) > 1)

/** Waits until the journal has the ends of so many pieces. */
const recorded = (desk: Runtime, run: string, n: number): Promise<unknown> =>
  until(`${n} pieces are recorded`, async () => {
    const view = await desk.handle(run).view()
    return view.activations.filter(({ agent, outcome }) => agent === 'piece' && outcome !== undefined).length >= n
  })

describe.each(['sqlite', 'postgres'] as const)('over %s', (store) => {
  test('K6: two processes on one port share the runs; one dies, and recorded work is not repeated', async () => {
    await using fleet = await Fleet.create({ store, shared })
    const [a, b] = await two(fleet)
    const desk = await fleet.desk()
    fleet.world.open('plan')
    // Each call of Restate takes a connection of its own here, and one of the two takes that.
    const runs: Run[] = []
    const atWork = (): Set<number> => new Set(fleet.world.deeds('plan>').map(({ pid }) => pid))
    while (runs.length < 4 || atWork().size < 2) {
      const run = await desk.start('fan', 2)
      runs.push(run)
      await until('it plans', () => fleet.world.count('plan>') === runs.length)
      expect(runs.length).toBeLessThan(40)
    }
    expect(atWork()).toEqual(new Set([a.pid, b.pid]))
    await until('all are at work', () => pieces(2).every((name) => fleet.world.count(`${name}>`) === runs.length))
    await a.end()
    fleet.world.open(...pieces(2))
    for (const run of runs) expect(await run.outcome()).toMatchObject(fanned(2))
    for (const what of ['plan>', 'sum']) expect([what, fleet.world.count(what)]).toEqual([what, runs.length])
    // What ran again did so under its own key, in the process that is left.
    for (const name of pieces(2)) {
      const deeds = fleet.world.deeds(`${name}>`)
      expect(new Set(deeds.map(({ key }) => key)).size).toBe(runs.length)
      expect(new Set(deeds.slice(runs.length).map(({ pid }) => pid))).toEqual(new Set([b.pid]))
    }
  })

  test('K2: a worker that ends in order hands its runs over, and a run that waits takes no call', async () => {
    await using fleet = await Fleet.create({ store, shared })
    const first = await fleet.worker()
    const desk = await fleet.desk()
    const waits = await desk.start('publisher', 'x')
    const id = await asked(desk, waits.id)
    await until('no call is open', async () => (await fleet.calls()).length === 0)
    const works = await desk.start('fan', 1)
    fleet.world.open('plan')
    await until('it is at work', () => fleet.world.count('piece0>') === 1)
    const second = await fleet.worker()
    await first.end('SIGTERM')
    await until('it goes on in the other process', () => fleet.world.deeds('piece0>').at(-1)!.pid === second.pid)
    fleet.world.open('piece0')
    await desk.decide({ approvalId: id, decision: 'approve' })
    expect(await waits.outcome()).toMatchObject({ output: { published: true } })
    expect(await works.outcome()).toMatchObject(fanned(1))
    expect(fleet.world.count('plan>')).toBe(1)
  })

  test('K6: all workers die; what was out runs again under the same key and a larger epoch', async () => {
    await using fleet = await Fleet.create({ store, shared })
    const first = await fleet.worker()
    const desk = await fleet.desk()
    const run = await desk.start('fan', 4)
    fleet.world.open('plan', 'piece0')
    await until('all are at work', () => pieces(4).every((name) => fleet.world.count(`${name}>`) > 0))
    await recorded(desk, run.id, 1)
    await first.end()
    const second = await fleet.worker()
    fleet.world.open(...pieces(4))
    expect(await run.outcome()).toMatchObject(fanned(4))
    expect(repeated(fleet, ['plan', 'piece0'])).toEqual([])
    for (const name of pieces(4).slice(1)) {
      const [was, is] = fleet.world.deeds(`${name}>`)
      expect(is).toMatchObject({ key: was!.key, pid: second.pid })
      expect(is!.epoch).toBeGreaterThan(was!.epoch)
    }
  })

  test('K6: a once effect in flight at a crash is in doubt; an operator’s answer settles it in a third process', async () => {
    await using fleet = await Fleet.create({ store, shared })
    const first = await fleet.worker()
    const desk = await fleet.desk()
    const [happened, not] = [await desk.start('payer', 'a'), await desk.start('payer', 'b')]
    await until('both are out', () => fleet.world.count('pay>') === 2)
    await first.end()
    fleet.world.open('pay')
    await fleet.worker()
    for (const run of [happened, not]) {
      const id = await asked(desk, run.id)
      expect(await desk.questions({ run: run.id })).toMatchObject([{ id, kind: 'in-doubt' }])
      await run.control.settleDoubt({
        id,
        by: 'ann',
        ...(run === happened ? { happened: true, value: 'seen' } : { happened: false }),
      })
    }
    expect(await happened.outcome()).toMatchObject({ status: 'completed', output: { paid: 'seen' } })
    expect(await not.outcome()).toMatchObject({ status: 'completed', output: { paid: 'pay is done' } })
    expect(fleet.world.count('pay>')).toBe(3)
  })
})

test('K6: the server dies in the middle of a fan-out and comes back on its data', async () => {
  await using fleet = await Fleet.create({ server: {} })
  await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('fan', 8)
  fleet.world.open('plan', ...pieces(4))
  await until('all are at work', () => pieces(8).every((name) => fleet.world.count(`${name}>`) > 0))
  await recorded(desk, run.id, 4)
  fleet.server.kill()
  await fleet.server.exited
  fleet.world.open(...pieces(8))
  await fleet.server.start()
  expect(await run.outcome()).toMatchObject(fanned(8))
  // The process lives, and holds the run: nothing is done again.
  expect(repeated(fleet, ['plan', ...pieces(8)])).toEqual([])
})

test('K2: server and worker die while an approval is open; it is decided meanwhile, and obeyed', async () => {
  await using fleet = await Fleet.create({ server: {} })
  const first = await fleet.worker()
  const desk = await fleet.desk()
  const [early, late] = [await desk.start('publisher', 'x'), await desk.start('publisher', 'y')]
  const ids = [await asked(desk, early.id), await asked(desk, late.id)] as const
  fleet.server.kill()
  await first.end()
  await fleet.server.exited
  // Durable in the store though nobody can be told now.
  await desk.decide({ approvalId: ids[0], decision: 'approve', approver: 'ann' })
  await expect(desk.decide({ approvalId: ids[0], decision: 'reject' })).rejects.toMatchObject({
    code: 'approval.already-decided',
  })
  await fleet.server.start()
  await fleet.worker()
  expect(await early.outcome()).toMatchObject({ output: { published: true } })
  await desk.decide({ approvalId: ids[1], decision: 'approve' })
  expect(await late.outcome()).toMatchObject({ output: { published: true } })
  expect(fleet.world.count('publish')).toBe(2)
  expect(fleet.world.count('draft')).toBe(2)
})

test('K2: the deadline of an approval passes while everything is down: it times out, nothing is published', async () => {
  await using fleet = await Fleet.create({ server: {} })
  const first = await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('publisher', 3_000)
  const id = await asked(desk, run.id)
  const until_ = (await desk.approvals())[0]!.until!
  fleet.server.kill()
  await first.end()
  await fleet.server.exited
  expect(Date.now()).toBeLessThan(until_)
  await until('the deadline has passed', () => Date.now() > until_ + 200)
  await expect(desk.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({ code: 'approval.expired' })
  await fleet.server.start()
  await fleet.worker()
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: { published: false, how: 'timed-out' } })
  expect(fleet.world.count('publish')).toBe(0)
  expect(fleet.world.count('draft')).toBe(1)
})

test('K6: a timer that is over while everything is down rings after the restart, once', async () => {
  await using fleet = await Fleet.create({ server: {} })
  const first = await fleet.worker()
  const desk = await fleet.desk()
  const run = await desk.start('sleeper', 2_000)
  await until('it lies', () => fleet.world.count('lie down') === 1)
  await until('it is parked', async () => (await fleet.calls()).length === 0)
  fleet.server.kill()
  await first.end()
  await fleet.server.exited
  const [lay] = fleet.world.deeds('lie down')
  await until('it is over', () => Date.now() > lay!.at + 2_200)
  await fleet.server.start()
  await fleet.worker()
  expect(await run.outcome()).toMatchObject({ output: 'awake' })
  expect(fleet.world.count('lie down')).toBe(1)
  expect(fleet.world.count('get up')).toBe(1)
})
