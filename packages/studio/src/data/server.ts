/**
 * The server that this page is from: the public client, as a page uses it.
 *
 * Owns: that a request is made once, because a page says that it failed and tries again by itself; what is left out of
 * one.
 */
import { createClient } from '@reeve/client'

export const server = createClient({ retries: 0 })

/** The members that say something: neither undefined nor an empty text. */
export const filled = <T extends object>(members: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== '')) as never

const patienceMs = 26_000

/**
 * A command that a process carries out: undefined if none has after a while. It stays recorded, and a page need not wait
 * for it longer than the server does.
 */
export async function orRecorded<T>(command: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const late = AbortSignal.timeout(patienceMs)
  try {
    return await command(late)
  } catch (error) {
    if (late.aborted && error === late.reason) return undefined
    throw error
  }
}
