/** Values on the command line: JSON where it is, text where it is not, and no number that would be another one. */
import { expect, test } from 'vitest'
import { readValue } from '../src/command/answer.ts'
import { metadataValue } from '@reeve/runtime'

test.each<[string, unknown]>([
  ['12', 12],
  ['"12"', '12'],
  ['{"a":[1]}', { a: [1] }],
  ['Riga', 'Riga'],
  ['{not json', '{not json'],
])('%s', (given, value) => expect(readValue(given)).toEqual(value))

test.each([
  ['9007199254740993', 'the value is 9007199254740993'],
  ['{"id":[2512292042121000001]}', 'the value.id[0] is 2512292042121000001'],
  ['1e400', 'the value is 1e400'],
  ['{"a":1,"a":2}', 'the value.a stands twice'],
])('%s is refused by its place', (given, problem) => expect(() => readValue(given)).toThrow(problem))

test('metadata are exact: a number that would be rounded stays a text', () => {
  expect(['7', '"7"', 'true', '2512292042121000001', '{"a":1}'].map(metadataValue)).toEqual([
    7,
    '7',
    true,
    '2512292042121000001',
    '{"a":1}',
  ])
})
