/**
 * Property: a plain copy is what is read again after the value was written down, and shares nothing with it (K1, K10).
 */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainCopy, writingProblem } from '@reeve/core'

/** Anything that code may give, JSON or not. */
const anything = fc.anything({
  withDate: true,
  withNullPrototype: true,
  withSparseArray: true,
  withBigInt: true,
  maxDepth: 4,
})

/** All objects in a value. */
const objectsIn = (value: unknown): object[] =>
  typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(objectsIn)] : []

test('K10: it is the value as it is read again, or it is not made', () => {
  fc.assert(
    fc.property(anything, (value) => {
      const copy = plainCopy(value)
      if (copy === undefined) return
      expect(writingProblem(value)).toBeUndefined()
      deepStrictEqual(copy, JSON.parse(JSON.stringify(value)))
      expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
    }),
  )
})

test('K10: of JSON it is always made, whatever the names of the members', () => {
  const names = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '1', 'length'))
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue(),
      fc.array(tie('value')),
      fc.array(fc.tuple(names, tie('value'))).map((members) => Object.fromEntries(members)),
    ),
  }))
  fc.assert(
    fc.property(value, (given) => {
      deepStrictEqual(plainCopy(given), JSON.parse(JSON.stringify(given)))
    }),
  )
})

test('K1: it shares no object with the value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const given = new Set(objectsIn(value))
      expect(objectsIn(plainCopy(value)).filter((each) => given.has(each))).toEqual([])
    }),
  )
})

test('what is not plain is left to a closer look', () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const thrower = {
    get member(): never {
      throw new Error('no')
    },
  }
  const tagged = { [Symbol('mine')]: circle }
  for (const value of [
    circle,
    thrower,
    tagged,
    new Date(0),
    { at: new Date(0) },
    [undefined],
    NaN,
    1n,
    () => 1,
    new Map(),
  ])
    expect(plainCopy(value)).toBeUndefined()
  expect(plainCopy({ given: 1, absent: undefined })).toStrictEqual({ given: 1 })
  expect(Object.is(plainCopy(-0), 0)).toBe(true)
})
