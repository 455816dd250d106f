/**
 * The entry of the command line: this process's terminal, Ctrl-C and exit code around the program.
 *
 * Owns: signals, a closed pipe, warnings, the exit. Does not own: commands (program.ts). The first Ctrl-C leaves the
 * run parked, a second one ends at once; either way the journal has everything that was recorded.
 */
import { readFileSync } from 'node:fs'
import { exits } from './exit.ts'
import { main } from './program.ts'
import { processTerminal, warningLine } from './terminal.ts'

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupted.signal.aborted) process.exit(exits.interrupted)
    interrupted.abort(signal)
  })
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exits.done)
  throw error
})

// A warning of ours, from whichever engine, is one line; others are shown as Node shows them.
const terminal = processTerminal()
const shownByNode = process.listeners('warning')
process.removeAllListeners('warning')
process.on('warning', (warning: NodeJS.ErrnoException) => {
  if (warning.name === 'ReeveWarning') terminal.note(warningLine(warning.code, warning.message, terminal))
  else for (const show of shownByNode) show(warning)
})

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}
// A command stays until it says that it is done, even if an engine that only waits holds nothing open.
setInterval(() => undefined, 2 ** 31 - 1)
const exit = await main(process.argv.slice(2), {
  terminal,
  cwd: process.cwd(),
  interrupted: interrupted.signal,
  version,
})
process.stdout.write('', () => process.exit(exit))
