/**
 * Stores, engines and configs: where a command finds its runs and their agents.
 *
 * Owns: finding a store without creating one, loading `reeve.config.ts`, opening a runtime on either. Does not own: the
 * content of a store.
 * Holds: a config is code, and so is a folder of agents. Only `doctor` and the commands that run agents (`work`, `start`,
 * `resume`, `serve`, `studio`, `dev`, `mcp`) load `reeve.config.ts` or `agents/` of the current folder by default; every other command loads a config only if it is
 * named. A bad argument creates no store.
 */
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, ReeveError, shellWord, visible } from '@reeve/core'
import { createRuntime, storeKind, runtimeOptions, type Runtime, type RuntimeOptions } from '@reeve/runtime'
import { isTeamFolder, loadTeam, placeOf } from '@reeve/runtime/folder'
import { isStoreFile } from '@reeve/runtime/upkeep'
import type { ReeveServerOptions } from '@reeve/server'
import { usage } from './exit.ts'
import { reeve } from './invocation.ts'
import { makePrivateFolder } from './private-files.ts'

/** The options that every command has. */
export interface StoreOptions {
  readonly store?: string
  readonly config?: string
}

type ConfiguredEngine = NonNullable<RuntimeOptions['engine']>

/**
 * Where runs are: in a store, which is the path of a file or the address of a PostgreSQL database, or with an engine,
 * which the config creates on demand.
 */
export type RunLocation = (
  { readonly store: string } | { readonly engine: () => Promise<ConfiguredEngine>; readonly config: string }
) & {
  /** LocatedRun runtime options of the config, if one was loaded: redaction rules, `mayDecide`, … */
  readonly options?: ConfigOptions
}

/** The options of `createRuntime`, without those that the command sets: where runs are, and whether to drive them. */
export type ConfigOptions = Omit<RuntimeOptions, 'store' | 'engine' | 'drive' | 'crash'>

/**
 * What a `reeve.config.ts` exports, by name or as its default: `agents`, `store` (a file, relative to the config, or an
 * address) or `engine` (a function), any other option of `createRuntime`, and `server`: options of `createServer`.
 */
export interface ReeveConfig {
  readonly place: RunLocation
  readonly agents: NonNullable<RuntimeOptions['agents']>
  /** For `serve` and `studio`: who may use the server, under which names. */
  readonly server?: ConfiguredServer
}

/** The options of `createServer`, without those that the command sets. */
type ConfiguredServer = Omit<ReeveServerOptions, 'runtime' | 'assets'>

/** The default store of a folder. */
export const storeBelow = (folder: string): string => join(folder, '.reeve', 'reeve.db')

/** The default config. */
export const configName = 'reeve.config.ts'
/** The folder with the agents of a project, one file for each. */
export const agentsFolder = 'agents'

/** The config of a folder: its file, else the folder of its agents; the name of the file, if it has neither. */
export const configHere = (folder: string): string =>
  !isFile(join(folder, configName)) && isTeamFolder(join(folder, agentsFolder)) ? agentsFolder : configName

/** Whether a folder has a config, or agents. */
export const hasConfig = (folder: string): boolean =>
  isFile(join(folder, configName)) || isTeamFolder(join(folder, agentsFolder))

/**
 * Refuses a default store that is behind a symbolic link: it would be written outside its folder. Throws `cli.usage`;
 * creates nothing.
 */
export function refuseLinks(store: string): void {
  for (const path of [dirname(store), store])
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw usage(
        `${path} is a symbolic link: the store would be written outside this folder`,
        'Remove the link, or name a store: --store <store>',
      )
}

/**
 * The location of the runs; a store must exist. Default: `./.reeve/reeve.db`, else the one store that stands in this
 * folder, which is the one that code here names. Loads a config only if it is named.
 */
export async function findRuns(options: StoreOptions, cwd: string): Promise<RunLocation> {
  const config = options.config === undefined ? undefined : (await loadConfig(options.config, cwd)).place
  if (options.store !== undefined) return namedStore(options.store, cwd, config?.options)
  if (config !== undefined) return existing(config)
  const here = storeBelow(cwd)
  if (isFile(here)) return (refuseLinks(here), { store: here })
  const [found, ...others] = storesIn(cwd)
  if (found !== undefined && others.length === 0) return { store: join(cwd, found) }
  if (found !== undefined)
    throw usage(
      `this folder has several stores: ${[found, ...others].map((name) => visible(name)).join(', ')}`,
      `Name one of them: --store ${shellWord(found)}`,
    )
  if (isFile(join(cwd, configName)))
    throw usage(
      `no store found in this folder. It has a ${configName}, which is code and is not loaded by default`,
      `If you trust it, name it: --config ${configName}. Or name a store: --store <store>`,
    )
  throw usage(
    `no store found in this folder: looked for ${join('.reeve', 'reeve.db')}, for a store of Reeve in a *.db, *.sqlite or *.sqlite3 file, and for ${configName}`,
    `Name the \`store\` of your code: --store <file or postgres://…>, or --config <file>. A store in memory is gone with its process. To begin: ${reeve} demo, or ${reeve} init`,
  )
}

