/**
 * The terminal: where a command writes, whether somebody sits at it, and how text is coloured.
 *
 * Owns: the seam between commands and the process, so that tests can stand in for both. Does not own: what is written.
 * Colours: only on a terminal, and not under NO_COLOR (util.styleText holds to both).
 */
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'

/** A style of `util.styleText`. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta'

/** Where a command speaks. */
export interface Terminal {
  /** Somebody looks at the output, and it can be redrawn in place. */
  readonly isLive: boolean
  /** Somebody can answer a question. */
  readonly canAsk: boolean
  readonly columns: number
  readonly rows: number
  /** Writes a line of the result. */
  readonly line: (text?: string) => void
  /** Writes a line beside the result: progress, errors. */
  readonly note: (text: string) => void
  /** Writes as it is, without a line end. */
  readonly raw: (text: string) => void
  readonly style: (style: Style, text: string) => string
  readonly ask: (question: string, signal?: AbortSignal) => Promise<string>
}

/** A warning as one line, whatever its text is. */
export const warningLine = (code: string | undefined, message: string, { style }: Pick<Terminal, 'style'>): string =>
  `${style('yellow', 'reeve:')} ${code === undefined ? '' : `${code}: `}${message.replaceAll(/\s*\n\s*/g, ' ')}`

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr, stdin } = process
  return {
    isLive: stdout.isTTY === true && process.env['TERM'] !== 'dumb',
    canAsk: stdin.isTTY === true && stdout.isTTY === true,
    get columns() {
      return stdout.columns || 80
    },
    get rows() {
      return stdout.rows || 24
    },
    line: (text = '') => stdout.write(`${text}\n`),
    note: (text) => stderr.write(`${text}\n`),
    raw: (text) => stdout.write(text),
    style: (style, text) => styleText(style, text, { stream: stdout }),
    async ask(question, signal) {
      const prompt = createInterface({ input: stdin, output: stdout })
      try {
        return await (signal === undefined ? prompt.question(question) : prompt.question(question, { signal }))
      } finally {
        prompt.close()
      }
    },
  }
}
