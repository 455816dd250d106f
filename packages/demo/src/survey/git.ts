/**
 * How the surveys ask git: one process, fixed arguments, never a shell, never an exception because git is missing.
 * Owns: the repository as git is shown it, which files it holds, who last touched a line. Does not own: which folder is
 * examined (`walk.ts`).
 *
 * G1: nothing that a folder brings along is run, or decides how git works. Git is never pointed at the folder's own git
 * directory. It gets an empty one of ours, with a configuration of ours, which borrows the folder's objects and its
 * index: no filter, textconv, hook, monitor, alias or pager is defined there, so an attribute that names one names
 * nothing. The configuration of the user and of the machine is left out, too. G2: git has a deadline, and its output a
 * bound; what it does not say in time is unknown. It fetches nothing and writes nothing to the repository.
 */
import { execFile } from 'node:child_process'
import { lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { bytesOf } from './bounded.ts'

/** What the caller may hand to a survey to stop it early. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined
}

/** A repository, as far as surveys ask it. It has a folder in the system's temporary one until it is closed. */
export interface Repository extends AsyncDisposable {
  /**
   * The paths git tracks or would track below the folder (relative, `/`); `null` when the folder is an ignored part of
   * the repository, or git cannot say.
   */
  files(): Promise<string[] | null>
  /**
   * When each line of `text`, the content of `path`, was written: seconds since 1970 by line number (1-based). A line
   * that git cannot date for certain is absent.
   */
  lineTimes(path: string, text: string): Promise<Map<number, number>>
  /** What git was not asked any more, in a sentence: its time was up. */
  readonly gaveUp: string | null
}

/** Milliseconds for the lists, for the lines of one file, for the lines of all files of one survey. */
const deadlines = { list: 10_000, file: 5_000, files: 20_000 } as const
const longestOutput = 64 * 1024 * 1024
const longestText = 4 * 1024 * 1024

/**
 * Opens the repository `root` (a real path) is in: the nearest `.git` from there up. `null` when there is none, or it
 * is not one that git knows.
 */
export async function openRepository(root: string, { signal }: Abortable = {}): Promise<Repository | null> {
  signal?.throwIfAborted()
  const place = await discover(root)
  if (place === null) return null
  const own = await mkdtemp(join(tmpdir(), 'reeve-git-'))
  const close = (): Promise<void> => rm(own, { recursive: true, force: true })
  try {
    const shallow = await borrow(place, own)
    return repository({ root, place, own, shallow, signal }, close)
  } catch (thrown) {
    await close()
    throw thrown
  }
}

/** Where a repository lies: its working tree, the git directory of that tree, and the one it shares with others. */
interface GitDirectories {
  readonly top: string
  readonly gitDir: string
  readonly commonDir: string
}

/** Only `.git` counts. A folder that looks like a git directory may have come with the files. */
async function discover(root: string): Promise<GitDirectories | null> {
  for (let top = root; ; top = dirname(top)) {
    const dot = join(top, '.git')
    const status = await lstat(dot).catch(() => null)
    const gitDir = status?.isDirectory() === true ? dot : status?.isFile() === true ? await namedIn(dot) : null
    if (gitDir !== null)
      return { top, gitDir, commonDir: resolve(gitDir, firstLine(await textOf(join(gitDir, 'commondir'))) || '.') }
    if (status !== null || dirname(top) === top) return null
  }
}

/** The git directory that a file `.git` names: worktrees and submodules have one. */
async function namedIn(dot: string): Promise<string | null> {
  const target = /^gitdir: (.+)$/.exec(firstLine(await textOf(dot)))?.[1]
  return target === undefined ? null : resolve(dirname(dot), target)
}

const firstLine = (text: string): string => text.slice(0, 4096).split('\n')[0]?.trim() ?? ''

async function textOf(...path: string[]): Promise<string> {
  const bytes = await bytesOf(join(...path), longestText)
  return bytes === null || bytes === 'too-large' ? '' : bytes.toString('utf8')
}

/**
 * Our git directory: what it needs of theirs is copied as text that we have read. Returns whether the repository is a
 * shallow clone.
 */
async function borrow({ gitDir, commonDir }: GitDirectories, own: string): Promise<boolean> {
  const isSha256 = /^\s*objectformat\s*=\s*"?sha256\b/im.test(await textOf(commonDir, 'config'))
  const edge = (await textOf(commonDir, 'shallow')).split('\n').filter(isId)
  await Promise.all(['refs', 'objects', 'info', 'tree'].map((name) => mkdir(join(own, name))))
  await writeFile(
    join(own, 'config'),
    `[core]\n\trepositoryformatversion = ${isSha256 ? '1\n[extensions]\n\tobjectformat = sha256' : '0'}\n`,
  )
  await writeFile(join(own, 'HEAD'), `${(await headOf(gitDir, commonDir)) ?? 'ref: refs/heads/none'}\n`)
  await writeFile(join(own, 'info', 'exclude'), await textOf(commonDir, 'info', 'exclude'))
  if (edge.length > 0) await writeFile(join(own, 'shallow'), `${edge.join('\n')}\n`)
  return edge.length > 0
}

const isId = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

/** The commit that is checked out. */
async function headOf(gitDir: string, commonDir: string): Promise<string | null> {
  const head = firstLine(await textOf(gitDir, 'HEAD'))
  if (isId(head)) return head
  const ref = /^ref: (refs\/[^\0]+)$/.exec(head)?.[1]
  if (ref === undefined || ref.split('/').includes('..')) return null
  const loose = firstLine(await textOf(commonDir, ref))
  if (isId(loose)) return loose
  const packed = (await textOf(commonDir, 'packed-refs')).split('\n').find((line) => line.endsWith(` ${ref}`))
  const id = packed?.split(' ')[0] ?? ''
  return isId(id) ? id : null
}

interface Asking {
  readonly root: string
  readonly place: GitDirectories
  readonly own: string
  readonly shallow: boolean
  readonly signal: AbortSignal | undefined
}

function repository({ root, place, own, shallow, signal }: Asking, close: () => Promise<void>): Repository {
  const ask = (
    at: Pick<GitQuery, 'cwd' | 'tree' | 'timeout'>,
    args: readonly string[],
    input?: string,
  ): Promise<string | null> => git({ ...at, own, place, signal, ...(input === undefined ? {} : { input }) }, args)
  let listing: number = deadlines.list
  let left: number = deadlines.files
  const list = async (args: readonly string[]): Promise<string | null> => {
    const before = performance.now()
    const listed = listing < 1 ? null : await ask({ cwd: root, tree: place.top, timeout: Math.ceil(listing) }, args)
    listing -= performance.now() - before
    return listed
  }
  return {
    async files() {
      const ignored = await list(['check-ignore', '-q', '.'])
      if (ignored !== null) return null
      const listed = await list(['ls-files', '-co', '--exclude-standard', '-z'])
      return listed === null || listed === '' ? null : [...new Set(entries(listed))]
    },
    // an empty working tree: the attributes of the real one are not even read, and what is dated is the text that was
    // searched
    async lineTimes(path, text) {
      if (left <= 0) return new Map()
      const before = performance.now()
      const at = { cwd: join(own, 'tree'), tree: join(own, 'tree'), timeout: Math.ceil(Math.min(left, deadlines.file)) }
      const whole = relative(place.top, join(root, path)).split(sep).join('/')
      const args = ['--literal-pathspecs', 'blame', '--no-textconv', '--porcelain', '--contents', '-', '--', whole]
      const blamed = await ask(at, args, text)
      left -= performance.now() - before
      return blamed === null ? new Map() : readPorcelain(blamed, shallow)
    },
    get gaveUp() {
      return left > 0
        ? null
        : `git was asked for ages for ${deadlines.files / 1000} seconds and not longer; the other ages are unknown`
    },
    [Symbol.asyncDispose]: close,
  }
}

const entries = (listed: string): string[] => listed.split('\0').filter((path) => path !== '')

const settings = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.quotePath=false',
  'blame.ignoreRevsFile=',
]

