import { expect, test } from 'vitest'
import { applyMessage } from '@reeve/client'
import type { LiveActivation, LiveMessage, LiveRun, PartMessage } from '@reeve/server/wire'
import { UnreadTexts } from '../../src/pages/run/live-text.ts'
import { RunStore } from '../../src/pages/run/run-store.ts'

const call = { kind: 'model', address: 'turn/model', name: 'm', since: 1, failedAttempts: 0, inDoubt: false } as const
const view = (open: LiveActivation['open']): LiveActivation =>
  ({ activation: 'act_a', agent: 'a', open }) as unknown as LiveActivation
const run = (open: LiveActivation['open']): LiveRun =>
  ({ head: {}, activations: { act_a: view(open) }, approvals: {}, interrupts: {}, doubts: {}, teams: {} }) as never
const piece = (text: string, offset: number): PartMessage =>
  ({
    activation: 'act_a',
    address: 'turn/model',
    attempt: 1,
    agent: 'a',
    path: ['a'],
    offset,
    part: { type: 'text.delta', id: 't', text },
  }) as unknown as PartMessage
/** Takes a message as the stream of the client passes it on. */
function take(store: RunStore, message: LiveMessage): void {
  const state = applyMessage(store.state().run, message)
  if (state !== undefined) store.take(state, message.type === 'snapshot')
}
const said = (store: RunStore): readonly string[] => store.texts.of('act_a').map(({ last }) => last)

test('pieces that come twice count once, and those of a call that has ended not at all', () => {
  const store = new RunStore((draw) => draw())
  take(store, { type: 'parts', parts: [piece('too early', 0)] })
  take(store, { type: 'snapshot', run: run([call]) })
  take(store, { type: 'parts', parts: [piece('Once', 0)] })
  take(store, { type: 'parts', parts: [piece('Once upon', 0), piece(' a time', 9)] })
  expect(said(store)).toEqual(['Once upon a time'])
  take(store, { type: 'patch', patch: { activations: { act_a: view([]) } } })
  expect(said(store)).toEqual([])
  take(store, { type: 'parts', parts: [piece(', late', 16)] })
  expect(said(store)).toEqual([])
})

test('a text whose call has ended is shown until the journal was read afterwards, or it is said anew', () => {
  const store = new RunStore((draw) => draw())
  const unread = new UnreadTexts()
  const shown = (readAt: number): readonly string[] =>
    unread
      .shown(store.texts.of('act_a'), store.changes(), readAt)
      .map(({ text, hasEnded }) => `${text.last}${hasEnded ? '' : '…'}`)
  take(store, { type: 'snapshot', run: run([call]) })
  take(store, { type: 'parts', parts: [piece('Once', 0)] })
  const before = store.changes()
  expect(shown(before)).toEqual(['Once…'])
  take(store, { type: 'patch', patch: { activations: { act_a: view([]) } } })
  // a reading that began before the end need not have it
  expect(shown(before)).toEqual(['Once'])
  expect(shown(before)).toEqual(['Once'])
  expect(shown(store.changes())).toEqual([])
  expect(shown(before)).toEqual([])
  take(store, { type: 'patch', patch: { activations: { act_a: view([call]) } } })
  take(store, { type: 'parts', parts: [piece('Twice', 0)] })
  expect(shown(before)).toEqual(['Twice…'])
  take(store, { type: 'snapshot', run: run([call]) })
  expect(shown(before)).toEqual(['Twice'])
  take(store, { type: 'parts', parts: [piece('Twice u', 0)] })
  expect(shown(before)).toEqual(['Twice u…'])
})
