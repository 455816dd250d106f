/** What a command works with. Owns: the type, apart from program.ts so that commands do not import the program that imports them; who sits here. */
import { userInfo } from 'node:os'
import type { StoreOptions } from './store.ts'
import type { Terminal } from './terminal.ts'

/** The world of one command. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly cwd: string
  readonly options: StoreOptions
  /** Aborted by Ctrl-C, and by SIGTERM; the reason is the name of the signal. */
  readonly interrupted: AbortSignal
}

/** The options to repeat in a printed command so that it means the same store or engine: empty if it is found without. */
export function whereOf({ store, config }: StoreOptions): string {
  if (store !== undefined) return ` --store ${quoted(store)}`
  return config === undefined ? '' : ` --config ${quoted(config)}`
}

/** A path as a shell takes it. */
export const quoted = (text: string): string => (/^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`)

/** Who sits here: recorded as the approver. */
export function thisUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'cli'
  }
}
