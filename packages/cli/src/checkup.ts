/**
 * Checkup: what is wrong with an installation, as findings.
 *
 * Owns: the checks, their order, what to do about each finding. Does not own: how findings are shown
 * (command/doctor.ts), what is wrong with a model, an agent or a store (runtime).
 * Holds: nothing is written and no model is asked. The config is code, and is run.
 */
import { accessSync, constants, existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, ReeveError, shellWord } from '@reeve/core'
import {
  createRuntime,
  declareThem,
  preparedModels,
  undeclaredText,
  undeclaredTools,
  type StallCause,
  type SystemView,
} from '@reeve/runtime'
import { shownStore } from './context.ts'
import { reeve } from './invocation.ts'
import { openToOthers } from './private-files.ts'
import { stallText } from './stall-lines.ts'
import {
  agentsFolder,
  configHere,
  configName,
  findRuns,
  isPostgres,
  loadConfig,
  openRuntime,
  type ReeveConfig,
  type RunLocation,
  type StoreOptions,
} from './store.ts'

/** What a check found. `warn`: it works, or may not be needed. */
export interface Finding {
  readonly check:
    | 'node'
    | 'typescript'
    | 'reeve'
    | 'runs'
    | 'package'
    | 'packages'
    | 'config'
    | 'agents'
    | 'tools'
    | 'models'
    | 'store'
    | 'files'
    | 'clock'
  readonly status: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** What to do. */
  readonly hint?: string
}

/** What is checked. */
export interface CheckupOptions extends StoreOptions {
  readonly cwd: string
}

