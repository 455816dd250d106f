/** The engine on PostgreSQL as the contract suite needs it: a schema of its own on the server that runs. */
import { createPostgresEngine, type PostgresEngine } from '@reeve/postgres'
import type { EngineSubject } from '../src/engine/stage.ts'
import { freshPostgres } from '../../restate/test/harness.ts'
import { onServer } from '../../engine/test/store/postgres-place.ts'

export function postgres(name: string): EngineSubject & { durable: boolean } {
  return {
    name,
    durable: true,
    passesParts: true,
    keepsContents: true,
    async create({ clock }) {
      const { server, schema, dispose } = await freshPostgres()
      let dead = { dead: false }
      const open = (): PostgresEngine => {
        const mine = (dead = { dead: false })
        return createPostgresEngine({
          postgres: server,
          schema,
          poolSize: 2,
          clock,
          strict: true,
          pollMs: 5,
          crash: () => mine.dead,
          onWarning: () => {},
        })
      }
      let engine = open()
      const others: PostgresEngine[] = []
      return {
        engine,
        beside() {
          const other = createPostgresEngine({
            postgres: server,
            schema,
            poolSize: 2,
            clock,
            pollMs: 5,
            onWarning: () => {},
          })
          others.push(other)
          return other
        },
        async restart(how) {
          if (how === 'kill') {
            dead.dead = true
            engine.driver.stop()
          }
          await engine.close({ graceMs: 0 })
          // with a clock of its own there is no session whose end would tell
          if (how === 'kill') await onServer(server, `DELETE FROM ${schema}.process`)
          return (engine = open())
        },
        async dispose() {
          dead.dead = true
          engine.driver.stop()
          await engine.close({ graceMs: 0 })
          for (const other of others) await other.close()
          await dispose()
        },
      }
    },
  }
}
