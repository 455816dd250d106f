/** Several processes on one PostgreSQL: killed, frozen, busy, and ended in order. Real processes, real signals. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { rootActivation, runId, type RunId } from '@reeve/core'
import { createPostgresEngine, type PostgresEngine } from '@reeve/postgres'
import { World } from './postgres-world.ts'

const script = fileURLToPath(new URL('./worker-child.ts', import.meta.url))
const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

async function worker(world: World, leaseMs: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--no-warnings', script, world.place.server, world.schema, String(leaseMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  await once(child.stdout, 'data')
  return child
}

/** A schema with a witness, and a client that drives nothing. */
async function begun(): Promise<{ world: World; client: PostgresEngine }> {
  const world = await World.fresh()
  await world.sql('create table $s.witness(pid int, what text, at timestamptz default clock_timestamp())')
  const client = createPostgresEngine({
    postgres: world.place.server,
    schema: world.schema,
    poolSize: 2,
    onWarning: () => {},
  })
  await client.runs()
  return { world, client }
}

const starts = (client: PostgresEngine, agent: string, count: number, input: number): Promise<RunId[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const run = runId(`${agent}-${i}`)
      await client.start({ run, agent, version: '1', input: agent === 'walker' ? [run, input] : input })
      return run
    }),
  )

/** Every step is recorded once, in order, without a gap; returns how often effects were begun in vain. */
async function isWhole(world: World, client: PostgresEngine, runs: readonly RunId[], steps: number): Promise<number> {
  for (const run of runs) {
    const feed = await client.read(run)
    expect(feed.map(({ position }) => position)).toEqual(feed.map((_, i) => i + 1))
    const settled = feed.flatMap(({ event }) => (event.type === 'step.settled' ? [event.address] : []))
    expect(settled).toEqual(Array.from({ length: steps }, (_, i) => `walk ${i}`))
    expect(
      feed.filter(({ event, activation }) => event.type === 'activation.settled' && activation === rootActivation(run)),
    ).toHaveLength(1)
  }
  const [row] = await world.sql<{ n: number }>('select (count(*) - count(distinct what))::int as n from $s.witness')
  return row!.n
}

/** One of these that has runs, with steps behind it. */
async function busy(world: World, workers: readonly ChildProcess[]): Promise<ChildProcess> {
  let pid: number | undefined
  await expect
    .poll(
      async () =>
        (pid = (await world.sql<{ pid: number }>('select pid from $s.witness group by pid having count(*) > 20'))[0]
          ?.pid),
    )
    .toBeDefined()
  return workers.find((worker) => worker.pid === pid)!
}

test('K2: of three workers one is killed: its runs move within a second, nothing is lost or doubled', async () => {
  const { world, client } = await begun()
  await using _ = world
  const workers = await Promise.all([worker(world, 3_000), worker(world, 3_000), worker(world, 3_000)])
  const runs = await starts(client, 'walker', 30, 40)
  const victim = await busy(world, workers)
  // the session of everyone who has runs is known by then
  await expect
    .poll(() =>
      world.sql(
        'select 1 from $s.process p where session is null and exists (select 1 from $s.run where owner = p.id)',
      ),
    )
    .toEqual([])
  const killedAt = Date.now()
  victim.kill('SIGKILL')
  await expect.poll(() => world.sql('select 1 from $s.run where losses > 0'), { timeout: 5_000 }).not.toHaveLength(0)
  const noticed = Date.now() - killedAt
  const ends = await Promise.all(runs.map((run) => client.outcome(run)))
  expect(ends.map(({ outcome }) => outcome.status)).toEqual(runs.map(() => 'completed'))
  const vain = await isWhole(world, client, runs, 40)
  expect(noticed).toBeLessThan(2_500)
  expect(vain).toBeLessThanOrEqual(30)
  await client.close()
}, 60_000)

test('K2: a frozen worker counts as dead after its lease; when it wakes it writes nothing of moved runs', async () => {
  const { world, client } = await begun()
  await using _ = world
  const workers = [await worker(world, 1_000), await worker(world, 1_000)]
  const runs = await starts(client, 'walker', 10, 60)
  const victim = await busy(world, workers)
  victim.kill('SIGSTOP')
  const lost = 'select 1 from $s.run where losses > 0'
  await expect.poll(() => world.sql(lost), { timeout: 8_000 }).not.toHaveLength(0)
  await expect.poll(() => world.sql(`${lost} and owner is null`), { timeout: 8_000 }).toHaveLength(0)
  victim.kill('SIGCONT')
  const ends = await Promise.all(runs.map((run) => client.outcome(run)))
  expect(ends.map(({ outcome }) => outcome.status)).toEqual(runs.map(() => 'completed'))
  expect(await isWhole(world, client, runs, 60)).toBeLessThanOrEqual(20)
  await client.close()
}, 60_000)

test('K2: a worker whose event loop is busy for longer than its lease keeps its runs', async () => {
  const { world, client } = await begun()
  await using _ = world
  await worker(world, 600)
  const [run] = await starts(client, 'hog', 1, 3000)
  await expect.poll(() => world.sql('select 1 from $s.witness')).toHaveLength(1)
  await worker(world, 600)
  expect((await client.outcome(run!)).outcome).toMatchObject({ status: 'completed' })
  expect(await world.sql('select epoch, losses from $s.run')).toEqual([{ epoch: 2, losses: 0 }])
  expect(await world.sql('select 1 from $s.witness')).toHaveLength(1)
  await client.close()
}, 30_000)

test('K2: a worker that is ended in order gives its runs back, and they cost no loss', async () => {
  const { world, client } = await begun()
  await using _ = world
  const first = await worker(world, 3_000)
  const runs = await starts(client, 'walker', 5, 60)
  await expect.poll(async () => (await world.sql('select 1 from $s.run where owner is not null')).length).toBe(5)
  await worker(world, 3_000)
  first.kill('SIGTERM')
  await once(first, 'exit')
  const ends = await Promise.all(runs.map((run) => client.outcome(run)))
  expect(ends.map(({ outcome }) => outcome.status)).toEqual(runs.map(() => 'completed'))
  await isWhole(world, client, runs, 60)
  expect(await world.sql('select max(losses) as worst from $s.run')).toEqual([{ worst: 0 }])
  await client.close()
}, 30_000)