interface GitQuery {
  readonly cwd: string
  /** The working tree as git is to see it. */
  readonly tree: string
  readonly timeout: number
  readonly own: string
  readonly place: GitDirectories
  readonly signal: AbortSignal | undefined
  readonly input?: string
}

/**
 * Runs git; `null` when it is missing, refuses, says too much or takes too long. Rejects only when the signal is
 * aborted.
 */
async function git(
  { cwd, tree, timeout, own, place, signal, input }: GitQuery,
  args: readonly string[],
): Promise<string | null> {
  signal?.throwIfAborted()
  const env = {
    ...environment(),
    GIT_DIR: own,
    GIT_WORK_TREE: tree,
    GIT_OBJECT_DIRECTORY: join(place.commonDir, 'objects'),
    GIT_INDEX_FILE: join(place.gitDir, 'index'),
  }
  const output = await new Promise<string | null>((resolved) => {
    const child = execFile(
      'git',
      [...settings.flatMap((setting) => ['-c', setting]), ...args],
      {
        cwd,
        encoding: 'utf8',
        env,
        maxBuffer: longestOutput,
        signal,
        timeout,
        killSignal: 'SIGKILL',
        windowsHide: true,
      },
      (error, stdout) => resolved(error === null ? stdout : null),
    )
    child.stdin?.on('error', () => {}).end(input)
  })
  signal?.throwIfAborted()
  return output
}

function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return {
    ...Object.fromEntries(own),
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_ALLOW_PROTOCOL: '',
  }
}

function readPorcelain(blamed: string, shallow: boolean): Map<number, number> {
  const commits = new Map<string, { time?: number; edge?: boolean }>()
  const lines: [line: number, commit: string][] = []
  let commit = ''
  for (const text of blamed.split('\n')) {
    const head = /^([0-9a-f]{40,64}) \d+ (\d+)/.exec(text)
    if (head?.[1] !== undefined && head[2] !== undefined) {
      commit = head[1]
      if (!commits.has(commit)) commits.set(commit, {})
      lines.push([Number(head[2]), commit])
    } else if (text.startsWith('author-time ')) known(commits, commit).time = Number(text.slice(12))
    else if (text === 'boundary') known(commits, commit).edge = true
  }
  const times = new Map<number, number>()
  for (const [line, id] of lines) {
    const { time, edge } = known(commits, id)
    if (time === undefined || /^0+$/.test(id) || (shallow && edge === true)) continue
    times.set(line, time)
  }
  return times
}

function known<T extends object>(commits: Map<string, T>, id: string): Partial<T> {
  return commits.get(id) ?? {}
}
