/**
 * Stores, engines and configs: where the runs are that a command means, and which agents belong to them.
 *
 * Owns: finding a store without creating one, loading `reeve.config.ts`, opening a runtime on either. Does not own:
 * what is in a store. A config is code. `work` and `resume`, which run agents, take the `reeve.config.ts` of the folder
 * they are called in; every other command loads a config only where it is named. A bad argument creates no store.
 */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, ReeveError } from '../core/index.ts'
import { createRuntime, placeNamed, runtimeOptions, type Runtime, type RuntimeOptions } from '../runtime/index.ts'
import { usage } from './exit.ts'

/** The options that every command has. */
export interface StoreOptions {
  readonly store?: string
  readonly config?: string
}

type Engine = NonNullable<RuntimeOptions['engine']>

/**
 * Where runs are: in a store, which is the path of a file or the address of a PostgreSQL database, or with an engine
 * that a config makes whenever one is needed.
 */
export type Place = (
  { readonly store: string } | { readonly engine: () => Promise<Engine>; readonly config: string }
) & {
  /** What the config says of a runtime besides, if one was loaded: rules of redaction, who may decide, … */
  readonly options?: ConfigOptions
}

/**
 * Everything that `createRuntime` takes, but for where the runs are and whether this process drives them: that is the
 * command's.
 */
export type ConfigOptions = Omit<RuntimeOptions, 'store' | 'engine' | 'drive' | 'crash'>

/**
 * What a `reeve.config.ts` exports, by name or as its default: `agents`, `store` (a file, relative to the config, or an
 * address) or `engine` (a function), and any other option of `createRuntime`.
 */
export interface ReeveConfig {
  readonly place: Place
  readonly agents: NonNullable<RuntimeOptions['agents']>
}

/** Where the demo and commands without options keep their store, below a folder. */
export const storeBelow = (folder: string): string => join(folder, '.reeve', 'reeve.db')

/** The config that is taken if none is named. */
export const configName = 'reeve.config.ts'

/**
 * The folder that a store of ours is in. A link there would lead what is written out of the folder it is in. Throws
 * `cli.usage`; creates nothing.
 */
export function mustBeOwn(store: string): void {
  for (const path of [dirname(store), store])
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw usage(
        `${path} is a link, and would be written to where it leads`,
        'Remove it, or name a store: --store <store>',
      )
}

/**
 * The place that is meant; a store must exist. Without options: `.reeve/reeve.db` here. Loads a config only where it is
 * named.
 */
export async function findPlace(options: StoreOptions, cwd: string): Promise<Place> {
  const config = options.config === undefined ? undefined : (await loadConfig(options.config, cwd)).place
  if (options.store !== undefined) return namedStore(options.store, cwd, config?.options)
  if (config !== undefined) return existing(config)
  const here = storeBelow(cwd)
  if (isFile(here)) return (mustBeOwn(here), { store: here })
  if (isFile(join(cwd, configName)))
    throw usage(
      `there is no store here, but a ${configName}: it is code, and this command runs none unasked`,
      `Name it, if you trust it: --config ${configName}. Or name a store: --store <store>`,
    )
  throw usage(
    `there is no store here: neither ${join('.reeve', 'reeve.db')} nor ${configName}`,
    'Name one with --store <file or postgres://…> or --config <file>, or begin with: reeve demo',
  )
}

/**
 * For commands that run agents: where nothing is named and there is no store, the config of the folder is as good as
 * named, also in the commands that are printed.
 */
export const orConfigHere = (options: StoreOptions, cwd: string): StoreOptions =>
  options.store === undefined &&
  options.config === undefined &&
  !isFile(storeBelow(cwd)) &&
  isFile(join(cwd, configName))
    ? { ...options, config: configName }
    : options

/** The store of `--store`, which must exist; `options` of the config that is named beside it. */
export const namedStore = (store: string, cwd: string, options: ConfigOptions = {}): Place =>
  existing({ store: storeAt(store, cwd), options })

/** A file is relative to a folder; an address is what it is. */
export const storeAt = (store: string, folder: string): string => (isDatabase(store) ? store : resolve(folder, store))

/** True for an address; the other stores are files. Throws `config.invalid` for an address of something else. */
export const isDatabase = (store: string): boolean => placeNamed(store) === 'postgres'

