/**
 * The door to the composition root for those who define agents: what runs them is loaded when a runtime is made, so a
 * program that only defines a team, and the start of every other, reads a third of the code less.
 *
 * Owns: nothing else. Does not own: making a runtime (runtime.ts).
 */
import type { RuntimeOptions } from './options.ts'
import type { Runtime } from './runtime.ts'

/**
 * Opens a store and drives its runs. Throws `config.invalid` for invalid options, `team.invalid` and other codes for
 * invalid agents, `store.*` for problems of the store. With `drive: false` the first call connects to a database, and
 * rejects if that fails.
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = await import('./runtime.ts')
  return await runtime.openRuntime(options)
}
