/** An entry is stored packed and read as it was, whatever its event holds (K12). */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { digest, usageRow, type Json, type JsonObject } from '@reeve/core'
import { decode, encode, isEndEvent, versions, type JournalEvent } from '../src/index.ts'
import { dice } from '../../../test/dice.ts'

const isRow = (text: string): boolean => text.startsWith('[')
/** What JSON makes of an event: what was stored of it before entries were packed. */
const plain = (event: JournalEvent): JournalEvent => JSON.parse(JSON.stringify(event)) as JournalEvent

const hash = digest('something')
const contentKey = `sha256-1:${digest('something', 'base64url')}`
const answer = {
  text: 'Well.',
  calls: [{ id: 'c1', name: 'delegate', input: { worker: 'writer', instructions: 'Write.' } }],
  finish: 'tool-calls',
  model: 'openai/gpt',
  usage: { input: 12, output: 3, cached: 4, usd: 0.000_123 },
}
const used = usageRow('lead', 'openai/gpt', answer.usage)
const edge = {
  brief: { instructions: 'Write.' },
  depth: 1,
  maxDepth: 4,
  limits: { turns: 8, usd: 0.5, calls: 256, tasks: 2_000 },
  context: [{ role: 'user' }],
  delegation: 'd1',
}
const settled = {
  type: 'step.settled',
  address: 'turn/model',
  outcome: { status: 'completed', output: answer },
} as const

/** One event of each form. */
const packed = [
  { type: 'activation.started', agent: 'writer', version: '1+7', input: edge, path: ['lead', 'writer'] },
  { type: 'activation.started', agent: 'lead', version: '1', input: 'Write a book.', caller: { user: 'ann' } },
  { type: 'activation.settled', outcome: { status: 'completed', output: null }, usage: [used, used], open: ['a'] },
  {
    type: 'model.requested',
    model: 'openai/gpt',
    messages: 3,
    op: 'step',
    effect: 'model',
    reserve: { turns: 1 },
    address: 'turn/model',
    contentKey,
  },
  {
    type: 'activation.settled',
    outcome: { status: 'completed', output: null },
    usage: [
      usageRow('lead', 'openai/gpt', { input: 12, output: 3, reasoning: 2, usd: 0.1 }),
      usageRow('lead', 'anthropic/claude', { input: 12, output: 3, cacheWrite: 4 }),
    ],
  },
  {
    type: 'step.settled',
    address: 'turn/model',
    outcome: {
      status: 'completed',
      output: { ...answer, usage: { input: 12, output: 3, reasoning: 0, cacheWrite: 4 } },
    },
  },
  { type: 'step.begun', op: 'step', address: 'plan', effect: 'idempotent' },
  {
    type: 'tool.called',
    op: 'step',
    address: 'turn/call/pay',
    tool: 'pay',
    effect: 'once',
    callId: 'c1',
    inputHash: hash,
  },
  { ...settled, charge: { turns: 1, tokens: 15, usd: 0.000_123 }, usage: [used] },
  { ...settled, charge: { turns: 2, tokens: 15 }, usage: [used], attempts: 2 },
  { type: 'step.settled', address: 'plan', outcome: { status: 'completed', output: [1, { a: null }] } },
  {
    type: 'worker.started',
    op: 'worker',
    agent: 'writer',
    callId: 'c1',
    address: 'turn/call/writer',
    contentKey: 'hmac-1:abc',
    inputHash: hash,
  },
  { type: 'worker.settled', address: 'w', outcome: { status: 'completed', output: 'Well.' }, usage: [used] },
  { type: 'message.sent', op: 'send', address: 's', to: 'act_r', id: 'msg_1' },
  { type: 'message.received', id: 'msg_1', from: 'act_r', body: null },
] as unknown as readonly JournalEvent[]

const goldens = new URL('../../../test/replay/golden/', import.meta.url)
const recorded = readdirSync(goldens, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.jsonl'))
  .flatMap((name) => readFileSync(new URL(name, goldens), 'utf8').trimEnd().split('\n'))
  .flatMap((line) => (JSON.parse(line) as { readonly log: readonly { readonly body: string }[] }).log)
  .map(({ body }) => plain(decode(body)))

/** What stands where nobody expects it. */
const hostile: readonly unknown[] = [
  null,
  undefined,
  '',
  'a:b',
  '_'.repeat(43),
  'f'.repeat(64),
  'F'.repeat(64),
  'sha256-1:',
  'sha256-1:a:b',
  true,
  0,
  -0,
  1,
  -1.5,
  1e21,
  5e-324,
  Number.NaN,
  Infinity,
  [],
  [null],
  [[]],
  {},
  { turns: 1 },
  { turns: '1' },
  { toJSON: 1 },
  JSON.parse('{"__proto__":{"a":1}}'),
  { constructor: 1, hasOwnProperty: 2 },
  answer,
  { ...answer, usage: { input: '1', output: '2' } },
  { ...answer, usage: undefined },
  { ...answer, usage: null },
  edge,
  { ...edge, limits: { calls: 1, turns: 1 } },
  { status: 'completed' },
  { status: 'completed', output: undefined },
  { status: 'completed', output: answer, more: 1 },
  { status: 'failed', failure: { code: 'x' } },
  [used],
  [used, { ...used, usd: 1e-7, calls: 2 }],
  [{ ...used, more: 1 }],
  [{ ...used, calls: '1' }],
  ['lead'],
  'lead',
  { turns: 1, tokens: 15, usd: 0.000_123 },
  { turns: 1, tokens: 15, usd: 0.000_123, last: 'act_r' },
  Array.from({ length: 30 }, (_, i) => `n${i % 2}`),
]

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An event with something changed, added or taken away, at any depth. */
function changed(value: unknown, roll: () => number): unknown {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(roll() * list.length)]!
  if (Array.isArray(value) && value.length > 0 && roll() < 0.8) {
    const at = Math.floor(roll() * value.length)
    if (roll() < 0.2) return [...(value as unknown[]), pick(hostile)]
    return (value as unknown[]).map((item, i) => (i === at ? changed(item, roll) : item))
  }
  if (!isObject(value)) return pick(hostile)
  const names = Object.keys(value)
  const name = pick(names)
  const lot = roll()
  if (name === undefined || lot < 0.15)
    return { ...value, [pick(['more', 'type', 'usage', 'charge', 'output', 'v', 'a b', 'toString'])]: pick(hostile) }
  if (lot < 0.25) return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name))
  // the members in another order
  if (lot < 0.35) return Object.fromEntries(Object.entries(value).toReversed())
  return { ...value, [name]: lot < 0.5 ? pick(hostile) : changed(value[name], roll) }
}