function existing(place: Place): Place {
  if ('engine' in place || isDatabase(place.store) || isFile(place.store)) return place
  throw usage(
    `there is no store at ${place.store}`,
    'Nothing was created. Check the path given with --store, or in the config.',
  )
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile()

/** Loads a config: agents and where their runs are. Opens nothing. */
export async function loadConfig(path: string, cwd: string): Promise<ReeveConfig> {
  const file = resolve(cwd, path)
  if (!isFile(file))
    throw usage(
      `there is no config at ${file}`,
      `Name one with --config <file>; it exports \`agents\`, and \`store\` or \`engine\`.`,
    )
  const loaded = await importConfig(file)
  const given = isConfigLike(loaded['default']) ? loaded['default'] : loaded
  const place = placeOf(given, file)
  const { agents, channels } = given
  if (!Array.isArray(agents) || agents.length === 0)
    throw usage(`${file} exports no \`agents\``, 'Add: export const agents = [ … ], the agents that you start')
  if (channels !== undefined && !Array.isArray(channels))
    throw usage(`the \`channels\` that ${file} exports are no list`, 'Write: export const channels = [terminal()]')
  return { place: { ...place, options: optionsOf(given) }, agents: agents as ReeveConfig['agents'] }
}

/** What else the config says of a runtime: it is checked where a runtime is made of it. Other exports are its own. */
function optionsOf(given: Exports): ConfigOptions {
  const theirs: ReadonlySet<string> = new Set(['store', 'engine', 'drive', 'crash'])
  return Object.fromEntries(
    Object.keys(runtimeOptions).flatMap((name) =>
      theirs.has(name) || given[name] === undefined ? [] : [[name, given[name]]],
    ),
  )
}

function placeOf({ store, engine }: Exports, file: string): Place {
  if (engine !== undefined && store !== undefined)
    throw usage(
      `${file} exports both \`store\` and \`engine\``,
      'Keep one: `store` is a file or the address of a PostgreSQL database, `engine` makes another engine.',
    )
  if (typeof engine === 'function') return { engine: () => makeEngine(engine as () => unknown, file), config: file }
  if (engine !== undefined)
    throw usage(
      `the \`engine\` that ${file} exports is no function`,
      'Importing a config opens nothing: export const engine = () => restate({ … })',
    )
  if (typeof store === 'string' && store !== '') return { store: storeAt(store, dirname(file)) }
  throw usage(
    `${file} exports no \`store\` and no \`engine\``,
    "Add: export const store = './reeve.db', or for another engine: export const engine = () => restate({ … })",
  )
}

/** What the config's function makes. A word of ours on what is wrong passes as it is. */
async function makeEngine(make: () => unknown, file: string): Promise<Engine> {
  let made: unknown
  try {
    made = await make()
  } catch (thrown) {
    if (ReeveError.is(thrown)) throw thrown
    throw usage(
      `the \`engine\` of ${file} could not make an engine: ${messageOf(thrown)}`,
      'Nothing was opened. It is a function in your config.',
    )
  }
  if (isEngine(made)) return made
  throw usage(
    `the \`engine\` of ${file} returned no engine`,
    'It returns what makes one, for example: export const engine = () => restate({ … })',
  )
}

const isEngine = (made: unknown): made is Engine =>
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
    throw usage(
      `${file} could not be loaded: ${messageOf(error)}`,
      'It must be a module that Node can run: only erasable TypeScript, imports with their extensions.',
    )
  }
}

/** Opens a runtime on a place. What cannot be opened or registered is closed again. */
export async function openRuntime(place: Place, options: Omit<RuntimeOptions, 'store' | 'engine'>): Promise<Runtime> {
  if ('store' in place) return createRuntime({ store: place.store, ...place.options, ...options })
  const engine = await place.engine()
  try {
    return await createRuntime({ engine, ...place.options, ...options })
  } catch (thrown) {
    await engine.close()
    throw thrown
  }
}

/**
 * Opens the place that is meant for looking, deciding and control only: nothing in it is run, and this process is no
 * worker.
 */
export async function look<T>(
  options: StoreOptions,
  cwd: string,
  work: (runtime: Runtime, place: Place) => Promise<T>,
): Promise<T> {
  const place = await findPlace(options, cwd)
  await using runtime = await openRuntime(place, { drive: false })
  return await work(runtime, place)
}
