/** One feed of a run and its child runs: an order that may have been, with the leader's positions untouched. */
import { expect, test } from 'vitest'
import { childActivation, completed, rootActivation, runOf, type ActivationId, type RunId } from '@reeve/core'
import { childRunsIn, woven, type JournalEvent, type Recorded } from '../src/index.ts'

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
