import { expect, test } from 'vitest'
import { upgradesFrom, type SchemaVersions } from '@reeve/engine/storage'

const tables: SchemaVersions<string> = { version: 9, upgrades: { 8: 'to 8', 9: 'to 9' } }
const from = (found: number): readonly string[] => upgradesFrom(found, tables, 'runs.db')

test('K12: tables of a released version get all upgrades that they lack, in order', () => {
  expect(from(7)).toEqual(['to 8', 'to 9'])
  expect(from(8)).toEqual(['to 9'])
  expect(from(9)).toEqual([])
})

test.each([
  [10, 'store.newer', 'runs.db was written by a newer Reeve (schema 10, this one knows 9)'],
  [6, 'store.older', 'runs.db was written by a Reeve that was never released (schema 6, this one knows 9)'],
  [0, 'store.older', 'runs.db was written by a Reeve that was never released (schema 0, this one knows 9)'],
])('K12: tables of version %i are refused: %s', (found, code, message) => {
  expect(() => from(found)).toThrow(expect.objectContaining({ code, message }))
})
