/**
 * Stores and configs: which store a command means, and which agents belong to it.
 *
 * Owns: finding the store without creating one, loading `reeve.config.ts`. Does not own: what is in a store.
 * A command that looks or decides never runs user code unless it is told a config; a bad argument creates no store.
 */
import { existsSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject, messageOf } from '../core/index.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '../runtime/index.ts'
import { usage } from './exit.ts'

/** The options that every command has. */
export interface StoreOptions {
  readonly store?: string
  readonly config?: string
}

/** What a `reeve.config.ts` exports: by name, or as its default. */
export interface ReeveConfig {
  /** A file; relative to the config. */
  readonly store: string
  readonly agents: NonNullable<RuntimeOptions['agents']>
}

/** Where the demo and commands without options keep their store, below a folder. */
export const storeBelow = (folder: string): string => join(folder, '.reeve', 'reeve.db')

const configName = 'reeve.config.ts'

/** The store that is meant, which must exist. Without options: `.reeve/reeve.db` here, else the one that `reeve.config.ts` here names. */
export async function findStore(options: StoreOptions, cwd: string): Promise<string> {
  if (options.store !== undefined) return existing(resolve(cwd, options.store))
  if (options.config !== undefined) return existing((await loadConfig(options.config, cwd)).store)
  const here = storeBelow(cwd)
  if (isFile(here)) return here
  if (isFile(join(cwd, configName))) return existing((await loadConfig(configName, cwd)).store)
  throw usage(
    `there is no store here: neither ${join('.reeve', 'reeve.db')} nor ${configName}`,
    'Name one with --store <file> or --config <file>, or begin with: reeve demo',
  )
}

function existing(file: string): string {
  if (isFile(file)) return file
  throw usage(`there is no store at ${file}`, 'Nothing was created. Check the path given with --store, or in the config.')
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile()

/** Loads a config: agents and where their store is. */
export async function loadConfig(path: string, cwd: string): Promise<ReeveConfig> {
  const file = resolve(cwd, path)
  if (!isFile(file)) throw usage(`there is no config at ${file}`, `Name one with --config <file>; it exports \`store\` and \`agents\`.`)
  const loaded = await importConfig(file)
  const given = isConfigLike(loaded['default']) ? loaded['default'] : loaded
  const { store, agents } = given
  if (typeof store !== 'string' || store === '') throw usage(`${file} exports no \`store\``, "Add: export const store = './reeve.db'")
  if (!Array.isArray(agents) || agents.length === 0)
    throw usage(`${file} exports no \`agents\``, 'Add: export const agents = [yourSupervisor]')
  return { store: isAbsolute(store) ? store : resolve(dirname(file), store), agents: agents as ReeveConfig['agents'] }
}

const isConfigLike = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && ('store' in value || 'agents' in value)

async function importConfig(file: string): Promise<{ readonly [name: string]: unknown }> {
  try {
    const loaded: unknown = await import(pathToFileURL(file).href)
    return isObject(loaded) || typeof loaded === 'object' ? (loaded as { readonly [name: string]: unknown }) : {}
  } catch (error) {
    throw usage(
      `${file} could not be loaded: ${messageOf(error)}`,
      'It must be a module that Node can run: only erasable TypeScript, imports with their extensions.',
    )
  }
}

/** Opens the store for looking and deciding only: nothing in it is run. */
export async function look<T>(options: StoreOptions, cwd: string, work: (runtime: Runtime, store: string) => Promise<T>): Promise<T> {
  const store = await findStore(options, cwd)
  await using runtime = await createRuntime({ store, drive: false })
  return await work(runtime, store)
}
