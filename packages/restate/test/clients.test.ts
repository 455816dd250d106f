/**
 * Clients and closing: whoever waits stays alive, whoever closes ends in time and begins nothing more, whoever leaves
 * leaves nothing behind.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { completed } from '@reeve/core'
import { Stage, step, until } from '../../contract/src/engine/stage.ts'
import { Fleet } from './fleet.ts'
import { restateServer, type TestServer } from './harness.ts'
import { onRestate } from './restate-bench.ts'

let shared: TestServer
beforeAll(async () => {
  shared = await restateServer()
})
afterAll(() => shared.dispose())

describe.each(['sqlite', 'postgres'] as const)('over %s', (store) => {
  test.each(['outcome', 'until', 'events', 'text'])(
    'K9: a process that only waits (%s) stays until the run has ended, and then ends',
    async (verb) => {
      await using fleet = await Fleet.create({ shared, store })
      await fleet.worker()
      const run = await (await fleet.desk()).start('talker', 'go')
      const child = spawn(process.execPath, [
        join(import.meta.dirname, 'client-child.ts'),
        JSON.stringify(fleet.options),
        run.id,
        verb,
      ])
      let said = ''
      child.stdout.on('data', (piece: Buffer) => (said += piece.toString()))
      const exit = once(child, 'exit')
      await until('it waits', () => said.includes('waits'))
      // It would have ended by itself within a turn of its loop.
      await expect(
        Promise.race([exit, new Promise((resolve) => setTimeout(resolve, 700, 'still there'))]),
      ).resolves.toBe('still there')
      fleet.world.open('talk')
      expect(await exit).toEqual([0, null])
      expect(said).toBe('waits\ndone\n')
    },
  )
})

test('K6: a closing engine releases no effect and ends in time; unreleased effects are not in doubt', async () => {
  const stage = await Stage.open(onRestate('sqlite'))
  try {
    stage.agent('chain', async (ctx) => {
      for (let n = 0; n < 40; n++)
        await step(
          ctx,
          `pay ${n}`,
          async () => (stage.ran.push('pay'), await new Promise((resolve) => setTimeout(resolve, 60)), null),
          {
            effect: 'once',
          },
        )
      return 'done'
    })
    await stage.drive()
    const runs = await Promise.all(['chain', 'chain', 'chain'].map((agent) => stage.start(agent)))
    await until('they pay', () => stage.count('pay') >= 3)
    const closing = stage.engine.close()
    const paid = stage.count('pay')
    await closing
    expect(stage.count('pay') - paid).toBeLessThanOrEqual(runs.length)
    await stage.restart('kill')
    for (const run of runs) expect(await stage.outcome(run)).toEqual(completed('done'))
    expect(stage.count('pay')).toBe(40 * runs.length)
    for (const run of runs) expect(await stage.has(run, 'effect.in-doubt')).toBe(false)
  } finally {
    await stage.bench.dispose()
  }
})
