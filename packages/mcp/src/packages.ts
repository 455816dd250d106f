/**
 * Packages: the official packages of the protocol, loaded when they are needed.
 *
 * Owns: loading them, and what is said where one is missing. Does not own: anything that is done with them.
 */
import { readFileSync } from 'node:fs'
import type * as ClientModule from '@modelcontextprotocol/client'
import type * as ClientStdioModule from '@modelcontextprotocol/client/stdio'
import type * as ServerModule from '@modelcontextprotocol/server'
import type * as ServerStdioModule from '@modelcontextprotocol/server/stdio'
import { ReeveError } from '@reeve/core'

/** Of the package that serves. Rejects with `config.invalid` where it is not installed. */
export const serverPackage = (): Promise<typeof ServerModule> =>
  loaded('@modelcontextprotocol/server', () => import('@modelcontextprotocol/server'))

/** Its part for standard input and output. */
export const serverStdioPackage = (): Promise<typeof ServerStdioModule> =>
  loaded('@modelcontextprotocol/server', () => import('@modelcontextprotocol/server/stdio'))

/** Of the package that calls servers. Rejects with `config.invalid` where it is not installed. */
export const clientPackage = (): Promise<typeof ClientModule> =>
  loaded('@modelcontextprotocol/client', () => import('@modelcontextprotocol/client'))

/** Its part that starts servers as processes. */
export const clientStdioPackage = (): Promise<typeof ClientStdioModule> =>
  loaded('@modelcontextprotocol/client', () => import('@modelcontextprotocol/client/stdio'))

async function loaded<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (thrown) {
    throw new ReeveError('config.invalid', `reeve/mcp needs the package ${name}, which is not installed`, {
      hint: `Install it: npm install ${name}@2`,
      cause: thrown,
    })
  }
}

/** How Reeve names itself to the other side. */
export const implementation = {
  name: 'reeve',
  version: (
    JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
  ).version,
}
