/**
 * The governor under runs: many at once against a model that takes few, on a clock that moves only when nothing else
 * can. Embedded engine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { failure, FailureError, usageRow } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import { Governor, governorOf } from '../src/index.ts'
import type { Model } from '@reeve/model'
import { createRuntime, type RunOutcome, type Runtime } from '@reeve/runtime'
import { manualClock, manualStart, type ManualClock } from '@reeve/testing'

let folder = ''
const open: Runtime[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-governor-'))
})
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close({ graceMs: 0 })
  rmSync(folder, { recursive: true, force: true })
})

const id = 'vendor/model'
const tooMany = (retryAfterMs?: number): FailureError =>
  new FailureError(
    failure('model.unavailable', 'too many', 'rate-limit', retryAfterMs === undefined ? {} : { retryAfterMs }),
  )

/** A model that takes so many calls at once and refuses the others at once. */
function narrow(clock: ManualClock, width: number, takesMs = 1_000, retryAfterMs?: number) {
  const seen = { asked: 0, refused: 0, atOnce: 0, most: 0, at: [] as number[] }
  const model: Model = {
    id,
    call: ({ signal }) => {
      seen.asked++
      seen.at.push(clock.now() - manualStart)
      if (seen.atOnce >= width) {
        seen.refused++
        return Promise.reject(tooMany(retryAfterMs))
      }
      seen.most = Math.max(seen.most, ++seen.atOnce)
      return new Promise((resolve, reject) => {
        const callOff = clock.timer(clock.now() + takesMs, () => {
          seen.atOnce--
          resolve({ text: 'done', calls: [], finish: 'stop', usage: { input: 1, output: 1 }, model: id })
        })
        signal.addEventListener('abort', () => {
          callOff()
          seen.atOnce--
          reject(signal.reason as Error)
        })
      })
    },
  }
  return { model, seen }
}

interface Stage {
  readonly clock: ManualClock
  readonly governor: Governor
  readonly runtime: (file?: string) => Promise<{ readonly runtime: Runtime; readonly engine: EmbeddedEngine }>
  /** Until nothing moves any more without the clock. */
  readonly rests: () => Promise<void>
  /** Moves the clock until this is there. */
  readonly until: <T>(end: Promise<T>) => Promise<T>
}

function stage(model: (clock: ManualClock) => Model, own = true): Stage {
  const clock = manualClock()
  const governor = own ? new Governor(clock) : governorOf(clock)
  const engines: EmbeddedEngine[] = []
  const made = agent({ name: 'writer', description: 'Writes.', model: model(clock) })
  const rests = async (): Promise<void> => {
    for (let quiet = 0; quiet < 4; quiet++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (engines.some(({ driver }) => driver.busy)) quiet = -1
    }
  }
  return {
    clock,
    governor,
    rests,
    runtime: async (file = ':memory:') => {
      const engine = createEmbeddedEngine({
        file,
        clock,
        strict: true,
        durability: 'relaxed',
        onWarning: () => {},
        ...(own ? { governor } : {}),
      })
      const runtime = await createRuntime({ engine, clock, agents: [made] })
      engines.push(engine)
      open.push(runtime)
      return { runtime, engine }
    },
    until: async (end) => {
      let over = false
      const done = end.finally(() => (over = true))
      done.catch(() => {})
      for (;;) {
        await rests()
        if (over || !clock.advanceToNext()) return done
      }
    },
  }
}

const all = (runtime: Runtime, count: number): Promise<RunOutcome[]> =>
  Promise.all(Array.from({ length: count }, () => runtime.run('writer', 'Go')))

describe('a storm', () => {
  test.each([
    [100, 20],
    [60, 5],
    [40, 1],
  ])(
    '%i runs against a model that takes %i at once: all complete, few are refused after the first wave',
    async (runs, width) => {
      let seen!: ReturnType<typeof narrow>['seen']
      const { runtime, until, governor } = stage((clock) => {
        const made = narrow(clock, width)
        seen = made.seen
        return made.model
      })
      const outcomes = await until(all((await runtime()).runtime, runs))
      expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: runs }, () => 'completed'))
      // calls leave some at a time: what the first of them hear, the others need not
      expect(seen.refused).toBeGreaterThan(0)
      expect(seen.refused).toBeLessThan(runs - width + runs / 5)
      expect(governor.state()).toMatchObject([{ underWay: 0, waiting: 0 }])
    },
  )

  test('team C54: Retry-After of 7 s is kept by the call that was told and by those that come meanwhile, in turn', async () => {
    let calls = 0
    const at: number[] = []
    const { runtime, until, clock, rests } = stage((now) => ({
      id,
      call: () => {
        at.push(now.now() - manualStart)
        return ++calls === 1
          ? Promise.reject(tooMany(7_000))
          : Promise.resolve({ text: 'done', calls: [], finish: 'stop', model: id })
      },
    }))
    const { runtime: runs } = await runtime()
    const first = runs.run('writer', 'Go')
    await rests()
    clock.advance(3_000)
    const second = runs.run('writer', 'Go')
    await until(Promise.all([first, second]))
    expect(at).toEqual([0, 7_000, 7_000])
  })

  test('engines of one process and one time share it', async () => {
    let seen!: ReturnType<typeof narrow>['seen']
    const { runtime, until, rests, governor } = stage((now) => {
      const made = narrow(now, 1, 1_000, 500)
      seen = made.seen
      return made.model
    }, false)
    const [one, other] = [(await runtime()).runtime, (await runtime()).runtime]
    const begun = [one.run('writer', 'Go'), one.run('writer', 'Go')]
    await rests()
    expect(seen).toMatchObject({ asked: 2, refused: 1 })
    begun.push(other.run('writer', 'Go'))
    await rests()
    expect(seen.asked).toBe(2)
    expect(governor.state()).toMatchObject([{ limit: 1, underWay: 1, waiting: 1 }])
    const outcomes = await until(Promise.all(begun))
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
    expect(seen.most).toBe(1)
    expect([seen.asked - 3, seen.refused < 3]).toEqual([seen.refused, true])
  })
})