/** Stores that stand in the folder itself, by name. A link is not followed: it leads out of the folder. */
function storesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(db|sqlite3?)$/.test(entry.name))
      .map(({ name }) => name)
      .filter((name) => isStoreFile(join(folder, name)))
      .toSorted()
  } catch {
    return []
  }
}

/**
 * For commands that run agents: without options and without a default store, the config of the folder is used, also in
 * printed commands.
 */
export const orConfigHere = (options: StoreOptions, cwd: string): StoreOptions =>
  options.store === undefined && options.config === undefined && !isFile(storeBelow(cwd)) && hasConfig(cwd)
    ? { ...options, config: configHere(cwd) }
    : options

/**
 * The options that printed commands repeat: without the config of this folder, if the store is found here without it.
 * `place`: where the runs were found with it.
 */
export async function shortOptions(given: StoreOptions, place: RunLocation, cwd: string): Promise<StoreOptions> {
  const here = orConfigHere(given, cwd)
  if (here === given || 'engine' in place) return here
  const plain = await findRuns(given, cwd).catch(() => undefined)
  return plain !== undefined && 'store' in plain && plain.store === place.store ? given : here
}

/** The store of `--store`, which must exist; `options`: those of the config that is named, too. */
export const namedStore = (store: string, cwd: string, options: ConfigOptions = {}): RunLocation =>
  existing({ store: storeAt(store, cwd), options })

/** A file is resolved relative to a folder; an address is returned unchanged. */
export const storeAt = (store: string, folder: string): string => (isPostgres(store) ? store : resolve(folder, store))

/** True for a PostgreSQL address; other stores are files. Throws `config.invalid` for any other address. */
export const isPostgres = (store: string): boolean => storeKind(store) === 'postgres'

