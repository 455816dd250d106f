import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { Failure } from '@reeve/core'
import type { ConversationEntry, JournalRow, PartMessage, Span } from '@reeve/server/wire'
import { conversationRows, rowOfMoment } from '../../src/pages/run/conversation-rows.ts'
import { entryLine, forkEdits } from '../../src/pages/run/journal-lines.ts'
import { JournalPages } from '../../src/pages/run/journal-pages.ts'
import { LiveTexts } from '../../src/pages/run/live-text.ts'
import { RowOffsets } from '../../src/pages/run/row-window.ts'
import { budgetsOf, spendOf, spendOverTime, unknownText } from '../../src/pages/run/spend.ts'
import { controlsOf } from '../../src/pages/run/controls.ts'

describe('rows of a long list', () => {
  test('offsets and rows agree with a plain sum, whatever was measured', () => {
    const heights = fc.array(fc.tuple(fc.nat(199), fc.integer({ min: 1, max: 400 })), { maxLength: 80 })
    fc.assert(
      fc.property(heights, fc.integer({ min: 1, max: 200 }), fc.nat(20_000), (measured, count, at) => {
        const rows = new RowOffsets(30)
        rows.resize(count)
        const plain = Array.from({ length: count }, () => 30)
        for (const [row, height] of measured) {
          rows.measure(row, height)
          if (row < count) plain[row] = height
        }
        let sum = 0
        for (const [row, height] of plain.entries()) {
          expect(rows.offsetOf(row)).toBe(sum)
          sum += height
        }
        expect(rows.total).toBe(sum)
        const row = rows.rowAt(at)
        expect(rows.offsetOf(row)).toBeLessThanOrEqual(at)
        expect(rows.offsetOf(row + 1) > at || row === count - 1).toBe(true)
      }),
    )
  })

  test('of 100,000 rows those are drawn that are seen', () => {
    const rows = new RowOffsets(28)
    rows.resize(100_000)
    expect(rows.range(28 * 50_000, 280, 5)).toEqual({ first: 49_995, end: 50_016 })
    expect(rows.range(0, 280, 5)).toEqual({ first: 0, end: 16 })
    expect(rows.range(28 * 100_000, 280, 5)).toEqual({ first: 99_994, end: 100_000 })
  })

  test('what is known of rows survives more rows, not fewer', () => {
    const rows = new RowOffsets(10)
    rows.resize(3)
    rows.measure(2, 50)
    rows.resize(4)
    expect(rows.total).toBe(80)
    rows.resize(2)
    rows.resize(4)
    expect(rows.total).toBe(40)
  })
})

const entry = (
  position: number,
  type: ConversationEntry['type'],
  more: Partial<ConversationEntry> = {},
): ConversationEntry => ({
  position,
  at: position,
  type,
  ...more,
})

describe('a conversation', () => {
  const entries = [
    entry(1, 'user', { text: 'Go' }),
    entry(2, 'tool-call', { callId: 'c1', name: 'search' }),
    entry(3, 'tool-call', { callId: 'c2', name: 'read' }),
    entry(4, 'tool-result', { callId: 'c2', text: 'two' }),
    entry(5, 'tool-result', { callId: 'gone', text: 'of nobody' }),
  ]

  test('a result stands with its call; one without a call by itself', () => {
    const rows = conversationRows({ input: 'Go', entries })
    expect(rows.map((row) => [row.type, row.type === 'call' ? row.result?.text : undefined])).toEqual([
      ['given', undefined],
      ['entry', undefined],
      ['call', undefined],
      ['call', 'two'],
      ['entry', undefined],
    ])
  })

  test('what streams stands at the end; a moment leads to its row', () => {
    const rows = conversationRows({ input: 'Go', entries }, [{ address: 'turn#1', kind: 'text' }])
    expect(rows.at(-1)).toMatchObject({ type: 'live', address: 'turn#1' })
    expect(rowOfMoment(rows, 3)).toBe(3)
    expect(rowOfMoment(rows, 4)).toBe(3)
    expect(rowOfMoment(rows, 99)).toBe(-1)
  })
})

const piece = (text: string, offset: number | undefined, more: Partial<PartMessage> = {}): PartMessage => ({
  activation: 'act_a' as PartMessage['activation'],
  address: 'turn#1',
  attempt: 1,
  agent: 'a',
  path: ['a'],
  part: { type: 'text.delta', text },
  ...(offset === undefined ? {} : { offset }),
  ...more,
})
const textOf = (texts: LiveTexts): string => {
  const [text] = texts.of('act_a')
  return [...text!.lines, text!.last].join('\n')
}

