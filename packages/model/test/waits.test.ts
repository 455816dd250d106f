/** When a provider wants to be asked again: headers, bodies and words of each vendor, and what hostile ones say. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { modelFailure } from '../src/faults.ts'
import { longestWaitMs, waitOf } from '../src/waits.ts'

const said = (text: string, headers: Record<string, string> = {}, body?: string): number | undefined =>
  waitOf({ headers, text, body })

describe('in words', () => {
  test.each([
    ['Rate limit reached for gpt-5 on TPM: Limit 30000, Used 29800. Please try again in 3s.', 3_000],
    ['Please try again in 1m30.5s. Visit https://x', 90_500],
    ['Please try again in 250ms.', 250],
    ['Please try again in 6m0s', 360_000],
    ['Please try again in 2h3m4s', 7_384_000],
    ['Please retry after 26 seconds.', 26_000],
    ['Please retry in 17.25s.', 17_250],
    ['Too many requests: try again in about 10 minutes', 600_000],
    ['Please wait 42 seconds before retrying.', 42_000],
    ['Rate limit exceeded, retry-after: 12', 12_000],
    ['The limit resets in 1 hour and 5 minutes', 3_900_000],
  ])('%s', (text, ms) => expect(said(text)).toBe(ms))

  test.each([
    'You used 30000 tokens in 60s',
    'try again later',
    'Please try again in a while',
    'retry after version 12.3.4',
    'limit of 10 requests per minute',
  ])('nothing is read from: %s', (text) => expect(said(text)).toBeUndefined())
})

describe('in headers', () => {
  const at = Date.parse('2026-11-29T01:00:00Z')
  const date = new Date(at).toUTCString()
  test.each([
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1_500],
    [{ 'Retry-After': '4' }, 4_000],
    [{ 'retry-after': new Date(at + 7_000).toUTCString(), date }, 7_000],
    [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6m0s' }, 360_000],
    [
      {
        'x-ratelimit-remaining-requests': '5',
        'x-ratelimit-reset-requests': '8h',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '20ms',
      },
      20,
    ],
    [{ 'x-ratelimit-reset-requests': '8h', 'x-ratelimit-reset-tokens': '7.66s' }, 7_660],
    [
      { 'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': '2026-11-29T01:00:11Z', date },
      11_000,
    ],
    [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '30' }, 30_000],
  ] as [Record<string, string>, number][])('%j', (headers, ms) => expect(said('', headers)).toBe(ms))

  test('what is said for this answer wins over the counters of the account', () => {
    expect(said('Please try again in 2s', { 'x-ratelimit-reset-requests': '1h' })).toBe(2_000)
    expect(said('Please try again in 2s', { 'retry-after': '5' })).toBe(5_000)
  })
})

describe('in bodies', () => {
  test('google.rpc.RetryInfo, also where the error is in a list', () => {
    const error = {
      error: {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17s' }],
      },
    }
    expect(said('', {}, JSON.stringify(error))).toBe(17_000)
    expect(said('', {}, JSON.stringify([error]))).toBe(17_000)
  })

  test('the headers that OpenRouter hands on', () => {
    const metadata = { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(Date.now() + 60_000) } }
    const wait = said('', {}, JSON.stringify({ error: { code: 429, message: 'Rate limit exceeded', metadata } }))
    expect(wait).toBeGreaterThan(50_000)
    expect(wait).toBeLessThanOrEqual(60_000)
  })

  test('an error inside a stream has no headers: its code and its words are read', () => {
    const facts = { model: 'm', secrets: [], begun: true }
    expect(modelFailure({ code: 429, message: 'Please try again in 3s.' }, facts)).toMatchObject({
      code: 'model.rate-limited',
      retryAfterMs: 3_000,
    })
    expect(
      modelFailure({ type: 'error', error: { type: 'rate_limit_error', message: 'try again in 20s' } }, facts),
    ).toMatchObject({ class: 'rate-limit', retryAfterMs: 20_000 })
  })
})

test('whatever is said, a wait is a whole number of milliseconds up to a day, or there is none', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string().map((more) => `try again in ${more}`),
    fc.constant(`try again in ${'9'.repeat(12)}d`),
  )
  fc.assert(
    fc.property(text, text, text, (words, header, body) => {
      const wait = said(words, { 'retry-after': header, 'x-ratelimit-reset-tokens': body }, body)
      const isSound = wait === undefined || (Number.isInteger(wait) && wait >= 0 && wait <= longestWaitMs)
      expect(isSound).toBe(true)
    }),
  )
  expect(said(`try again in ${'9'.repeat(12)}d`)).toBe(longestWaitMs)
  expect(said('', { 'retry-after': '99999999999' })).toBe(longestWaitMs)
  expect(said('', { 'retry-after': '-5' })).toBeUndefined()
})

test('a long hostile message is read in no time', () => {
  const begun = performance.now()
  said(`${'try again in '.repeat(50_000)}${'1'.repeat(100_000)}`)
  said('1m'.repeat(100_000), {}, `{"error":${'['.repeat(20_000)}`)
  expect(performance.now() - begun).toBeLessThan(1_000)
})