function existing(place: RunLocation): RunLocation {
  if ('engine' in place || isPostgres(place.store) || isFile(place.store)) return place
  throw usage(`store not found: ${place.store}`, 'Nothing was created. Check the path of --store or of the config.')
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile()

/**
 * For commands that serve runs: the config that is named, or that stands in this folder, and the location of the runs.
 * Without a config a store must exist, and its runs are not driven.
 */
export async function servedRuns(
  options: StoreOptions,
  cwd: string,
): Promise<{ readonly config: ReeveConfig | undefined; readonly place: RunLocation }> {
  const { store, config: named = hasConfig(cwd) ? configHere(cwd) : undefined } = options
  const config = named === undefined ? undefined : await loadConfig(named, cwd)
  const place =
    store === undefined
      ? (config?.place ?? (await findRuns(options, cwd)))
      : namedStore(store, cwd, config?.place.options)
  return { config, place }
}

/**
 * Loads a config: its agents, and the location of their runs. Opens no store or engine. A folder is a config of the
 * agents in it, with the default store beside it; a file that exports no agents has those of the folder `agents` beside
 * it.
 */
export async function loadConfig(path: string, cwd: string): Promise<ReeveConfig> {
  const file = resolve(cwd, path)
  if (isTeamFolder(file)) {
    const store = storeBelow(dirname(file))
    refuseLinks(store)
    const agents = await loadTeam(file)
    return { place: { store, options: { agents } }, agents }
  }
  if (!isFile(file))
    throw usage(
      `config not found: ${file}`,
      `Name a config with --config <file>. It exports \`agents\`, and \`store\` or \`engine\`.`,
    )
  const loaded = await importConfig(file)
  const given = isConfigLike(loaded['default']) ? loaded['default'] : loaded
  const place = locationOf(given, file)
  const { channels } = given
  const beside = join(dirname(file), agentsFolder)
  const agents = given['agents'] === undefined && isTeamFolder(beside) ? await loadTeam(beside) : given['agents']
  if (!Array.isArray(agents) || agents.length === 0)
    throw usage(
      `${file} exports no \`agents\``,
      `Add: export const agents = [ … ] with the agents that you start, or a folder ${agentsFolder}/ with a file for each`,
    )
  if (channels !== undefined && !Array.isArray(channels))
    throw usage(`${file} exports \`channels\` that are not an array`, 'Write: export const channels = [terminal()]')
  const { server } = given
  if (server !== undefined && (typeof server !== 'object' || server === null))
    throw usage(`${file} exports a \`server\` that is not an object`, 'Write: export const server = { auth: { … } }')
  return {
    place: { ...place, options: { ...optionsOf(given), agents: agents as ReeveConfig['agents'] } },
    agents: agents as ReeveConfig['agents'],
    ...(server === undefined ? undefined : { server }),
  }
}

/** The other runtime options of a config; createRuntime checks them. LocatedRun exports are ignored. */
function optionsOf(given: Exports): ConfigOptions {
  const theirs: ReadonlySet<string> = new Set(['store', 'engine', 'drive', 'crash'])
  return Object.fromEntries(
    Object.keys(runtimeOptions).flatMap((name) =>
      theirs.has(name) || given[name] === undefined ? [] : [[name, given[name]]],
    ),
  )
}

function locationOf({ store, engine }: Exports, file: string): RunLocation {
  if (engine !== undefined && store !== undefined)
    throw usage(
      `${file} exports both \`store\` and \`engine\``,
      'Keep one: `store` is a file or the address of a PostgreSQL database, `engine` creates another engine.',
    )
  if (typeof engine === 'function') return { engine: () => makeEngine(engine as () => unknown, file), config: file }
  if (engine !== undefined)
    throw usage(
      `${file} exports an \`engine\` that is not a function`,
      'Importing a config must open no connection: export const engine = () => restate({ … })',
    )
  if (typeof store === 'string' && store !== '') return { store: storeAt(store, dirname(file)) }
  throw usage(
    `${file} exports no \`store\` and no \`engine\``,
    "Add: export const store = './reeve.db', or for another engine: export const engine = () => restate({ … })",
  )
}

/** Calls the config's `engine`. A ReeveError that it throws passes unchanged. */
async function makeEngine(make: () => unknown, file: string): Promise<ConfiguredEngine> {
  let made: unknown
  try {
    made = await make()
  } catch (thrown) {
    if (ReeveError.is(thrown)) throw thrown
    throw usage(
      `the \`engine\` function of ${file} failed: ${messageOf(thrown)}`,
      'Nothing was opened. Correct that function in your config.',
    )
  }
  if (isEngine(made)) return made
  throw usage(
    `the \`engine\` of ${file} returned no engine`,
    'Return an engine, for example: export const engine = () => restate({ … })',
  )
}

const isEngine = (made: unknown): made is ConfiguredEngine =>
  typeof made === 'object' &&
  made !== null &&
  ['drive', 'start', 'post', 'read', 'close'].every((verb) => typeof Reflect.get(made, verb) === 'function')

type Exports = { readonly [name: string]: unknown }

const isConfigLike = (value: unknown): value is Exports =>
  typeof value === 'object' && value !== null && ('store' in value || 'engine' in value || 'agents' in value)

async function importConfig(file: string): Promise<Exports> {
  try {
    return (await import(pathToFileURL(file).href)) as Exports
  } catch (error) {
    const place = placeOf(error)
    throw usage(
      `${file} could not be loaded: ${messageOf(error)}${place === undefined ? '' : ` (${place})`}`,
      (ReeveError.is(error) ? error.hint : undefined) ??
        'Node must be able to run it: erasable TypeScript only, imports with their extensions.',
    )
  }
}

/** Opens a runtime. If that fails, the engine is closed again. */
export async function openRuntime(
  place: RunLocation,
  options: Omit<RuntimeOptions, 'store' | 'engine'>,
): Promise<Runtime> {
  if ('store' in place) {
    if (place.store === storeBelow(dirname(dirname(place.store)))) makePrivateFolder(dirname(place.store))
    return createRuntime({ store: place.store, ...place.options, ...options })
  }
  const engine = await place.engine()
  try {
    return await createRuntime({ engine, ...place.options, ...options })
  } catch (thrown) {
    await engine.close()
    throw thrown
  }
}

/** Opens the runs for reading, decisions and control only: this process drives no run. */
export async function withRuns<T>(
  options: StoreOptions,
  cwd: string,
  work: (runtime: Runtime, place: RunLocation) => Promise<T>,
): Promise<T> {
  const place = await findRuns(options, cwd)
  await using runtime = await openRuntime(place, { drive: false })
  return await work(runtime, place)
}
