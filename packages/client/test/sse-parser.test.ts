/** The parser of server-sent events against the HTML standard, and against any way to cut a stream into pieces. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SseParser, type SseMessage } from '../src/sse-parser.ts'

const encoder = new TextEncoder()

function parse(text: string | Uint8Array, cuts: readonly number[] = []): readonly SseMessage[] {
  const bytes = typeof text === 'string' ? encoder.encode(text) : text
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  const parser = new SseParser()
  return [0, ...at].flatMap((from, index) => parser.push(bytes.slice(from, at[index] ?? bytes.length)))
}

const dataOf = (text: string): readonly string[] => parse(text).map(({ data }) => data)

test.each([
  ['lines end in LF, CR or CRLF', 'data: a\n\ndata: b\r\rdata: c\r\n\r\n', ['a', 'b', 'c']],
  ['CR and LF of one line end may be of two kinds', 'data: a\r\n\rdata: b\n\r\n', ['a', 'b']],
  ['several data lines are one text', 'data: YHOO\ndata: +2\ndata: 10\n\n', ['YHOO\n+2\n10']],
  ['one space after the colon is left out', 'data:a\n\ndata: b\n\ndata:  c\n\n', ['a', 'b', ' c']],
  ['a field without a colon is empty', 'data\n\ndata\ndata\n\ndata:\n', ['', '\n']],
  ['comments and unknown fields are nothing', ': hello\nfoo: bar\n:\ndata: a\n\n: \n\n', ['a']],
  ['a message without data is none', 'event: x\nid: 3\n\ndata: a\n\n', ['a']],
  ['what has no end is not passed on', 'data: a\n\ndata: b\n', ['a']],
  ['one byte order mark at the beginning is left out', '\uFEFFdata: a\n\n\uFEFFdata: b\n\n', ['a']],
  ['names of fields are exact', 'Data: a\n data: b\ndata : c\n\n', []],
])('%s', (_name, text, expected) => expect(dataOf(text)).toEqual(expected))

test('an id holds until the next one, also of a message without data; one with NUL is ignored', () => {
  const parser = new SseParser('7')
  const ids = (text: string): readonly string[] => parser.push(encoder.encode(text)).map(({ id }) => id)
  expect(ids('data: a\n\n')).toEqual(['7'])
  expect(ids('id: 8\ndata: b\n\ndata: c\n\n')).toEqual(['8', '8'])
  expect(ids('id: 9\0\ndata: d\n\n')).toEqual(['8'])
  expect(ids('id: 10\n\n')).toEqual([])
  expect(parser.lastEventId).toBe('10')
  // the message never ended: who reconnects asks for it again
  expect(ids('id: 11\ndata: e\n')).toEqual([])
  expect(parser.lastEventId).toBe('10')
  expect(ids('\nid\ndata: f\n\n')).toEqual(['11', ''])
})

test('the type of a message is reset after it; retry takes digits alone', () => {
  const parser = new SseParser()
  const types = parser.push(
    encoder.encode('event: x\ndata: a\n\ndata: b\n\nretry: 250\nretry: 1e3\nretry: -1\nretry:\n'),
  )
  expect(types.map(({ event }) => event)).toEqual(['x', 'message'])
  expect(parser.retryMs).toBe(250)
})

test('bytes that are not UTF-8 become replacement characters and end nothing', () => {
  expect(parse(new Uint8Array([...encoder.encode('data: a'), 0xff, ...encoder.encode('b\n\n')]))).toMatchObject([
    { data: 'a\uFFFDb' },
  ])
})

test('any stream, cut anywhere, also inside characters and line ends, gives the same messages', () => {
  const eol = fc.constantFrom('\n', '\r', '\r\n')
  const value = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replace(/[\r\n\0]/g, '.'))
  const field = fc.oneof(
    value.map((text) => `data: ${text}`),
    value.map((text) => `id: ${text}`),
    value.map((text) => `event:${text}`),
    value.map((text) => `: ${text}`),
    fc.constant('data'),
    fc.constant(''),
    fc.constant(''),
  )
  const stream = fc.array(fc.tuple(field, eol), { maxLength: 40 }).map((lines) => lines.flat().join(''))
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 30 }), (text, cuts) => {
      expect(parse(text, cuts)).toEqual(parse(text))
    }),
    { numRuns: 500 },
  )
})

test('what a server writes is what a reader gets, byte by byte', () => {
  const message = fc.record({ id: fc.nat().map(String), data: fc.json() })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
      const text = messages.map(({ id, data }) => `id: ${id}\ndata: ${data}\n\n`).join('')
      const each = Array.from({ length: encoder.encode(text).length }, (_, at) => at)
      expect(parse(text, each).map(({ id, data }) => ({ id, data }))).toEqual(messages)
    }),
  )
})
