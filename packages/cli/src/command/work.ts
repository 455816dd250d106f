/**
 * `reeve work`: a worker process, which drives the runs of a config's agents until it is stopped.
 *
 * Owns: the output at start and end, the exit code of a worker. Does not own: driving (the engine), warnings (main.ts).
 * Only this command creates the store that its config names. When the worker stops, its runs stay parked in the store.
 */
import { aborted, shownStore, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { orderlyEnd } from '../orderly-end.ts'
import type { listenForProbes } from '../probe-listener.ts'
import { configHere, loadConfig, namedStore, openRuntime, type RunLocation } from '../store.ts'

/** The options of `reeve work`. */
export interface WorkOptions {
  /** Where probes are answered. Default: nowhere. */
  readonly probePort?: number
  readonly probeHost?: string
}

/** Drives until Ctrl-C or SIGTERM. */
export async function work(
  context: CommandContext,
  { probePort, probeHost = '127.0.0.1' }: WorkOptions,
): Promise<Exit> {
  const { terminal, cwd, options, interrupted } = context
  const config = await loadConfig(options.config ?? configHere(cwd), cwd)
  const place = options.store === undefined ? config.place : namedStore(options.store, cwd, config.place.options)
  await using runtime = await openRuntime(place, {})
  await using probes =
    probePort === undefined ? undefined : await probesOf(runtime, { port: probePort, host: probeHost })
  await using _end = orderlyEnd(runtime, context)
  terminal.line(`${terminal.style('bold', 'reeve work')}  ${nameOf(place)}`)
  const widest = Math.max(...config.agents.map(({ name }) => name.length))
  for (const { name, version } of config.agents)
    terminal.line(`  drives ${name.padEnd(widest)}  ${terminal.style('dim', version)}`)
  if (probes !== undefined) terminal.line(`  probes http://${probeHost}:${probes.port}/live, /ready`)
  terminal.line('Ctrl-C stops the worker; its runs are parked and continue with the next worker.')
  if ((await Promise.race([aborted(interrupted), storeLost()])) === 'lost') return exits.failed
  // a process supervisor ends its processes with SIGTERM; obeying is not a failure
  probes?.retire()
  const isToldByProcess = interrupted.reason === 'SIGTERM'
  terminal.note(`${isToldByProcess ? '' : '\n'}The worker stops: it takes nothing new, and its runs are parked.`)
  return isToldByProcess ? exits.done : exits.interrupted
}

/** Loaded when it is asked for: no other worker needs the server. */
const probesOf: typeof listenForProbes = async (...given) =>
  (await import('../probe-listener.ts')).listenForProbes(...given)

/**
 * Resolves when this worker can do nothing more with its store. A process supervisor then starts a new worker.
 */
const storeLost = (): Promise<'lost'> =>
  new Promise((resolve) => {
    process.on('warning', (warning: Error & { readonly code?: string }) => {
      if (warning.code === 'store.replaced' || warning.code === 'store.unsynced') resolve('lost')
    })
  })

const nameOf = (place: RunLocation): string =>
  'engine' in place ? `the engine of ${place.config}` : shownStore(place.store)
