/** `reeve show` and `reeve questions` read each journal once, however much of it they show. */
import { afterEach, expect, test, vi } from 'vitest'
import { HostEngine } from '@reeve/engine/host'
import { agent, createRuntime, supervisor, tool } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

/** The runs whose journals are read from now on. */
/** Which pages of which runs were read. */
function readings(): () => readonly string[] {
  const read = vi.spyOn(HostEngine.prototype, 'read')
  return () => read.mock.calls.map(([run, from = 0]) => `${run} ${from}`)
}
afterEach(() => vi.restoreAllMocks())

const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
const clerk = agent({
  name: 'clerk',
  description: 'Pays.',
  tools: [pay],
  model: () => ({ calls: [{ name: 'pay', input: { usd: 5 } }] }),
})
const lead = (place: 'apart' | undefined) =>
  supervisor({
    name: 'boss',
    workers: [clerk],
    model: () => ({ calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: 'Pay.' } }] }),
    delegation: { workers: { clerk: { ...(place && { place }) } } },
  })

test.each([undefined, 'apart'] as const)('show of a run whose worker is placed %s', async (place) => {
  const boss = lead(place)
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [boss] })
    await (await runtime.start(boss, 'Go.', { runId: 'run_1' })).until('waiting')
  }
  const read = readings()
  const { out } = await reeve('show', 'run_1')
  expect(out).toMatch(/^run_1 {2}waiting {2}boss [^]*\? clerk [^]*waiting: d1 \(clerk\)[^]*asks: pay with usd: 5\n/)
  expect(new Set(read().map((page) => page.split(' ')[0])).size).toBe(place === undefined ? 1 : 2)
  expect(new Set(read()).size).toBe(read().length)
})

test('questions of a run with two effects in doubt', async () => {
  const noise = agent({ name: 'noise', run: () => 'done' })
  await using runtime = await createRuntime({ store: storeHere(), agents: [noise] })
  await (await runtime.start(noise, 'Go.', { runId: 'run_2' })).outcome()
  const doubt = (id: string) => ({
    id,
    run: 'run_2',
    kind: 'in-doubt',
    activation: 'act_run_2',
    address: id,
    askedAt: 0,
    body: null,
  })
  vi.spyOn(HostEngine.prototype, 'questions').mockResolvedValue([doubt('int_1'), doubt('int_2')] as never)
  const read = readings()
  const { out } = await reeve('questions')
  expect(out.match(/in-doubt {2}run_2/g)).toHaveLength(2)
  expect(read()).toEqual(['run_2 0'])
})
