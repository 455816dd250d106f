import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Span } from '@reeve/server/wire'
import { barsOf, panned, ticksOf, Timeline, zoomed } from '../../src/pages/run/timeline-layout.ts'

let ids = 0
const span = (from: number, to: number | undefined, more: Partial<Span> = {}): Span => ({
  id: `s${ids++}`,
  activation: 'act_a' as Span['activation'],
  kind: 'tool',
  name: 'search',
  from,
  status: to === undefined ? 'open' : 'completed',
  attempts: 1,
  ...(to === undefined ? {} : { to }),
  ...more,
})
const timelineOf = (spans: readonly Span[]): Timeline => {
  const timeline = new Timeline()
  timeline.add(spans)
  return timeline
}

describe('rows', () => {
  test('spans at the same time stand below each other, the agent above them alone', () => {
    const timeline = timelineOf([
      span(0, 100, { kind: 'agent', id: 'agent' }),
      span(0, 10, { id: 'a' }),
      span(5, 20, { id: 'b' }),
      span(10, 30, { id: 'c' }),
    ])
    expect(timeline.rows(['act_a']).map(({ spans }) => spans.map(({ id }) => id))).toEqual([
      ['agent'],
      ['a', 'c'],
      ['b'],
    ])
  })

  test('no two spans of a row overlap, and none is lost', () => {
    const spans = fc.array(fc.tuple(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 1, max: 40 })), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(spans, (given) => {
        const rows = timelineOf(given.map(([from, size]) => span(from, from + size))).rows(['act_a'])
        expect(rows.flatMap((row) => row.spans)).toHaveLength(given.length)
        // the last row of too many takes the rest
        for (const row of rows.slice(0, 11))
          for (const [i, each] of row.spans.entries()) expect(row.spans[i - 1]?.to ?? 0).toBeLessThanOrEqual(each.from)
      }),
    )
  })

  test('a span that comes again takes the place of the one before', () => {
    const timeline = timelineOf([span(0, undefined, { id: 'x' })])
    timeline.add([span(0, 50, { id: 'x' })])
    expect(timeline.count).toBe(1)
    expect(timeline.bounds(undefined)).toEqual({ from: 0, to: 50 })
  })
})

test('deadlines of other spans are no bars', () => {
  const timeline = timelineOf([
    span(0, undefined, { kind: 'timer', name: 'work/a/timeout' }),
    span(0, 10, { kind: 'timer', name: 'sleep' }),
    span(0, 10, { kind: 'step', name: 'timeout' }),
  ])
  expect([...timeline.spans()].map(({ name }) => name)).toEqual(['sleep', 'timeout'])
})

describe('bars', () => {
  const barsIn = (spans: readonly Span[], from: number, to: number, width: number, now = 1_000) =>
    barsOf(timelineOf(spans).rows(['act_a'])[0]!, 0, { from, to }, width, now)

  test('a bar stands at its pixels; an open one ends now', () => {
    expect(barsIn([span(100, 200), span(500, undefined)], 0, 1_000, 500, 800)).toMatchObject([
      { x: 50, width: 50, count: 1 },
      { x: 250, width: 150, count: 1 },
    ])
  })

  test('one that began before the window and goes on in it is seen; one that ended before it is not', () => {
    expect(barsIn([span(0, 20), span(30, 900)], 100, 200, 100)).toMatchObject([{ x: 0, width: 100, count: 1 }])
  })

  test('30,000 spans on 800 pixels are at most 400 bars, and all are counted', () => {
    const spans = Array.from({ length: 30_000 }, (_, i) => span(i * 10, i * 10 + 9))
    const bars = barsIn(spans, 0, 300_000, 800)
    expect(bars.length).toBeLessThanOrEqual(400)
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(30_000)
  })

  test('among those that share a bar, the failed one is shown', () => {
    const spans = [span(0, 1), span(1, 2, { status: 'failed', id: 'bad' }), span(2, 3)]
    expect(barsIn(spans, 0, 1_000, 100).map((bar) => bar.span.id)).toEqual(['bad'])
  })

  test('every span in the window is in a bar, however the window lies', () => {
    const parts = fc.array(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 1, max: 60 })), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(parts, fc.integer({ min: 0, max: 900 }), fc.integer({ min: 1, max: 900 }), (given, from, size) => {
        let at = 0
        const spans = given.map(([gap, length]) => {
          const begin = at + gap
          at = begin + length
          return span(begin, at)
        })
        const seen = spans.filter((each) => each.to! >= from && each.from <= from + size).length
        const bars = barsIn(spans.length === 0 ? [span(9_999, 9_999)] : spans, from, from + size, 200)
        expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(seen)
      }),
    )
  })
})

describe('the window', () => {
  const bounds = { from: 0, to: 1_000 }

  test('zooming keeps the moment below the pointer', () => {
    expect(zoomed({ from: 0, to: 1_000 }, 0.5, 200, bounds)).toEqual({ from: 100, to: 600 })
  })

  test('it never leaves the run, and is never nearer than a millisecond', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 50, noNaN: true }),
        fc.integer({ min: -2_000, max: 2_000 }),
        (factor, by) => {
          const after = panned(zoomed({ from: 200, to: 400 }, factor, 300, bounds), by, bounds)
          expect(after.from).toBeGreaterThanOrEqual(0)
          expect(after.to).toBeLessThanOrEqual(1_000.001)
          expect(after.to - after.from).toBeGreaterThanOrEqual(0.999)
        },
      ),
    )
  })

  test('ticks stand at round moments since the beginning', () => {
    expect(ticksOf({ from: 1_000, to: 11_000 }, 500, 1_000).map(({ text }) => text)).toEqual([
      '0:00',
      '0:02',
      '0:04',
      '0:06',
      '0:08',
      '0:10',
    ])
    expect(ticksOf({ from: 0, to: 40 }, 400, 0).map(({ text }) => text)).toEqual([
      '0 s',
      '0.01 s',
      '0.02 s',
      '0.03 s',
      '0.04 s',
    ])
  })
})
