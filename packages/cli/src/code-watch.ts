/**
 * Code watch: waits for a change of the files that a process has read.
 *
 * Owns: which changes count, and when a change is over. Does not own: who reads the files (loaded-files.ts), what
 * follows (command/dev.ts).
 * Holds: folders are watched, not files, so that an editor may replace a file. Other files in them, such as what a run
 * writes, do not count; if the process could not start, any code there does, as it may be what was missing.
 */
import { watch, type FSWatcher } from 'node:fs'
import { dirname, join } from 'node:path'

/** Editors write in several steps. Milliseconds. */
const quietMs = 80
const code = /\.(?:[cm]?[jt]sx?|json)$/

export class CodeWatch implements Disposable {
  readonly #folders = new Map<string, FSWatcher>()
  readonly #files = new Set<string>()
  /** The change that nobody has been told yet. */
  #changed: string | undefined
  #tell: ((file: string) => void) | undefined
  #timer: NodeJS.Timeout | undefined
  /** Any code counts. */
  anyCode = false

  constructor(folder: string) {
    this.#watch(folder)
  }

  /** The file counts from now on. */
  add(file: string): void {
    this.#files.add(file)
    this.#watch(dirname(file))
  }

  /** Resolves to the file of the next change; what has changed before does not count. */
  next(): Promise<string> {
    this.#changed = undefined
    clearTimeout(this.#timer)
    return new Promise((resolve) => (this.#tell = resolve))
  }

  #watch(folder: string): void {
    if (this.#folders.has(folder)) return
    try {
      const watcher = watch(folder, (_, name) => name !== null && this.#see(join(folder, name)))
      watcher.on('error', () => this.#forget(folder))
      this.#folders.set(folder, watcher)
    } catch {
      // the folder is gone already; what was in it cannot change
    }
  }

  #see(file: string): void {
    if (!this.#files.has(file) && !(this.anyCode && code.test(file))) return
    this.#changed ??= file
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#tell?.(this.#changed ?? file), quietMs)
  }

  #forget(folder: string): void {
    this.#folders.get(folder)?.close()
    this.#folders.delete(folder)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    for (const folder of this.#folders.keys()) this.#forget(folder)
  }
}
