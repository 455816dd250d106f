/**
 * The engine on Temporal: the host over a store, with Temporal as its mover.
 *
 * Owns: putting the two together, and what cancelling a workflow means to a run. Does not own: moving runs and what is
 * recorded (engine/host, the store), calling workers (mover.ts).
 */
import type { RunId } from '@reeve/core'
import { warning, type HostEngine } from '@reeve/engine/host'
import type { Engine } from '@reeve/engine'
import { engineOn } from '@reeve/stores/open-store'
import { TemporalMover } from './mover.ts'
import { setupOf, type TemporalOptions } from './options.ts'

/**
 * The engine on Temporal, for `createRuntime({ engine })`: any number of workers share a store, and each run has a
 * workflow, which gives it to one of them whenever it has something to do. Needs the packages `@temporalio/client`, and
 * `@temporalio/worker`, `@temporalio/workflow` and `@temporalio/activity` where agents run. Throws `config.invalid`,
 * and `store.*` for a file that cannot be opened. Errors of a database or of the server are thrown by the first call
 * that needs it. An unreachable server is a warning (`engine.unreachable`), and runs go on without it.
 */
export const temporal = (options: TemporalOptions): Engine => temporalEngine(options)

/** The same, as tests need it. */
export function temporalEngine(options: TemporalOptions): HostEngine {
  const { store, server, others } = setupOf(options)
  const engine: HostEngine = engineOn(store, 'temporal', others, (id) => {
    const cancel = async (run: RunId): Promise<void> =>
      void (await engine.post({
        type: 'cancel',
        run,
        reason: 'its workflow was cancelled in Temporal',
        by: 'temporal',
      }))
    return new TemporalMover(server, { store: id, cancel, warn: others.onWarning ?? warning })
  })
  return engine
}