interface InstalledManifest {
  readonly name?: string
  readonly version?: string
  readonly type?: string
  readonly engines?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

type Installation = NonNullable<SystemView['installation']>

const ownFolder = fileURLToPath(new URL('../../..', import.meta.url))
const ok = (check: Finding['check'], message: string): Finding => ({ check, status: 'ok', message })

/** Checks an installation; gives each finding when it is known. */
export async function* checkup({ cwd, ...options }: CheckupOptions): AsyncGenerator<Finding, void> {
  const own = manifestIn(ownFolder)!
  yield nodeFinding(process.versions.node, own.engines?.['node'] ?? '')
  yield typeScriptFinding(process.features.typescript)
  yield reeveFinding(own.version ?? '?', copiesOf('reeve', cwd), cwd)
  yield packageFinding(cwd)
  yield* optionalPackages(own.peerDependencies ?? {}, realpathSync(ownFolder))
  const config = yield* configFindings(options, cwd)
  if (config !== undefined) yield* agentFindings(config)
  yield* storeFindings(options, config, cwd)
}

/** `needed`: `>=24`. */
export function nodeFinding(version: string, needed: string): Finding {
  const least = Number(/\d+/.exec(needed)?.[0] ?? 0)
  if (Number(version.split('.')[0]) >= least) return ok('node', `Node ${version}`)
  return {
    check: 'node',
    status: 'fail',
    message: `Node ${version}; ${least} or newer is needed`,
    hint: 'Install a newer Node.',
  }
}

export const typeScriptFinding = (how: typeof process.features.typescript): Finding =>
  how === false
    ? {
        check: 'typescript',
        status: 'fail',
        message: 'Node does not run TypeScript here',
        hint: 'Remove the option that switches it off from NODE_OPTIONS and from the command, or name a config in JavaScript.',
      }
    : ok('typescript', `Node runs TypeScript (${how})`)

/** `copies`: the folders in which programs of this folder find Reeve, the nearest first. */
export function reeveFinding(version: string, copies: readonly string[], cwd: string): Finding {
  const shown = (copy: string): string => `${manifestIn(copy)?.version} in ${relative(cwd, copy) || '.'}`
  const [nearest, ...others] = copies
  const isOwn = nearest !== undefined && realpathSync(nearest) === realpathSync(ownFolder)
  if (nearest === undefined)
    return {
      check: 'reeve',
      status: 'warn',
      message: `Reeve ${version} runs this command, and programs in this folder find none`,
      hint: 'npm install reeve',
    }
  if (others.length > 0)
    return {
      check: 'reeve',
      status: 'warn',
      message: `Reeve is installed ${copies.length} times: ${copies.map(shown).join(', ')}`,
      hint: 'Let all packages use one version: npm dedupe',
    }
  if (!isOwn && manifestIn(nearest)?.version !== version)
    return {
      check: 'reeve',
      status: 'warn',
      message: `Reeve ${version} runs this command, programs in this folder use ${shown(nearest)}`,
      hint: 'Run the one of this folder: npx reeve',
    }
  return ok('reeve', `Reeve ${version}`)
}

export function packageFinding(cwd: string): Finding {
  const folder = upwards(cwd).find((each) => existsSync(join(each, 'package.json')))
  if (folder === undefined)
    return {
      check: 'package',
      status: 'warn',
      message: 'there is no package.json here or above',
      hint: `Write one with "type": "module", or a whole project: ${reeve} init`,
    }
  const file = join(folder, 'package.json')
  const manifest = manifestIn(folder)
  if (manifest === undefined)
    return { check: 'package', status: 'fail', message: `${file} is not JSON`, hint: 'Correct it.' }
  if (manifest.type === 'module') return ok('package', `${relative(cwd, file)} says "type": "module"`)
  const hint = 'Write "type": "module" into it: Reeve is imported, not required, and top-level await needs it.'
  return manifest.type === undefined
    ? { check: 'package', status: 'warn', message: `${relative(cwd, file)} says no "type"`, hint }
    : { check: 'package', status: 'fail', message: `${relative(cwd, file)} says "type": "${manifest.type}"`, hint }
}

/** Optional packages that are installed where Reeve, in `folder`, finds them, in a version that it does not know. */
export function* optionalPackages(peers: Readonly<Record<string, string>>, folder: string): Generator<Finding> {
  const found = Object.entries(peers).flatMap(([name, range]) => {
    const [nearest] = copiesOf(name, folder)
    const version = nearest === undefined ? undefined : manifestIn(nearest)?.version
    return version === undefined ? [] : [{ name, range, version }]
  })
  const strange = found.filter(({ range, version }) => !isOfMajor(version, range))
  for (const { name, range, version } of strange)
    yield {
      check: 'packages',
      status: 'warn',
      message: `${name} ${version} is installed, and Reeve knows ${range}`,
      hint: `npm install ${name}@${/\d+/.exec(range)?.[0] ?? 'latest'}`,
    }
  if (strange.length === 0)
    yield ok(
      'packages',
      found.length === 0
        ? 'no optional package is installed'
        : found.map(({ name, version }) => `${name} ${version}`).join(', '),
    )
}

/** Ranges of ours are of one major version: `^4.0.0`, or `>=1.9.0 <2`. */
export const isOfMajor = (version: string, range: string): boolean => version.split('.')[0] === /\d+/.exec(range)?.[0]

async function* configFindings(
  { config: named }: StoreOptions,
  cwd: string,
): AsyncGenerator<Finding, ReeveConfig | undefined> {
  const file = resolve(cwd, named ?? configHere(cwd))
  if (named === undefined && !existsSync(file)) {
    yield {
      check: 'config',
      status: 'warn',
      message: `there is no ${configName} and no ${agentsFolder}/ in this folder`,
      hint: `work, serve, dev and resume need one: it exports \`agents\` and \`store\`. ${reeve} init writes a project that has it.`,
    }
    return undefined
  }
  try {
    const config = await loadConfig(file, cwd)
    yield ok('config', `${relative(cwd, file)}: ${config.agents.map(({ name }) => name).join(', ')}`)
    return config
  } catch (thrown) {
    yield failed('config', thrown)
    return undefined
  }
}

async function* agentFindings({ agents }: ReeveConfig): AsyncGenerator<Finding> {
  try {
    // in memory: whether they can be registered together has nothing to do with the store
    await using runtime = await createRuntime({ agents, drive: false })
    yield ok(
      'agents',
      `can be registered: ${runtime
        .agents()
        .map(({ name }) => name)
        .join(', ')}`,
    )
  } catch (thrown) {
    yield failed('agents', thrown)
    return
  }
  const undeclared = undeclaredTools(agents)
  yield undeclared.length === 0
    ? ok('tools', 'all tools declare an effect')
    : {
        check: 'tools',
        status: 'warn',
        message: `without an effect: ${undeclaredText(undeclared)}`,
        hint: declareThem,
      }
  const models = await preparedModels(agents)
  for (const { agent, model, failure } of models)
    if (failure !== undefined)
      yield {
        check: 'models',
        status: 'fail',
        message: `agent "${agent}", ${model}: ${failure.message}`,
        ...(failure.hint === undefined ? undefined : { hint: failure.hint }),
      }
  if (models.every(({ failure }) => failure === undefined))
    yield ok(
      'models',
      models.length === 0
        ? 'no agent has a model'
        : `${[...new Set(models.map(({ model }) => model))].join(', ')}: no model was asked`,
    )
}

/** How far the clock of another process may be ahead. Milliseconds. */
const clockTolerance = 60_000

async function* storeFindings(
  options: StoreOptions,
  config: ReeveConfig | undefined,
  cwd: string,
): AsyncGenerator<Finding> {
  let place: RunLocation
  try {
    place =
      options.store === undefined && config !== undefined
        ? config.place
        : await findRuns(options.store === undefined ? {} : { store: options.store }, cwd)
  } catch (thrown) {
    const isNamed = options.store !== undefined
    yield { ...failed('store', thrown), ...(isNamed ? undefined : { status: 'warn' }) }
    return
  }
  if ('store' in place && !isPostgres(place.store) && !existsSync(place.store)) {
    yield newStoreFinding(place.store)
    return
  }
  yield* fileFindings('store' in place && !isPostgres(place.store) ? place.store : undefined, cwd)
  try {
    await using runtime = await openRuntime(place, { drive: false })
    const { installation } = await runtime.system()
    yield storeFinding(installation!)
    yield* stallFindings(installation!)
    const [newest] = await runtime.runs({ limit: 1 })
    yield clockFinding(newest?.createdAt, Date.now())
  } catch (thrown) {
    yield failed('store', thrown)
  }
}

/** This process drives nothing. On PostgreSQL it may have a lease all the same: it hears of news. */
export function storeFinding({ store, engine, workers }: Installation): Finding {
  const others = workers.filter(({ isThis, isAlive }) => !isThis && isAlive !== false).length
  return ok(
    'store',
    `${shownStore(store.name)} (${engine}), driven by ${others} process${others === 1 ? '' : 'es'} now`,
  )
}

/** Files with prompts, arguments and tokens that other users of the machine may read: made so by hand. */
function* fileFindings(store: string | undefined, cwd: string): Generator<Finding> {
  const files = [
    ...(store === undefined ? [] : [store, `${store}-wal`]),
    ...(store !== undefined && basename(dirname(store)) === '.reeve' ? [dirname(store)] : []),
    join(cwd, '.token'),
  ]
  for (const file of files) {
    const mode = openToOthers(file)
    if (mode === undefined) continue
    yield {
      check: 'files',
      status: 'warn',
      message: `${file} can be used by other users of this machine (mode ${mode})`,
      hint: `Keep it to yourself: chmod go= ${shellWord(file)}`,
    }
  }
}

/** So many stalled runs are named. */
const mostNamed = 5

/** Runs that nothing moves, and those that go from process to process. */
function* stallFindings(installation: Installation): Generator<Finding> {
  const { stalled = [], backlog, workers } = installation
  for (const stall of stalled.slice(0, mostNamed))
    yield {
      check: 'runs',
      status: 'warn',
      message: `${stall.run} is ${stallText(stall, installation)}`,
      hint: stallHints[stall.waitsFor],
    }
  if (stalled.length > mostNamed)
    yield {
      check: 'runs',
      status: 'warn',
      message: `${stalled.length - mostNamed} more runs are stalled`,
      hint: 'See all of them: reeve runs --status running',
    }
  if (backlog.flapping !== undefined)
    yield {
      check: 'runs',
      status: 'warn',
      message: `${backlog.flapping.count} runs were lost with their process twice or more in a row`,
      hint: 'Their processes die or are late: look at memory and load of their hosts, or give a longer leaseMs.',
    }
  const late = workers.filter(({ delayMs = 0 }) => delayMs >= lateMs)
  for (const { id, pid, host, delayMs } of late)
    yield {
      check: 'runs',
      status: 'warn',
      message: `the process ${id}${pid === undefined ? '' : ` (pid ${pid})`}${host === undefined ? '' : ` on ${host}`} is ${delayMs} ms late`,
      hint: 'Its machine has too much to do, or its code blocks the event loop. Run fewer processes there, or move the work out of the event loop.',
    }
}

/** A process that is so late is named. Milliseconds. */
const lateMs = 1_000

const stallHints: Readonly<Record<StallCause, string>> = {
  worker: 'Start a process that knows its agent: reeve work. If one is there, see its warnings.',
  takeover: 'Other processes take it over when they notice. If it stays, see their warnings.',
  'event-loop':
    'A tool or other code blocks that process, or the machine has no time for it: look at it with a profiler, or end it.',
  store: 'See whether the database or the disk answers: the process goes on by itself when it does.',
  code: 'Put what the agent awaits into a step (ctx.step), which has a deadline and is recorded.',
  engine: 'End that process: another one takes the run over. Please report it, with the warnings of the process.',
}

function newStoreFinding(store: string): Finding {
  const folder = dirname(store)
  try {
    accessSync(folder, constants.W_OK)
    return ok('store', `${store} does not exist yet; the first process that drives runs creates it`)
  } catch {
    return {
      check: 'store',
      status: 'fail',
      message: `${store} does not exist, and ${folder} cannot be written to`,
      hint: 'Create the folder, or make it writable for this user.',
    }
  }
}

/** `newest`: when the newest run began, by the clock of the process that started it. */
export const clockFinding = (newest: number | undefined, now: number): Finding =>
  newest !== undefined && newest > now + clockTolerance
    ? {
        check: 'clock',
        status: 'warn',
        message: `the newest run began at ${new Date(newest).toISOString()}, and it is ${new Date(now).toISOString()} here`,
        hint: 'Set the clocks of all machines by the network (NTP): deadlines and timers go by them.',
      }
    : ok('clock', new Date(now).toISOString())

function failed(check: Finding['check'], thrown: unknown): Finding {
  const hint = ReeveError.is(thrown) ? thrown.hint : undefined
  return { check, status: 'fail', message: messageOf(thrown), ...(hint === undefined ? undefined : { hint }) }
}

/** The folder and those above it. */
function upwards(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...upwards(above)]
}