describe('streamed text', () => {
  test('pieces are lines, in whatever places they were cut', () => {
    const text = fc.array(fc.constantFrom('a', 'bc', '\n', ' d'), { maxLength: 40 })
    fc.assert(
      fc.property(text, (pieces) => {
        const texts = new LiveTexts()
        let offset = 0
        texts.add([piece('', 0)])
        for (const each of pieces) {
          texts.add([piece(each, offset)])
          offset += each.length
        }
        expect(textOf(texts)).toBe(pieces.join(''))
      }),
    )
  })

  test('a piece that comes twice is shown once; a piece that is missing is said', () => {
    const texts = new LiveTexts()
    texts.add([piece('Hello', 0), piece('lo wor', 3), piece('ld', 9)])
    expect(textOf(texts)).toBe('Hello world')
    expect(texts.of('act_a')[0]!.missed).toBe(false)
    texts.add([piece('!', 20)])
    expect(texts.of('act_a')[0]!.missed).toBe(true)
  })

  test('another attempt says it anew; what has ended is forgotten', () => {
    const texts = new LiveTexts()
    texts.add([piece('first', 0)])
    texts.add([piece('second', 0, { attempt: 2 })])
    expect(textOf(texts)).toBe('second')
    // after a pause the attempt of the same number begins again
    texts.add([piece('thi', 0, { attempt: 2 }), piece('rd', 3, { attempt: 2 })])
    expect(textOf(texts)).toBe('third')
    expect(texts.keep(() => true)).toBe(false)
    expect(texts.keep(() => false)).toBe(true)
    expect(texts.of('act_a')).toEqual([])
  })

  test('parts of another shape are passed over', () => {
    const texts = new LiveTexts()
    expect(
      texts.add([piece('', 0, { part: ['text.delta'] }), piece('', 0, { part: { type: 'text.delta', text: 7 } })]),
    ).toBe(false)
    expect(texts.of('act_a')).toEqual([])
  })
})

const row = (event: JournalRow['event'], more: Partial<JournalRow> = {}): JournalRow => ({
  index: 0,
  position: 1,
  at: 1,
  activation: 'act_r' as JournalRow['activation'],
  agent: 'crew',
  event,
  ...more,
})
const step = { op: 'step', address: 'turn#1', effect: 'once' } as const
const failure = (message: string): Failure => ({ code: 'tool.failed', class: 'internal', message, retryable: true })
const fact = { op: 'fact', address: 'f' } as const

