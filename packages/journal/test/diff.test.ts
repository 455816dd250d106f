/** Where two runs part: a pure fold of their events (K1). */
import { describe, expect, test } from 'vitest'
import { childActivation, completed, rootActivation, runId, type ActivationId, type RunId } from '@reeve/core'
import { diffOf, type JournalEvent, type Recorded } from '../src/index.ts'

/** A run with one worker; what it did, from one position on. */
function journal(
  run: RunId,
  from: number,
  price: string,
  more: (root: ActivationId) => readonly (readonly [ActivationId, JournalEvent])[] = () => [],
) {
  const root = rootActivation(run)
  const worker = childActivation(root, 'delegate/price')
  const entries: (readonly [ActivationId, JournalEvent])[] = [
    [root, { type: 'activation.started', agent: 'boss', version: '1', input: 'go', caller: { user: run } }],
    [root, { type: 'worker.started', op: 'worker', address: 'delegate/price', agent: 'price' }],
    [worker, { type: 'activation.started', agent: 'price', version: '1', input: { asks: root } }],
    [worker, { type: 'step.begun', op: 'step', address: 'look', effect: 'read' }],
    [
      worker,
      {
        type: 'step.attempt-failed',
        address: 'look',
        attempt: 1,
        delayMs: from,
        failure: { code: 'tool.failed', message: 'x' } as never,
      },
    ],
    [worker, { type: 'step.settled', address: 'look', outcome: completed(price), attempts: from }],
    [worker, { type: 'activation.settled', outcome: completed(price) }],
    [root, { type: 'worker.settled', address: 'delegate/price', outcome: completed(price) }],
    ...more(root),
  ]
  return entries.map(([activation, event], i): Recorded => ({
    position: from + i,
    run,
    activation,
    seq: i,
    at: from + i,
    event,
  }))
}
const [a, b] = [runId('a'), runId('b')]

describe('two runs', () => {
  test('equal work compares equal under other ids, positions, times and attempts', () => {
    const ask =
      (id: string) =>
      (root: ActivationId): readonly (readonly [ActivationId, JournalEvent])[] => [
        [
          root,
          {
            type: 'interrupt.raised',
            op: 'ask',
            address: 'q',
            id,
            question: 'well?',
            path: ['boss'],
            until: id.length,
          },
        ],
      ]
    const { same, first, differences, one, other } = diffOf(
      journal(a, 1, '9', ask('int_1')),
      journal(b, 100, '9', ask('int_200')),
    )
    expect([one, other, same, first, differences]).toEqual([a, b, 8, undefined, []])
  })
  test('equal work compares equal under other call and message ids; another call differs', () => {
    const turn =
      (id: string, own: string, tool = 'read') =>
      (root: ActivationId): readonly (readonly [ActivationId, JournalEvent])[] => [
        [
          root,
          {
            type: 'step.settled',
            address: 'turn',
            outcome: completed({ text: '', calls: [{ id, name: tool, input: {} }] }),
          },
        ],
        [root, { type: 'tool.called', op: 'step', address: 'call', effect: 'read', tool, callId: id }],
        [root, { type: 'step.settled', address: 'call', outcome: completed(`see ${own} of ${id}`) }],
      ]
    const [one, other] = ['call_b984cbc3a6335c1c', 'call_5a638b3db1ad62e6']
    const [msg, msg2] = ['msg_00112233445566778899', 'msg_0123456789abcdef']
    expect(diffOf(journal(a, 1, '9', turn(one, msg)), journal(b, 5, '9', turn(other, msg2))).differences).toEqual([])
    expect(
      diffOf(journal(a, 1, '9', turn('toolu_1', '')), journal(b, 5, '9', turn('toolu_2', ''))).differences,
    ).toMatchObject([{ address: 'call', one: { event: { type: 'step.settled' } } }])
    expect(
      diffOf(journal(a, 1, '9', turn(one, msg)), journal(b, 5, '9', turn(other, other))).differences,
    ).toMatchObject([{ address: 'call' }])
    expect(
      diffOf(journal(a, 1, '9', turn(one, msg)), journal(b, 5, '9', turn(other, msg, 'write'))).differences,
    ).toHaveLength(2)
  })
  test('part where something ended differently; what followed is told after it', () => {
    const { same, first, differences } = diffOf(journal(a, 1, '9'), journal(b, 100, '12'))
    expect(first).toMatchObject({
      path: 'delegate/price',
      agent: 'price',
      address: 'look',
      one: { run: a, position: 6, event: { outcome: completed('9') } },
      other: { run: b, position: 105, event: { outcome: completed('12') } },
    })
    expect(same).toBe(4)
    expect(differences.map(({ path, one: each }) => [path, each?.event.type])).toEqual([
      ['delegate/price', 'step.settled'],
      ['delegate/price', 'activation.settled'],
      ['', 'worker.settled'],
    ])
  })
  test('of which one went on have something that the other has not', () => {
    const called =
      (name: string) =>
      (root: ActivationId): readonly (readonly [ActivationId, JournalEvent])[] => [
        [root, { type: 'tool.called', op: 'step', address: name, effect: 'once', tool: name }],
      ]
    const { differences } = diffOf(journal(a, 1, '9', called('pay')), journal(b, 1, '9', called('refund')))
    expect(differences).toMatchObject([
      { address: 'pay', one: { event: { tool: 'pay' } } },
      { address: 'refund', other: { event: { tool: 'refund' } } },
    ])
    expect([differences[0]!.other, differences[1]!.one]).toEqual([undefined, undefined])
    expect(diffOf(journal(a, 1, '9'), []).differences).toHaveLength(7)
    expect(diffOf([], [])).toEqual({ one: undefined, other: undefined, same: 0, differences: [] })
  })
})
