/**
 * Packages: the official packages of the protocol, loaded when they are needed.
 *
 * Owns: loading them, and what is said where one is missing. Does not own: anything that is done with them.
 */
import type * as ClientModule from '@modelcontextprotocol/client'
import type * as ClientStdioModule from '@modelcontextprotocol/client/stdio'
import type * as ServerModule from '@modelcontextprotocol/server'
import type * as ServerStdioModule from '@modelcontextprotocol/server/stdio'
import { optionalPeer, version } from '@reeve/core'

/** Of the package that serves. Rejects with `config.invalid` where it is not installed. */
export const serverPackage = (): Promise<typeof ServerModule> =>
  optionalPeer('@modelcontextprotocol/server', install.server)

/** Its part for standard input and output. */
export const serverStdioPackage = (): Promise<typeof ServerStdioModule> =>
  optionalPeer('@modelcontextprotocol/server/stdio', install.server)

/** Of the package that calls servers. Rejects with `config.invalid` where it is not installed. */
export const clientPackage = (): Promise<typeof ClientModule> =>
  optionalPeer('@modelcontextprotocol/client', install.client)

/** Its part that starts servers as processes. */
export const clientStdioPackage = (): Promise<typeof ClientStdioModule> =>
  optionalPeer('@modelcontextprotocol/client/stdio', install.client)

const install = {
  server: 'npm install @modelcontextprotocol/server@2',
  client: 'npm install @modelcontextprotocol/client@2',
}

/** How Reeve names itself to the other side. */
export const implementation = { name: 'reeve', version }
