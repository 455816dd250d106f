/**
 * The engine on Restate as the contract suite needs it: one server for a file of tests, a namespace and a port for
 * every case.
 */
import { engineOn } from '../../src/engine/open-store.ts'
import type { HostEngine } from '../../src/engine/host/index.ts'
import { RestateMover } from '../../src/adapters/restate/mover.ts'
import { setupOf, type RestateOptions } from '../../src/adapters/restate/options.ts'
import type { EngineSubject } from '../../src/contract/index.ts'
import { moved, type stores } from '../contract/moved-bench.ts'
import { forget, freePort, restateServer } from './harness.ts'

/** As `restate()` makes it, with what tests need besides. */
export function engineFor(options: RestateOptions): HostEngine {
  const { store, setup, others } = setupOf(options)
  return engineOn(store, 'restate', others, (id) => new RestateMover(setup, id))
}

let cases = 0

export const onRestate = (store: keyof typeof stores): EngineSubject & { readonly durable: boolean } =>
  moved(store, async () => {
    const { ingress, admin } = await restateServer()
    const listen = { port: await freePort() }
    const namespace = `case${process.pid}-${++cases}`
    return {
      open: (options) => engineFor({ ...options, ingress, admin, namespace, listen }),
      dispose: () => forget(admin, namespace),
    }
  })
