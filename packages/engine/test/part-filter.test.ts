/** What is heard of the live parts of several processes: each once, in order, and nothing old (K9). */
import { expect, test } from 'vitest'
import { rootActivation, runId } from '@reeve/core'
import type { LivePart } from '../src/index.ts'
import { PartFilter } from '../src/host/part-filter.ts'

const activation = rootActivation(runId('r'))
const shown = (part: string, epoch = 1): LivePart => ({ activation, address: 's', epoch, attempt: 1, part })

test('K9: what comes twice is heard once, whenever it comes; each process counts for itself', () => {
  const overheard = new PartFilter()
  const take = (from: string, n: number, ...parts: string[]): unknown[] =>
    overheard.take({ from, n, parts: parts.map((part) => shown(part)) }).map(({ part }) => part)
  expect([
    take('a', 1, 'x', 'y'),
    take('a', 1, 'x', 'y'),
    take('a', 4, 'z'),
    take('a', 1, 'x', 'y'),
    take('a', 4, 'z'),
  ]).toEqual([['x', 'y'], [], ['z'], [], []])
  expect(take('b', 2, 'x')).toEqual(['x'])
})

test('K9: an older epoch is not heard after a newer one has begun, in any process', () => {
  const overheard = new PartFilter()
  let n = 0
  const take = (from: string, ...epochs: number[]): number[] =>
    overheard.take({ from, n: ++n, parts: epochs.map((epoch) => shown('x', epoch)) }).map(({ epoch }) => epoch)
  expect(take('a', 1, 1)).toEqual([1, 1])
  expect(take('b', 2)).toEqual([2])
  expect(take('a', 1)).toEqual([])
  expect([1, 2, 3].map((epoch) => overheard.admits(shown('x', epoch)))).toEqual([false, true, true])
  expect(take('b', 2)).toEqual([])
})
