/**
 * Many runs against a model that takes few calls at once: the governor of the process, in real time and on every
 * engine. What it does in which moment is in packages/engine/test/governor-runs.test.ts.
 */
import { expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'
import { governorOf } from '@reeve/engine'
import type { ModelFunction } from '@reeve/model'
import { pause, runtimeOf, store } from './team.ts'

const tooMany = (retryAfterMs?: number): FailureError =>
  new FailureError(
    failure('model.unavailable', 'too many', 'rate-limit', retryAfterMs === undefined ? {} : { retryAfterMs }),
  )

test('a storm of 24 on a model that takes 4: all complete, and few are refused after the first wave', async () => {
  const seen = { asked: 0, refused: 0, atOnce: 0 }
  const narrowModel: ModelFunction = async () => {
    seen.asked++
    if (seen.atOnce >= 4) {
      seen.refused++
      throw tooMany()
    }
    seen.atOnce++
    await pause(10)
    seen.atOnce--
    return 'done'
  }
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    model: narrowModel,
    retry: { attempts: 8, backoffMs: 20 },
  })
  const runtime = await runtimeOf([writer], { store: store() })
  const outcomes = await Promise.all(Array.from({ length: 24 }, () => runtime.run(writer, 'Go')))
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 'completed'))
  expect(seen.asked).toBe(24 + seen.refused)
  expect(seen.refused).toBeLessThan(24 + 12)
})

test('calls that wait longer than the other side said leave in turn, and can be stopped at once', async () => {
  const at: number[] = []
  const slowedModel: ModelFunction = () => {
    at.push(Date.now())
    if (at.length === 1) throw tooMany(1_500)
    return 'done'
  }
  const writer = agent({ name: 'writer', description: 'Writes.', model: slowedModel })
  const runtime = await runtimeOf([writer], { store: store() })
  const first = await runtime.start(writer, 'Go')
  const governed = () =>
    governorOf()
      .state()
      .find(({ model }) => model.endsWith('slowedModel'))

  await expect.poll(() => governed()?.limit).toBe(1)
  const [waits, stopped] = [await runtime.start(writer, 'Go'), await runtime.start(writer, 'Go')]
  await expect.poll(() => governed()?.waiting).toBe(2)
  await stopped.control.cancel('enough')
  expect(await stopped.outcome()).toMatchObject({ status: 'cancelled' })
  expect(governed()?.waiting).toBe(1)
  expect(at).toHaveLength(1)
  const ends = await Promise.all([first.outcome(), waits.outcome()])
  expect(ends.map(({ status }) => status)).toEqual(['completed', 'completed'])
  expect(at).toHaveLength(3)
  expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(1_490)
})
