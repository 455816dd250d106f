/**
 * Run drivers: whether a run needs a process that drives it, and whether one may be there.
 *
 * Owns: these answers. Does not own: the command that drives a run (next-command.ts), who holds which run (engine).
 * Holds: a process that may be alive counts as one that drives, so that no run is said to be left that is not.
 */
import type { RunSummary, Runtime, SystemView } from '@reeve/runtime'

/** The engines whose processes keep a lease in the store. Others move their runs themselves. */
const leasing: ReadonlySet<string> = new Set(['embedded', 'postgres'])

/** Whether a process may drive runs of this store now. True too where it cannot be known. */
export const mayBeDriven = async (runtime: Runtime): Promise<boolean> => isDrivenIn(await runtime.system())

/** Whether another process than this one drives runs of this store now, as far as it is known. */
export async function otherDriver(runtime: Runtime): Promise<'alive' | 'none' | 'unknown'> {
  const { installation } = await runtime.system()
  if (installation === undefined || !leasing.has(installation.engine)) return 'unknown'
  const others = installation.workers.filter(({ isThis }) => !isThis)
  if (others.some(({ isAlive }) => isAlive === true)) return 'alive'
  return others.some(({ isAlive }) => isAlive === undefined) ? 'unknown' : 'none'
}

/** The same, where the installation has been read. */
export function isDrivenIn({ installation }: SystemView): boolean {
  if (installation === undefined || !leasing.has(installation.engine)) return true
  return installation.workers.some(({ isAlive }) => isAlive !== false)
}

/** Whether a run would continue if a process drove it: it is not held, and waits for no one who could still answer. */
export function needsDriver({ status, waitsFor }: RunSummary, now: number): boolean {
  if (status === 'running' || status === 'pausing') return true
  return status === 'waiting' && (waitsFor === undefined || isExpired(waitsFor.oldest, now))
}

/** The same of a run with these open questions: one whose deadline has passed may stand behind others. */
export const isLeft = (run: RunSummary, questions: readonly { readonly until?: number }[], now: number): boolean =>
  needsDriver(run, now) || questions.some((each) => isExpired(each, now))

/** Whether the deadline of a question has passed: it closes as soon as a process drives its run. */
export const isExpired = ({ until }: { readonly until?: number }, now: number): boolean =>
  until !== undefined && until < now
