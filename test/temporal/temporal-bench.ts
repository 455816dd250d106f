/** The engine on Temporal as the contract suite needs it: one server for a file of tests, a task queue and a store of its own for every case. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { temporalEngine } from '../../src/adapters/temporal/temporal.ts'
import type { HostEngine } from '../../src/engine/host/index.ts'
import type { EngineSubject } from '../../src/testing/index.ts'
import { removeFolder, temporaryFolder } from '../servers/place.ts'
import { freshPostgres } from '../servers/postgres.ts'
import { temporalServer, type TemporalTestServer } from '../servers/temporal.ts'
import { onServer } from '../store/postgres-place.ts'

/** A store that outlives its processes. */
export interface Kept {
  readonly store: string
  /** The process that had it is dead, and cannot be told from this one: its lease is taken away by hand. */
  forgetProcess(): Promise<void>
  dispose(): Promise<void>
}

export const stores = {
  async sqlite(): Promise<Kept> {
    const dir = temporaryFolder('temporal-store')
    const file = join(dir, 'runs.db')
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

let server: Promise<TemporalTestServer> | undefined
let cases = 0

export function onTemporal(store: keyof typeof stores): EngineSubject & { readonly durable: boolean } {
  return {
    name: store,
    durable: true,
    async create({ clock }) {
      const { address } = await (server ??= temporalServer())
      const kept = await stores[store]()
      const taskQueue = `case-${++cases}`
      let dead = { dead: false }
      const open = (): HostEngine => {
        const mine = (dead = { dead: false })
        return temporalEngine({
          store: kept.store,
          address,
          taskQueue,
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
          await kept.dispose()
        },
      }
    },
  }
}
