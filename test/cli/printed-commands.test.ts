/** Commands that are printed are for a shell: an id that a shell would not take as one word stands in quotes. */
import { expect, test } from 'vitest'
import { setAsideLines } from '../../src/cli/request-text.ts'
import { shellWord } from '../../src/core/index.ts'
import { failure } from '../../src/core/index.ts'

test('a child run, in whose id a shell would see a redirection, is quoted; an id of a plain run is not', () => {
  const why = failure('run.crash-loop', 'its process died', 'internal')
  expect(setAsideLines(why, 'run_1>>turn/call/writer', '')).toEqual([
    "  retry: reeve resume 'run_1>>turn/call/writer'    (or end it without its code: reeve cancel 'run_1>>turn/call/writer')",
  ])
  expect(setAsideLines(why, 'run_1', ' --store a.db')).toEqual([
    '  retry: reeve resume run_1 --store a.db    (or end it without its code: reeve cancel run_1 --store a.db)',
  ])
  expect(shellWord("it's")).toBe(String.raw`'it'\''s'`)
})
