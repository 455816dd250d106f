/** A terminal that remembers what was written to it. */
import type { Terminal } from '../src/terminal.ts'

export interface FakeTerminal extends Terminal {
  readonly written: string
  readonly notes: string
}

/** Not live and without anybody to ask, unless it is told. `answers` are given one by one. */
export function fakeTerminal({ isLive = false, columns = 100, answers = [] as string[] } = {}): FakeTerminal {
  let written = ''
  let notes = ''
  return {
    isLive,
    canAsk: answers.length > 0,
    columns,
    rows: 30,
    line: (text = '') => (written += `${text}\n`),
    note: (text) => (notes += `${text}\n`),
    shown: (text) => text,
    raw: (text) => (written += text),
    piece: async (text) => void (written += text),
    style: (_style, text) => text,
    ask: () => Promise.resolve(answers.shift() ?? ''),
    get written() {
      return written
    },
    get notes() {
      return notes
    },
  }
}
