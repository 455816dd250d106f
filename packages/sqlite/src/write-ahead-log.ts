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
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { messageOf, ReeveError, type Now } from '@reeve/core'

/** How long a commit that nothing waits for stays in memory before it is synced. Milliseconds. */
const lingerMs = 20

/** The length of the log is looked at with the first write, and then once in so many. */
const writesPerLook = 16

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
  /** Whether the log was written anew: this process was not told of syncs that failed before it opened the log. */
  #isRewritten = false
  #writes = writesPerLook - 1
  readonly #frameBytes: number

  /** `lost`: why what is synced will not be read again, if so. Throws what SQLite or the disk says. */
  constructor(db: DatabaseSync, file: string, lost: () => ReeveError | undefined) {
    this.#db = db
    this.#file = file
    this.#lost = lost
    const path = logOf(db)
    this.#frameBytes = frameBytesOf(db)
    this.#log = openSync(path, 'r+')
    try {
      this.#rewrite(this.#log, 'wait')
    } catch (thrown) {
      closeSync(this.#log)
      throw thrown
    }
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

  /** Whether SQLite may put the log into the store when the last connection is closed. */
  get mayCheckpoint(): boolean {
    return this.#isRewritten && this.#failed === undefined
  }

  /** False: another process writes. Throws what SQLite or the disk says. */
  #rewrite(log: number, wait: 'wait' | 'at once'): boolean {
    try {
      if (!this.#isRewritten) rewriteLog(this.#db, log, wait)
      return (this.#isRewritten = true)
    } catch (thrown) {
      if ((((thrown as { errcode?: number }).errcode ?? 0) & 0xff) === sqliteBusy) return false
      throw thrown
    }
  }

  /** Something was written. A log that has become long is put into the store, now and then. */
  wrote(): void {
    if (++this.#writes < writesPerLook) return
    this.#writes = 0
    const log = this.#log
    if (this.#failed !== undefined || log === undefined) return
    try {
      if (!hasPage(log, this.checkpointPages - 1, this.#frameBytes)) return
      // pages that another process still reads are left for a later checkpoint
      if (this.#rewrite(log, 'at once')) this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (thrown) {
      // Any other failure leaves the log, which is whole, for a later checkpoint.
      const { errcode, syscall } = thrown as { errcode?: number; syscall?: string }
      if (errcode === sqliteIoerrFsync || syscall === 'fdatasync') this.#fail(this.#unsynced(thrown))
    }
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
    // SQLite makes a checkpoint when a connection is closed that nobody closes, at the end of the process.
    try {
      if (failed.code === 'store.unsynced') rewriteLog(this.#db, this.#log!, 'wait')
    } catch {
      // the disk fails as before
    }
    return failed
  }

  async #sync(): Promise<void> {
    // Another process may hold the lock for long: what it has written is shown without waiting for it.
    this.#rewrite(this.#log!, 'at once')
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
      if (this.#failed === undefined && this.#log !== undefined) this.#rewrite(this.#log, 'wait')
    } catch {
      // then the log stays as it is (`mayCheckpoint`)
    }
    for (const descriptor of [this.#log, this.#folder]) if (descriptor !== undefined) closeSync(descriptor)
    this.#log = this.#folder = undefined
  }
}

/**
 * Writes the log anew as it is read, and waits until it is on disk. After a failed sync the log is read from memory, and
 * the disk has an older part of it. A checkpoint then puts newer pages into the store, and after a power failure the
 * older log is played over them: the store is damaged. So a process does this before its first checkpoint. Changes
 * nothing that is read. Blocks. `log`: its descriptor; `wait`: for the lock, as long as the connection waits. Throws
 * what SQLite or the disk says.
 */
function rewriteLog(db: DatabaseSync, log: number, wait: 'wait' | 'at once'): void {
  if (fstatSync(log).size === 0) return
  // under the lock of writers: no other process changes the log meanwhile
  beginWriting(db, wait)
  try {
    // The header first: under that of the log before, pages of this one would end that log too early.
    copyOnto(log, 0, header.bytes)
    fdatasyncSync(log)
    const end = endOf(log, frameBytesOf(db))
    for (let at = header.bytes; at < end; at += pieceBytes) copyOnto(log, at, Math.min(pieceBytes, end - at))
  } finally {
    db.exec('ROLLBACK')
  }
  fdatasyncSync(log)
}

function beginWriting(db: DatabaseSync, wait: 'wait' | 'at once'): void {
  if (wait === 'wait') return db.exec('BEGIN IMMEDIATE')
  const { timeout } = db.prepare('PRAGMA busy_timeout').get() as { timeout: number }
  db.exec('PRAGMA busy_timeout=0')
  try {
    db.exec('BEGIN IMMEDIATE')
  } finally {
    db.exec(`PRAGMA busy_timeout=${timeout}`)
  }
}

/** The same for a connection that is opened for one deed, before anything is done with it. */
export function rewriteLogOf(db: DatabaseSync): void {
  const path = logOf(db)
  if (!existsSync(path)) return
  const log = openSync(path, 'r+')
  try {
    rewriteLog(db, log, 'wait')
  } finally {
    closeSync(log)
  }
}

/**
 * Closes a connection and leaves the log as it is, because the disk may not have it. SQLite makes a checkpoint when the
 * last connection is closed, but not when that one only reads.
 */
export function closeWithoutCheckpoint(db: DatabaseSync): void {
  let last: DatabaseSync | undefined
  try {
    last = new DatabaseSync(fileOf(db), { readOnly: true })
    // a connection holds the file once it has read
    last.prepare('SELECT count(*) FROM sqlite_schema').get()
  } catch {
    // not a store, or not there
  } finally {
    db.close()
    last?.close()
  }
}

const pieceBytes = 1024 * 1024

function copyOnto(file: number, at: number, length: number): void {
  const piece = Buffer.alloc(length)
  const found = readSync(file, piece, 0, length, at)
  for (let done = 0; done < found;) done += writeSync(file, piece, done, found - done, at + done)
}

/** Where SQLite has a store: behind links, and without what makes a URI of a path. Empty: in memory. */
const fileOf = (db: DatabaseSync): string =>
  (db.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as { file: string }).file
const logOf = (db: DatabaseSync): string => `${fileOf(db)}-wal`

/**
 * The headers of a log and of each page in it, and where in them the salt is: it changes when the log is begun anew
 * (sqlite.org/fileformat2.html, 4.1).
 */
const header = { bytes: 32, saltAt: 16 }
const frame = { bytes: 24, saltAt: 8 }
const saltBytes = 8
const read = Buffer.alloc(header.bytes + frame.bytes)

const frameBytesOf = (db: DatabaseSync): number =>
  frame.bytes + (db.prepare('PRAGMA page_size').get() as { page_size: number }).page_size

/** Whether the log has this page, counted from 0, and not one of before it was begun anew. */
function hasPage(log: number, nth: number, frameBytes: number): boolean {
  const at = header.bytes + nth * frameBytes
  if (readSync(log, read, header.bytes, frame.bytes, at) < frame.bytes) return false
  if (readSync(log, read, 0, header.bytes, 0) < header.bytes) return false
  const from = header.bytes + frame.saltAt
  return read.compare(read, from, from + saltBytes, header.saltAt, header.saltAt + saltBytes) === 0
}

/** Where the log ends; what follows is of before it was begun anew. */
function endOf(log: number, frameBytes: number): number {
  let [has, hasNot] = [0, Math.ceil(fstatSync(log).size / frameBytes)]
  while (has < hasNot) {
    const middle = (has + hasNot) >> 1
    if (hasPage(log, middle, frameBytes)) has = middle + 1
    else hasNot = middle
  }
  return header.bytes + has * frameBytes
}

const sqliteIoerrFsync = 1034
const sqliteBusy = 5

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
