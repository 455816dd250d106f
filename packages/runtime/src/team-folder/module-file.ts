/**
 * One file of a team folder as a module: its default export, or why there is none, with file and line.
 *
 * Owns: importing, the circles in which files import each other. Does not own: what the export means (load-team.ts).
 */
import type { registerHooks } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { messageOf } from '@reeve/core'

const ownFiles = new URL('../../../..', import.meta.url).href

/** The first file and line of the user's in the stack of an error. */
export function placeOf(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const [, url, line] =
    [...stack.matchAll(/(file:\/\/[^\s()]+?):(\d+)/g)].find(
      ([, at]) => !at!.startsWith(`${ownFiles}packages/`) && !at!.startsWith(`${ownFiles}dist/`),
    ) ?? []
  return url === undefined ? undefined : `${fileURLToPath(url)}:${line}`
}

/** The default export of a file, or the problem with it. */
export type LoadedFile = { readonly value: object } | { readonly problem: string }

/** Imports files, and knows who imported whom. Disposed of when all are loaded. */
export class FileImports implements Disposable {
  readonly #importers = new Map<string, Set<string>>()
  readonly #hooks: { deregister(): void } | undefined

  constructor() {
    // not every runtime has them; without them a circle is told as Node tells it
    const node: { readonly registerHooks?: typeof registerHooks } = process.getBuiltinModule('node:module')
    this.#hooks = node.registerHooks?.({
      resolve: (specifier, context, next) => {
        const found = next(specifier, context)
        const { parentURL } = context
        if (parentURL?.startsWith('file:') === true && found.url.startsWith('file:'))
          this.#importers.set(found.url, (this.#importers.get(found.url) ?? new Set()).add(parentURL))
        return found
      },
    })
  }

  async load(file: string): Promise<LoadedFile> {
    const { href } = pathToFileURL(file)
    let loaded: { readonly default?: unknown }
    try {
      loaded = (await import(href)) as typeof loaded
    } catch (thrown) {
      const place = placeOf(thrown)
      // only what is used before it is made fails by a circle
      const circle = thrown instanceof ReferenceError ? this.#circleOf(href) : undefined
      const because = circle === undefined ? '' : `; these files import each other: ${circle.join(' → ')}`
      return {
        problem: `could not be loaded: ${messageOf(thrown)}${place === undefined ? '' : ` (${place})`}${because}`,
      }
    }
    const { default: value } = loaded
    if (typeof value === 'object' && value !== null) return { value }
    return {
      problem:
        value === undefined
          ? 'has no default export; write: export default { … }'
          : `exports a ${typeof value} as its default, expected an object`,
    }
  }

  /** The way from a file over its imports back to one of them, by name. */
  #circleOf(start: string): readonly string[] | undefined {
    const imports = new Map<string, string[]>()
    for (const [url, importers] of this.#importers)
      for (const importer of importers) imports.set(importer, [...(imports.get(importer) ?? []), url])
    const walk = (url: string, way: readonly string[]): readonly string[] | undefined => {
      const at = way.indexOf(url)
      if (at >= 0) return [...way.slice(at), url]
      for (const next of imports.get(url) ?? []) {
        const found = walk(next, [...way, url])
        if (found !== undefined) return found
      }
      return undefined
    }
    return walk(start, [])?.map((url) => basename(fileURLToPath(url)))
  }

  [Symbol.dispose](): void {
    this.#hooks?.deregister()
  }
}
