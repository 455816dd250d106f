/**
 * Folders as a user has them: the packed Reeve and exact versions of other packages, installed by npm; the programs in
 * them run with an environment that has nothing of this checkout.
 *
 * Owns: packing, installing, starting and ending programs. Does not own: what is in the folders.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { root } from './house.ts'

/**
 * The environment of programs in such a folder. A package manager that runs this passes on settings of this checkout,
 * which are left out, as are keys of providers.
 */
export function freshEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^npm_|^NODE_OPTIONS$|_API_KEY$|_BASE_URL$|^INIT_CWD$/.test(name),
  )
  return {
    ...Object.fromEntries(kept),
    // npm runs scripts with the Node that it finds
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
    NO_COLOR: '1',
    NEXT_TELEMETRY_DISABLED: '1',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_prefer_offline: 'true',
  }
}

/** Runs a command to its end, prints and returns what it wrote. Throws if it fails. */
export function runIn(cwd: string, env: NodeJS.ProcessEnv, command: string, ...args: readonly string[]): string {
  console.log(`$ ${[command, ...args].join(' ')}`)
  const out = execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  console.log(out)
  return out
}

/** Packs Reeve as it is built into a folder. Returns the path of the file. */
export function packInto(folder: string): string {
  const packed = runIn(root, freshEnv(), 'npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder)
  return join(folder, packed.trim().split('\n').at(-1)!)
}

/**
 * Makes a project in which the packed Reeve was installed by npm. Other packages that its programs import are those of
 * this checkout. What is packed is built before.
 */
export function installIn(project: string, env: NodeJS.ProcessEnv): void {
  const packages = join(project, 'node_modules')
  mkdirSync(packages, { recursive: true })
  execFileSync(process.execPath, [join(root, 'scripts', 'build.js'), '--if-changed'], { stdio: 'inherit' })
  const packed = packInto(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  runIn(project, env, 'npm', 'install', packed)
  const names = readdirSync(join(root, 'node_modules')).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(root, 'node_modules', name)).map((each) => join(name, each)) : [name],
  )
  for (const name of names) {
    if (name.startsWith('.') || existsSync(join(packages, name))) continue
    mkdirSync(dirname(join(packages, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(packages, name))
  }
}

/** A program that goes on: what it has said so far, and its end. */
export interface Started extends AsyncDisposable {
  readonly child: ChildProcess
  /** All that it has written until now. */
  readonly said: () => string
  /** Ends it and what it has started. */
  readonly end: (signal?: NodeJS.Signals) => Promise<void>
}

/** Starts a program, and resolves when it has said this. Throws if it ends before. */
export async function startIn(
  cwd: string,
  env: NodeJS.ProcessEnv,
  what: RegExp,
  command: string,
  ...args: readonly string[]
): Promise<Started> {
  // a group of its own: npm passes no signal on to what its script has started
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const ended = once(child, 'exit')
  let said = ''
  const isSaid = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        said += piece
        if (what.test(said)) resolve()
      })
    child.once('close', () => resolve())
  })
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal)
    await ended
  }
  await isSaid
  assert.match(said, what, `${command} ${args.join(' ')}`)
  return { child, said: () => said, end, [Symbol.asyncDispose]: () => end() }
}
