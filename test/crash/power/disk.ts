/**
 * The disk below a traced process (shim.c): what of its files is on it for certain, what may be, and what a power failure
 * at this moment may leave.
 *
 * Owns: the model. What was written to a file and synced is there; of what was not synced any part may be, in any order,
 * in sectors. What happened to a folder and was not synced is there up to some point. What a failed sync was to write is
 * not there.
 */
import type { Dice } from '../kill/random.ts'

/** One thing that was done. */
export interface Step {
  readonly what: 'create' | 'write' | 'cut' | 'sync' | 'synced' | 'failed' | 'unlink' | 'rename' | 'seen'
  readonly inode: string
  readonly offset: number
  readonly path: string
  readonly bytes: Buffer
}

/** `none`: nothing that was not synced. `all`: as a killed process leaves it. `torn`: some of it, in sectors. */
export type Loss = 'none' | 'all' | 'torn'

interface Change {
  readonly nth: number
  readonly offset: number
  /** Absent: the file ends at `offset`. */
  readonly bytes?: Buffer
}

class File {
  /** On the disk for certain. */
  content: Buffer = Buffer.alloc(0)
  pending: Change[] = []
}

const sectorBytes = 512

/** What was traced, in order. */
export function* stepsOf(trace: Buffer): Iterable<Step> {
  for (let at = 0; at < trace.length;) {
    const end = trace.indexOf(10, at)
    const [what, inode, offset, length, ...path] = trace.toString('utf8', at, end).split(' ')
    const from = end + 1
    at = from + Number(length)
    yield {
      what: what as Step['what'],
      inode: inode!,
      offset: Number(offset),
      path: path.join(' '),
      bytes: trace.subarray(from, at),
    }
  }
}

/** A file after these changes. */
function changed(content: Buffer, changes: readonly Change[]): Buffer {
  const most = changes.reduce(
    (length, { offset, bytes }) => Math.max(length, offset + (bytes?.length ?? 0)),
    content.length,
  )
  const next = Buffer.alloc(most)
  content.copy(next)
  let length = content.length
  for (const { offset, bytes } of changes) {
    if (bytes === undefined) next.fill(0, (length = offset))
    else length = Math.max(length, offset + bytes.copy(next, offset))
  }
  return next.subarray(0, length)
}

/** Some sectors of a write. */
function* torn({ nth, offset, bytes }: Change, dice: Dice): Iterable<Change> {
  if (bytes === undefined) yield { nth, offset }
  else
    for (let from = 0; from < bytes.length; from += sectorBytes)
      if (dice.next() < 0.5) yield { nth, offset: offset + from, bytes: bytes.subarray(from, from + sectorBytes) }
}

export class Disk {
  readonly #byInode = new Map<string, File>()
  readonly #names = new Map<string, File>()
  #renames: { readonly nth: number; readonly path: string; readonly file: File | undefined }[] = []
  /** Syncs under way: what was done before each was begun. */
  readonly #syncs = new Map<number, number>()
  #nth = 0

  apply({ what, inode, offset, path, bytes }: Step): void {
    const nth = ++this.#nth
    switch (what) {
      case 'create': {
        const file = new File()
        this.#byInode.set(inode, file)
        this.#renames.push({ nth, path, file })
        return
      }
      case 'rename':
        return void this.#renames.push({ nth, path, file: this.#byInode.get(inode) })
      case 'unlink':
        return void this.#renames.push({ nth, path, file: undefined })
      case 'write':
        return void this.#byInode.get(inode)?.pending.push({ nth, offset, bytes: Buffer.from(bytes) })
      case 'cut':
        return void this.#byInode.get(inode)?.pending.push({ nth, offset })
      case 'sync':
        return void this.#syncs.set(offset, nth)
      case 'synced':
      case 'failed':
        return this.#end(what, inode, this.#syncs.get(offset)!)
      default:
    }
  }

  #end(what: 'synced' | 'failed', inode: string, before: number): void {
    const file = this.#byInode.get(inode)
    // what is no file is the folder
    if (file === undefined) {
      if (what === 'failed') return
      for (const { path, file: named } of this.#renames.filter(({ nth }) => nth < before))
        this.#name(this.#names, path, named)
      this.#renames = this.#renames.filter(({ nth }) => nth >= before)
      return
    }
    if (what === 'synced')
      file.content = changed(
        file.content,
        file.pending.filter(({ nth }) => nth < before),
      )
    file.pending = file.pending.filter(({ nth }) => nth >= before)
  }

  #name(names: Map<string, File>, path: string, file: File | undefined): void {
    if (file === undefined) names.delete(path)
    else names.set(path, file)
  }

  /** What a power failure now may leave. */
  after(loss: Loss, dice: Dice): Map<string, Buffer> {
    const names = new Map(this.#names)
    const renamed = loss === 'none' ? 0 : loss === 'all' ? this.#renames.length : dice.between(0, this.#renames.length)
    for (const { path, file } of this.#renames.slice(0, renamed)) this.#name(names, path, file)
    return new Map([...names].map(([path, file]) => [path, this.#contentOf(file, loss, dice)]))
  }

  #contentOf({ content, pending }: File, loss: Loss, dice: Dice): Buffer {
    if (loss === 'none') return content
    const done = pending.flatMap((change) => {
      const luck = loss === 'all' ? 0 : dice.next()
      return luck < 0.5 ? [change] : luck < 0.75 ? [...torn(change, dice)] : []
    })
    return changed(content, done)
  }
}
