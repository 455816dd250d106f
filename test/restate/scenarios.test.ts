/** The same teams on the embedded engine and on Restate: the same outcomes, the same facts. And what only shows on a cluster: payloads, readers elsewhere. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { agent, createRuntime, interrupt, step, type LivePart, type Recorded, type Runtime } from '../../src/index.ts'
import { Fleet, until } from './fleet.ts'
import { freshRestateServer, type TestServer } from './harness.ts'
import { removeFolder, temporaryFolder } from '../servers/place.ts'
import { factsOf, scenarios, type Scenario } from './scenarios.ts'
import { World } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let shared: TestServer
beforeAll(async () => {
  shared = await freshRestateServer()
})
afterAll(() => shared.dispose())

interface Played {
  readonly outcomes: readonly unknown[]
  readonly facts: readonly unknown[]
}

async function playOn(runtime: Runtime, world: World, { play, anyOrder }: Scenario): Promise<Played> {
  const runs = await play(runtime, world)
  const outcomes: unknown[] = []
  const facts: unknown[] = []
  for (const run of runs) {
    const { run: _run, ...outcome } = await run.outcome()
    outcomes.push(outcome)
    const events: Recorded[] = []
    for await (const recorded of run.events()) events.push(recorded)
    facts.push(factsOf(events, anyOrder))
    const view = await run.view()
    expect(view.outcome).toMatchObject(JSON.parse(JSON.stringify({ status: outcome.status })) as object)
    expect(view.position).toBe(events.at(-1)!.position)
  }
  return { outcomes, facts }
}

async function onEmbedded(scenario: Scenario): Promise<Played> {
  const dir = temporaryFolder('scenario')
  const world = new World(dir)
  const runtime = await createRuntime({ agents: scenario.agents(world), store: join(dir, 'reeve.db'), strict: true })
  try {
    return await playOn(runtime, world, scenario)
  } finally {
    await runtime.close()
    removeFolder(dir)
  }
}

async function onRestate(scenario: Scenario, store: 'sqlite' | 'postgres'): Promise<Played> {
  await using fleet = await Fleet.create({ shared, store })
  const engine = fleet.engine({ listen: { port: fleet.port }, strict: true })
  const runtime = await createRuntime({ agents: scenario.agents(fleet.world), engine })
  try {
    return await playOn(runtime, fleet.world, scenario)
  } finally {
    await runtime.close()
  }
}

describe.each(scenarios)('$name', (scenario) => {
  let expected: Promise<Played> | undefined
  test.each(['sqlite', 'postgres'] as const)('K1: the same on Restate over %s', async (store) => {
    const embedded = await (expected ??= onEmbedded(scenario))
    const played = await onRestate(scenario, store)
    expect(played.outcomes).toEqual(embedded.outcomes)
    expect(played.facts).toEqual(embedded.facts)
  })
})

test('K5: a result of 2 MB is in the store and not in Restate', async () => {
  await using fleet = await Fleet.create({ shared, store: 'postgres' })
  const big = 'x'.repeat(2_000_000)
  const reader = agent({
    name: 'reader',
    run: async (ctx) => {
      const text = await step(ctx, 'read', () => big)
      return { answer: await interrupt(ctx, 'enough?'), length: text.length }
    },
  })
  await using runtime = await createRuntime({ agents: [reader], engine: fleet.engine({ listen: { port: fleet.port } }) })
  const run = await runtime.start(reader, 'go')
  const id = await until('it asks', async () => (await runtime.questions({ run: run.id }))[0]?.id)
  const [row] = await fleet.client.query<{ bytes: number; entries: number }>(
    `select sum(length(encode(raw, 'hex'))) / 2 as bytes, count(1) as entries from sys_journal where id in
      (select id from sys_invocation where target_service_name like '${fleet.options.namespace}.%')`,
  )
  expect(row!.entries).toBeGreaterThan(1)
  expect(row!.bytes).toBeLessThan(20_000)
  await run.answer({ interruptId: id, value: 'yes' })
  expect(await run.outcome()).toMatchObject({ output: { answer: 'yes', length: 2_000_000 } })
})

test.each(['sqlite', 'postgres'] as const)(
  'K9: a reader in another process sees text, parts with epoch and attempt, events and view, over %s',
  async (store) => {
    await using fleet = await Fleet.create({ shared, store })
    const first = await fleet.worker()
    const desk = await fleet.desk()
    const run = await desk.start('talker', 'go')
    const parts: LivePart[] = []
    const events: Recorded[] = []
    const text: string[] = []
    const reading = Promise.all([
      (async () => {
        for await (const part of run.parts()) parts.push(part)
      })(),
      (async () => {
        for await (const event of run.events()) events.push(event)
      })(),
      (async () => {
        for await (const piece of run.text()) text.push(piece)
      })(),
    ])
    await until('it is heard', () => text.join('').includes('Once '))
    await first.end()
    await fleet.worker()
    await until('it is heard again', () => parts.some(({ epoch }) => epoch > parts[0]!.epoch))
    fleet.world.open('talk')
    expect(await run.outcome()).toMatchObject({ output: 'Once upon a time' })
    await reading
    expect(text.join('')).toMatch(/upon a time$/)
    const epochs = [...new Set(parts.map(({ epoch }) => epoch))]
    expect(epochs).toHaveLength(2)
    expect(epochs[1]).toBeGreaterThan(epochs[0]!)
    expect(parts[0]).toMatchObject({ activation: `act_${run.id}`, address: 'talk', attempt: 1, part: { type: 'text.delta' } })
    const said = parts.filter(({ epoch }) => epoch === epochs[1]).map(({ part }) => (part as { text: string }).text)
    expect(said.join('')).toBe('Once upon a time')
    expect(events.map(({ event }) => event.type)).toEqual(['activation.started', 'step.begun', 'step.settled', 'activation.settled'])
    expect(JSON.stringify(events)).not.toContain('text.delta')
    expect(await run.view()).toMatchObject({ status: 'completed', agent: 'talker', position: events.at(-1)!.position })
  },
)
