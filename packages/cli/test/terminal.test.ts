/** The terminal of a process: what is styled is styled, whatever the marks of a process are. */
import { afterEach, expect, test, vi } from 'vitest'
import { processTerminal } from '../src/terminal.ts'

afterEach(() => vi.unstubAllEnvs())

test('a style is shown as a style by every process, and never as the mark that stands for it', () => {
  vi.stubEnv('FORCE_COLOR', '1')
  vi.stubEnv('NO_COLOR', undefined)
  vi.stubEnv('NODE_DISABLE_COLORS', undefined)
  // each terminal has marks of its own
  const shown = Array.from({ length: 64 }, () => {
    const terminal = processTerminal()
    return terminal.shown(`a ${terminal.style('bold', 'b\u001b')} c`)
  })
  expect([...new Set(shown)]).toEqual(['a \u001b[1mb\\u001b\u001b[22m c'])
})
