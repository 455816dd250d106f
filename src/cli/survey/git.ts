/**
 * How the surveys ask git: one process, fixed arguments, never a shell, never an exception because git is missing.
 * Owns: the environment git runs in, which files a repository holds, who last touched a line. Does not own: which folder is examined (`walk.ts`).
 *
 * Git runs without the caller's `GIT_*` variables, without file-system monitors, hooks, prompts or lazy network fetches: a survey reads, it
 * never writes to the repository and never contacts anyone.
 */
import { execFile } from 'node:child_process'

/** What the caller may hand to a survey to stop it early. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined
}

const settings = [
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'core.quotePath=false',
  '-c',
  'blame.ignoreRevsFile=',
]
const longestOutput = 256 * 1024 * 1024

/** Runs git in `root`; `null` when git is missing, the folder is no repository, or git refuses. Rejects only when the signal is aborted. */
async function git(root: string, args: readonly string[], options: Abortable = {}): Promise<string | null> {
  options.signal?.throwIfAborted()
  const output = await new Promise<string | null>((resolve) => {
    const child = execFile(
      'git',
      [...settings, '-C', root, ...args],
      { encoding: 'utf8', env: environment(), maxBuffer: longestOutput, signal: options.signal, windowsHide: true },
      (error, stdout) => resolve(error === null ? stdout : null),
    )
    child.stdin?.end()
  })
  options.signal?.throwIfAborted()
  return output
}

function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return { ...Object.fromEntries(own), LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1' }
}

/** The paths git tracks or would track below `root` (relative, `/`), or `null` when `root` is not (or is an ignored part of) a repository. */
export async function gitFiles(root: string, options: Abortable = {}): Promise<string[] | null> {
  const ignored = await git(root, ['check-ignore', '-q', '.'], options)
  if (ignored !== null) return null
  const listed = await git(root, ['ls-files', '-co', '--exclude-standard', '-z'], options)
  if (listed === null || listed === '') return null
  return [...new Set(entries(listed))]
}

/** The tracked paths below `root`, or `null` when `root` is not in a repository. */
export async function gitTracked(root: string, options: Abortable = {}): Promise<Set<string> | null> {
  const listed = await git(root, ['ls-files', '-c', '-z'], options)
  return listed === null ? null : new Set(entries(listed))
}

const entries = (listed: string): string[] => listed.split('\0').filter((path) => path !== '')

/** When each line of a file was written: seconds since 1970 by line number (1-based). A line git cannot date for certain is absent. */
export async function lineTimes(root: string, path: string, options: Abortable & { shallow: boolean }): Promise<Map<number, number>> {
  const blamed = await git(root, ['--literal-pathspecs', 'blame', '--porcelain', '--', path], options)
  return blamed === null ? new Map() : readPorcelain(blamed, options.shallow)
}

/** A shallow clone does not know the age of what lies beyond its edge. */
export async function isShallow(root: string, options: Abortable = {}): Promise<boolean> {
  return (await git(root, ['rev-parse', '--is-shallow-repository'], options))?.trim() === 'true'
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
