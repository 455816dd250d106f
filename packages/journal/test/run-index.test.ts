/** The run index: activations and what they have open, fed once per event and asked by every view (K1, K7). */
import { describe, expect, test } from 'vitest'
import { childActivation, completed, rootActivation, runId, type ActivationId } from '@reeve/core'
import { isPauseAfter, RunIndex, type JournalEvent, type Recorded } from '../src/index.ts'

const run = runId('r1')
const root = rootActivation(run)
const worker = childActivation(root, 'd1/worker')
const apart = childActivation(root, 'd2/worker', true)

const journal = (...entries: readonly (readonly [ActivationId, JournalEvent])[]): Recorded[] =>
  entries.map(([activation, event], i) => ({ position: i + 1, run, activation, seq: 0, at: (i + 1) * 1000, event }))

const started = (agent: string, more: object = {}): JournalEvent => ({
  type: 'activation.started',
  agent,
  version: '1+x',
  input: { brief: { instructions: 'go' }, ...more },
})
const begun = (address: string, more: object = {}): JournalEvent => ({
  type: 'worker.started',
  op: 'worker',
  address,
  agent: 'w',
  ...more,
})
const ended = (address: string, more: object = {}): JournalEvent => ({
  type: 'worker.settled',
  address,
  outcome: completed('done'),
  ...more,
})

function indexOf(events: readonly Recorded[]): RunIndex {
  const index = new RunIndex()
  for (const each of events) index.take(each)
  return index
}

describe('activations', () => {
  const events = journal(
    [root, started('lead')],
    [root, begun('d1/worker', { callId: 'c1' })],
    [worker, started('w', { delegation: 'd1' })],
    [worker, { type: 'activation.settled', outcome: completed('done') }],
    [root, ended('d1/worker')],
  )

  test('a worker has its leader, its path, its label, and the operation that began it', () => {
    const index = indexOf(events)
    expect(index.activations.get(worker)).toMatchObject({
      parent: root,
      path: ['lead', 'w'],
      delegation: 'd1',
      begunBy: { callId: 'c1' },
      startedAt: 3000,
      endedAt: 4000,
      status: 'completed',
    })
    expect([index.works(root), index.works(worker), index.works(undefined)]).toEqual([true, false, false])
    expect([...index.activations.keys()]).toEqual([root, worker])
  })

  test('an event that was taken in before changes nothing', () => {
    const index = indexOf(events)
    expect(events.map((each) => index.take(each))).toEqual(events.map(() => undefined))
    expect(index.position).toBe(5)
  })

  test('the end of an operation names what it closes, and the end of an activation everything it had open', () => {
    const index = indexOf(events.slice(0, 4))
    expect(index.take(events[4]!)?.closed.map(({ event }) => event.address)).toEqual(['d1/worker'])
    const more = journal(
      [root, started('lead')],
      [root, begun('a')],
      [root, { type: 'timer.set', op: 'ask', address: 'b' }],
      [root, { type: 'activation.settled', outcome: completed('done') }],
    )
    const another = indexOf(more.slice(0, 3))
    expect(another.take(more[3]!)?.closed.map(({ event }) => event.address)).toEqual(['a', 'b'])
    expect(another.activations.get(root)?.open.size).toBe(0)
  })

  test('a worker that is placed apart is an outline until its own events are taken in', () => {
    const index = indexOf(journal([root, started('lead')], [root, begun('d2/worker', { apart: true })]))
    expect(index.hasChildRuns).toBe(true)
    expect(index.activations.get(apart)).toMatchObject({ isOutline: true, apart: true, path: ['lead', 'w'] })
    index.take({ position: 3, run, activation: root, seq: 0, at: 9, event: ended('d2/worker', { apart: true }) })
    expect(index.activations.get(apart)).toMatchObject({ isOutline: true, status: 'completed', endedAt: 9 })
    const woven = indexOf(
      journal([root, started('lead')], [root, begun('d2/worker', { apart: true })], [apart, started('w')]),
    )
    expect(woven.activations.get(apart)).toMatchObject({ isOutline: false, apart: true, startedAt: 3000 })
  })
})

describe('the pause before another attempt', () => {
  const timer = (address: string, retryOf?: ActivationId) =>
    ({ type: 'timer.set', op: 'ask', address, ...(retryOf === undefined ? {} : { retryOf }) }) as const

  test('names the attempt that has failed', () => {
    expect(isPauseAfter(timer('x', worker), worker)).toBe(true)
    expect(isPauseAfter(timer('d1/retry', root), worker)).toBe(false)
    expect(isPauseAfter(timer('d1/retry'), worker)).toBe(false)
  })
})
