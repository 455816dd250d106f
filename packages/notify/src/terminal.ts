/**
 * The terminal as a channel: lines for the operator of this process, with the command that decides.
 *
 * Owns: their form. Does not own: the text (rendered-notice.ts). What a model wrote cannot redraw the terminal.
 */
import { bar, functionCheck, shellWord, unchecked, visible, wrapped, type Checks } from '@reeve/core'
import type { Channel } from '@reeve/oversight'
import { mustBeOptionsOf } from './options.ts'
import { renderNotice } from './rendered-notice.ts'

/** Options of the terminal channel. */
export interface TerminalOptions {
  /** Default `terminal`. */
  readonly name?: string
  /**
   * Takes the text, which ends with a line break. Default: standard error, so that output which is read by programs
   * stays as it is.
   */
  readonly write?: (text: string) => void
  /** The store that the printed commands name. Default: none, for those who type them where it is found without. */
  readonly store?: string
  /** The config that the printed commands name. Default: none. */
  readonly config?: string
}

const checks: Checks<TerminalOptions> = {
  name: unchecked, // by the runtime
  write: functionCheck,
  store: unchecked,
  config: unchecked,
}

/** Where the width of the screen is unknown. */
const usualColumns = 100

/** Keys of this many last notices are remembered, so that one that is told again is not written again. */
const remembered = 1_000

/** A channel that writes to the terminal. Throws `config.invalid` for invalid options. */
export function terminal(options: TerminalOptions = {}): Channel {
  mustBeOptionsOf('terminal', options, checks)
  const { name = 'terminal', write = (text: string) => void process.stderr.write(text), store, config } = options
  const where = (['store', 'config'] as const).flatMap((each) => {
    const file = { store, config }[each]
    return file === undefined ? [] : [` --${each} ${shellWord(visible(file))}`]
  })
  const done = new Set<string>()
  return {
    name,
    notify(notice, { key }) {
      if (done.has(key)) return
      const { title, reason, facts, input, commands } = renderNotice(notice, undefined, where.join(''))
      const columns = (options.write === undefined ? process.stderr.columns : undefined) ?? usualColumns
      // what a model wrote can be taken for no line of ours, also where the screen would break it
      const behind = (text: string): string[] => text.split('\n').flatMap((line) => wrapped(line, columns, bar))
      const text = [
        ...wrapped(`[reeve] ${title}`, columns),
        ...behind(reason),
        ...facts.flatMap(([what, value]) => wrapped(`  ${what}: ${value}`, columns)),
        notice.type === 'approval' ? '  With:' : '  The question:',
        ...behind(input),
        ...commands.map(
          (command, i) => `  ${i === 0 ? (notice.type === 'approval' ? 'Decide:' : 'Answer:') : '       '} ${command}`,
        ),
      ]
      write(`${text.join('\n')}\n`)
      done.add(key)
      const [oldest] = done
      if (done.size > remembered) done.delete(oldest!)
    },
  }
}