/** Its type is its own, and stands first. */
const typed = ({ type }: JournalEvent, event: object): JournalEvent =>
  Object.assign({ type }, event, { type }) as JournalEvent

describe('packed entries', () => {
  test.each(packed.map((event) => [event.type, event] as const))('%s is stored as a row', (_type, event) => {
    const text = encode(event)
    expect(isRow(text)).toBe(true)
    expect(text.length).toBeLessThan(JSON.stringify(event).length)
    expect(decode(text)).toEqual(event)
    expect(encode(decode(text))).toBe(text)
  })

  test('what an older Reeve stored is read as it was', () => {
    for (const event of packed) expect(decode(JSON.stringify(event))).toEqual(event)
  })

  test('K12: whatever an event holds, it is read as it was; packed again it is the same text', () => {
    const roll = dice(11)
    const all = [...packed, ...recorded, ...Object.keys(versions).map((type) => ({ type, address: 'a', op: 'step' }))]
    let rows = 0
    for (const each of all as JournalEvent[])
      for (let i = 0; i < 12; i++) {
        let event = each
        for (let n = 0; n < i % 4; n++) event = typed(each, changed(event, roll) as object)
        // versions are the codec's own
        if ('v' in event || 'packedPath' in event) continue
        const text = encode(event)
        const read = decode(text)
        expect(read, text).toEqual(plain(event))
        expect(encode(read)).toBe(encode(plain(event)))
        expect(isEndEvent(text), text).toBe(event.type === 'activation.settled')
        if (isRow(text)) rows++
      }
    expect(rows).toBeGreaterThan(3_000)
  }, 60_000)

  test('K12: the input of a worker is read as it was recorded, to the byte', () => {
    const roll = dice(5)
    for (let i = 0; i < 2_000; i++) {
      const input = (i === 0 ? edge : changed(edge, roll)) as Json
      const event: JournalEvent = { type: 'activation.started', agent: 'a', version: '1', input }
      if (input === undefined) continue
      const read = decode(encode(event)) as typeof event
      expect(JSON.stringify(read.input)).toBe(JSON.stringify(input))
    }
  })

  test('a usage that is a text is not taken for the agent of an answer', () => {
    const event = { ...settled, charge: { turns: 1, tokens: 15, usd: 0.000_123 }, usage: 'lead' } as unknown
    expect(decode(encode(event as JournalEvent))).toEqual(event)
  })

  test('K12: tokens that are no number of JSON when they are added up are stored as the charge says', () => {
    const much = { ...answer, usage: { input: 1e308, output: 1e308 } }
    const event = {
      ...settled,
      outcome: { status: 'completed', output: much },
      usage: [usageRow('lead', answer.model, much.usage)],
      charge: { turns: 1, tokens: Infinity },
    } as unknown as JournalEvent
    expect(decode(encode(event))).toEqual(JSON.parse(JSON.stringify(event)))
  })

  test('K12: a row of a newer Reeve is refused, not guessed', () => {
    const unknown = expect.objectContaining({ code: 'journal.unknown-event' }) as Error
    expect(() => decode('["dream","turn/model"]')).toThrow(unknown)
    expect(() => decode('[]')).toThrow(unknown)
    expect(() => decode('["send","s","act_r","msg_1","more"]')).toThrow(unknown)
    expect(() => decode('["end",null,[["lead","m",1,0,0,0,0,0,0,1,1,"more"]]]')).toThrow(unknown)
  })

  test.each([
    '["send","s","act_r"]',
    '["send",1,"act_r","msg_1"]',
    '["end",null,{}]',
    '["worker","w","writer",null,null,"short"]',
    '["answer","turn/model",null,"lead"]',
    '["send"',
  ])('a broken row is a corrupt store: %s', (text) => {
    expect(() => decode(text)).toThrow(expect.objectContaining({ code: 'store.corrupt' }))
  })

  test('an older Reeve knows no row: it has no type, and no version', () => {
    for (const event of packed) {
      const row = JSON.parse(encode(event)) as JsonObject
      expect([row['type'], row['v'], row['packedPath']]).toEqual([undefined, undefined, undefined])
    }
  })
})
