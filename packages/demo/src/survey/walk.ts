/**
 * The walk: which files of a folder a survey looks at, in a fixed order and within limits it never hides.
 * Owns: skipping, limits, reading text, what was not read (`Coverage`). Does not own: what a file means.
 *
 * W1: nothing outside the folder is read; symbolic links are counted, not followed. W2: the same folder gives the same
 * list, sorted by path. W3: whatever a limit left out is named in the coverage.
 */
import { lstat, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesBelow } from './bounded.ts'
import { openRepository, type Abortable } from './git.ts'
import { many } from './markup.ts'

/** How much a survey may look at. */
export interface WalkLimits {
  /** The most files listed; the rest is cut and the coverage says so. Default 20,000. */
  readonly maxFiles: number
  /** The most bytes of one file that is read as text; a bigger file is named, not read. Default 1 MiB. */
  readonly maxBytes: number
  /**
   * The most bytes one survey reads; the files after that are not read, and the coverage says how many. Default 512
   * MiB.
   */
  readonly maxTotalBytes: number
  /** The most findings listed in one list; the total is always exact. Default 500. */
  readonly maxListed: number
}

/** What every survey accepts. */
export interface SurveyOptions extends Abortable {
  /** Milliseconds since 1970, for ages only. */
  readonly now?: number | undefined
  readonly limits?: Partial<WalkLimits> | undefined
  /** Files that are not read, because they took too long before. Named in the coverage. */
  readonly without?: readonly string[] | undefined
  /** Told which file the survey has turned to. */
  readonly onFile?: ((path: string) => void) | undefined
}

/** What was and was not looked at. Part of every survey's findings. */
export interface Coverage {
  /** `git`: the files git tracks or would track. `folder`: every file below the folder. */
  source: 'git' | 'folder'
  /** Files listed. */
  files: number
  /** Files read as text by this survey. */
  read: number
  /** Files looked into and found to be binary (a NUL byte). */
  binary: number
  /** Symbolic links met and not followed. */
  symlinks: number
  /** Files not read because they are bigger than the limit. */
  tooLarge: string[]
  /**
   * Files and folders that could not be opened or are not files (pipes, devices), and nested repositories, which are
   * not entered.
   */
  unreadable: string[]
  /** Files given up because examining them took too long. Absent: there are none. */
  tooSlow?: string[]
  /** What a limit cut off, in a sentence; `null` when nothing was. */
  truncated: string | null
}

/** A file of the walk: its path relative to the folder, with `/`, and its size in bytes. */
export interface WalkedFile {
  readonly path: string
  readonly size: number
}

/** A walked folder that reads text within the limits and remembers what it could not read. */
export interface Folder {
  readonly root: string
  readonly files: readonly WalkedFile[]
  readonly limits: WalkLimits
  has(path: string): boolean
  /** The text of a file, or `null` when it is not in the walk, binary, too large or unreadable. */
  text(path: string, maxBytes?: number): Promise<string | null>
  /** Says which file is being examined, for work on files that were read before. */
  turnTo(path: string): void
  /** Whether the file holds a NUL byte; `null` when it could not be read. */
  isBinary(path: string): boolean | null
  coverage(): Coverage
}

/** A list that may be cut: `total` is exact, `items` holds at most `maxListed`. */
export interface Listed<T> {
  total: number
  items: T[]
}

const defaults: WalkLimits = {
  maxFiles: 20_000,
  maxBytes: 1024 * 1024,
  maxTotalBytes: 512 * 1024 * 1024,
  maxListed: 500,
}

/** Folders no survey enters. */
const skippedFolders: ReadonlySet<string> = new Set(['.git', 'node_modules', '.reeve'])
/** The demo's own report at the root of the folder: a survey must not read its own findings. */
const ownReport = 'REPORT.md'

/** Cuts a list to the limit and keeps the exact total. */
export function listed<T>(items: readonly T[], limits: WalkLimits): Listed<T> {
  return { total: items.length, items: items.slice(0, limits.maxListed) }
}

/** The order of every list of paths: by code unit, the same on every machine. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

interface FoundFiles {
  files: WalkedFile[]
  folders: number
  symlinks: number
  unreadable: string[]
  cut: boolean
}

/** Walks `root`. Throws when it is not a folder or when the signal is aborted. */
export async function openFolder(root: string, options: SurveyOptions = {}): Promise<Folder> {
  const limits = { ...defaults, ...options.limits }
  const real = await realpath(root).catch(() => null)
  if (real === null || !(await lstat(real)).isDirectory()) throw new Error(`not a folder: ${root}`)
  await using git = await openRepository(real, options)
  const paths = (await git?.files()) ?? null
  const found: FoundFiles = { files: [], folders: 0, symlinks: 0, unreadable: [], cut: false }
  if (paths === null) await walkFolder(real, '', found, limits, options)
  else await walkPaths(real, paths, found, limits, options)
  found.files.sort((a, b) => byText(a.path, b.path))
  return folder(real, paths === null ? 'folder' : 'git', found, limits, options)
}

function skipped(path: string): boolean {
  return path === ownReport || path.split('/').some((name) => skippedFolders.has(name))
}

