/**
 * `reeve serve` and `reeve studio`: a server over the runs of a store, until it is stopped.
 *
 * Owns: what is served with which token, the lines that say so, the order in which all of it ends. Does not own: the
 * server, who may do what (server/), driving (the engine).
 * Holds: the token stands in no list of processes, and, where a file has it, in no log: it is shown on a terminal alone.
 * Runs are driven if a config with agents is named or stands in this folder, as `reeve work` does; else they are
 * watched and decided only.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newSecret, ReeveError, visible } from '@reeve/core'
import {
  createServer,
  listen,
  type Denial,
  type ListeningServer,
  type ReeveServer,
  type ReeveServerOptions,
} from '@reeve/server'
import { aborted, currentUser, shownStore, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import type { ServerNews } from '../loaded-files.ts'
import { redirectFile, writePrivateFile } from '../private-files.ts'
import { orderlyEnd } from '../orderly-end.ts'
import { openRuntime, servedRuns, type RunLocation } from '../store.ts'

/** The options of `serve` and `studio`. */
export interface ServeOptions {
  readonly port?: number
  readonly host?: string
  readonly tokenFile?: string
  /** Of `studio`: open a browser. */
  readonly open?: boolean
}

/** What a server is made of, besides its runtime. */
type ServerSettings = Omit<ReeveServerOptions, 'runtime'>

const defaultPort = 4040
/** How many ports after the default one are tried, where none is named. */
const otherPorts = 20

/** The studio as it is built. */
const builtStudio = fileURLToPath(new URL('../../../../dist/studio', import.meta.url))

/** Serves the API until Ctrl-C or SIGTERM. */
export const serve = (context: CommandContext, options: ServeOptions): Promise<Exit> =>
  served(context, options, undefined)

/** Serves the API and the studio, and opens the studio. */
export async function studio(context: CommandContext, options: ServeOptions): Promise<Exit> {
  mustHaveStudio()
  return served(context, options, builtStudio)
}

/** Throws `cli.usage` in a checkout that is not built. */
export function mustHaveStudio(): void {
  if (!existsSync(join(builtStudio, 'index.html')))
    throw usage('the studio is not built: dist/studio/index.html is missing', 'In a checkout, run: npm run build')
}

async function served(context: CommandContext, options: ServeOptions, assets: string | undefined): Promise<Exit> {
  const { terminal, cwd, interrupted } = context
  const { config, place } = await servedRuns(context.options, cwd)
  await using runtime = await openRuntime(place, config === undefined ? { drive: false } : {})
  await using _end = orderlyEnd(runtime, context)
  const settings: ServerSettings = {
    onDenied: (denial) => terminal.note(denialLine(denial)),
    ...config?.server,
    ...(assets === undefined ? undefined : { assets }),
    user: currentUser(),
  }
  const token =
    settings.auth === undefined && options.tokenFile !== undefined ? tokenIn(options.tokenFile, cwd) : undefined
  const server = createServer({ ...settings, ...(token === undefined ? undefined : ofToken(token)), runtime })
  await using listening = await listenNear(server, options)
  process.send?.({ port: listening.port } satisfies ServerNews)
  const secret = token ?? server.token
  const address = secret === undefined ? listening.url : `${listening.url}/#token=${secret}`
  const isShown = secret !== undefined && (token === undefined || terminal.isLive)
  // `reeve dev` starts it as its child
  const title = assets === undefined ? 'reeve serve' : process.send === undefined ? 'reeve studio' : 'reeve dev'
  terminal.line(`${terminal.style('bold', title)}  ${nameOf(place)}`)
  if (config !== undefined)
    for (const { name, version } of config.agents) terminal.line(`  drives ${name}  ${terminal.style('dim', version)}`)
  else terminal.line('  drives no runs, as no config with agents is named (--config): they can be watched and decided')
  terminal.line(`  API    ${listening.url}/api`)
  if (assets !== undefined) terminal.line(`  studio ${terminal.style('cyan', isShown ? address : listening.url)}`)
  else if (isShown) terminal.line(`  token  ${secret}`)
  if (secret !== undefined && !isShown) terminal.line(`  token  in ${visible(resolve(cwd, options.tokenFile!))}`)
  if (secret !== undefined) terminal.line('  Whoever has the token may do everything here. Do not share it.')
  terminal.line('Ctrl-C stops the server; its runs are parked and continue with the next worker.')
  const opened = assets !== undefined && options.open !== false && terminal.isLive ? openBrowser(address) : undefined
  await aborted(interrupted)
  opened?.remove()
  const isToldByProcess = interrupted.reason === 'SIGTERM'
  terminal.note(
    `${isToldByProcess ? '' : '\n'}The server stops: answers in flight are given, then its runs are parked.`,
  )
  await listening.close()
  return isToldByProcess ? exits.done : exits.interrupted
}

/** One token for an admin; a browser stays signed in over a restart. */
const ofToken = (token: string): Pick<ServerSettings, 'auth' | 'session'> => ({
  auth: { tokens: { [token]: { name: currentUser(), roles: ['admin'] } } },
  session: { secret: `session ${token}` },
})

/** The token of a file, which is written if it is not there: readable by its owner alone. */
function tokenIn(name: string, cwd: string): string {
  const file = resolve(cwd, name)
  if (!existsSync(file)) writePrivateFile(file, `${newSecret()}\n`)
  const token = readFileSync(file, 'utf8').trim()
  if (/^[\x21-\x7e]{24,}$/.test(token)) return token
  throw usage(
    `${file} holds no token`,
    'A token is one line of at least 24 characters. Remove the file, and a new one is written.',
  )
}

/** Listens on the port that is named, or else on the first free one from the default on, or on any. */
async function listenNear(server: ReeveServer, { port, host = '127.0.0.1' }: ServeOptions): Promise<ListeningServer> {
  if (port !== undefined) return listen(server, { port, host })
  for (let next = defaultPort; next < defaultPort + otherPorts; next++) {
    try {
      return await listen(server, { port: next, host })
    } catch (thrown) {
      const cause = ReeveError.is(thrown) ? thrown.cause : undefined
      if ((cause as NodeJS.ErrnoException | undefined)?.code !== 'EADDRINUSE') throw thrown
    }
  }
  return listen(server, { port: 0, host })
}

/**
 * Opens the address in a browser, by way of a file: arguments of a process are read by every user of the machine. What
 * becomes of it is of no consequence: the address is printed.
 */
function openBrowser(address: string): { readonly remove: () => void } {
  const redirect = redirectFile(address)
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open'
  const child = spawn(command, [redirect.file], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
  return redirect
}

/** A request that was refused, as a line of the log. */
const denialLine = ({ at, status, code, method, route, address, principal, tenant, omitted }: Denial): string =>
  [
    `denied ${new Date(at).toISOString()} ${status} ${code} ${method} ${route}`,
    ...(address === undefined ? [] : [`from ${address}`]),
    ...(principal === undefined ? [] : [`by ${visible(principal)}${tenant === undefined ? '' : ` of ${tenant}`}`]),
    ...(omitted === undefined ? [] : [`(${omitted} more)`]),
  ].join(' ')

const nameOf = (place: RunLocation): string =>
  'engine' in place ? `the engine of ${place.config}` : shownStore(place.store)