/**
 * The copies of a package that programs in this folder may find: in node_modules here and above, and in those of the
 * packages there.
 */
export function copiesOf(name: string, folder: string): readonly string[] {
  const trees = upwards(folder).map((each) => join(each, 'node_modules'))
  const nested = trees.flatMap((tree) => packagesIn(tree).map((each) => join(each, 'node_modules')))
  const found = new Map<string, string>()
  for (const path of [...trees, ...nested].map((tree) => join(tree, ...name.split('/'))))
    if (existsSync(join(path, 'package.json')) && !found.has(realpathSync(path))) found.set(realpathSync(path), path)
  // a checkout finds itself by its name
  const self = upwards(folder).find(
    (each) => manifestIn(each)?.name === name && !each.includes(`${sep}node_modules${sep}`),
  )
  return self !== undefined && !found.has(realpathSync(self)) ? [self, ...found.values()] : [...found.values()]
}

function packagesIn(tree: string): readonly string[] {
  const names = (folder: string): readonly string[] => {
    try {
      return readdirSync(folder)
    } catch {
      return []
    }
  }
  return names(tree).flatMap((name) =>
    name.startsWith('@') ? names(join(tree, name)).map((each) => join(tree, name, each)) : [join(tree, name)],
  )
}

function manifestIn(folder: string): InstalledManifest | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return typeof manifest === 'object' && manifest !== null ? manifest : undefined
  } catch {
    return undefined
  }
}