/** One call is out for an hour, one waits behind it: `waiting`. */
async function queued(file?: string, limits?: { readonly minutes?: number; readonly tokens?: number }) {
  let seen!: ReturnType<typeof narrow>['seen']
  const made = stage((clock) => {
    const { model, seen: of } = narrow(clock, 2, 3_600_000)
    seen = of
    return model
  })
  const { governor } = made
  const { runtime, engine } = await made.runtime(file)
  // known to be narrow, by somebody else's call
  governor.pass(id, () => {}).end('refused')
  const first = await runtime.start('writer', 'Go', { runId: 'first' })
  await made.rests()
  const waiting = await runtime.start('writer', 'Go', {
    runId: 'waiting',
    ...(limits === undefined ? undefined : { limits }),
  })
  await made.rests()
  expect(governor.state()).toMatchObject([{ underWay: 1, waiting: 1, limit: 1 }])
  expect(seen.asked).toBe(1)
  return { ...made, runtimes: runtime, engine, first, waiting, seen }
}

const typesOf = async (run: { events(): AsyncIterable<{ event: { type: string } }> }): Promise<string[]> => {
  const types: string[] = []
  for await (const { event } of run.events()) types.push(event.type)
  return types
}

describe('a call that waits', () => {
  test('K8: is stopped at once; it never left, used nothing and counts as no call', async () => {
    const { waiting, rests, governor, seen } = await queued(undefined, { tokens: 10_000 })
    await waiting.control.cancel('enough')
    await rests()
    const outcome = await waiting.outcome()
    expect(outcome).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(seen.asked).toBe(1)
    expect(governor.state()).toMatchObject([{ underWay: 1, waiting: 0 }])
    expect(await typesOf(waiting)).not.toContain('step.attempt-failed')
    expect((await waiting.view()).usage).toEqual([])
  })

  test('K8: a pause takes hold at once; it comes in turn when the run goes on', async () => {
    const { waiting, first, rests, governor, seen, until } = await queued()
    await waiting.control.pause()
    await rests()
    expect((await waiting.view()).status).toBe('paused')
    expect(governor.state()).toMatchObject([{ underWay: 1, waiting: 0 }])
    await waiting.control.resume()
    await rests()
    expect(governor.state()).toMatchObject([{ underWay: 1, waiting: 1 }])
    expect((await until(Promise.all([first.outcome(), waiting.outcome()]))).map(({ status }) => status)).toEqual([
      'completed',
      'completed',
    ])
    expect(seen).toMatchObject({ asked: 2, refused: 0, most: 1 })
  })

  test('is not working: neither minutes nor a timeout run meanwhile', async () => {
    const { waiting, first, until, seen } = await queued(undefined, { minutes: 61 })
    const [, outcome] = await until(Promise.all([first.outcome(), waiting.outcome()]))
    expect(outcome).toMatchObject({ status: 'completed' }) // it waited an hour and worked for another
    expect(seen.at).toEqual([0, 3_600_000])
  })

  test('K6: closing the process while it waits loses nothing, and frees its place for others', async () => {
    const file = join(folder, 'reeve.db')
    const { runtimes, governor, runtime, until, seen } = await queued(file)
    await runtimes.close({ graceMs: 0 })
    expect(governor.state()).toMatchObject([{ underWay: 0, waiting: 0 }])
    expect(seen.asked).toBe(1)
    const { runtime: next } = await runtime(file)
    const outcomes = await until(Promise.all([next.handle('first').outcome(), next.handle('waiting').outcome()]))
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'completed'])
    expect(await typesOf(next.handle('waiting'))).not.toContain('step.attempt-failed')
  })

  test('usage: a call that left and was stopped is unknown, one that only waited is nothing', async () => {
    const { waiting, first, rests } = await queued()
    await Promise.all([first.control.cancel('enough'), waiting.control.cancel('enough')])
    await rests()
    expect((await first.view()).usage).toEqual([usageRow('writer', id, undefined)])
    expect((await waiting.view()).usage).toEqual([])
  })
})
