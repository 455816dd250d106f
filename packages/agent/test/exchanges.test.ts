/** Exchanges that are known are not read again, and the newest are the same as without that. */
import { expect, test } from 'vitest'
import {
  addExchange,
  countExchanges,
  exchangeSlots,
  mostExchanges,
  newestExchanges,
  type Exchange,
  type KnownExchanges,
  type ExchangeKeys,
} from '../src/index.ts'
import type { Json } from '@reeve/core'
import type { SessionValues } from '@reeve/engine'
import { dice } from '../../../test/dice.ts'

const shelf: ExchangeKeys = { count: 'n', slot: (nth) => `s.${nth % exchangeSlots}` }

/** Values in memory, and how many were read. */
function memory(): SessionValues & { read: number } {
  const kept = new Map<string, Json>()
  const values = {
    read: 0,
    get: (key: string) => Promise.resolve(kept.get(key) ?? null),
    getAll: (keys: readonly string[]) => {
      values.read += keys.length
      return Promise.resolve(keys.map((key) => kept.get(key) ?? null))
    },
    update: (key: string, change: (value: Json) => Json) => {
      const next = change(kept.get(key) ?? null)
      kept.set(key, next)
      return Promise.resolve(next)
    },
  }
  return values as unknown as SessionValues & { read: number }
}
const exchange = (n: number): Exchange => ({ run: 'r', agent: 'w', input: `q${n}`, answer: `a${n}` })

test('adding the returned exchanges counts each one once', async () => {
  const values = memory()
  let known: KnownExchanges | undefined
  for (let n = 0; n < 3 * mostExchanges; n++) {
    const count = await countExchanges(values, shelf)
    const newest = await newestExchanges(values, shelf, count, 50, known)
    expect(newest).toEqual(Array.from({ length: Math.min(50, n) }, (_, i) => exchange(n - Math.min(50, n) + i)))
    known = {
      count: count + 1,
      newest: [...newest, await addExchange(values, shelf, count, exchange(n))].slice(-mostExchanges),
    }
  }
  expect(values.read).toBe(0)
})

test('several who know as much as they have seen, and want as many as they like, are shown the newest', async () => {
  const roll = dice(3)
  const values = memory()
  const readers: (KnownExchanges | undefined)[] = [undefined, undefined, undefined]
  const all: Exchange[] = []
  for (let n = 0; n < 1_000; n++) {
    const who = Math.floor(roll() * readers.length)
    const most = 1 + Math.floor(roll() * mostExchanges)
    const count = await countExchanges(values, shelf)
    const newest = await newestExchanges(values, shelf, count, most, readers[who])
    expect(newest).toEqual(all.slice(-most))
    readers[who] = { count, newest }
    if (roll() < 0.5) continue
    all.push(await addExchange(values, shelf, count, exchange(n)))
    if (roll() < 0.7) readers[who] = { count: count + 1, newest: [...newest, all.at(-1)!].slice(-mostExchanges) }
  }
})
