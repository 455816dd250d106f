/**
 * What a log holds of an activation: claiming by address, former names, what stands in the way of a new effect (K3,
 * K4).
 */
import { describe, expect, test } from 'vitest'
import type { JournalEvent } from '@reeve/journal'
import { RecordedLog } from '../src/replay/recorded-log.ts'
import { completed } from '@reeve/core'

const step = (address: string, effect: 'read' | 'idempotent' | 'once' = 'idempotent'): JournalEvent => ({
  type: 'step.begun',
  op: 'step',
  address,
  effect,
})
const end = (address: string): JournalEvent => ({ type: 'step.settled', address, outcome: completed(address) })
const begun = { type: 'step.begun', op: 'step', effect: 'idempotent' } as const

function logOf(...events: readonly JournalEvent[]): RecordedLog {
  const log = new RecordedLog()
  for (const [i, event] of events.entries()) log.fold(i, 1_000 + i, event)
  return log
}

describe('K3: arrivals', () => {
  test('come in recorded order, each once', () => {
    const log = logOf(step('a'), step('b'), end('b'), end('a'))
    expect(
      [log.nextArrival(), log.nextArrival(), log.nextArrival()].map(
        (past) => past && [past.at, (past.event as { address: string }).address],
      ),
    ).toEqual([[1_002, 'b'], [1_003, 'a'], undefined])
    expect(log.replaying).toBe(false)
  })

  test('of a log with a gap are not given: the journal has a hole', () => {
    const log = logOf(step('a'))
    expect(() => log.fold(2, 0, end('a'))).toThrow(expect.objectContaining({ code: 'journal.hole' }))
  })
})

describe('K4: a command', () => {
  test('is claimed once, under its address or a former name in the same scope', () => {
    const log = logOf(step('s/old'))
    expect(log.claim('s/new', 'step', 's/', undefined)).toBeUndefined()
    expect(log.claim('s/new', 'step', 's/', ['old'])?.address).toBe('s/old')
    expect(log.claim('s/new', 'step', 's/', ['old'])).toBeUndefined()
    expect(log.unclaimedAddresses).toEqual([])
  })

  test('of another kind under the same address stands in the way', () => {
    expect(logOf(step('a')).obstacles('a', { type: 'timer.set', op: 'ask' }, undefined)).toEqual(['a'])
  })

  test('that is a new effect is stopped by recorded effects that the code has not asked for; a read is not', () => {
    const log = logOf(step('a'), step('look', 'read'))
    expect(log.obstacles('b', begun, undefined)).toEqual(['a'])
    expect(log.obstacles('b', { ...begun, effect: 'read' }, undefined)).toEqual([])
    expect(log.obstacles('b', begun, [])).toEqual([]) // it says that it replaces nothing
    log.claim('a', 'step', '', undefined)
    expect(log.obstacles('b', begun, undefined)).toEqual([])
  })

  test('that an operator has mapped, dropped or let execute is not in the way any more', () => {
    const resolved = (action: 'map' | 'execute' | 'drop', to?: string): JournalEvent => ({
      type: 'replay.resolved',
      address: action === 'drop' ? 'a' : 'b',
      action,
      ...(to === undefined ? {} : { to }),
    })
    expect(logOf(step('a'), resolved('map', 'a')).claim('b', 'step', '', undefined)?.address).toBe('a')
    expect(logOf(step('a'), resolved('execute')).obstacles('b', begun, undefined)).toEqual([])
    const dropped = logOf(step('a'), resolved('drop'))
    expect(dropped.obstacles('b', begun, undefined)).toEqual([])
    expect(dropped.abandoned.map(({ address }) => address)).toEqual(['a'])
  })
})

test('a new segment keeps only what is open and what was not read', () => {
  const worker: JournalEvent = { type: 'worker.started', op: 'worker', address: 'w', agent: 'w' }
  const unread = { type: 'message.received', id: 'msg_1' as never, body: 'hello' } as const
  const log = logOf(step('a'), worker, {
    type: 'activation.restarted',
    segment: 1,
    state: 7,
    open: [{ address: 'w', op: 'worker' }],
    unread: [unread],
    before: { begun: [worker] },
  })
  expect([log.segment, log.carried, log.open.map(({ event }) => event.address)]).toEqual([1, 7, ['w']])
  expect(log.holds('a')).toBe(false)
  expect(log.nextArrival()?.event).toEqual(unread)
  expect(log.endUnclaimed('w')?.ended).toBe(true)
  expect(log.endUnclaimed('w')).toBeUndefined()
})
