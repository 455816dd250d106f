/**
 * The write-ahead log: when what was committed has reached the disk (K5), and when it is put into the store's file.
 *
 * A commit writes to the log and does not wait for the disk; one `fdatasync` beside the event loop then covers every
 * commit before it, of every process, because all of them write to one file and a later commit is never read without
 * the earlier ones. The checkpoint is made here and not by SQLite, which tells nobody that a sync in its own has failed.
 *
 * Owns: the log's second descriptor, one sync at a time, what is known to be on disk, checkpoints, what is done once a
 * sync has failed. Does not own: what waits for a sync (host/driver.ts).
 */
import { closeSync, fdatasync, fdatasyncSync, fsync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { messageOf, ReeveError, type Now } from '../../core/index.ts'

/** How long a commit that nothing waits for stays in memory before it is synced. Milliseconds. */
const lingerMs = 20

/** After so many writes the length of the log is looked at. */
const lookAfter = 16

export class WriteAheadLog {
  /**
   * The log is put into the store when it has so many pages; that waits for the disk on the event loop. Most of them are
   * the same few pages over and over, so a longer log is fewer writes and syncs, not more at once.
   */
  checkpointPages = 4_000
  readonly #db: DatabaseSync
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
  /** Whether the log was written anew: of syncs that failed before it was opened this process was not told. */
  #isRewritten = false
  #writes = 0
  readonly #frameBytes: number
  readonly #frame = Buffer.alloc(frame.bytes)
  readonly #header = Buffer.alloc(header.bytes)

  /** `lost`: why what is synced will not be read again, if so. Throws what SQLite or the disk says. */
  constructor(db: DatabaseSync, file: string, lost: () => ReeveError | undefined) {
    this.#db = db
    this.#file = file
    this.#lost = lost
    const path = logOf(db)
    this.#log = openSync(path, 'r+')
    try {
      this.#rewrite('wait')
    } catch (thrown) {
      closeSync(this.#log)
      throw thrown
    }
    const { page_size: page } = db.prepare('PRAGMA page_size').get() as { page_size: number }
    this.#frameBytes = frame.bytes + page
    this.#folder = openFolder(dirname(path))
    // Commits of other connections and changes by this one: it stays the same while nothing is written.
    this.#written = db.prepare('SELECT data_version, total_changes() AS own FROM pragma_data_version')
  }

  /**
   * Why it is not known any more what is on disk, if a sync has failed, here or in a checkpoint, or was one of a file
   * that is not the store.
   */
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

  /** False: another process writes. Throws what SQLite or the disk says. */
  #rewrite(wait: 'wait' | 'at once'): boolean {
    try {
      if (!this.#isRewritten) rewriteLog(this.#db, wait)
      return (this.#isRewritten = true)
    } catch (thrown) {
      if ((((thrown as { errcode?: number }).errcode ?? 0) & 0xff) === busy) return false
      throw thrown
    }
  }

  /** Something was written. A log that has become long is put into the store, now and then. */
  wrote(): void {
    if (++this.#writes < lookAfter) return
    this.#writes = 0
    if (this.#failed !== undefined || this.#log === undefined) return
    try {
      // pages that another process still reads are left for a later checkpoint
      if (this.#isLong(this.#log) && this.#rewrite('at once')) this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (thrown) {
      // Any other failure leaves the log, which is whole, for a later checkpoint.
      const { errcode, syscall } = thrown as { errcode?: number; syscall?: string }
      if (errcode === failedSync || syscall === 'fdatasync') this.#fail(this.#unsynced(thrown))
    }
  }

  /** Whether the log has a page so far behind, and not one of before it was begun anew. */
  #isLong(log: number): boolean {
    const at = header.bytes + (this.checkpointPages - 1) * this.#frameBytes
    if (readSync(log, this.#frame, 0, frame.bytes, at) < frame.bytes) return false
    if (readSync(log, this.#header, 0, header.bytes, 0) < header.bytes) return false
    const ofLog = this.#header.subarray(header.saltAt, header.saltAt + saltBytes)
    return ofLog.equals(this.#frame.subarray(frame.saltAt, frame.saltAt + saltBytes))
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
        throw this.#fail(ReeveError.is(thrown) ? thrown : this.#unsynced(thrown))
      },
    )
    return this.#syncing
  }

  /** For good: returns the first failure. */
  #fail(failed: ReeveError): ReeveError {
    if (this.#failed !== undefined) return this.#failed
    this.#failed = failed
    // SQLite makes a checkpoint when the connection is closed, and removes the log.
    try {
      if (failed.code === 'store.unsynced') rewriteLog(this.#db, 'wait')
    } catch {
      // the disk fails as before: SQLite is told of it, too, and makes none
    }
    return failed
  }

  async #sync(): Promise<void> {
    // A process that holds the lock lives: it was told of a failed sync, or has written the log anew itself.
    this.#rewrite('at once')
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
    try {
      // SQLite makes a checkpoint when the last connection is closed
      if (this.#failed === undefined) this.#rewrite('wait')
    } catch {
      // the disk fails: SQLite is told of it, too, and makes none
    }
    for (const descriptor of [this.#log, this.#folder]) if (descriptor !== undefined) closeSync(descriptor)
    this.#log = this.#folder = undefined
  }
}

/**
 * Writes the log anew as it is read, and waits until it is on disk. After a failed sync the log is read from memory, and
 * the disk has an older part of it. A checkpoint then puts newer pages into the store, and after a power failure the
 * older log is played over them: the store is damaged. So a process does this before its first checkpoint. Changes
 * nothing that is read. Blocks. `wait`: for the lock, as long as the connection waits. Throws what SQLite or the disk
 * says.
 */
export function rewriteLog(db: DatabaseSync, wait: 'wait' | 'at once'): void {
  const path = logOf(db)
  if (path === '' || (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return
  const log = openSync(path, 'r+')
  try {
    const { timeout } = db.prepare('PRAGMA busy_timeout').get() as { timeout: number }
    // under the lock of writers: no other process changes the log meanwhile
    try {
      if (wait === 'at once') db.exec('PRAGMA busy_timeout=0')
      db.exec('BEGIN IMMEDIATE')
    } finally {
      if (wait === 'at once') db.exec(`PRAGMA busy_timeout=${timeout}`)
    }
    try {
      // The header first: under that of the log before, pages of this one would end that log too early.
      if (copyOnto(log, 0, header.bytes) === 0) return
      fdatasyncSync(log)
      for (let at = header.bytes; copyOnto(log, at, pieceBytes) > 0; at += pieceBytes);
    } finally {
      db.exec('ROLLBACK')
    }
    fdatasyncSync(log)
  } finally {
    closeSync(log)
  }
}

const pieceBytes = 1024 * 1024

/** Returns how many bytes there were. */
function copyOnto(file: number, at: number, length: number): number {
  const piece = Buffer.alloc(length)
  const found = readSync(file, piece, 0, length, at)
  for (let done = 0; done < found;) done += writeSync(file, piece, done, found - done, at + done)
  return found
}

/** Where SQLite has the log of a store: behind links, and without what makes a URI of a path. Empty: in memory. */
function logOf(db: DatabaseSync): string {
  const { path } = db.prepare("SELECT file AS path FROM pragma_database_list WHERE name = 'main'").get() as {
    path: string
  }
  return path === '' ? '' : `${path}-wal`
}

/**
 * The headers of a log and of each page in it, and where in them the salt is: it changes when the log is begun anew
 * (sqlite.org/fileformat2.html, 4.1).
 */
const header = { bytes: 32, saltAt: 16 }
const frame = { bytes: 24, saltAt: 8 }
const saltBytes = 8

/** `SQLITE_IOERR_FSYNC` and `SQLITE_BUSY`. */
const failedSync = 1034
const busy = 5

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
