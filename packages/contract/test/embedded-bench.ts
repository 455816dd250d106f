/** The embedded engine as the contract suite needs it: over a file or in memory. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createEmbeddedEngine, type EmbeddedEngine, type EmbeddedOptions } from '@reeve/sqlite'
import type { Bench, EngineSubject } from '../src/engine/stage.ts'

export function embedded(
  name: string,
  options: Pick<EmbeddedOptions, 'durability'> & { memory?: boolean } = {},
): EngineSubject & { durable: boolean } {
  const { memory = false, ...rest } = options
  return {
    name,
    durable: !memory,
    keepsContents: true,
    async create({ clock }) {
      const dir = memory ? undefined : mkdtempSync(join(tmpdir(), 'reeve-contract-'))
      const file = dir === undefined ? ':memory:' : join(dir, 'reeve.db')
      let dead = { dead: false }
      const open = (): EmbeddedEngine => {
        const mine = (dead = { dead: false })
        return createEmbeddedEngine({
          ...rest,
          file,
          clock,
          strict: true,
          pollMs: 5,
          crash: () => mine.dead,
          onWarning: () => {},
        })
      }
      let engine = open()
      const bench: Bench = {
        engine,
        ...(memory
          ? {}
          : {
              async restart(how) {
                if (how === 'kill') {
                  dead.dead = true
                  engine.driver.stop()
                }
                await engine.close({ graceMs: 0 })
                if (how === 'kill') bury(file)
                return (engine = open())
              },
            }),
        async dispose() {
          dead.dead = true
          engine.driver.stop()
          await engine.close({ graceMs: 0 })
          if (dir !== undefined) rmSync(dir, { recursive: true })
        },
      }
      return bench
    },
  }
}

/** The owner of a killed engine is this very process, which lives: its heartbeat is taken away by hand. */
function bury(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('DELETE FROM process')
  db.close()
}
