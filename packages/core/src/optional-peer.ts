/**
 * Optional peers: packages that an application installs beside Reeve, and that Reeve loads when they are needed.
 *
 * Owns: where they are looked for, and what is said where one is missing or broken. Does not own: which ones there are
 * (package.json), what is done with them.
 * Holds: no bundler sees which package is meant, because the specifier is a value. It is resolved at run time: from this
 * module's file, as any import, then from the application: the working directory and the program that was started.
 */
import { messageOf, ReeveError } from './errors.ts'

/**
 * Imports a package at run time. Rejects with the error of the runtime: `ERR_MODULE_NOT_FOUND` where it is found
 * nowhere.
 */
export async function importAtRunTime<T>(specifier: string): Promise<T> {
  try {
    return (await import(/* @vite-ignore */ specifier)) as T
  } catch (thrown) {
    if (!isNotFound(thrown, packageOf(specifier))) throw thrown
    const file = resolveAtRunTime(specifier)
    if (file === undefined) throw thrown
    const { href } = process.getBuiltinModule('node:url').pathToFileURL(file)
    return (await import(/* @vite-ignore */ href)) as T
  }
}

/** The path of a module of a package; undefined where it is found nowhere. */
export function resolveAtRunTime(specifier: string): string | undefined {
  const { createRequire } = process.getBuiltinModule('node:module')
  const path = process.getBuiltinModule('node:path')
  const places = [
    () => import.meta.filename,
    () => path.join(process.cwd(), 'package.json'),
    () => process.argv[1] ?? '',
  ]
  for (const place of places) {
    try {
      // a bundle may have lost its file, the working directory may be gone, and `node -e` has no program
      return createRequire(place()).resolve(specifier)
    } catch {
      // the next place, or undefined
    }
  }
  return undefined
}

/**
 * Imports an optional peer. Rejects with `config.invalid`, and what to install, where it is missing or cannot be loaded.
 * `hint`: what to do, if it is not to install the newest one.
 */
export async function optionalPeer<T>(specifier: string, hint?: string): Promise<T> {
  try {
    return await importAtRunTime<T>(specifier)
  } catch (thrown) {
    const name = packageOf(specifier)
    throw new ReeveError('config.invalid', peerProblem(name, thrown), {
      hint: hint ?? `npm install ${name}`,
      cause: thrown,
    })
  }
}

/** Why a package was not loaded, as a sentence. */
export const peerProblem = (name: string, thrown: unknown): string =>
  isNotFound(thrown, name)
    ? `the package ${name} is not installed`
    : `the package ${name} could not be loaded: ${messageOf(thrown)}`

/** Whether it is this package that is missing, and not one that it needs. */
function isNotFound(thrown: unknown, name: string): boolean {
  const { code } = (thrown ?? {}) as { readonly code?: unknown }
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
  return isMissing && new RegExp(`['"\`]${name}['"\`/]`).test(messageOf(thrown))
}

/** The name of the package in a specifier: `@scope/name` in `@scope/name/part`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
