/** PostgreSQL goes away in the middle of several runs: they stall, say so once, lose nothing, and go on when it is back. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { pieces } from './crew.ts'
import { Fleet, until } from './fleet.ts'
import { freshRestateServer, stoppablePostgres, type StoppablePostgres, type TestServer } from './harness.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

let shared: TestServer
let postgres: StoppablePostgres
beforeAll(async () => {
  ;[shared, postgres] = await Promise.all([freshRestateServer(), stoppablePostgres()])
})
afterAll(async () => {
  await shared.dispose()
  await postgres.dispose()
})

const outageMs = 10_000
const ways: Record<string, { readonly away: () => Promise<void> | void; readonly back: () => Promise<void> | void }> = {
  'is stopped': { away: () => postgres.stop('fast'), back: () => postgres.start() },
  'is killed': { away: () => postgres.kill(), back: () => postgres.start() },
  'stands still': { away: () => postgres.freeze(), back: () => postgres.thaw() },
}

test.each(Object.keys(ways))('K5: PostgreSQL %s for 10 s in the middle of several runs: they stall, and go on', async (how) => {
  await using fleet = await Fleet.create({ shared, store: { postgres: postgres.url, schema: `s${Object.keys(ways).indexOf(how)}` } })
  const worker = await fleet.worker()
  const desk = await fleet.desk()
  const runs = await Promise.all([1, 2, 3].map(() => desk.start('fan', 4)))
  const waits = await desk.start('publisher', 'x')
  const state = await waits.until('waiting')
  fleet.world.open('plan', 'piece0')
  await until('all are at work', () => pieces(4).every((name) => fleet.world.count(`${name}>`) === 3))
  await until('one each is recorded', async () =>
    (await Promise.all(runs.map((run) => run.view()))).every(({ activations }) =>
      activations.some(({ agent, outcome }) => agent === 'piece' && outcome !== undefined),
    ),
  )
  const before = worker.lines.length
  await ways[how]!.away()
  // What ends now cannot be recorded.
  fleet.world.open(...pieces(4))
  await new Promise((resolve) => setTimeout(resolve, outageMs))
  expect(fleet.world.count('sum')).toBe(0)
  await ways[how]!.back()
  const output = { plan: 'plan is done', sum: 4, ends: pieces(4).map((name) => `${name} is done`) }
  for (const run of runs) expect(await desk.handle(run.id).outcome()).toMatchObject({ status: 'completed', output })
  if ('waiting' in state) await waits.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  expect(await waits.outcome()).toMatchObject({ output: { published: true } })
  // The process lived all the time: nothing was done again.
  for (const what of ['plan>', ...pieces(4).map((name) => `${name}>`), 'sum']) expect([what, fleet.world.count(what)]).toEqual([what, 3])
  const said = worker.lines.slice(before).filter((line) => line.startsWith('store.'))
  expect(said.length, said.join('\n')).toBeLessThanOrEqual(2)
  expect(how === 'stands still' || said[0]!.includes('runs wait until it is back')).toBe(true)
})
