/** Message channels: what is recorded of a message, which messages are heard, and how a request ends. */
import { describe, expect, test } from 'vitest'
import type { ActivationId, Json, MessageId } from '@reeve/core'
import { TypedChannel, RequestChannel, type Arrival, type Context } from '../src/index.ts'

const act = (name: string): ActivationId => name as ActivationId
const at = new Date(0)
const message = (body: Json, from?: string, id = 'm1'): Arrival =>
  ({
    type: 'message',
    id: id as MessageId,
    from: from === undefined ? undefined : act(from),
    body,
    at,
  }) as unknown as Arrival
const refused = (id: string): Arrival => ({ type: 'message.refused', id: id as MessageId, at }) as unknown as Arrival

/** A context that keeps what is sent, and hears these arrivals. */
function contextOf(heard: Arrival[] = []): { readonly ctx: Context; readonly sent: (readonly [string, Json])[] } {
  const sent: (readonly [string, Json])[] = []
  const send = (to: ActivationId, body: Json): MessageId => {
    sent.push([to, body])
    return `m${sent.length}` as MessageId
  }
  const next = (match: (arrival: Arrival) => boolean): Promise<Arrival> => {
    const found = heard.findIndex(match)
    return found < 0
      ? Promise.reject(new Error('nothing that is waited for'))
      : Promise.resolve(heard.splice(found, 1)[0]!)
  }
  return { ctx: { send, next } as unknown as Context, sent }
}

const news = new TypedChannel<{ readonly seq: number }>('$news', (member) => {
  const seq = member('seq')
  return typeof seq === 'number' ? { seq } : undefined
})

describe('a channel', () => {
  test('K4: a message is its type, then its members, in the order in which they were given', () => {
    const { ctx, sent } = contextOf()
    news.send(ctx, act('a'), { seq: 3 })
    expect(JSON.stringify(sent)).toBe('[["a",{"type":"$news","seq":3}]]')
  })

  test.each([
    ['another type', { type: '$other', seq: 1 }],
    ['no type', { seq: 1 }],
    ['a member of the wrong kind', { type: '$news', seq: '1' }],
    ['a member that is inherited', Object.assign(Object.create({ seq: 1 }), { type: '$news' }) as Json],
    ['a type that is inherited', Object.assign(Object.create({ type: '$news' }), { seq: 1 }) as Json],
    ['a list', [{ type: '$news', seq: 1 }]],
    ['a text', '$news'],
    ['null', null],
  ])('%s is no message of it', (_, body) => expect(news.in(message(body, 'a'))).toBeUndefined())

  test.each([
    ['anyone', undefined, 'a>b', true],
    ['anyone', undefined, undefined, true],
    ['outside', 'outside', undefined, true],
    ['outside', 'outside', 'a', false],
    ['one activation', { activation: act('a') }, 'a', true],
    ['one activation', { activation: act('a') }, 'a>b', false],
    ['one activation', { activation: act('a') }, undefined, false],
    ['one activation and its workers', { activation: act('a'), below: true }, 'a>b', true],
    ['one activation and its workers', { activation: act('a'), below: true }, 'ab', false],
    ['one activation and its workers', { activation: act('a'), below: true }, undefined, false],
  ] as const)('heard of %s (%o) from %s: %s', (_, sender, from, isHeard) =>
    expect(news.in(message({ type: '$news', seq: 1 }, from), sender) !== undefined).toBe(isHeard),
  )

  test('what claims to be of it is known, readable or not', () => {
    expect(news.claims({ type: '$news', seq: 'x' })).toBe(true)
    expect(news.claims({ type: '$other' })).toBe(false)
  })
})

describe('a channel of requests', () => {
  const asked = new RequestChannel<Json | undefined, number, { readonly what: string }>(
    '$ask',
    (member) => member('what'),
    {
      name: '$answer',
      read: (member) => {
        const value = member('value')
        return typeof value === 'number' ? value : undefined
      },
      write: (value) => ({ value }),
      gone: -1,
    },
  )

  test('a request ends with its own reply from its receiver, whatever else arrives', async () => {
    const { ctx, sent } = contextOf([
      message({ type: '$answer', to: 'm9', value: 1 }, 'leader'),
      message({ type: '$answer', to: 'm1', value: 2 }, 'stranger'),
      message({ type: '$answer', to: 'm1', value: 'three' }, 'leader'),
      refused('m2'),
      message({ type: '$answer', to: 'm1', value: 4 }, 'leader'),
    ])
    expect(await asked.request(ctx, act('leader'), { what: 'time' })).toBe(4)
    expect(sent).toEqual([['leader', { type: '$ask', what: 'time' }]])
  })

  test('a request to one that is gone ends, too', async () => {
    const { ctx } = contextOf([refused('m1')])
    expect(await asked.request(ctx, act('leader'), { what: 'time' })).toBe(-1)
  })

  test('K4: a reply names its request before its members; senders outside get no reply', () => {
    const { ctx, sent } = contextOf()
    const heard = asked.in(message({ type: '$ask', what: 'time' }, 'worker', 'm7'))!
    asked.answer(ctx, heard, 5)
    asked.answer(ctx, { ...heard, from: undefined }, 6)
    expect(JSON.stringify(sent)).toBe('[["worker",{"type":"$answer","to":"m7","value":5}]]')
  })
})