/**
 * Folder by folder: `readdir` with `recursive` fails at the first folder that may not be read, and `fs.glob` hides it
 * and follows links out of the tree.
 */
async function walkFolder(
  root: string,
  at: string,
  found: FoundFiles,
  limits: WalkLimits,
  options: SurveyOptions,
): Promise<void> {
  options.signal?.throwIfAborted()
  const here = await readdir(join(root, at), { withFileTypes: true }).catch(() => null)
  if (here === null) return void found.unreadable.push(`${at}/`)
  here.sort((a, b) => byText(a.name, b.name))
  for (const entry of here) {
    const path = at === '' ? entry.name : `${at}/${entry.name}`
    if (found.cut) return
    if (skipped(path)) continue
    if (entry.isDirectory() && ++found.folders > limits.maxFiles) found.cut = true
    else if (entry.isDirectory()) await walkFolder(root, path, found, limits, options)
    else await addFile(root, path, found, limits)
  }
}

async function walkPaths(
  root: string,
  paths: string[],
  found: FoundFiles,
  limits: WalkLimits,
  options: SurveyOptions,
): Promise<void> {
  const inside = new Map<string, boolean>()
  for (const path of paths.sort(byText)) {
    options.signal?.throwIfAborted()
    if (found.cut) return
    if (skipped(path)) continue
    const parent = folderOf(path)
    if (!inside.has(parent))
      inside.set(parent, (await realpath(join(root, parent)).catch(() => '')) === join(root, parent))
    if (inside.get(parent) === true) await addFile(root, path, found, limits)
  }
}

async function addFile(root: string, path: string, found: FoundFiles, limits: WalkLimits): Promise<void> {
  const status = await lstat(join(root, path)).catch(() => null)
  if (status === null) return
  if (status.isSymbolicLink()) found.symlinks++
  else if (status.isDirectory()) found.unreadable.push(path.endsWith('/') ? path : `${path}/`)
  else if (!status.isFile()) found.unreadable.push(path)
  else if (found.files.length >= limits.maxFiles) found.cut = true
  else found.files.push({ path, size: status.size })
}

function folder(
  root: string,
  source: Coverage['source'],
  found: FoundFiles,
  limits: WalkLimits,
  options: SurveyOptions,
): Folder {
  const sizes = new Map(found.files.map((file) => [file.path, file.size]))
  const without = new Set(options.without)
  const seen = {
    text: new Set<string>(),
    binary: new Set<string>(),
    tooLarge: new Set<string>(),
    unreadable: new Set(found.unreadable),
  }
  const beyond = new Set<string>()
  let bytesRead = 0
  return {
    root,
    files: found.files,
    limits,
    has: (path) => sizes.has(path),
    turnTo: (path) => options.onFile?.(path),
    isBinary: (path) => (seen.binary.has(path) ? true : seen.text.has(path) ? false : null),
    async text(path, maxBytes = limits.maxBytes) {
      options.signal?.throwIfAborted()
      const size = sizes.get(path)
      if (size === undefined || without.has(path)) return null
      if (size > maxBytes) return (seen.tooLarge.add(path), null)
      if (bytesRead + size > limits.maxTotalBytes) return (beyond.add(path), null)
      const bytes = await bytesBelow(root, path, maxBytes)
      if (bytes === 'too-large') return (seen.tooLarge.add(path), null)
      if (bytes === null) return (seen.unreadable.add(path), null)
      bytesRead += bytes.length
      if (bytes.includes(0)) return (seen.binary.add(path), null)
      seen.text.add(path)
      options.onFile?.(path)
      const text = bytes.toString('utf8')
      return text.startsWith('\ufeff') ? text.slice(1) : text
    },
    coverage: () => ({
      source,
      files: found.files.length,
      read: seen.text.size,
      binary: seen.binary.size,
      symlinks: found.symlinks,
      tooLarge: [...seen.tooLarge].sort(byText),
      unreadable: [...seen.unreadable].sort(byText),
      ...(without.size === 0 ? undefined : { tooSlow: [...without].sort(byText) }),
      truncated: truncatedBy(found.cut, beyond.size, limits),
    }),
  }
}

function truncatedBy(cut: boolean, beyond: number, { maxFiles, maxTotalBytes }: WalkLimits): string | null {
  const were = (count: number): string => (count === 1 ? 'was' : 'were')
  const first = maxFiles === 1 ? 'file' : many(maxFiles, 'file')
  const said = [
    ...(cut ? [`only the first ${first} ${were(maxFiles)} examined; the rest of the folder was not`] : []),
    ...(beyond === 0
      ? []
      : [`a worker reads ${many(maxTotalBytes, 'byte')}; ${many(beyond, 'file')} after that ${were(beyond)} not read`]),
  ]
  return said.length === 0 ? null : said.join('; ')
}

/** The lines of a text without their line ends; a final line end does not open another line. */
export function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** The 1-based line of an offset in a text. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** The folder part of a path of the walk; `''` at the root. */
export function folderOf(path: string): string {
  const cut = path.lastIndexOf('/')
  return cut === -1 ? '' : path.slice(0, cut)
}

/** The last part of a path of the walk. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Joins two paths of the walk. */
export function under(at: string, path: string): string {
  return at === '' ? path : `${at}/${path}`
}
