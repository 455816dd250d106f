/**
 * Contents by themselves, over a store that notes what it is asked: what is written and when, redaction, outages. What
 * holds in every store and engine is in packages/contract.
 */
import { describe, expect, test } from 'vitest'
import { ReeveError, redactor, type ContentType, type Json, type Redaction, type RunId } from '@reeve/core'
import { pieceLength, RunContents } from '../src/contents.ts'
import { sha256 } from '../src/host/digests.ts'
import type { StoreContents } from '../src/store.ts'

const run = 'r1' as RunId
const unavailable = (retryable: boolean): ReeveError => new ReeveError('store.unavailable', 'away', { retryable })

/** Contents over a map. `fails`: thrown by the next calls of `keep`, one each. */
function stage({ rules, fails = [], contents }: { rules?: Redaction; fails?: unknown[]; contents?: 'none' } = {}) {
  const kept = new Map<string, string>()
  const calls: number[] = []
  const read: string[] = []
  const stopped = { now: false }
  const store: StoreContents = {
    keep(_run, pieces) {
      const fail = fails.shift()
      if (fail !== undefined) throw fail // oxlint-disable-line typescript/only-throw-error -- whatever a store throws
      calls.push([...pieces.values()].reduce((sum, { length }) => sum + length, 0))
      for (const [key, body] of pieces) kept.set(key, body)
    },
    piece(_run, key) {
      read.push(key)
      return kept.get(key)
    },
  }
  const redact = redactor(rules)
  const host = {
    store: {
      name: 'a store',
      errorOf: (thrown: unknown) => thrown as ReeveError,
      ...(contents === 'none' ? {} : { contents: store }),
    },
    sha256,
    ...(redact && {
      redact: (text: string, shape: Parameters<typeof redact>[1]) =>
        JSON.stringify(redact(JSON.parse(text) as Json, shape)),
    }),
  }
  const open = (): RunContents => new RunContents(host, run, () => stopped.now)
  const whole = async (text: string, type: ContentType): Promise<string> => {
    const own = open()
    return own.slice((await own.keep(text, type)).$content, 0, Infinity)
  }
  return { open, whole, kept, calls, read, stopped }
}

describe('keeping', () => {
  test('a long text is written a few pieces at a time, the manifest last; again, nothing is written', async () => {
    const { open, kept, calls } = stage()
    const text = 'x'.repeat(10 * pieceLength - 1).replaceAll(/x{1000}/g, (each, at: number) => `${at}${each}`)
    const ref = await open().keep(text, 'text')
    const pieces = Math.ceil(text.length / pieceLength)
    expect(kept.size).toBe(pieces + 1)
    expect([...kept.keys()].at(-1)).toBe(ref.$content)
    expect(Math.max(...calls)).toBeLessThan(4.1 * pieceLength)
    const before = calls.length
    expect(await open().keep(text, 'text')).toEqual(ref)
    expect(calls).toHaveLength(before)
  })

  test('other work has its turn while a long text is kept', async () => {
    const { open } = stage()
    let turns = 0
    const count = (): void => {
      turns++
      beat = setImmediate(count)
    }
    let beat = setImmediate(count)
    await open().keep('ab"\u0000'.repeat(4_000_000), 'text')
    clearImmediate(beat)
    expect(turns).toBeGreaterThan(3)
  })

  test('a store that is away for a while is waited for; one that refuses is not', async () => {
    const { open, kept } = stage({ fails: [unavailable(true), unavailable(true)] })
    const { size } = await open().keep('text', 'text')
    expect([size, kept.size]).toEqual([4, 2])
    await expect(
      stage({ fails: [unavailable(false)] })
        .open()
        .keep('text', 'text'),
    ).rejects.toThrow('away')
  })

  test.each([
    [{ a: 1 }, 'text', 'the text is an object, expected a text'],
    [new Uint8Array(5), 'text', 'the text is an object, expected a text'],
    ['abc', 'png', 'the type is the text "png", expected "text" or "json"'],
  ])('what is no text is refused, and nothing is written: %s %s', async (text, type, problem) => {
    const { open, kept } = stage()
    await expect(open().keep(text as string, type as 'text')).rejects.toMatchObject({
      code: 'input.invalid',
      message: `contents.keep(): ${problem}`,
    })
    expect(kept.size).toBe(0)
  })

  test('a step that was told to stop waits for no store', async () => {
    const { open, stopped } = stage({ fails: [unavailable(true), unavailable(true)] })
    stopped.now = true
    await expect(open().keep('text', 'text')).rejects.toMatchObject({ code: 'store.unavailable' })
  })

  test('a store without contents keeps none and says so; it has none', async () => {
    const { open } = stage({ contents: 'none' })
    await expect(open().keep('text', 'text')).rejects.toMatchObject({ code: 'content.unsupported' })
    const name = `result-${'0'.repeat(32)}`
    expect(await open().find(name)).toBeUndefined()
    await expect(open().slice(name, 0, 1)).rejects.toMatchObject({ code: 'content.unknown' })
  })
})

describe('reading', () => {
  test('who reads on in small steps reads each piece once', async () => {
    const { open, read } = stage()
    const own = open()
    const { $content, size } = await own.keep('0123456789'.repeat(60_000), 'text')
    read.length = 0
    let all = ''
    for (let at = 0; at < size; at += 9_999) all += await own.slice($content, at, at + 9_999)
    expect(all).toBe('0123456789'.repeat(60_000))
    expect(read.length).toBeLessThanOrEqual(4)
  })

  test('an unknown name is told without repeating what is no name', async () => {
    const error = await stage()
      .open()
      .slice('\u001b[2J../../etc', 0, 1)
      .catch((thrown: unknown) => thrown as Error)
    expect(error).toMatchObject({ code: 'content.unknown', message: 'the run r1 has no content of that name' })
  })
})

describe('redaction', () => {
  const rules: Redaction = { keys: ['password'], values: ['s3cret'] }

  test('a JSON text is redacted as the value would be, before it has a name', async () => {
    const { whole, kept } = stage({ rules })
    const text = '{"user":"ann","password":"1234","note":"it is s3cret, \\"s3cret\\"", "list":[{"PASSWORD":["x"]}]}'
    expect(JSON.parse(await whole(text, 'json'))).toEqual({
      user: 'ann',
      password: '[redacted]',
      note: 'it is [redacted], "[redacted]"',
      list: [{ PASSWORD: '[redacted]' }],
    })
    expect([...kept.values()].join('')).not.toMatch(/s3cret|1234/)
  })

  test('a text loses registered values, also across pieces; its size is what is kept', async () => {
    const { open, kept } = stage({ rules })
    const ref = await open().keep(`${'x'.repeat(pieceLength - 3)}s3cret`, 'text')
    expect(ref.size).toBe(pieceLength - 3 + '[redacted]'.length)
    expect([...kept.values()].join('')).not.toMatch(/s3c|ret"/)
  })

  test('what calls itself JSON and is none is redacted as a text', async () => {
    expect(await stage({ rules }).whole('{"note": s3cret', 'json')).toBe('{"note": [redacted]')
  })

  test('without rules a JSON text is kept as it was written', async () => {
    expect(await stage().whole('{ "a" : 1.0 }', 'json')).toBe('{ "a" : 1.0 }')
  })
})
