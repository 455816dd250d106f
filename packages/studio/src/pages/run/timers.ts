/**
 * Timers: what a timer of an agent is for, by the last part of its address in the journal.
 *
 * Owns: which timers only bound other work, the words for the others. Pure.
 */

/** The last part of an address, without its number: `work/a/timeout#2` is `timeout`. */
const lastPart = (address: string): string => address.slice(address.lastIndexOf('/') + 1).replace(/#\d+$/, '')

const deadlines: ReadonlySet<string> = new Set(['timeout', 'deadline', 'idle'])

/** It says how long other work may take: nothing waits for it. */
export const isDeadline = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean =>
  kind === 'timer' && deadlines.has(lastPart(name))

/** What an agent does while it waits for this timer. */
export function timerText(address: string): string {
  const last = lastPart(address)
  return last === 'mail' ? 'waits for mail' : last === 'sleep' ? 'sleeps' : 'waits for a timer'
}
