/**
 * Code watch: waits for a change of the files that a process has read.
 *
 * Owns: which changes count, and when a change is over. Does not own: who reads the files (loaded-files.ts), what
 * follows (command/dev.ts).
 * Holds: folders are watched, not files, so that an editor may replace a file. Other files in them, such as what a run
 * writes, do not count; if the process could not start, any code there does, as it may be what was missing. In a folder
 * whose files are agents, any code and any text for them counts, also what is new or gone.
 */
import { lstatSync, readdirSync, watch, type FSWatcher } from 'node:fs'
import { dirname, join, sep } from 'node:path'

/** Editors write in several steps. Milliseconds. */
const quietMs = 80
const code = /\.(?:[cm]?[jt]sx?|json)$/
/** What defines agents: code, and their instructions. */
const definition = /\.(?:[cm]?[jt]s|md)$/

const isLeftOut = (name: string): boolean => name.startsWith('.') || name === 'node_modules'

export class CodeWatch implements Disposable {
  readonly #folders = new Map<string, FSWatcher>()
  readonly #files = new Set<string>()
  /** A folder in which each file is an agent. */
  #tree: string | undefined
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

  /** Every definition below this folder counts from now on. The folder may be made later. */
  addTree(folder: string): void {
    this.#tree = folder
    this.#watch(dirname(folder))
    this.#watchTree(folder)
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

  /** Watches a folder and those below it; symbolic links lead out of it. */
  #watchTree(folder: string): void {
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return
    this.#watch(folder)
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory() && !isLeftOut(entry.name)) this.#watchTree(join(folder, entry.name))
  }

  /** A folder that is gone, or came again, has a watcher of the one before. */
  #watchAgain(path: string): void {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return this.#watchTree(path)
    for (const folder of this.#folders.keys())
      if (folder === path || folder.startsWith(`${path}${sep}`)) this.#forget(folder)
  }

  #isDefinition(file: string): boolean {
    if (this.#tree === undefined || (file !== this.#tree && !file.startsWith(`${this.#tree}${sep}`))) return false
    // a folder that is gone is forgotten with its watcher; its name has no ending
    return definition.test(file) || !/\.\w+$/.test(file)
  }

  #see(file: string): void {
    const isOfTree = this.#isDefinition(file)
    if (isOfTree) this.#watchAgain(file)
    if (!isOfTree && !this.#files.has(file) && !(this.anyCode && code.test(file))) return
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
