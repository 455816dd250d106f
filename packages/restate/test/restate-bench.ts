/**
 * The engine on Restate as the contract suite needs it: one server for a file of tests, a namespace and a port for
 * every case.
 */
import { engineOn } from '@reeve/stores/open-store'
import type { HostEngine } from '@reeve/engine/host'
import { RestateMover } from '../src/mover.ts'
import { setupOf, type RestateOptions } from '../src/options.ts'
import type { EngineSubject } from '../../contract/src/index.ts'
import { moved, type stores } from '../../contract/test/moved-bench.ts'
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
