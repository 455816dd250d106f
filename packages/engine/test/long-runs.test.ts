/** A run of more events than a call has arguments is forked and retried, and others have their turns meanwhile. */
import { expect, test } from 'vitest'
import { rootActivation, type RunId } from '@reeve/core'
import { planFork, retryPoint } from '../src/index.ts'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { turnsDuring } from '../../../test/turns.ts'

const run = 'long' as RunId
const steps = 70_000

/** A run of so many steps. Its last event: it waits, or it has failed. */
function feedOf(last: object): readonly Recorded[] {
  const activation = rootActivation(run)
  const events: object[] = [{ type: 'activation.started', agent: 'walker', version: '1', input: null }]
  for (let i = 0; i < steps; i++) {
    const address = `walk#${i}`
    events.push(
      { type: 'step.begun', op: 'step', address, effect: 'idempotent' },
      { type: 'step.settled', address, outcome: { status: 'completed', output: i } },
    )
  }
  return [...events, last].map((event, i): Recorded => {
    return { position: i + 1, run, activation, seq: i, at: i, event: event as JournalEvent }
  })
}

test('the plan of a fork', { timeout: 60_000 }, async () => {
  const feed = feedOf({ type: 'timer.set', op: 'ask', address: 'later', until: 10 ** 9 })
  const { result: plan, turns } = await turnsDuring(() =>
    planFork(
      { run, at: feed.length, to: 'fork' as RunId },
      {
        agent: 'walker',
        version: '1',
        caller: undefined,
        feed,
        mail: [],
        limits: new Map(),
        values: new Map(),
      },
      10 ** 6,
    ),
  )
  // the question is put again, and the fork says where it comes from
  expect(plan.entries.length).toBe(feed.length)
  expect(plan.entries.at(-1)!.event.type).toBe('run.forked')
  expect(turns).toBeGreaterThan(5)
})

test('the point of a retry', { timeout: 60_000 }, async () => {
  const failure = { code: 'orchestration.threw', message: 'no', class: 'internal', retryable: false }
  const feed = feedOf({ type: 'activation.settled', outcome: { status: 'failed', failure } })
  const { result: point, turns } = await turnsDuring(() => retryPoint(feed))
  expect(point).toMatchObject({ at: feed.length - 1, from: { redoes: 'code' }, discarded: { effects: 0 } })
  expect(turns).toBeGreaterThan(5)
})
