/**
 * The engine on Restate: the host over a store, with Restate as its mover.
 *
 * Owns: putting the two together. Does not own: moving runs and what is recorded (engine/host, the store), calling
 * workers (mover.ts).
 */
import type { Engine } from '@reeve/engine'
import { engineOn } from '@reeve/stores/open-store'
import { RestateMover } from './mover.ts'
import { setupOf, type RestateOptions } from './options.ts'

/**
 * The engine on Restate, for `createRuntime({ engine })`: any number of workers share a store, and Restate calls one of
 * them whenever a run has something to do. Throws `config.invalid`, and `store.*` for a file that cannot be opened.
 * Errors of a database or of Restate are thrown by the first call that needs it.
 */
export function restate(options: RestateOptions): Engine {
  const { store, setup, others } = setupOf(options)
  return engineOn(store, 'restate', others, (id) => new RestateMover(setup, id))
}
