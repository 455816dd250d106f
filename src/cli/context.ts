/**
 * What a command works with.
 *
 * Owns: the type, apart from program.ts so that commands do not import the program that imports them; who sits here,
 * and how long they stay.
 */
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

/**
 * The options to repeat in a printed command so that it means the same store or engine: empty if it is found without.
 */
export function whereOf({ store, config }: StoreOptions): string {
  const option = (name: string, value: string | undefined): string =>
    value === undefined ? '' : ` --${name} ${quoted(value)}`
  return option('store', store === undefined ? undefined : shownStore(store)) + option('config', config)
}

/** A store as it may be shown: of an address without its password. */
export const shownStore = (store: string): string =>
  store
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#]*?):[^/?#]*@/i, '$1:***@')
    .replaceAll(/([?&](?:password|sslpassword)=)[^&#]*/gi, '$1***')

/** A path as a shell takes it. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Resolves when the signal comes. */
export function aborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted')
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
}

/** Who sits here: recorded as the approver. */
export function thisUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'cli'
  }
}
