/**
 * `reeve work`: a worker, which drives the runs of a config's agents until it is told to stop.
 *
 * Owns: staying, what is said at the beginning and the end, the exit code of a worker. Does not own: driving (the
 * engine), warnings (main.ts shows them). A worker may be the first at a place: it alone creates the store that its
 * config names. Runs stay as they are when it goes.
 */
import { aborted, shownStore, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { configName, loadConfig, namedStore, openRuntime, type Place } from '../store.ts'

/** Drives until Ctrl-C or SIGTERM. */
export async function work({ terminal, cwd, options, interrupted }: CommandContext): Promise<Exit> {
  const config = await loadConfig(options.config ?? configName, cwd)
  const place = options.store === undefined ? config.place : namedStore(options.store, cwd, config.place.options)
  await using _runtime = await openRuntime(place, {})
  terminal.line(`${terminal.style('bold', 'reeve work')}  ${nameOf(place)}`)
  const widest = Math.max(...config.agents.map(({ name }) => name.length))
  for (const { name, version } of config.agents)
    terminal.line(`  drives ${name.padEnd(widest)}  ${terminal.style('dim', version)}`)
  terminal.line('Ctrl-C ends it; runs stay where they are, and go on with the next worker.')
  if ((await Promise.race([aborted(interrupted), storeLost()])) === 'lost') return exits.failed
  // whoever supervises processes ends them with SIGTERM, and it is no failure to obey
  const isToldByProcess = interrupted.reason === 'SIGTERM'
  terminal.note(
    `${isToldByProcess ? '' : '\n'}The worker ends as soon as what may not be cut off has ended; a second Ctrl-C ends it at once.`,
  )
  return isToldByProcess ? exits.done : exits.interrupted
}

/**
 * Resolves when the store is gone from under this worker; the warning says so. Whoever supervises the process starts
 * another one.
 */
const storeLost = (): Promise<'lost'> =>
  new Promise((resolve) => {
    process.on('warning', (warning: Error & { readonly code?: string }) => {
      if (warning.code === 'store.replaced') resolve('lost')
    })
  })

const nameOf = (place: Place): string => ('engine' in place ? `the engine of ${place.config}` : shownStore(place.store))
