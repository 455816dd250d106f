/** Commands that are printed are for a shell: an id that a shell would not take as one word stands in quotes. */
import { expect, test } from 'vitest'
import { approvalLines, setAsideCommands } from '../src/request-text.ts'
import { shellWord } from '@reeve/core'

test('a child run, in whose id a shell would see a redirection, is quoted; an id of a plain run is not', () => {
  expect(setAsideCommands('run_1>>turn/call/writer', '')).toBe(
    "retry: reeve resume 'run_1>>turn/call/writer'    (or end it without its code: reeve cancel 'run_1>>turn/call/writer')",
  )
  expect(setAsideCommands('run_1', ' --store a.db')).toBe(
    'retry: reeve resume run_1 --store a.db    (or end it without its code: reeve cancel run_1 --store a.db)',
  )
  expect(shellWord("it's")).toBe(String.raw`'it'\''s'`)
})

test('the command that shows what an approval leaves out names its run', () => {
  const text = Array.from({ length: 74 }, (_, i) => `line ${i}`).join('\n')
  const approval = {
    tool: 'send',
    path: ['clerk'],
    reason: 'x',
    risk: 'low',
    input: { text },
    id: 'apr_1',
    run: 'run_1',
  }
  expect(approvalLines(approval as never, 100, ' --store a.db')).toContain(
    '    … 14 of 74 lines omitted; see all with reeve show run_1 --json --store a.db',
  )
})
