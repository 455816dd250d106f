/**
 * Stalls: a run that should move and does not is told, with what it waits for and who holds it; one whose effect takes
 * its time is not.
 */
import { describe, expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import type { StalledRun, StoredProcess, UnmovedRun } from '@reeve/engine'
import { stallsIn } from '../../packages/engine/src/host/stalls.ts'
import { behind, inFolder, launch, open, registry, step } from './hand.ts'
import { reeve } from '../../packages/cli/test/command.ts'
import { dirname } from 'node:path'

describe('what a store shows', () => {
  const now = 1_000_000
  const run = 'r' as RunId
  const holder = (more: Partial<StoredProcess> = {}): StoredProcess => ({ id: 'p', isAlive: true, drives: [], ...more })
  const report = { at: now, begun: 0, delayMs: 0, takenOver: 0, stalled: [] }
  const unmoved = (owner: string | null, agoMs: number): UnmovedRun => ({ run, owner, since: now - agoMs })
  const shown = (process: StoredProcess, one: UnmovedRun): StalledRun | undefined => stallsIn([process], [one], now)[0]

  test('a run that no process has taken up, for longer than the delay of those that live explains', () => {
    expect(shown(holder({ report }), unmoved(null, 5_000))).toEqual({ run, since: now - 5_000, waitsFor: 'worker' })
    // a process that has never reported only starts, reads and decides
    expect(shown(holder(), unmoved(null, 60_000))).toBeUndefined()
    expect(shown(holder({ report: { ...report, delayMs: 1_000 } }), unmoved(null, 12_000))).toBeUndefined()
    expect(shown(holder({ report: { ...report, delayMs: 1_000 } }), unmoved(null, 13_000))).toBeDefined()
    // nothing could move it before a process was there
    expect(shown(holder({ report: { ...report, begun: now - 4_000 } }), unmoved(null, 60_000))).toBeUndefined()
  })

  test('no process lives that could move it: that is no stall, and other commands say so', () => {
    expect(stallsIn([holder({ isAlive: false, report })], [unmoved('p', 60_000), unmoved(null, 60_000)], now)).toEqual(
      [],
    )
    expect(stallsIn([], [unmoved(null, 60_000)], now)).toEqual([])
  })

  test('a run whose process is gone', () => {
    const gone = { id: 'q', isAlive: false, drives: [] }
    expect(stallsIn([holder({ report }), gone], [unmoved('q', 6_000)], now)).toMatchObject([
      { waitsFor: 'takeover', holder: 'q' },
    ])
  })

  test('a process that holds runs and has said nothing for longer than its own delay explains', () => {
    expect(shown(holder({ report: { ...report, at: now - 6_000 } }), unmoved('p', 60_000))).toBeUndefined()
    expect(shown(holder({ report: { ...report, at: now - 7_000 } }), unmoved('p', 60_000))).toEqual({
      run,
      since: now - 7_000,
      waitsFor: 'event-loop',
      holder: 'p',
    })
    expect(
      shown(holder({ report: { ...report, at: now - 7_000, delayMs: 500 } }), unmoved('p', 60_000)),
    ).toBeUndefined()
  })

  test('a process that lives says it of its own runs; one that says nothing of itself is believed', () => {
    const told = { run, since: now - 9_000, waitsFor: 'code' } as const
    expect(shown(holder({ report: { ...report, stalled: [told] } }), unmoved('p', 9_000))).toEqual({
      ...told,
      holder: 'p',
    })
    expect(shown(holder({ report }), unmoved('p', 60_000))).toBeUndefined()
    expect(shown(holder(), unmoved('p', 60_000))).toBeUndefined()
  })
})

describe('real processes', () => {
  test('a blocked event loop, code outside of steps, and no worker are stalls; a long effect is none', async () => {
    const file = inFolder()
    const blocked = launch('block', file, '120000', '3000')
    await blocked.line('working')
    const engine = open(file, { strict: false, onWarning: () => undefined })
    const never = new Promise<never>(() => {})
    const driven = registry({
      patient: (ctx) =>
        step(
          ctx,
          'work',
          ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
        ),
      foreign: async () => await never,
    })
    engine.drive(driven)
    for (const agent of ['patient', 'foreign', 'unknown'])
      await engine.start({ run: agent as RunId, agent, version: '1', input: null })
    const stalls = async (): Promise<Record<string, StalledRun>> =>
      Object.fromEntries(((await engine.status(100)).stalled ?? []).map((each) => [each.run, each]))
    await expect
      .poll(async () => Object.keys(await stalls()).sort(), { timeout: 45_000 })
      .toEqual(['blocked', 'foreign', 'unknown'])
    const owner = behind(
      file,
      (db) => db.prepare("SELECT owner FROM run WHERE id = 'blocked'").get()!['owner'] as string,
    )
    expect(await stalls()).toMatchObject({
      blocked: { waitsFor: 'event-loop', holder: owner, since: expect.any(Number) as number },
      foreign: { waitsFor: 'code', holder: engine.store.lease.id },
      unknown: { waitsFor: 'worker' },
    })
    // as an operator sees it, in a process of their own
    const { out } = await reeve(dirname(file), 'doctor', '--store', file)
    expect(out).toMatch(
      new RegExp(
        `blocked is stalled since .*: the event loop of its process stands still; held by ${owner} \\(pid \\d+`,
      ),
    )
    expect(out).not.toMatch(/patient is stalled/)
    const listed = await reeve(dirname(file), 'runs', '--store', file)
    expect(listed.out).toMatch(/stalled since .*Z: its code awaits something outside of a step/)
  }, 110_000)
})
