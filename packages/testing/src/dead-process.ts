/**
 * Dead process: takes an engine of this process for one whose process has died.
 *
 * Owns: removing its heartbeat from the store. Does not own: the death itself (the engine's `crash` option).
 */
import { DatabaseSync } from 'node:sqlite'

/** Removes every heartbeat from a store: the owner of the dead engine is this living process, so it has to be done by hand. */
export function bury(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('DELETE FROM process')
  db.close()
}
