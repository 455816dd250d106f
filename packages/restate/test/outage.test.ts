/**
 * Restate is away, is wiped, or is told things behind the engine's back: runs are in the store, so nothing is lost, and
 * workers take them up by themselves.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { pieces } from './crew.ts'
import { Fleet, until } from './fleet.ts'
import { freePort } from './harness.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const fanned = (n: number) => ({
  status: 'completed',
  output: { plan: 'plan is done', sum: n, ends: pieces(n).map((name) => `${name} is done`) },
})
const said = (lines: readonly string[], code: string): readonly string[] =>
  lines.filter((line) => line.startsWith(`${code} `))

test('K5: without Restate, runs begin and go on; its loss and its return are each reported once', async () => {
  await using fleet = await Fleet.create({ server: {}, store: 'postgres' })
  const worker = await fleet.worker()
  const heard: string[] = []
  const desk = await fleet.desk({ onWarning: (code, message) => void heard.push(`${code} ${message}`) })
  fleet.server.kill()
  await fleet.server.exited
  fleet.world.open('plan', ...pieces(2))
  // Neither rejects: both are in the store.
  const runs = await Promise.all([desk.start('fan', 2), desk.start('publisher', 'x')])
  const state = await runs[1].until('waiting')
  expect(await runs[0].outcome()).toMatchObject(fanned(2))
  await until('the client has said so', () => said(heard, 'engine.unreachable').length > 0)
  await fleet.server.start()
  if ('waiting' in state) await runs[1].decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  expect(await runs[1].outcome()).toMatchObject({ output: { published: true } })
  await until('the client has noticed', () => said(heard, 'engine.reachable-again').length > 0)
  expect(said(heard, 'engine.unreachable')).toHaveLength(1)
  expect(said(heard, 'engine.reachable-again')).toHaveLength(1)
  expect(said(worker.lines, 'engine.unreachable').length).toBeLessThanOrEqual(1)
  expect(fleet.world.count('draft')).toBe(1)
})

test('K5: a worker that comes while Restate is away drives what there is, and registers when Restate comes', async () => {
  await using fleet = await Fleet.create({ server: {} })
  fleet.server.kill()
  await fleet.server.exited
  const worker = await fleet.worker()
  expect(said(worker.lines, 'engine.unreachable')).toHaveLength(1)
  const desk = await fleet.desk()
  fleet.world.open('plan', 'piece0')
  expect(await desk.run('fan', 1)).toMatchObject(fanned(1))
  await fleet.server.start()
  await until('it has registered', async () =>
    (await fleet.client.services()).some(({ name }) => name === `${fleet.options.namespace}.Runs`),
  )
  await until('it has said so', () => said(worker.lines, 'engine.reachable-again').length === 1)
  expect(said(worker.lines, 'engine.unreachable')).toHaveLength(1)
})

test('K6: a wiped Restate: runs go on, the worker registers again, and new runs go through it', async () => {
  await using fleet = await Fleet.create({ server: {} })
  const worker = await fleet.worker()
  const desk = await fleet.desk()
  const [waits, works] = [await desk.start('publisher', 'x'), await desk.start('fan', 4)]
  fleet.world.open('plan', 'piece0', 'piece1')
  await until('all are at work', () => pieces(4).every((name) => fleet.world.count(`${name}>`) > 0))
  const state = await waits.until('waiting')
  fleet.server.kill()
  await fleet.server.exited
  rmSync(join(fleet.server.dir, 'n1'), { recursive: true })
  await fleet.server.start()
  fleet.world.open(...pieces(4))
  expect(await works.outcome()).toMatchObject(fanned(4))
  if ('waiting' in state) await waits.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  expect(await waits.outcome()).toMatchObject({ output: { published: true } })
  for (const what of ['plan>', 'piece0>', 'piece1>', 'draft', 'publish', 'sum'])
    expect([what, fleet.world.count(what)]).toEqual([what, 1])
  await until('it is known again', () => said(worker.lines, 'engine.registered-again').length > 0)
  fleet.world.open('talk')
  expect(await desk.run('talker', 'go')).toMatchObject({ output: 'Once upon a time' })
})

test.each(['kill', 'cancel'])(
  'K8: %s of a call with Restate’s own means neither ends the run nor repeats what it does',
  async (how) => {
    await using fleet = await Fleet.create({ server: {} })
    await fleet.worker()
    const desk = await fleet.desk()
    const run = await desk.start('fan', 2)
    fleet.world.open('plan')
    await until('it is at work', () => pieces(2).every((name) => fleet.world.count(`${name}>`) === 1))
    const [call] = await fleet.calls()
    const answer = await fetch(`${fleet.server.admin}/invocations/${call!.id}/${how}`, { method: 'PATCH' })
    expect(answer.ok).toBe(true)
    fleet.world.open(...pieces(2))
    expect(await run.outcome()).toMatchObject(fanned(2))
    await until('the call is over', async () => (await fleet.calls()).length === 0, 15_000)
    for (const what of ['plan>', 'piece0>', 'piece1>', 'sum'])
      expect([what, fleet.world.count(what)]).toEqual([what, 1])
  },
)

test('K5: a result of 2 MB is in the store and not in Restate', async () => {
  await using fleet = await Fleet.create({ server: {}, store: 'postgres' })
  await fleet.worker()
  const desk = await fleet.desk()
  await (await desk.start('publisher', 'x'.repeat(2_000_000))).until('waiting')
  const [row] = await fleet.client.query<{ bytes: number; entries: number }>(
    "select sum(length(encode(raw, 'hex'))) / 2 as bytes, count(1) as entries from sys_journal",
  )
  expect(row!.bytes ?? 0).toBeLessThan(5_000)
})

test('K2: a later deployment that is gone is noticed: this worker registers again', async () => {
  await using fleet = await Fleet.create({ server: {}, store: 'postgres' })
  const first = await fleet.worker()
  const other = await fleet.worker({ options: { listen: { port: await freePort() } } })
  await other.end()
  await until('it is seen', () => said(first.lines, 'engine.registered-again').length > 0, 30_000)
  const desk = await fleet.desk()
  fleet.world.open('plan', 'piece0')
  expect(await desk.run('fan', 1)).toMatchObject(fanned(1))
})
