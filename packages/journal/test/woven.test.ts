/** One feed of a run and its child runs: an order that may have been, with the leader's positions untouched. */
import { expect, test } from 'vitest'
import { childActivation, completed, rootActivation, runOf, type ActivationId, type RunId } from '@reeve/core'
import { childRunsIn, woven, WovenReading, type JournalEvent, type Recorded } from '../src/index.ts'

const root = rootActivation('run_1' as RunId)
const entry = (activation: ActivationId, position: number, event: JournalEvent): Recorded => ({
  run: runOf(activation),
  activation,
  position,
  seq: position - 1,
  at: position,
  event,
})
const born = (agent: string): JournalEvent => ({ type: 'activation.started', agent, version: '1', input: null })
const begins = (address: string): JournalEvent => ({
  type: 'worker.started',
  op: 'worker',
  address,
  agent: address,
  apart: true,
})
const ends = (address: string): JournalEvent => ({
  type: 'worker.settled',
  address,
  outcome: completed(address),
  apart: true,
})
const settled: JournalEvent = { type: 'activation.settled', outcome: completed(null) }

const [one, two] = ['one', 'two'].map((address) => childActivation(root, address, true)) as [ActivationId, ActivationId]
const nested = childActivation(one, 'deep', true)
const leader = [
  entry(root, 1, born('lead')),
  entry(root, 2, begins('one')),
  entry(root, 3, begins('two')),
  entry(root, 4, ends('one')),
]
const children = new Map<RunId, readonly Recorded[]>([
  [
    runOf(one),
    [entry(one, 1, born('one')), entry(one, 2, begins('deep')), entry(one, 3, ends('deep')), entry(one, 4, settled)],
  ],
  [runOf(two), [entry(two, 1, born('two'))]],
  [runOf(nested), [entry(nested, 1, born('deep')), entry(nested, 2, settled)]],
])

test('what a child run has recorded stands before its end is told; what has not ended stands last', () => {
  const whole = woven(leader, children)
  expect(whole.map(({ activation, event }) => [activation.slice(root.length), event.type])).toEqual([
    ['', 'activation.started'],
    ['', 'worker.started'],
    ['', 'worker.started'],
    ['>>one', 'activation.started'],
    ['>>one', 'worker.started'],
    ['>>one>>deep', 'activation.started'],
    ['>>one>>deep', 'activation.settled'],
    ['>>one', 'worker.settled'],
    ['>>one', 'activation.settled'],
    ['', 'worker.settled'],
    ['>>two', 'activation.started'],
  ])
  const positions = whole.map(({ position }) => position)
  expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  expect(new Set(positions).size).toBe(positions.length)
  expect(whole.filter(({ activation }) => activation === root)).toEqual(leader)
})

test('a worker for which there was no room has no run', () => {
  const refused = {
    ...begins('one'),
    refused: { code: 'budget.exceeded', message: 'no', class: 'budget', retryable: false },
  } as JournalEvent
  expect(childRunsIn([entry(root, 1, refused), entry(root, 2, begins('two'))])).toEqual([runOf(two)])
})

test('a run without child runs is as it is', () => {
  const alone = [entry(root, 1, born('lead')), entry(root, 2, settled)]
  expect(woven(alone, new Map())).toEqual(alone)
})

test('while they are read: each event once, child runs between the events of the run, the rest of one before its end', () => {
  const reading = new WovenReading(root.slice('act_'.length) as RunId)
  const seen: (readonly [ActivationId, number])[] = []
  const read = (run: RunId, feed: readonly Recorded[]): void => {
    for (const recorded of feed) {
      const ended = reading.endedBy(recorded)
      if (ended !== undefined) read(ended, children.get(ended)!)
      const placed = reading.take(recorded)
      if (placed !== undefined) seen.push([placed.activation, placed.position])
    }
    expect(reading.positionOf(run)).toBe(feed.at(-1)!.position)
  }
  read(reading.root, leader.slice(0, 3))
  expect([...reading.runs()]).toEqual([reading.root, runOf(one), runOf(two)])
  read(runOf(one), children.get(runOf(one))!.slice(0, 2))
  read(reading.root, leader)
  // one that has ended for its leader and goes on is read on
  read(runOf(two), children.get(runOf(two))!)

  const each = 2 ** -20
  expect(seen).toEqual([
    [root, 1],
    [root, 2],
    [root, 3],
    [one, 3 + each],
    [one, 3 + 2 * each],
    [nested, 3 + 3 * each],
    [nested, 3 + 4 * each],
    [one, 3 + 5 * each],
    [one, 3 + 6 * each],
    [root, 4],
    [two, 4 + each],
  ])
  expect([reading.root, runOf(one), runOf(nested), runOf(two)].map((run) => reading.isOver(run))).toEqual([
    false,
    true,
    true,
    false,
  ])
})
