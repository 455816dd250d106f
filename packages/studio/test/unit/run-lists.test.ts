import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConversationEntry, JournalRow, PartMessage, Span } from '@reeve/server/wire'
import { conversationRows, rowOfMoment } from '../../src/pages/run/conversation-rows.ts'
import { forkEdits, journalLine } from '../../src/pages/run/journal-lines.ts'
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

describe('journal lines', () => {
  const line = (event: object): string => journalLine(event as JournalRow['event'])

  test.each([
    [{ type: 'tool.called', op: 'step', address: 'x', tool: 'pay', input: { usd: 5 } }, 'pay · {"usd":5}'],
    [
      { type: 'step.settled', address: 'turn#1', outcome: { status: 'failed', failure: { message: 'down' } } },
      'turn#1 · failed: down',
    ],
    [{ type: 'run.pausing', at: 'next', reason: 'lunch', by: 'ann' }, 'lunch · by ann'],
    [{ type: 'run.paused' }, ''],
  ])('%j', (event, text) => {
    expect(line(event)).toBe(text)
  })

  test('a long one is cut', () => {
    expect(line({ type: 'text.said', text: 'x'.repeat(999) })).toHaveLength(240)
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
      '2 calls of unknown usage, 2 calls without a price',
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
