/**
 * The terminal: where a command writes, whether it is interactive, and how text is coloured.
 *
 * Owns: the port between commands and the process, which tests replace. Does not own: what is written.
 * Holds: control characters are escaped on output, so no command can forget it; only styles and line ends of Reeve
 * reach the terminal. Colours appear only on a terminal and not under NO_COLOR (util.styleText respects both).
 */
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { visibleLines } from '@reeve/core'

/** A style of `util.styleText`. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta'

/** The whole screen of a terminal, until it is given back. */
export interface FullScreen {
  /** Replaces what is shown. Lines are written as `line` writes them; none may be wider than the screen. */
  draw(lines: readonly string[]): void
  /** Gives the terminal back as it was. Idempotent. */
  leave(): void
}

/** The output and input of a command. */
export interface Terminal {
  /** The output is an interactive terminal and can be redrawn in place. */
  readonly isLive: boolean
  /** The user can answer a question. */
  readonly canAsk: boolean
  readonly columns: number
  readonly rows: number
  /** Writes a line of the result. */
  readonly line: (text?: string) => void
  /** Writes a line to standard error: progress, errors. */
  readonly note: (text: string) => void
  /** The text as `line` would write it: escaped, with styles. For output through `raw`. */
  readonly shown: (text: string) => string
  /** Writes unchanged, without a line end. */
  readonly raw: (text: string) => void
  /**
   * Writes a piece of a text that others wrote, without a line end: unchanged into a file or a pipe, as `line` would on
   * a terminal. Resolves when it has left.
   */
  readonly piece: (text: string) => Promise<void>
  readonly style: (style: Style, text: string) => string
  readonly ask: (question: string, signal?: AbortSignal) => Promise<string>
  /**
   * Takes the whole screen and each key as it is pressed; what is pasted comes as one. `changed`: the screen has another
   * size, or is back after Ctrl-Z: draw again. Absent: there is none.
   */
  readonly takeScreen?: (hear: (key: string) => void, changed: () => void) => FullScreen
}

/** A warning on one line. */
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
    piece: (text) => new Promise((resolve) => stdout.write(stdout.isTTY ? shown(text) : text, () => resolve())),
    style: styled,
    takeScreen: (hear, changed) => fullScreen(process, shown, hear, changed),
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

/** Alternate screen, no cursor, pastes with a beginning and an end; and back. */
const enterScreen = '\u001b[?1049h\u001b[?25l\u001b[?2004h'
const leaveScreen = '\u001b[?2004l\u001b[?25h\u001b[?1049l'
const pasteBegin = '\u001b[200~'
const pasteEnd = '\u001b[201~'
const ctrlZ = '\u001a'

function fullScreen(
  { stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'>,
  shown: (text: string) => string,
  hear: (key: string) => void,
  changed: () => void,
): FullScreen {
  let isTaken = false
  /** What has arrived of a paste: it comes in pieces, and the last one may look like a key. */
  let pasted: string | undefined
  const onData = (data: string): void => {
    const begin = pasted === undefined ? data.indexOf(pasteBegin) : -1
    const keys = pasted !== undefined ? '' : begin < 0 ? data : data.slice(0, begin)
    // to all processes of the job, as a shell's own terminal does
    if (keys === ctrlZ) process.kill(0, 'SIGTSTP')
    else if (keys !== '') hear(keys)
    if (begin >= 0) pasted = data.slice(begin + pasteBegin.length)
    else if (pasted !== undefined) pasted += data
    const end = pasted?.indexOf(pasteEnd) ?? -1
    if (end < 0) return
    const [whole, after] = [pasted!.slice(0, end), pasted!.slice(end + pasteEnd.length)]
    pasted = undefined
    if (whole !== '') hear(whole)
    if (after !== '') onData(after)
  }
  const take = (): void => {
    isTaken = true
    // also where the process is ended by a second signal, or by an error
    process.on('exit', leave)
    process.on('SIGTSTP', suspend)
    stdout.on('resize', changed)
    stdin.setRawMode(true)
    stdin.setEncoding('utf8')
    stdin.on('data', onData)
    stdin.resume()
    stdout.write(enterScreen)
  }
  const leave = (): void => {
    if (!isTaken) return
    isTaken = false
    process.removeListener('exit', leave)
    process.removeListener('SIGTSTP', suspend)
    stdout.removeListener('resize', changed)
    stdin.removeListener('data', onData)
    stdin.setRawMode(false)
    stdin.pause()
    stdout.write(leaveScreen)
  }
  const suspend = (): void => {
    leave()
    // stops here until a shell continues it; where no shell could, the system ignores it
    process.kill(process.pid, 'SIGTSTP')
    take()
    changed()
  }
  take()
  return {
    // A line is erased before it is written: after one of full width, the cursor still stands on its last character.
    draw: (lines) => {
      const last = lines.length - 1
      const drawn = lines.map((each, i) => `\u001b[${i === last ? 'J' : 'K'}${shown(each)}`)
      if (isTaken) stdout.write(`\u001b[H${drawn.join('\r\n')}`)
    },
    leave,
  }
}

/** Styles as marks with a random secret, so that no text can contain them; `shown` turns marks into escape codes. */
function styles(
  given: (style: Style, text: string) => string,
): Pick<Terminal, 'shown'> & { readonly styled: Terminal['style'] } {
  const secret = randomBytes(8).toString('hex')
  // \x00, as `\0` before a digit would be an octal escape
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
    // split by a capture group: every second part is the name of a mark
    shown: (text) =>
      text
        .split(mark)
        .map((part, i) => (i % 2 === 1 ? (codes.get(part) ?? '') : visibleLines(part).join('\n')))
        .join(''),
  }
}
