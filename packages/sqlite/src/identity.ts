/**
 * Identity: whether the open store is still the file under its name. A file that was removed, replaced or restored
 * under an open connection takes everything that is written to it, and it will never be read.
 *
 * Owns: what a store is known by (device and inode of its files, its id, its newest position). Does not own: what
 * becomes of the process (engine.ts).
 */
import { statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { ReeveError } from '@reeve/core'

/** Device and inode of a file; undefined if it does not exist or cannot be read. */
function inodeOf(path: string): string | undefined {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
    return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}`
  } catch {
    return undefined
  }
}

export class Identity {
  readonly #file: string
  /** The store and its two companions, which exist for as long as a connection is open. */
  readonly #inodes: ReadonlyMap<string, string | undefined>
  readonly #known: StatementSync
  readonly id: string
  #position: number

  constructor(db: DatabaseSync, file: string) {
    this.#file = file
    this.#known = db.prepare(
      "SELECT (SELECT value FROM meta WHERE key = 'id') AS id, (SELECT max(position) FROM log) AS position",
    )
    const { id, position } = this.#read()
    this.id = id
    this.#position = position
    // SQLite found the file from the folder that this process was in then.
    const path = resolve(file)
    const paths = [path, `${path}-wal`, `${path}-shm`]
    this.#inodes = new Map(paths.map((each) => [each, inodeOf(each)]))
  }

  #read(): { id: string; position: number } {
    const { id, position } = this.#known.get() as { id: string; position: number | null }
    return { id, position: position ?? 0 }
  }

  /** So far the store has come. */
  reached(position: number): void {
    if (position > this.#position) this.#position = position
  }

  /** Cheap enough for every sync: the store's file alone. */
  get fileChanged(): ReeveError | undefined {
    const [path] = this.#inodes.keys()
    return path === undefined ? undefined : this.#changed(path)
  }

  /** All that is known of it. What SQLite throws while it looks is not about identity, and passes. */
  get changed(): ReeveError | undefined {
    for (const path of this.#inodes.keys()) {
      const changed = this.#changed(path)
      if (changed !== undefined) return changed
    }
    const { id, position } = this.#read()
    if (id !== this.id) return this.#replaced(`${this.#file} holds another store`)
    // Positions are never given out again: a store that goes back is an older copy.
    if (position < this.#position)
      return this.#replaced(`${this.#file} went back from entry ${this.#position} to ${position}`)
    this.reached(position)
    return undefined
  }

  #changed(path: string): ReeveError | undefined {
    const was = this.#inodes.get(path)
    const is = inodeOf(path)
    if (was === undefined || is === undefined || was === is) return undefined
    const name = path.slice(resolve(this.#file).length) === '' ? this.#file : basename(path)
    return this.#replaced(`${name} was ${is === 'none' ? 'removed or moved' : 'replaced'}`)
  }

  #replaced(what: string): ReeveError {
    return new ReeveError('store.replaced', `${what} while this process had it open`, {
      hint: 'This process has stopped: what it did since then may not be recorded. Put the right file in place, then start the process again.',
    })
  }
}
