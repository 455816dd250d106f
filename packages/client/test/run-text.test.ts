/** The text of a run for a reader over HTTP: two calls of one agent at once, and attempts that begin again (K9). */
import { expect, test } from 'vitest'
import { withdrawnMark, type ActivationId } from '@reeve/core'
import { RunTextReader } from '../src/run-text.ts'
import type { FeedMessage } from '@reeve/server/wire'

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
  return [event({ type: 'activation.started', agent: 'a' }), ...messages].map((each) => reader.piece(each)).join('|')
}

/** The changes, as text where nothing is withdrawn. */
function changed(...messages: readonly FeedMessage[]): readonly unknown[] {
  const reader = new RunTextReader({})
  return [event({ type: 'activation.started', agent: 'a' }), ...messages].flatMap((each) =>
    reader.take(each).map(({ withdrawn, text }) => (withdrawn === 0 ? text : [withdrawn, text])),
  )
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

test('the same attempt from its beginning again, as after a pause: what it said before is withdrawn', () => {
  const messages = [asked('m'), part('m', 0, 'one '), part('m', 0, 'new '), part('m', 4, 'e'), answered('m', 'new end')]
  expect(read(...messages)).toBe(`||one |${withdrawnMark}new |e|nd`)
  expect(changed(...messages)).toEqual(['one ', [4, 'new '], 'e', 'nd'])
})

test('a next attempt that says the same goes on where the one before it stopped', () => {
  const messages = [
    asked('m'),
    part('m', 0, 'The answer is 4', 1),
    part('m', 0, 'The answer', 2),
    part('m', 10, ' is 42', 2),
    answered('m', 'The answer is 42.'),
  ]
  expect(read(...messages)).toBe('||The answer is 4||2|.')
  expect(changed(...messages)).toEqual(['The answer is 4', '2', '.'])
})

test('a next attempt that says something else from the middle on withdraws no more than that, and no half characters', () => {
  const messages = [asked('m'), part('m', 0, 'so 😀!', 1), part('m', 0, 'so 😁?', 2), answered('m', 'so 😁?')]
  expect(changed(...messages)).toEqual(['so 😀!', [3, '😁?']])
})

test('a shorter answer than what was shown of it is made so; thoughts that were shown as text are withdrawn', () => {
  expect(changed(asked('m'), part('m', 0, 'hm </think>Yes.'), answered('m', 'Yes.'))).toEqual([
    'hm </think>Yes.',
    [15, 'Yes.'],
  ])
  expect(changed(asked('m'), part('m', 0, 'Yes. And'), answered('m', 'Yes.'))).toEqual(['Yes. And', [4, '']])
})

test('a call that fails for good withdraws what it has said; plain text says so only where something follows', () => {
  const failed = event({ type: 'step.settled', address: 'm', outcome: { status: 'failed' } })
  const messages = [asked('m'), part('m', 0, 'I will'), failed]
  expect(changed(...messages)).toEqual(['I will', [6, '']])
  expect(read(...messages)).toBe('||I will|')
  expect(read(...messages, asked('n'), answered('n', 'Sorry.'))).toBe(`||I will|||${withdrawnMark}Sorry.`)
})

test('what was missed comes once it is recorded', () => {
  expect(read(asked('m'), part('m', 0, 'a'), part('m', 2, 'c'), answered('m', 'abc'))).toBe('||a||bc')
})
