/**
 * The suites of test/scenario and packages/runtime/test make their runtimes so that they can run on other engines, and what
 * cannot is named with a reason.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exceptions as onPostgres } from '../packages/postgres/test/suites.ts'
import { exceptions as onRestate } from '../packages/restate/test/suites.ts'
import { suiteFiles } from './suites.ts'

const textOf = (file: string): string => readFileSync(join(import.meta.dirname, '..', file), 'utf8')

describe.each([
  ['PostgreSQL', onPostgres],
  ['Restate', onRestate],
])('on %s', (_engine, exceptions) => {
  test.each(exceptions)(
    '$file: $title: it is there, and why it cannot run is said',
    ({ file, title, why, instead }) => {
      expect(suiteFiles).toContain(file)
      // A title of test.each stands there with its placeholders: up to the first one is enough.
      const written =
        title === undefined ? '' : title.split(': ').length > 2 ? title.split(': ').slice(0, 2).join(': ') : title
      expect(textOf(file)).toContain(written)
      expect(why.length).toBeGreaterThan(20)
      expect(instead === undefined || existsSync(join(import.meta.dirname, '..', instead))).toBe(true)
    },
  )

  test('every other file makes its runtimes on the engine under test', () => {
    const whole = new Set(exceptions.filter(({ title }) => title === undefined).map(({ file }) => file))
    const neutral = ['retry', 'collaboration'] // their own createRuntime is expected to refuse before any engine is opened
    for (const file of suiteFiles.filter((each) => !whole.has(each))) {
      const text = textOf(file)
      expect(text, file).toMatch(/engine-under-test|from '\.{1,2}\/[^']*team\.ts'/)
      if (neutral.some((name) => file.includes(`/${name}.test`))) continue
      expect(text, file).not.toMatch(
        /import \{[^}]*\bcreateRuntime\b[^}]*\} from '(?:@reeve\/|(?:\.\.\/)+(?:packages|src)\/)/,
      )
    }
  })
})
