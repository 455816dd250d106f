/**
 * Loaded files: preloaded (`--import`) into the process that `reeve dev` runs; tells it which files of the project were
 * read, also those that cannot be compiled, and ends with it.
 *
 * Owns: the hook, the message. Does not own: what follows from a change (command/dev.ts).
 */
import { registerHooks } from 'node:module'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the process says about itself. */
export type ServerNews = { readonly loaded: string } | { readonly port: number }

const own = fileURLToPath(new URL('../../..', import.meta.url))
const isOfProject = (path: string): boolean =>
  !path.includes(`${sep}node_modules${sep}`) &&
  !path.startsWith(`${own}packages${sep}`) &&
  !path.startsWith(`${own}dist`)

registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) {
      const path = fileURLToPath(url)
      if (isOfProject(path)) process.send?.({ loaded: path } satisfies ServerNews)
    }
    return next(url, context)
  },
})

// its parent is gone, be it by SIGKILL: what is running is parked, as for any SIGTERM
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
