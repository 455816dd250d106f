/** When a server wants to be asked again: core/retry-after.ts. */
import { expect, test } from 'vitest'
import { fetchProblem, retryAfter } from '../src/index.ts'

const of = (headers: Readonly<Record<string, string>>): number | undefined => retryAfter((name) => headers[name])

test('the exact header counts more than the one in seconds, which may be a fraction', () => {
  expect(of({ 'retry-after-ms': '250', 'retry-after': '2' })).toBe(250)
  expect(of({ 'retry-after': '1.5' })).toBe(1_500)
})

test('a date counts from the clock of the server, and one that has passed is now', () => {
  const date = 'Wed, 21 Oct 2015 07:28:00 GMT'
  expect(of({ 'retry-after': 'Wed, 21 Oct 2015 07:28:30 GMT', date })).toBe(30_000)
  expect(of({ 'retry-after': date })).toBe(0)
})

test('what cannot be read says nothing', () => {
  for (const text of ['', ' ', 'soon', '-1', '1e9', 'Wednesday'])
    expect(of({ 'retry-after': text }), text).toBeUndefined()
  expect(of({})).toBeUndefined()
})

test('a request without an answer is explained by the code of its cause, else by a bounded message', () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  expect(fetchProblem(new TypeError('fetch failed', { cause: refused }))).toBe('ECONNREFUSED')
  expect(fetchProblem(new Error('x'.repeat(500)))).toHaveLength(200)
})
