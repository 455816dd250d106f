/**
 * Real PostgreSQL for tests: a schema of one's own on the one that runs, or an instance of one's own that can be
 * stopped, killed and frozen.
 *
 * Owns: finding it, starting it (Debian's or PATH's binaries, never as root), leaving nothing behind.
 * REEVE_TEST_POSTGRES names the one that runs; if nobody answers there, one is started for this process.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { chownSync, closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { endsWithUs } from '@reeve/restate/server'
import { freePort, removeFolder, temporaryFolder } from './place.ts'

/** A schema of one's own. */
export interface FreshPostgres extends AsyncDisposable {
  /** Whose connections see the schema first (`search_path`). */
  readonly url: string
  readonly schema: string
  /** The address without the schema. */
  readonly server: string
  /** Drops the schema. */
  readonly dispose: () => Promise<void>
}

/** An instance of one's own. */
export interface StoppablePostgres extends AsyncDisposable {
  readonly url: string
  /** The folder of its Unix socket. */
  readonly sockets: string
  readonly pid: number
  /** Starts it again, on the same data and port. */
  readonly start: () => Promise<void>
  /** Ends it as an operator does (`fast`), or as a crash does (`immediate`). */
  readonly stop: (mode?: 'fast' | 'immediate') => Promise<void>
  /** kill -9. */
  readonly kill: () => Promise<void>
  /** Of a standby: it takes writes from now on. */
  readonly promote: () => Promise<void>
  /** It takes connections and answers nothing, until `thaw`. */
  readonly freeze: () => void
  readonly thaw: () => void
  readonly dispose: () => Promise<void>
}

const running = process.env['REEVE_TEST_POSTGRES'] ?? 'postgres://root@127.0.0.1:5432/test'
let found: Promise<string> | undefined
let count = 0

/** A fresh schema on the PostgreSQL that runs, or on one that is started for this process. */
export async function freshPostgres(): Promise<FreshPostgres> {
  const server = await (found ??= findServer())
  const schema = `reeve_test_${process.pid}_${++count}_${Math.floor(Math.random() * 1e6)}`
  await execute(server, `create schema ${schema}`)
  const url = new URL(server)
  url.searchParams.set('options', `-c search_path=${schema}`)
  const dispose = (): Promise<void> => execute(server, `drop schema if exists ${schema} cascade`)
  return { url: url.href, schema, server, dispose, [Symbol.asyncDispose]: dispose }
}

async function findServer(): Promise<string> {
  try {
    await execute(running, 'select 1')
    return running
  } catch (error) {
    if (process.env['REEVE_TEST_POSTGRES'] !== undefined) throw error
    return (await stoppablePostgres()).url
  }
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Quick, and small. */
const forTests = ['fsync=off', 'shared_buffers=16MB', 'max_connections=100']

/** Starts a PostgreSQL on a free port, in a folder of its own; `of`: as a standby that follows this one. */
export async function stoppablePostgres(
  given: readonly string[] = forTests,
  of?: StoppablePostgres,
): Promise<StoppablePostgres> {
  const bin = findBinaries()
  const who: { uid?: number; gid?: number } = process.getuid?.() === 0 ? unprivileged() : {}
  const dir = temporaryFolder('postgres')
  if (who.uid !== undefined && who.gid !== undefined) chownSync(dir, who.uid, who.gid)
  const data = join(dir, 'data')
  const init = ['-D', data, '-U', 'reeve', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
  if (of === undefined) execFileSync(join(bin, 'initdb'), init, { cwd: dir, stdio: 'pipe', ...who })
  else
    execFileSync(join(bin, 'pg_basebackup'), ['-d', of.url, '-D', data, '-R', '-c', 'fast', '--no-sync'], {
      cwd: dir,
      stdio: 'pipe',
      ...who,
    })
  const port = await freePort()
  const url = `postgres://reeve@127.0.0.1:${port}/postgres`
  let child = await launch()

  async function launch(): Promise<ChildProcess> {
    const log = openSync(join(dir, 'log'), 'a')
    const settings = given.flatMap((each) => ['-c', each])
    const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', dir, ...settings]
    const started = spawn(join(bin, 'postgres'), args, {
      cwd: dir,
      stdio: ['ignore', log, log],
      detached: true,
      ...who,
    })
    closeSync(log)
    const release = started.pid === undefined ? () => {} : endsWithUs(started.pid)
    started.once('exit', release)
    started.once('error', release)
    await answers(started)
    return started
  }

  async function answers(started: ChildProcess): Promise<void> {
    const limit = AbortSignal.timeout(15_000)
    for (;;) {
      try {
        return await execute(url, 'select 1')
      } catch (error) {
        if (limit.aborted || started.exitCode !== null)
          throw new Error(`PostgreSQL did not start:\n${tail(join(dir, 'log'))}`, { cause: error })
        await sleep(50)
      }
    }
  }

  const signal = async (name: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise<void>((done) => child.once('exit', () => done()))
    postgres.thaw()
    child.kill(name)
    await gone
  }
  const all = (name: NodeJS.Signals): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    for (const pid of [child.pid, ...childrenOf(child.pid)]) {
      try {
        process.kill(pid, name)
      } catch {
        // a backend that has just ended
      }
    }
  }
  const postgres: StoppablePostgres = {
    url,
    sockets: dir,
    get pid() {
      return child.pid ?? 0
    },
    async start() {
      child = await launch()
    },
    stop: (mode = 'fast') => signal(mode === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    kill: () => signal('SIGKILL'),
    promote: () => execute(url, 'select pg_promote()'),
    freeze: () => all('SIGSTOP'),
    thaw: () => all('SIGCONT'),
    async dispose() {
      await signal('SIGQUIT')
      removeFolder(dir)
    },
    [Symbol.asyncDispose]: () => postgres.dispose(),
  }
  return postgres
}

function findBinaries(): string {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ]
  const bin = folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
  if (bin !== undefined) return bin
  throw new Error(
    `no PostgreSQL answers at ${running}, and there is none to start: install postgresql, or set REEVE_TEST_POSTGRES`,
  )
}

/** PostgreSQL does not run as root. */
function unprivileged(): { readonly uid: number; readonly gid: number } {
  const rows = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = rows.find((row) => row.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody')
}

/** Every backend is a child of the first process. */
function childrenOf(pid: number): number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  return table
    .split('\n')
    .map((row) => row.trim().split(/\s+/).map(Number))
    .flatMap(([id, parent]) => (parent === pid && id !== undefined ? [id] : []))
}

const tail = (log: string): string =>
  existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').slice(-8).join('\n') : ''
