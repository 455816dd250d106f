/**
 * The context of a command: terminal, folder, options, Ctrl-C.
 *
 * Owns: the type, the name of the current user. Stands apart from program.ts, so that commands need not import it.
 */
import { userInfo } from 'node:os'
import { personName, shellWord } from '@reeve/core'
import type { Exit } from './exit.ts'
import type { StoreOptions } from './store.ts'
import type { Terminal } from './terminal.ts'

/** Runs a command with its context, and sets the exit code. */
export type Execute = (command: (context: CommandContext) => Promise<Exit>) => Promise<void>

/** The context of one command. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly cwd: string
  readonly options: StoreOptions
  /** Aborted by Ctrl-C, and by SIGTERM; the reason is the name of the signal. */
  readonly interrupted: AbortSignal
  /** The arguments of Node with which this process was started. Absent: the command runs inside another program. */
  readonly self?: readonly string[]
}

/** The options that a printed command must repeat to find the same store or engine. */
export function whereOf({ store, config }: StoreOptions): string {
  const option = (name: string, value: string | undefined): string =>
    value === undefined ? '' : ` --${name} ${shellWord(value)}`
  return option('store', store === undefined ? undefined : shownStore(store)) + option('config', config)
}

/** A store for display: an address without its password. */
export const shownStore = (store: string): string =>
  store
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#]*?):[^/?#]*@/i, '$1:***@')
    .replaceAll(/([?&](?:password|sslpassword)=)[^&#]*/gi, '$1***')

/** Resolves when the signal comes. */
export function aborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted')
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
}

/** Under which name a command is recorded where the login name is not known. */
const nobody = 'cli'

/** The login name, under which commands and decisions are recorded. */
export function currentUser(): string {
  try {
    return personName(userInfo().username) || nobody
  } catch {
    return nobody
  }
}
