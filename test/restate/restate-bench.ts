/** The Restate engine as the contract suite needs it: one server for a file of tests, a namespace, a port and a store of its own for every case. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { restate, type RestateEngine, type RestateOptions } from '../../src/adapters/restate/index.ts'
import type { EngineSubject } from '../../src/testing/index.ts'
import { freePort, freshPostgres, restateServer } from './harness.ts'

interface Kept {
  readonly store: RestateOptions['store']
  dispose(): Promise<void>
}

const stores = {
  async sqlite(): Promise<Kept> {
    const dir = mkdtempSync(join(tmpdir(), 'reeve-restate-'))
    return { store: { sqlite: join(dir, 'events.db') }, dispose: async () => rmSync(dir, { recursive: true, force: true }) }
  },
  async postgres(): Promise<Kept> {
    const { url, schema, dispose } = await freshPostgres()
    return { store: { postgres: url, schema }, dispose }
  },
}

let cases = 0

export function onRestate(store: keyof typeof stores, skip: EngineSubject['skip'] = {}): EngineSubject {
  return {
    name: store,
    skip,
    async create({ clock }) {
      const { ingress, admin } = await restateServer()
      const kept = await stores[store]()
      const port = await freePort()
      const namespace = `case${process.pid}-${++cases}`
      let dead = { dead: false }
      const open = (): RestateEngine => {
        const mine = (dead = { dead: false })
        return restate({
          store: kept.store,
          ingress,
          admin,
          namespace,
          listen: { port },
          clock,
          strict: true,
          parkAfterMs: 200,
          onWarning: () => {},
          crash: () => mine.dead,
        })
      }
      // The services are known to Restate before the case begins, as they are wherever a worker has ever been.
      const before = open()
      await before.drive({ find: () => undefined, onMissingVersion: 'move' })
      await before.kill()
      let engine = open()
      return {
        engine,
        async restart(how) {
          if (how === 'kill') {
            dead.dead = true
            await engine.kill()
          } else await engine.close()
          return (engine = open())
        },
        async dispose() {
          dead.dead = true
          await engine.kill()
          const names = [`${namespace}.Activation`, `${namespace}.Bell`]
          for (const deployment of await engine.client.deployments())
            if (deployment.services.some((name) => names.includes(name))) await engine.client.removeDeployment(deployment.id)
          await kept.dispose()
        },
      }
    },
  }
}
