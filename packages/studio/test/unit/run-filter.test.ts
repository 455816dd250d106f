/** The filter of the list of runs, and the figures of charts. Pure. */
import { expect, test } from 'vitest'
import { batchVerbs, statusesOf } from '../../../runtime/src/batch/request.ts'
import type { FiguresOfTime, RunFigures } from '@reeve/server/wire'
import { runStatuses } from '@reeve/runtime'
import {
  batchFilterOf,
  conditions,
  paramsOf,
  queryOf,
  runsPath,
  statusLabels,
  verbStatuses,
} from '../../src/pages/runs/run-filter.ts'
import { badEnds, costOf, openRuns, shareText } from '../../src/pages/metrics/figures.ts'
import { bucketsOf, chartsOf, highest, ticksOf, timeTicks } from '../../src/pages/metrics/series.ts'

const of = (search: string) => paramsOf(new URLSearchParams(search))
const day = 86_400_000

test('the address of the list is its filter, and what means nothing is none', () => {
  expect(queryOf(of('status=failed,limited&agent=a&text=x&span=day&metadata=k%3Da%3Db&usdFrom=0.5'), 2 * day)).toEqual({
    status: ['failed', 'limited'],
    agent: 'a',
    text: 'x',
    since: day,
    metadata: { k: 'a=b' },
    usdFrom: 0.5,
  })
  expect(queryOf(of('since=1970-01-03T00:00:00Z&span=day&before=1970-01-05T00:00:00Z'), 2 * day)).toEqual({
    since: 2 * day,
    before: 4 * day,
  })
  const hostile = of('status=__proto__,x&span=toString&since=x&before=&usdFrom=-1&metadata=nothing')
  expect([queryOf(hostile, 1), conditions(hostile)]).toEqual([{}, []])
  expect(conditions(of('status=bad&text=a')).map(([name]) => name)).toEqual(['text', 'status'])
  const given = of('agent=a%26b&text=%2B')
  expect(of(new URL(runsPath(given), 'http://x').search)).toEqual(given)
  expect(batchFilterOf({ metadata: { n: '7', t: 'x7', o: '{}' }, limit: 3, agent: 'a' })).toEqual({
    metadata: { n: 7, t: 'x7', o: '{}' },
    agent: 'a',
  })
})

test('the page offers a verb for the statuses that the server takes, and knows every status', () => {
  expect(Object.keys(verbStatuses)).toEqual(batchVerbs)
  for (const verb of batchVerbs) {
    const taken = runStatuses.filter((status) => {
      try {
        return statusesOf(verb, [status]).length > 0
      } catch {
        return false
      }
    })
    expect(verbStatuses[verb].for.toSorted(), verb).toEqual(taken.toSorted())
    expect(statusesOf(verb, verbStatuses[verb].usual)).toEqual(verbStatuses[verb].usual)
  }
  expect(Object.keys(statusLabels).toSorted()).toEqual([...runStatuses].toSorted())
})

const figures = (at: number, more: Partial<RunFigures> = {}): FiguresOfTime => ({
  at,
  runs: 4,
  ends: { completed: 1, failed: 1, cancelled: 1 },
  usage: { calls: 2, tokens: 10, usd: 0.5 },
  ...more,
})

test('a chart has a value for every hour or day, and none where nothing is known', () => {
  const buckets = bucketsOf('week', 9.5 * day)
  expect(buckets).toEqual([3, 4, 5, 6, 7, 8, 9].map((n) => n * day))
  const charts = chartsOf(buckets, [
    figures(4 * day, { durationMs: { p50: 5, p95: 9 } }),
    figures(9 * day, { runs: 1, ends: {}, usage: { calls: 1, unpriced: 1 } }),
  ])
  const points = (id: string) => charts.find((each) => each.id === id)!.series.map((series) => series.points)
  expect(points('runs').map((each) => each[1])).toEqual([1, 1, 1, 1])
  expect(points('rate')[0]).toEqual([undefined, 1 / 3, ...Array.from({ length: 5 }, () => undefined)])
  expect(points('cost')[0]).toEqual([0, 0.5, 0, 0, 0, 0, undefined])
  expect(points('duration').map((each) => each[1])).toEqual([9, 5])
  expect(highest(charts[0]!)).toBe(4)
})

test('scales have round steps from 0 to above the highest value', () => {
  expect(ticksOf(0, true)).toEqual([0, 1])
  expect(ticksOf(3, true)).toEqual([0, 1, 2, 3])
  expect(ticksOf(4_213, true)).toEqual([0, 2_000, 4_000, 6_000])
  expect(ticksOf(0.000_21, false).at(-1)).toBeGreaterThanOrEqual(0.000_21)
  expect(timeTicks(125_000)).toEqual([0, 60_000, 120_000, 180_000])
  for (const most of [1, 7, 99, 1e3, 1e7, 1e12]) {
    const ticks = timeTicks(most)
    expect(ticks.length).toBeLessThan(8)
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(most)
  }
})

test('rates are of those that have ended, and what is not known is not 0', () => {
  const some = figures(0)
  expect([badEnds(some), openRuns(some), shareText(1, 3), shareText(0, 0), shareText(1, 5_000)]).toEqual([
    1,
    1,
    '33 %',
    '–',
    '< 0.1 %',
  ])
  expect(costOf({ usage: { calls: 3, unpriced: 3 } })).toEqual({ text: 'not known', note: '3 calls without a price' })
  expect(costOf({ usage: { calls: 3, usd: 1, unpriced: 1 } })).toEqual({
    text: '≥ $1.00',
    note: '1 call without a price',
  })
  expect(costOf({ usage: { calls: 0 } })).toEqual({ text: '–' })
})
