/**
 * A real Temporal server for tests: the dev server of Temporal's own command, with its data in a file, that can be
 * stopped, killed and started again.
 *
 * Owns: finding the command, building it where that is possible, starting it on free ports, leaving nothing behind. The
 * command is looked for in REEVE_TEMPORAL (its path), then in a cache folder that outlives the clone (`$XDG_CACHE_HOME`
 * or `~/.cache`, then `reeve/temporal-<version>`). If it is nowhere and Go is there, it is built into that folder, once
 * for a machine: that takes about seven minutes of two cores, and 250 MB.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { endsWithUs } from '@reeve/restate/server'
import { freePort, removeFolder, temporaryFolder } from './place.ts'

/** The newest release that `go install` takes: later ones have a `replace` in their go.mod. */
const version = '1.5.1'

/** A server of one's own. */
export interface TemporalTestServer extends AsyncDisposable {
  readonly address: string
  readonly pid: number
  /** kill -9. */
  kill(): Promise<void>
  /** It takes connections and answers nothing, until `thaw`. */
  freeze(): void
  thaw(): void
  /** Starts it again, on the same data and port. */
  start(): Promise<void>
  dispose(): Promise<void>
}

/** Why there is no command to start; undefined: there is one. Never builds. */
export const whyNoTemporal = (): string | undefined =>
  found() === undefined
    ? `there is no Temporal command: set REEVE_TEMPORAL to its path, or run "npm run test:temporal" where Go is installed, which builds it into ${folder()}`
    : undefined

const folder = (): string =>
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'reeve', `temporal-${version}`)

function found(): string | undefined {
  const named = process.env['REEVE_TEMPORAL']
  if (named !== undefined) {
    accessSync(named, constants.X_OK)
    return named
  }
  const cached = join(folder(), 'temporal')
  return existsSync(cached) ? cached : undefined
}

/** Builds the command where it is missing and Go is there. Says what it does, for it takes minutes. */
export function buildTemporal(say: (line: string) => void): void {
  if (found() !== undefined) return
  if (spawnSync('go', ['version']).status !== 0)
    return say('there is no Temporal command, and no Go to build it with: its tests are skipped')
  say(`building the Temporal command ${version} into ${folder()}: this takes some minutes, once for a machine`)
  mkdirSync(folder(), { recursive: true })
  const begun = performance.now()
  const built = spawnSync('go', ['install', `github.com/temporalio/cli/cmd/temporal@v${version}`], {
    env: { ...process.env, GOBIN: folder(), CGO_ENABLED: '0' },
    encoding: 'utf8',
    timeout: 20 * 60_000,
  })
  if (built.status !== 0)
    throw new Error(`the Temporal command could not be built:\n${built.stderr.split('\n').slice(-8).join('\n')}`)
  say(`built in ${Math.round((performance.now() - begun) / 1000)} s`)
}

/**
 * Starts a server on free ports, in a folder of its own. It ends with this process. `settings`: of its dynamic
 * configuration, `name=value`.
 */
export async function temporalServer(...settings: readonly string[]): Promise<TemporalTestServer> {
  const command = found()
  if (command === undefined) throw new Error(whyNoTemporal())
  const dir = temporaryFolder('temporal')
  const [port, http, metrics] = [await freePort(), await freePort(), await freePort()]
  const address = `127.0.0.1:${port}`
  const log = join(dir, 'log')
  let child: ChildProcess

  async function start(): Promise<void> {
    const out = openSync(log, 'a')
    const ports = ['--port', `${port}`, '--http-port', `${http}`, '--metrics-port', `${metrics}`]
    const dynamic = settings.flatMap((each) => ['--dynamic-config-value', each])
    const quiet = ['--headless', '--log-level', 'error']
    const args = [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--db-filename',
      join(dir, 'db'),
      ...quiet,
      ...ports,
      ...dynamic,
    ]
    child = spawn(command!, args, { cwd: dir, stdio: ['ignore', out, out], detached: true })
    closeSync(out)
    const release = child.pid === undefined ? () => {} : endsWithUs(child.pid)
    child.once('exit', release)
    child.once('error', release)
    await answers(address, () => child.exitCode !== null, log)
  }
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise<void>((done) => child.once('exit', () => done()))
    child.kill(name)
    await gone
  }
  await start()
  const server: TemporalTestServer = {
    address,
    get pid() {
      return child.pid ?? 0
    },
    kill: () => signal('SIGKILL'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    start,
    async dispose() {
      await signal('SIGKILL')
      removeFolder(dir)
    },
    [Symbol.asyncDispose]: () => server.dispose(),
  }
  return server
}

/** Makes a namespace of the dev server; the default one is there. */
export function makeNamespace({ address }: TemporalTestServer, name: string): void {
  execFileSync(found()!, ['operator', 'namespace', 'create', '--namespace', name, '--address', address], {
    stdio: 'pipe',
  })
}

async function answers(address: string, hasEnded: () => boolean, log: string): Promise<void> {
  const limit = AbortSignal.timeout(30_000)
  for (;;) {
    const connection = Connection.lazy({ address, connectTimeout: 1_000, interceptors: [] })
    try {
      await connection.withDeadline(Date.now() + 1_000, () =>
        connection.workflowService.describeNamespace({ namespace: 'default' }),
      )
      return
    } catch (error) {
      if (limit.aborted || hasEnded())
        throw new Error(`the Temporal server did not start:\n${readFileSync(log, 'utf8').slice(-2_000)}`, {
          cause: error,
        })
      await sleep(50)
    } finally {
      await connection.close()
    }
  }
}
