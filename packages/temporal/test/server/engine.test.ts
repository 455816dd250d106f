/**
 * The engine on Temporal, whole: what a run costs the server in events, what a cancelled workflow means, and several
 * processes, one of which is killed.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { TemporalOptions } from '../../src/index.ts'
import { temporalEngine } from '../../src/temporal.ts'
import { createRuntime, type Run, type Runtime } from '@reeve/public'
import { freePort, temporaryFolder } from '../../../../test/servers/place.ts'
import { temporalServer, whyNoTemporal, type TemporalTestServer } from '../../../../test/servers/temporal.ts'
import { crew, deedsIn } from './crew.ts'
import { Looking } from './hand.ts'
import { stores, type Kept } from '../../../contract/test/moved-bench.ts'
import type { Told } from './worker-child.ts'

describe.skipIf(whyNoTemporal() !== undefined).each(['sqlite', 'postgres'] as const)(
  'the engine on Temporal over %s',
  (kind) => {
    let server: TemporalTestServer
    let kept: Kept
    let queues = 0
    const notes = join(temporaryFolder('temporal-notes'), 'notes')
    const { walker, asker, leader, all } = crew(notes)
    const children: ChildProcess[] = []

    beforeAll(async () => {
      server = await temporalServer()
    })
    afterAll(() => server?.dispose())
    afterEach(async () => {
      for (const child of children.splice(0))
        if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await kept.dispose()
    })

    async function place(): Promise<TemporalOptions> {
      kept = await stores[kind]()
      writeFileSync(notes, '')
      return { store: kept.store, address: server.address, taskQueue: `${kind}-${++queues}` }
    }

    async function opened(
      options: TemporalOptions,
      drive = true,
    ): Promise<{ readonly runtime: Runtime; readonly looking: Looking } & AsyncDisposable> {
      const engine = temporalEngine({ onWarning: () => {}, ...options })
      const runtime = await createRuntime({ engine, agents: [...all], drive })
      const looking = new Looking(server, 'default', await engine.store.id())
      return {
        runtime,
        looking,
        async [Symbol.asyncDispose]() {
          await runtime.close()
          await looking[Symbol.asyncDispose]()
        },
      }
    }

    async function worker(options: TemporalOptions): Promise<ChildProcess> {
      const child = child_({ options, notes })
      await once(child, 'message')
      return child
    }
    function child_(told: Told): ChildProcess {
      const child = fork(join(import.meta.dirname, 'worker-child.ts'), [JSON.stringify(told)], {
        execArgv: ['--no-warnings'],
      })
      children.push(child)
      return child
    }

    test('steps and delegations add no event; a run that waits for a person is an open workflow', async () => {
      await using at = await opened(await place())
      const { runtime, looking } = at
      for (const [id, agent, brief] of [
        ['one', walker, '1'],
        ['twenty', walker, '20'],
        ['delegates', leader, '5'],
      ] as const) {
        expect((await runtime.run(agent, brief, { runId: id })).status).toBe('completed')
        await expect.poll(() => looking.status(id)).toBe('COMPLETED')
        expect(await looking.events(id)).toHaveLength(12)
      }
      const run = await runtime.start(asker, 'May I?', { runId: 'asks' })
      await run.until('waiting')
      await expect.poll(async () => (await looking.events('asks')).at(-1)).toBe('TimerStarted')
      expect(await looking.status('asks')).toBe('RUNNING')
      const [approval] = await runtime.approvals({ run: run.id })
      await run.decide({ approvalId: approval!.id, decision: 'approve' })
      expect(await run.outcome()).toMatchObject({ status: 'completed', output: true })
      await expect.poll(() => looking.status('asks')).toBe('COMPLETED')
      expect(await looking.events('asks')).toHaveLength(24)
    })

    test('K8: who cancels a workflow in Temporal cancels its run, while it waits and while it moves', async () => {
      await using at = await opened(await place())
      const { runtime, looking } = at
      const waits = await runtime.start(asker, 'May I?', { runId: 'waits' })
      await waits.until('waiting')
      const moves = await runtime.start(walker, '2 60000', { runId: 'moves' })
      await expect.poll(() => looking.status('moves')).toBe('RUNNING')
      for (const run of [waits, moves]) {
        await looking.handle(run.id).cancel()
        expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
        await expect.poll(() => looking.status(run.id), { timeout: 20_000 }).toBe('CANCELLED')
        const events = []
        for await (const { event } of run.events()) events.push(event)
        expect(events).toContainEqual(
          expect.objectContaining({
            type: 'cancel.received',
            by: 'temporal',
            reason: 'its workflow was cancelled in Temporal',
          }),
        )
      }
    })

    test('a client drives nothing and needs no package but the client', async () => {
      const options = await place()
      await using at = await opened(options)
      expect((await at.runtime.run(walker, '1')).status).toBe('completed')
      const [told] = (await once(child_({ options, notes, start: '1' }), 'message')) as [
        { status: string; packages: string[] },
      ]
      expect(told.status).toBe('completed')
      expect(told.packages.sort()).toEqual(['@temporalio/client', '@temporalio/common', '@temporalio/proto'])
    })

    test('K2: a wake-up that never arrived is made up for', async () => {
      const options = await place()
      await using at = await opened({ ...options, address: `127.0.0.1:${await freePort()}` }, false)
      const child = await worker(options)
      expect(await at.runtime.run(walker, '1')).toMatchObject({
        status: 'completed',
        output: [{ step: 0, pid: child.pid }],
      })
    })

    test('K6: two workers share a queue’s runs; after a SIGKILL nothing is lost or recorded twice', async () => {
      const options = await place()
      const workers = await Promise.all([worker(options), worker(options)])
      await using at = await opened(options, false)
      const runs: Run<unknown>[] = []
      const more = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i++)
          runs.push(await at.runtime.start(walker, '6 500', { runId: `shared-${runs.length}` }))
      }
      await more(10)
      // Temporal gives a move to whichever worker asks first: on a busy machine that may be one of them for a while
      const busy = async (): Promise<Set<number>> => {
        await more(1)
        return new Set(deedsIn(notes).map(({ pid }) => pid))
      }
      await expect.poll(busy, { timeout: 40_000, interval: 500 }).toEqual(new Set(workers.map(({ pid }) => pid)))
      const [dying, living] = workers
      dying.kill('SIGKILL')
      const killed = performance.now()
      for (const run of runs) {
        const outcome = await run.outcome()
        const steps = (outcome.status === 'completed' ? outcome.output : []) as readonly { readonly step: number }[]
        expect(steps.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5])
      }
      // what was in flight in the one that died ran again, and no step more
      const deeds = deedsIn(notes)
      const times = Map.groupBy(deeds, ({ key }) => key)
      const twice = [...times.values()].filter((each) => each.length > 1)
      expect(times.size).toBe(6 * runs.length)
      for (const each of twice) expect(each.map(({ pid }) => pid)).toEqual([dying.pid, living.pid])
      expect(performance.now() - killed).toBeLessThan(40_000)
      for (const run of runs)
        await expect.poll(() => at.looking.status(run.id), { timeout: 60_000, interval: 250 }).toBe('COMPLETED')
    }, 120_000)
  },
)
