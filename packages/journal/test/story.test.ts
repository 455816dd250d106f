/** The story of a run: recorded events and live parts as one order of what happens. */
import { describe, expect, test } from 'vitest'
import { childActivation, completed, failed, rootActivation, runOf, type ActivationId, type RunId } from '@reeve/core'
import { heardText, Story, type LivePart, type JournalEvent, type Recorded, type StoryItem } from '../src/index.ts'

const root = rootActivation('run_1' as RunId)
const model = 'turn#1/model'
const failure = { code: 'request.failed', message: 'no', class: 'unknown', retryable: true } as const

let position = 0
const entry = (activation: ActivationId, event: JournalEvent): Recorded => {
  position++
  return { run: runOf(activation), activation, position, seq: position - 1, at: position, event }
}
const born = (agent: string, path?: readonly string[]): JournalEvent => ({
  type: 'activation.started',
  agent,
  version: '1',
  input: null,
  ...(path === undefined ? {} : { path }),
})
const asked = (address = model, more: object = {}): JournalEvent =>
  ({ type: 'model.requested', op: 'step', address, ...more }) as unknown as JournalEvent
const answered = (text: string, address = model, calls: readonly object[] = []): JournalEvent =>
  ({ type: 'step.settled', address, outcome: completed({ text, calls }) }) as unknown as JournalEvent
const gaveUp = (address = model): JournalEvent =>
  ({ type: 'step.settled', address, outcome: failed(failure) }) as unknown as JournalEvent
const begins = (address: string, more: object = {}): JournalEvent =>
  ({ type: 'worker.started', op: 'worker', address, agent: address, ...more }) as unknown as JournalEvent
const settled: JournalEvent = { type: 'activation.settled', outcome: completed(null) }

const piece = (text: string, offset: number, more: Partial<LivePart> = {}): LivePart => ({
  activation: root,
  address: model,
  epoch: 1,
  attempt: 1,
  offset,
  part: { type: 'text.delta', id: '0', text },
  ...more,
})

/** What is told of items: their type, and what they are of. */
const lines = (items: readonly StoryItem[]): readonly string[] =>
  items.map((item) => {
    switch (item.type) {
      case 'piece':
        return `piece ${item.answer.attempt} ${item.text}`
      case 'withdrawn':
        return `withdrawn ${heardText(item.answer, 'text')}`
      case 'said':
        return `said ${item.text} after ${item.heard === undefined ? 'nothing' : heardText(item.heard, 'text')}`
      case 'result':
        return 'result'
      default:
        return `${item.type} ${item.agent.agent}`
    }
  })

/** A story of a run whose lead is asked. */
function story(...events: readonly JournalEvent[]): { readonly told: Story; readonly take: typeof take } {
  const told = new Story()
  const take = (event: JournalEvent, of: ActivationId = root): readonly string[] => lines(told.take(entry(of, event)))
  for (const event of [born('lead'), asked(), ...events]) take(event)
  return { told, take }
}

describe('live text', () => {
  test('what is recorded completes what was heard of it; the same items come without it (K1, K9)', () => {
    const { told, take } = story()
    expect(lines(told.hear(piece('Hel', 0)))).toEqual(['piece 1 Hel'])
    expect(lines(told.hear(piece('lo', 3)))).toEqual(['piece 1 lo'])
    expect(take(answered('Hello!'))).toEqual(['answered lead', 'said Hello! after Hello'])
    expect(take(settled)).toEqual(['ended lead'])

    const late = story()
    expect(late.take(answered('Hello!'))).toEqual(['answered lead', 'said Hello! after nothing'])
  })

  test('a missed piece ends what is heard of its attempt', () => {
    const { told, take } = story()
    told.hear(piece('Hel', 0))
    expect(told.hear(piece('o', 4))).toEqual([])
    expect(told.hear(piece('!', 5))).toEqual([])
    expect(take(answered('Hello!'))).toEqual(['answered lead', 'said Hello! after Hel'])
  })

  test('a reader that has no room has missed it', () => {
    const { told } = story()
    expect(told.hear(piece('Hel', 0), false)).toEqual([])
    expect(told.hear(piece('lo', 3))).toEqual([])
  })

  test('another attempt withdraws the one before it, and so does the end of a failed step; a late piece is nothing', () => {
    const { told, take } = story()
    told.hear(piece('One', 0))
    expect(lines(told.hear(piece('Two', 0, { attempt: 2 })))).toEqual(['withdrawn One', 'piece 2 Two'])
    expect(told.hear(piece('!', 3))).toEqual([])
    // the same number begins again, as after a pause
    expect(lines(told.hear(piece('Three', 0, { attempt: 2 })))).toEqual(['withdrawn Two', 'piece 2 Three'])
    expect(take(gaveUp())).toEqual(['withdrawn Three'])
  })

  test('two calls of one agent at once are told apart', () => {
    const { told, take } = story(asked('aside/model', { purpose: 'question' }))
    told.hear(piece('Hel', 0))
    expect(lines(told.hear(piece('Yes', 0, { address: 'aside/model' })))).toEqual(['piece 1 Yes'])
    expect(lines(told.hear(piece('lo', 3)))).toEqual(['piece 1 lo'])
    // an answer to a worker is not said
    expect(take(answered('Yes', 'aside/model'))).toEqual([])
    expect(take(answered('Hello'))).toEqual(['answered lead', 'withdrawn Yes', 'said Hello after Hello'])
  })

  test('a text of code completes what its step has shown', () => {
    const { told, take } = story(answered(''), {
      type: 'step.begun',
      op: 'step',
      address: 'write',
    } as unknown as JournalEvent)
    told.hear(piece('Hel', 0, { address: 'write' }))
    take({ type: 'step.settled', address: 'write', outcome: completed(null) } as unknown as JournalEvent)
    expect(take({ type: 'text.said', op: 'fact', text: 'Hello' } as unknown as JournalEvent)).toEqual([
      'said Hello after Hel',
    ])
  })

  test('what was heard of an agent that has ended was never said', () => {
    const { told, take } = story()
    told.hear(piece('Hel', 0))
    expect(take(settled)).toEqual(['withdrawn Hel', 'ended lead'])
    expect(told.hear(piece('lo', 3, { activation: 'act_2' as ActivationId }))).toEqual([])
  })
})

test('whose work an activation is, and who holds the control of the run', () => {
  const { told, take } = story(
    begins('given', { callId: '1' }),
    begins('handed'),
    begins('measure', { purpose: 'score' }),
  )
  const [given, handed, measure] = ['given', 'handed', 'measure'].map((address) => childActivation(root, address))
  take(born('given'), given)
  take(born('handed', ['lead', 'handed']), handed)
  take(born('measure'), measure)
  const below = childActivation(given!, 'below')
  told.take(entry(given!, begins('below')))
  take(born('below', ['lead', 'given', 'below']), below)
  expect([root, given, handed, measure, below].map((id) => told.holdsControl(id!))).toEqual([
    true,
    false,
    true,
    false,
    false,
  ])
  expect([root, given, handed, measure, below].map((id) => told.ownerOf(id!))).toEqual([
    { type: 'run' },
    { type: 'worker', id: given },
    { type: 'run' },
    { type: 'none' },
    { type: 'worker', id: given },
  ])
})

test('a worker that is placed apart begins and ends as its leader knows it', () => {
  const { take } = story()
  expect(take(begins('far', { apart: true, callId: '1' }))).toEqual(['called lead', 'began far'])
  expect(
    take({ type: 'worker.settled', address: 'far', outcome: completed('x'), apart: true } as unknown as JournalEvent),
  ).toEqual(['ended far', 'result'])
})