describe('journal lines', () => {
  test.each<[JournalRow['event'], string]>([
    [{ ...step, type: 'tool.called', tool: 'pay', input: { usd: 5 } }, 'crew calls pay'],
    [
      {
        ...fact,
        type: 'approval.resolved',
        id: 'apr_1',
        resolution: 'approved',
        approver: 'ann',
        capability: 'cap_1',
      },
      'approval apr_1 approved by ann',
    ],
    [
      {
        ...fact,
        type: 'delegation.decided',
        rule: '2',
        kept: ['act_a', 'act_b'] as never,
        stopped: [],
      },
      'crew has decided (2): 2 kept, 0 stopped',
    ],
    [{ type: 'run.pausing', at: 'next', reason: 'lunch', by: 'ann' }, 'run pausing by ann: lunch'],
    [{ type: 'run.paused' }, 'run paused'],
    // what the log of the command line leaves out
    [
      { type: 'step.settled', address: 'turn#1', outcome: { status: 'completed', output: 7 } },
      'crew: turn#1 completed: 7',
    ],
    [{ ...fact, type: 'fact.noted', name: 'level', data: { a: 1 } }, 'crew notes level: {"a":1}'],
  ])('%j', (event, text) => {
    expect(entryLine(row(event))).toBe(text)
  })

  test('every control character is visible', () => {
    expect(entryLine(row({ ...fact, type: 'worker.recruited', worker: 'w\u001b[2J', reason: 'a\nb\u202e' }))).toBe(
      String.raw`crew recruits w\u001b[2J: a\nb\u202e`,
    )
  })

  test('a long one is cut', () => {
    const line = entryLine(row({ ...fact, type: 'text.said', text: 'x'.repeat(9_999) }))
    expect(line).toMatch(/^crew says: x+…\+\d+$/)
    expect(line.length).toBeLessThanOrEqual(600)
  })

  test('pages say effects by the names that were read before, and an entry keeps its line', async () => {
    const rows = [
      row({ ...step, type: 'tool.called', tool: 'pay' }),
      row({ type: 'step.attempt-failed', address: 'turn#1', attempt: 1, delayMs: 0, failure: failure('down') }),
      row({
        type: 'step.settled',
        address: 'turn#1',
        attempts: 2,
        outcome: { status: 'failed', failure: failure('off') },
      }),
    ].map((each, index) => ({ ...each, index }))
    let changes = 0
    const pages = new JournalPages(
      (from, limit) => Promise.resolve({ total: rows.length, from, rows: rows.slice(from, from + limit) }),
      () => changes++,
    )
    const lines = (): readonly string[] => rows.map((_, place) => pages.lineOf(pages.row(place)!))
    pages.need(0, 3)
    await vi.waitUntil(() => changes === 1)
    const said = lines()
    expect(said).toEqual([
      'crew calls pay',
      'crew: attempt 1 of pay failed: down',
      expect.stringMatching(/^crew: pay failed: off.* \(attempt 2, the last\)$/),
    ])
    pages.grow()
    await vi.waitUntil(() => changes === 2)
    expect(lines()).toEqual(said)
  })

  test('a fork may change the end of what ended there, or the input', () => {
    expect(forkEdits({ type: 'run.paused' })).toEqual(['message'])
    expect(forkEdits({ type: 'step.settled', address: 'a', outcome: { status: 'completed', output: 1 } })).toEqual([
      'outcome',
      'message',
    ])
  })
})

describe('spend', () => {
  const row = { agent: 'a', model: 'm', calls: 2, input: 10, output: 5, cached: 0, usd: 0.02, unknown: 1, unpriced: 0 }

  test('what is not known is counted, not taken as nothing', () => {
    expect(unknownText(spendOf([row, { ...row, unpriced: 2 }]))).toBe(
      '2 calls with unknown usage, 2 calls without a price',
    )
    expect(unknownText(spendOf([]))).toBeUndefined()
  })

  test('a budget is spent, reserved and left; beyond the limit the bar is as wide as what is used', () => {
    expect(budgetsOf({ usd: 10 }, { usd: 4 }, { tokens: 0, usd: 1 })).toMatchObject([
      { left: 5, spentShare: 0.4, reservedShare: 0.1, leftShare: 0.5, limitAt: 1 },
    ])
    expect(budgetsOf({ tokens: 100 }, { tokens: 180 }, { tokens: 20, usd: 0 })).toMatchObject([
      { left: -100, spentShare: 0.9, leftShare: 0, limitAt: 0.5 },
    ])
    expect(budgetsOf(undefined, {}, undefined)).toEqual([])
  })

  test('over time, the last point has it all', () => {
    const spans = Array.from({ length: 1_000 }, (_, i): Span => ({
      id: `s${i}`,
      activation: 'act_a' as Span['activation'],
      kind: i % 2 === 0 ? 'model' : 'tool',
      name: 'm',
      from: i,
      to: i + 1,
      status: 'completed',
      attempts: 1,
      input: 2,
      output: 1,
      usd: 1,
    }))
    const points = spendOverTime(spans, 100)
    expect(points).toHaveLength(100)
    expect(points.at(-1)).toEqual({ at: 999, usd: 500, tokens: 1_500 })
  })
})

describe('controls', () => {
  const names = (status: string, more: object = {}): readonly string[] =>
    controlsOf({ status, ...more } as Parameters<typeof controlsOf>[0]).map(({ name }) => name)

  test.each([
    ['running', ['pause', 'take-over', 'cancel', 'fork']],
    ['waiting', ['pause', 'take-over', 'cancel', 'fork']],
    ['paused', ['resume', 'take-over', 'cancel', 'fork']],
    ['human_control', ['hand-back', 'cancel', 'fork']],
    ['failed', ['retry', 'fork']],
    ['completed', ['fork']],
  ])('%s', (status, expected) => {
    expect(names(status)).toEqual(expected)
  })

  test('a run that is being cancelled is not cancelled again', () => {
    expect(names('running', { cancel: { reason: 'enough' } })).not.toContain('cancel')
  })
})
