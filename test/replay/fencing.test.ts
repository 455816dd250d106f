/** A process that stood still finds that its run is somebody else's (K2, K6). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { completed, runId, type Json } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import type { Orchestration, StepIO } from '@reeve/engine'
import { checkJournal, manualClock, verifyReplay } from '@reeve/testing'
import { until } from '../../packages/contract/src/engine/stage.ts'
import { registryOf } from './scenarios.ts'

const run = runId('run_fenced')
const leaseMs = 3_000

for (const durability of ['full', 'strict'] as const) {
  test(`K2: results that reach a fenced process are not recorded, and it releases no effect (${durability} durability)`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'reeve-fencing-'))
    const file = join(dir, 'reeve.db')
    const clock = manualClock()
    const inside: { who: string; io: StepIO; end: (value: Json) => void }[] = []
    const later: string[] = []
    const code = (who: string): Orchestration => ({
      name: 'a',
      version: '1',
      async run(ctx) {
        const first = await ctx.next(
          ctx.begin('slow', (io) => new Promise<Json>((end) => inside.push({ who, io, end }))),
        )
        const second = await ctx.next(
          ctx.begin('later', () => {
            later.push(who)
            return who
          }),
        )
        return completed(
          [first, second].map(({ outcome }) => (outcome.status === 'completed' ? outcome.output : outcome.status)),
        )
      },
    })
    const open = (): EmbeddedEngine =>
      createEmbeddedEngine({ file, clock, leaseMs, durability, strict: true, pollMs: 2, onWarning: () => {} })
    const frozen = open()
    const other = open()
    try {
      frozen.drive(registryOf([code('frozen')]))
      await frozen.start({ run, agent: 'a', version: '1', input: null })
      await until('the first effect is out', () => inside.length === 1)
      clock.advance(leaseMs + 1)
      other.drive(registryOf([code('other')])) // in the same turn: the frozen one has had no time for a heartbeat
      await until('the other lets it out, too', () => inside.length === 2)
      inside[0]!.end('of the frozen')
      await frozen.start({ run: runId('run_fence'), agent: 'a', version: '1', input: null }) // whatever it would have written for the run is written by now
      expect((await frozen.read(run)).map(({ event }) => event.type)).toEqual(['activation.started', 'step.begun'])
      inside.find(({ who }) => who === 'other')!.end('of the other')
      expect((await other.outcome(run)).outcome).toEqual(completed(['of the other', 'other']))
      expect((await frozen.outcome(run)).outcome).toEqual(completed(['of the other', 'other']))
      expect(later).toEqual(['other'])
      expect(inside[1]!.io.key).toBe(inside[0]!.io.key)
      expect(inside[1]!.io.epoch).toBeGreaterThan(inside[0]!.io.epoch)
      expect(checkJournal(await other.read(run))).toEqual([])
      expect((await verifyReplay(other, registryOf([code('nobody')]), run)).problems).toEqual([])
    } finally {
      await Promise.all([frozen.close(), other.close()])
      rmSync(dir, { recursive: true })
    }
  })
}
