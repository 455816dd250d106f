/**
 * A database that is restarted, killed, failed over or full in the middle of many runs: nothing is lost, nothing is
 * recorded twice, and errors say what it is (K1, K2, K5, K6).
 */
import { execFileSync } from 'node:child_process'
import { chownSync, closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { ReeveError, rootActivation, runId, type Outcome, type RunId } from '@reeve/core'
import { createPostgresEngine, type PostgresEngine } from '../src/index.ts'
import { registry, step, type Agent } from '../../../test/crash/agents.ts'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'
import { stoppablePostgres } from '../../../test/servers/postgres.ts'
import { onServer } from '../../engine/test/store/postgres-place.ts'
import { Wire } from '../../engine/test/store/proxy.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

const steps = 6
const many = 200

/** Two processes that share the store, and what their effects did. */
class Crowd implements AsyncDisposable {
  readonly engines: PostgresEngine[]
  readonly warnings: string[] = []
  /** How often each effect was begun, by its key; how many have ended at all. */
  readonly begun = new Map<string, number>()
  ended = 0

  constructor(postgres: string) {
    const onWarning = (code: string): void => void this.warnings.push(code)
    this.engines = [1, 2].map(() => createPostgresEngine({ postgres, leaseMs: 2_000, onWarning }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.engines.map((engine) => engine.close()))
  }

  readonly walker: Agent = async (ctx) => {
    for (let i = 0; i < steps; i++)
      await step(ctx, `step ${i}`, async ({ key }) => {
        this.begun.set(key, (this.begun.get(key) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, 20))
        this.ended++
        return i
      })
    return 'done'
  }

  async drive(): Promise<void> {
    for (const engine of this.engines) await engine.drive(registry({ walker: this.walker }))
  }
}

/**
 * Begins many runs, half of them in each process; `change` happens in their middle. What could not be begun meanwhile
 * is begun again under the same id.
 */
async function through(crowd: Crowd, change: () => Promise<void>): Promise<void> {
  const runs = Array.from({ length: many }, (_, i) => runId(`r${i}`))
  const begin = async (run: RunId, i: number): Promise<void> => {
    for (;;) {
      try {
        return void (await crowd.engines[i % 2]!.start({ run, agent: 'walker', version: '1', input: null }))
      } catch (thrown) {
        if (!ReeveError.is(thrown) || !/^store\.(unavailable|busy)$/.test(thrown.code) || !thrown.retryable)
          throw thrown
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
  const begun = Promise.all(runs.map(begin))
  await expect.poll(() => crowd.ended).toBeGreaterThan(many)
  await change()
  await begun
  const ends = await Promise.all(runs.map((run, i) => outcome(crowd, run, i)))
  expect(ends.filter(({ status }) => status !== 'completed')).toEqual([])
  for (const [i, run] of runs.entries()) {
    const feed = await crowd.engines[i % 2]!.read(run)
    expect(feed.map(({ position }) => position)).toEqual(feed.map((_, at) => at + 1))
    expect(feed.flatMap(({ event }) => (event.type === 'step.settled' ? [event.address] : []))).toEqual(
      Array.from({ length: steps }, (_, at) => `step ${at}`),
    )
    const last = feed.filter(
      ({ event, activation }) => event.type === 'activation.settled' && activation === rootActivation(run),
    )
    expect(last).toHaveLength(1)
  }
  expect(crowd.begun.size).toBe(many * steps)
}

/** Read by the process that has not begun it. */
async function outcome(crowd: Crowd, run: RunId, i: number): Promise<Outcome> {
  return (await crowd.engines[(i + 1) % 2]!.outcome(run)).outcome
}

/** Each process says that the store is away, and that it is back: once for each outage. */
function saidOnce(crowd: Crowd, outages: number): void {
  for (const code of ['store.unavailable', 'store.available']) {
    const times = crowd.warnings.filter((each) => each === code).length
    expect(times, code).toBeGreaterThan(0)
    expect(times, code).toBeLessThanOrEqual(2 * outages)
  }
}

test('a server that is restarted, and killed, in the middle of 200 runs', async () => {
  await using server = await stoppablePostgres(['shared_buffers=16MB'])
  await using crowd = new Crowd(server.url)
  await crowd.drive()
  await through(crowd, async () => {
    await server.stop('fast')
    await expect.poll(() => crowd.warnings).toContain('store.unavailable')
    await server.start()
    await expect.poll(() => crowd.warnings.filter((code) => code === 'store.available').length).toBeGreaterThan(0)
    await server.stop('immediate')
    await server.start()
  })
  saidOnce(crowd, 2)
}, 60_000)

test('a standby that takes over in the middle of 200 runs', async () => {
  const settings = ['shared_buffers=16MB', 'max_connections=60', 'fsync=off']
  await using primary = await stoppablePostgres(settings)
  await using standby = await stoppablePostgres(settings, primary)
  // what is committed is on the standby, too
  await onServer(primary.url, "alter system set synchronous_standby_names = '*'")
  await onServer(primary.url, 'select pg_reload_conf()')
  await expect
    .poll(() => onServer(primary.url, "select 1 from pg_stat_replication where sync_state = 'sync'"))
    .toHaveLength(1)
  await using wire = await Wire.to(primary.url)
  await using crowd = new Crowd(wire.url)
  await crowd.drive()
  await through(crowd, async () => {
    await primary.kill()
    wire.isDown = true
    wire.cut()
    await expect.poll(() => crowd.warnings).toContain('store.unavailable')
    await standby.promote()
    wire.lead(standby.url)
    wire.isDown = false
  })
  saidOnce(crowd, 1)
  expect(await onServer(standby.url, 'select count(*)::int as n from reeve.run where ended is not null')).toEqual([
    { n: many },
  ])
}, 60_000)

describe('a database that is full', () => {
  /** A folder of some megabytes; needs rights that not everybody has. */
  function smallDisk(owner: { readonly uid: number; readonly gid: number }): string | undefined {
    const disk = temporaryFolder('disk')
    undo.push(() => removeFolder(disk))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', disk], { stdio: 'ignore' })
    } catch {
      return undefined
    }
    undo.push(() => execFileSync('umount', ['-l', disk], { stdio: 'ignore' }))
    chownSync(disk, owner.uid, owner.gid)
    return disk
  }

  function fillUp(disk: string): () => void {
    const filler = join(disk, 'filler')
    const handle = openSync(filler, 'w')
    try {
      for (;;) writeSync(handle, Buffer.alloc(4_096))
    } catch (thrown) {
      if ((thrown as { code?: string }).code !== 'ENOSPC') throw thrown
    } finally {
      closeSync(handle)
    }
    return () => rmSync(filler)
  }

  test('says so, lets nothing out that it could not record, and goes on by itself when there is room', async ({
    skip,
  }) => {
    await using server = await stoppablePostgres()
    const [place] = await onServer<{ data_directory: string }>(server.url, 'show data_directory')
    const disk = smallDisk(statSync(place!.data_directory))
    if (disk === undefined) return skip('needs the right to mount a small file system')
    await onServer(server.url, `create tablespace small location '${disk}'`)
    await onServer(server.url, 'alter database postgres set default_tablespace = small')
    const warnings: string[] = []
    const ran: string[] = []
    let free: (() => void) | undefined
    const shop: Agent = async (ctx) => {
      const pay = await step(
        ctx,
        'pay',
        () => {
          ran.push('pay')
          free = fillUp(disk)
          return `paid ${'x'.repeat(300_000).replaceAll(/x/g, () => Math.random().toString(36)[2] ?? 'x')}`
        },
        { effect: 'once' },
      )
      await step(ctx, 'ship', () => (ran.push('ship'), 'shipped'), { effect: 'once' })
      return (pay as string).length
    }
    const engine = createPostgresEngine({ postgres: server.url, onWarning: (code) => void warnings.push(code) })
    undo.push(() => engine.close())
    await engine.drive(registry({ shop }))
    const run = runId('r1')
    await engine.start({ run, agent: 'shop', version: '1', input: null })
    await expect.poll(() => warnings).toEqual(['store.full'])
    const refused = engine.start({ run: runId('r2'), agent: 'shop', version: '1', input: 'y'.repeat(300_000) })
    await expect(refused).rejects.toMatchObject({
      code: 'store.full',
      retryable: true,
      hint: expect.stringMatching(/[Ff]ree space/) as string,
    })
    expect((await engine.read(run)).map(({ event }) => event.type)).toEqual(['activation.started', 'step.begun'])
    expect([ran, warnings]).toEqual([['pay'], ['store.full']])
    free!()
    expect((await engine.outcome(run)).outcome).toEqual({ status: 'completed', output: 300_005 })
    expect(ran).toEqual(['pay', 'ship'])
    expect(await engine.questions()).toEqual([])
    expect(warnings).toEqual(['store.full', 'store.available'])
    await engine.close()
  }, 30_000)
})
