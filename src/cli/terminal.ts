/**
 * The terminal: where a command writes, whether somebody sits at it, and how text is coloured.
 *
 * Owns: the seam between commands and the process, so that tests can stand in for both. Does not own: what is written.
 * Everything is made visible as it is written, so that no command can forget it: of what is written, only our own
 * styles and line ends reach the terminal as they are. Colours: only on a terminal, and not under NO_COLOR
 * (util.styleText holds to both).
 */
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { visibleLines } from '../core/index.ts'

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
  /** A text as `line` would write it: visible, with its styles. For what is written with `raw`. */
  readonly shown: (text: string) => string
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
  const { styled, shown } = styles((style, text) => styleText(style, text, { stream: stdout }))
  return {
    isLive: stdout.isTTY === true && process.env['TERM'] !== 'dumb',
    canAsk: stdin.isTTY === true && stdout.isTTY === true,
    get columns() {
      return stdout.columns || 80
    },
    get rows() {
      return stdout.rows || 24
    },
    shown,
    line: (text = '') => stdout.write(`${shown(text)}\n`),
    note: (text) => stderr.write(`${shown(text)}\n`),
    raw: (text) => stdout.write(text),
    style: styled,
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

/**
 * Styles as marks that nobody who wrote a text can have written, and what becomes of a text with them when it is
 * written.
 */
function styles(
  given: (style: Style, text: string) => string,
): Pick<Terminal, 'shown'> & { readonly styled: Terminal['style'] } {
  const secret = randomBytes(8).toString('hex')
  // `\0` before a digit would be another character
  const mark = new RegExp(`\\x00${secret}(\\w+);`)
  const codes = new Map<string, string>()
  const marked = (name: string, code: string): string => {
    codes.set(name, code)
    return code === '' ? '' : `\0${secret}${name};`
  }
  return {
    styled(style, text) {
      const [before = '', after = ''] = given(style, '|').split('|')
      return `${marked(style, before)}${text}${marked(`${style}_`, after)}`
    },
    // every second part is the name of a mark
    shown: (text) =>
      text
        .split(mark)
        .map((part, i) => (i % 2 === 1 ? (codes.get(part) ?? '') : visibleLines(part).join('\n')))
        .join(''),
  }
}
