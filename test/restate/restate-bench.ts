/** The engine on Restate as the contract suite needs it: one server for a file of tests, a namespace, a port and a store of its own for every case. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { engineOn } from '../../src/engine/named-store.ts'
import type { HostEngine } from '../../src/engine/host/index.ts'
import { RestateMover } from '../../src/adapters/restate/mover.ts'
import { setupOf, type RestateOptions } from '../../src/adapters/restate/options.ts'
import type { EngineSubject } from '../../src/testing/index.ts'
import { removeFolder, temporaryFolder } from '../servers/place.ts'
import { onServer } from '../store/postgres-place.ts'
import { forget, freePort, freshPostgres, restateServer } from './harness.ts'

/** As `restate()` makes it, with what tests need besides. */
export function engineFor(options: RestateOptions): HostEngine {
  const { store, setup, others } = setupOf(options)
  return engineOn(store, 'restate', others, (id) => new RestateMover(setup, id))
}

interface Kept {
  readonly store: string
  /** The process that had it is dead, and cannot be told from this one: its lease is taken away by hand. */
  forgetProcess(): Promise<void>
  dispose(): Promise<void>
}

const stores = {
  async sqlite(): Promise<Kept> {
    const dir = temporaryFolder('restate')
    const file = join(dir, 'runs.db')
    // its owner is this very process, which lives
    const forgetProcess = async (): Promise<void> => {
      const db = new DatabaseSync(file)
      db.exec('DELETE FROM process')
      db.close()
    }
    return { store: file, forgetProcess, dispose: async () => removeFolder(dir) }
  },
  async postgres(): Promise<Kept> {
    const { server, schema, dispose } = await freshPostgres()
    return {
      store: `${server}?schema=${schema}`,
      forgetProcess: async () => void (await onServer(server, `DELETE FROM ${schema}.process`)),
      dispose,
    }
  },
}

let cases = 0

export function onRestate(store: keyof typeof stores): EngineSubject & { readonly durable: boolean } {
  return {
    name: store,
    durable: true,
    async create({ clock }) {
      const { ingress, admin } = await restateServer()
      const kept = await stores[store]()
      const listen = { port: await freePort() }
      const namespace = `case${process.pid}-${++cases}`
      let dead = { dead: false }
      const open = (): HostEngine => {
        const mine = (dead = { dead: false })
        return engineFor({
          store: kept.store,
          ingress,
          admin,
          namespace,
          listen,
          clock,
          strict: true,
          pollMs: 5,
          onWarning: () => {},
          crash: () => mine.dead,
        })
      }
      const die = async (engine: HostEngine): Promise<void> => {
        dead.dead = true
        engine.driver.stop()
        await engine.close()
      }
      let engine = open()
      return {
        engine,
        async restart(how) {
          if (how === 'kill') {
            await die(engine)
            await kept.forgetProcess()
          } else await engine.close()
          return (engine = open())
        },
        async dispose() {
          await die(engine)
          await forget(admin, namespace)
          await kept.dispose()
        },
      }
    },
  }
}
