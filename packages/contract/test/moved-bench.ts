/**
 * An engine whose runs a server places, as the contract suite needs it: a store of its own for every case, which
 * outlives its processes.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { HostEngine, HostOptions } from '@reeve/engine/host'
import type { EngineSubject } from '../src/index.ts'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'
import { freshPostgres } from '../../../test/servers/postgres.ts'
import { onServer } from '../../engine/test/store/postgres-place.ts'

/** A store that outlives its processes. */
export interface Kept {
  readonly store: string
  /** The process that had it is dead, and cannot be told from this one: its lease is taken away by hand. */
  forgetProcess(): Promise<void>
  dispose(): Promise<void>
}

export const stores = {
  async sqlite(): Promise<Kept> {
    const dir = temporaryFolder('moved')
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

/** Where the runs of one case are placed: how an engine is opened there, and what is to be removed after it. */
export interface Place {
  readonly open: (options: { readonly store: string } & HostOptions) => HostEngine
  readonly dispose?: () => Promise<void>
}

export function moved(
  store: keyof typeof stores,
  place: () => Promise<Place>,
): EngineSubject & { readonly durable: boolean } {
  return {
    name: store,
    durable: true,
    keepsContents: true,
    async create({ clock }) {
      const { open: openAt, dispose } = await place()
      const kept = await stores[store]()
      let dead = { dead: false }
      const open = (): HostEngine => {
        const mine = (dead = { dead: false })
        return openAt({
          store: kept.store,
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
        await engine.close({ graceMs: 0 })
      }
      let engine = open()
      return {
        engine,
        async restart(how) {
          if (how === 'kill') {
            await die(engine)
            await kept.forgetProcess()
          } else await engine.close({ graceMs: 0 })
          return (engine = open())
        },
        async dispose() {
          await die(engine)
          await dispose?.()
          await kept.dispose()
        },
      }
    },
  }
}
