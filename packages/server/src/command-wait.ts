/**
 * Waiting for a command to be carried out by the process that drives its run.
 *
 * Owns: for how long, and what is answered when that is over. Does not own: the commands (runtime).
 * Holds: a request that waits takes a place among the streams of its principal.
 */
import { answered, type RequestContext } from './route.ts'

/** Longer than any process needs, shorter than proxies wait for an answer. Milliseconds. */
const commandTimeoutMs = 25_000

/** The answer of a command that waits; 202 where it is recorded and nothing has carried it out yet. */
export async function carriedOut<T>(
  { signal, place }: RequestContext,
  command: (signal: AbortSignal) => Promise<T>,
): Promise<T | Response> {
  const left = place()
  const late = AbortSignal.timeout(commandTimeoutMs)
  try {
    return await command(AbortSignal.any([signal, late]))
  } catch (thrown) {
    if (late.aborted && thrown === late.reason) return answered(202, {})
    throw thrown
  } finally {
    left()
  }
}
