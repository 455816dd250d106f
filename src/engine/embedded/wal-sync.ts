/**
 * Syncing: when what was committed to the write-ahead log has reached the disk (K5). A commit writes to the log and does
 * not wait for the disk; one `fdatasync` beside the event loop then covers every commit before it, of every process,
 * because all of them write to one file and a later commit is never read without the earlier ones.
 *
 * Owns: the file's second descriptor, one sync at a time, and what is known to be on disk. Does not own: what waits for
 * it (host/driver.ts), checkpoints, which SQLite syncs by itself.
 */
import { closeSync, fdatasync, fsync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { messageOf, ReeveError, type Now } from '../../core/index.ts'

/** How long a commit that nothing waits for stays in memory before it is synced. Milliseconds. */
const lingerMs = 20

export class WalSync {
  readonly #file: string
  readonly #written: StatementSync
  readonly #lost: () => ReeveError | undefined
  /**
   * Open from before the first commit until the store is closed. So it is the log that SQLite writes to, which exists
   * under this inode for as long as a connection is open; and a failure of the disk that another descriptor was told
   * is told to this one, too.
   */
  #log: number | undefined
  /** The folder, until a new log's name is on disk. */
  #folder: number | undefined
  /** What was written when the last sync that succeeded was begun, and when the one that is under way was. */
  #syncedUpTo = ''
  #syncingUpTo = ''
  /** How often that could not be read. */
  #unread = 0
  #syncing: Promise<void> | undefined
  #next: Promise<void> | undefined
  #later: ReturnType<typeof setTimeout> | undefined
  #failed: ReeveError | undefined

  /** `lost`: why what is synced will not be read again, if so. */
  constructor(db: DatabaseSync, file: string, lost: () => ReeveError | undefined) {
    this.#file = file
    this.#lost = lost
    // where SQLite has it: behind links, and without what makes a URI of a path
    const { path } = db.prepare("SELECT file AS path FROM pragma_database_list WHERE name = 'main'").get() as {
      path: string
    }
    this.#log = openSync(`${path}-wal`, 'r+')
    this.#folder = openFolder(dirname(path))
    // Commits of other connections and changes by this one: it stays the same while nothing is written.
    this.#written = db.prepare('SELECT data_version, total_changes() AS own FROM pragma_data_version')
  }

  /** Why it is not known any more what is on disk, if a sync has failed, or was one of a file that is not the store. */
  get failed(): ReeveError | undefined {
    return this.#failed
  }

  /**
   * Everything that was committed before this call, here or elsewhere, is on disk: at once, or later. Throws or rejects
   * with `store.unsynced` where a sync has failed, from then on.
   */
  synced(): Now<void> {
    if (this.#failed !== undefined) throw this.#failed
    const upTo = this.#writtenUpTo()
    if (upTo === this.#syncedUpTo) return
    if (this.#syncing === undefined) return this.#begin(upTo)
    if (upTo === this.#syncingUpTo) return this.#syncing
    return (this.#next ??= this.#syncing.then(() => {
      this.#next = undefined
      return this.synced()
    }))
  }

  /** Something was committed that nothing waits for: it is synced before long. */
  soon(): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined
      // Who waits for it is told; a later call is told, too.
      if (this.#failed === undefined) this.synced()?.catch(() => undefined)
    }, lingerMs).unref()
  }

  #writtenUpTo(): string {
    try {
      const { data_version, own } = this.#written.get() as { data_version: number; own: number }
      return `${data_version} ${own}`
    } catch {
      // where it cannot be read, there may be something: a sync too many does no harm
      return `unknown ${++this.#unread}`
    }
  }

  #begin(upTo: string): Promise<void> {
    this.#syncingUpTo = upTo
    this.#syncing = this.#sync().then(
      () => {
        this.#syncing = undefined
        this.#syncedUpTo = upTo
      },
      (thrown: unknown) => {
        this.#syncing = undefined
        throw (this.#failed ??= ReeveError.is(thrown) ? thrown : this.#unsynced(thrown))
      },
    )
    return this.#syncing
  }

  async #sync(): Promise<void> {
    await done(fdatasync, this.#log!)
    const lost = this.#lost()
    if (lost !== undefined) throw lost
    if (this.#folder === undefined) return
    await done(fsync, this.#folder).catch((thrown: unknown) => {
      if (!hasNoFolderSync.has((thrown as NodeJS.ErrnoException).code)) throw thrown
    })
    closeSync(this.#folder)
    this.#folder = undefined
  }

  /**
   * The kernel has dropped what it could not write and reports it once: another sync would succeed and mean nothing.
   * Only who reads the file anew sees what of it is left.
   */
  #unsynced(thrown: unknown): ReeveError {
    return new ReeveError(
      'store.unsynced',
      `${this.#file}: the disk did not take what was written: ${messageOf(thrown)}`,
      {
        hint: 'This process has stopped: of what it did last, nothing was told or let out. Check the device and its free space, then start the process again.',
        cause: thrown,
      },
    )
  }

  /** Waits for what is under way, and lets the file go. */
  async close(): Promise<void> {
    clearTimeout(this.#later)
    await (this.#next ?? this.#syncing)?.catch(() => undefined)
    for (const descriptor of [this.#log, this.#folder]) if (descriptor !== undefined) closeSync(descriptor)
    this.#log = this.#folder = undefined
  }
}

/** What file systems say that cannot sync a folder, as those of other machines. SQLite takes no notice of it either. */
const hasNoFolderSync: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ENOTSUP', 'ENOSYS'])

/** Windows knows no sync of a folder; and not every folder that is written to may be read. */
function openFolder(path: string): number | undefined {
  if (process.platform === 'win32') return undefined
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}

const done = (
  sync: (descriptor: number, told: (error: NodeJS.ErrnoException | null) => void) => void,
  descriptor: number,
): Promise<void> =>
  new Promise((resolve, reject) =>
    sync(descriptor, (error) => {
      if (error === null) resolve()
      else reject(error)
    }),
  )
