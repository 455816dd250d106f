/** `ChurnMap` and `ChurnSet` behave as `Map` and `Set`. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ChurnMap, ChurnSet } from '@reeve/core'

const key = fc.integer({ min: 0, max: 40 })
const change = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('set' as const), key, value: fc.integer() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
)

type Holder = ChurnMap<number, number> | ChurnSet<number> | Map<number, number>

/** Makes the change; says of each whether something was deleted. */
const changed = (each: typeof change extends fc.Arbitrary<infer T> ? T : never, ...holders: Holder[]): boolean[] =>
  holders.map((holder) => {
    if (each.do === 'delete') return holder.delete(each.key)
    if (each.do === 'clear') holder.clear()
    else if (holder instanceof ChurnSet) holder.add(each.key)
    else holder.set(each.key, each.value)
    return false
  })

test('the same entries as a Map and a Set, in the same order', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400 }), (changes) => {
      const [map, set, known] = [new ChurnMap<number, number>(), new ChurnSet<number>(), new Map<number, number>()]
      for (const each of changes) {
        const [mine, theirs] = [changed(each, map, set), changed(each, known)]
        expect(mine).toEqual([theirs[0], theirs[0]])
        expect([...map]).toEqual([...known])
        expect([map.size, set.size]).toEqual([known.size, known.size])
      }
      expect([...set]).toEqual([...known.keys()])
      expect([[...map.keys()], [...map.values()]]).toEqual([[...known.keys()], [...known.values()]])
      for (let i = 0; i <= 40; i++)
        expect([map.has(i), map.get(i), set.has(i)]).toEqual([known.has(i), known.get(i), known.has(i)])
    }),
  )
})

test('entries may be deleted during an iteration', () => {
  const set = new ChurnSet<number>()
  for (let i = 0; i < 100; i++) set.add(i)
  const seen: number[] = []
  for (const each of set) {
    seen.push(each)
    set.delete(each)
    set.delete(each + 1)
  }
  expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => 2 * i))
})
