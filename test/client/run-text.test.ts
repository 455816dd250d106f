/** The text of a run for a reader over HTTP: two calls of one agent at once, and attempts that begin again (K9). */
import { expect, test } from 'vitest'
import type { ActivationId } from '../../src/core/index.ts'
import { RunTextReader } from '../../src/client/run-text.ts'
import type { FeedMessage } from '../../src/server/wire.ts'

const activation = 'act_1' as ActivationId
const part = (address: string, offset: number, text: string, attempt = 1): FeedMessage => ({
  type: 'part',
  part: { activation, address, attempt, agent: 'a', path: ['a'], offset, part: { type: 'text.delta', id: '0', text } },
})
const event = (given: object): FeedMessage =>
  ({ type: 'event', event: { activation, event: given } }) as unknown as FeedMessage
const asked = (address: string): FeedMessage => event({ type: 'model.requested', address })
const answered = (address: string, text: string): FeedMessage =>
  event({ type: 'step.settled', address, outcome: { status: 'completed', output: { text } } })

function read(...messages: readonly FeedMessage[]): string {
  const reader = new RunTextReader({})
  return [event({ type: 'activation.started', agent: 'a' }), ...messages].map((each) => reader.take(each)).join('|')
}

test('two calls of one agent at once: each text once', () => {
  const [turn, aside] = ['turn/model', 'question/model']
  expect(
    read(
      asked(turn),
      part(turn, 0, 'I wait '),
      asked(aside),
      part(aside, 0, 'Blue '),
      part(turn, 7, 'for '),
      answered(aside, 'Blue sky.'),
      part(turn, 11, 'it'),
      answered(turn, 'I wait for it.'),
    ),
  ).toBe('||I wait ||Blue |for |sky.|it|.')
})

test('the same attempt from its beginning again, as after a pause: its text follows', () => {
  expect(
    read(asked('m'), part('m', 0, 'one '), part('m', 0, 'new '), part('m', 4, 'e'), answered('m', 'new end')),
  ).toBe('||one |new |e|nd')
})

test('what was missed comes once it is recorded', () => {
  expect(read(asked('m'), part('m', 0, 'a'), part('m', 2, 'c'), answered('m', 'abc'))).toBe('||a||bc')
})
