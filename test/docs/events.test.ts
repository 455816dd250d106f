/** docs/reference/events.md has every event that a journal can hold, as it is declared. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { eventsPage } from '../../scripts/events.ts'
import { versions } from '@reeve/journal'

const now = readFileSync(new URL('../../docs/reference/events.md', import.meta.url), 'utf8')

test('docs/reference/events.md is not stale: npm run docs:events', () => {
  expect(now).toBe(eventsPage())
})

test('every event has one section, its version, and says when it is recorded', () => {
  const sections = [...now.matchAll(/^### ([a-z][\w.-]+)\n\nVersion (\d+)\. (.+)$/gm)]
  expect(Object.fromEntries(sections.map(([, type, version]) => [type, Number(version)]))).toEqual(versions)
  expect(sections.length).toBe(Object.keys(versions).length)
})
