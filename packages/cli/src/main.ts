/**
 * The entry of the command line: connects the program to the terminal, the signals and the exit code of this process.
 *
 * Owns: signals, a closed pipe, warnings, the exit. Does not own: commands (program.ts). The first Ctrl-C parks the
 * run, the second one exits at once. The journal is complete in both cases.
 */
import { version } from '@reeve/core'
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

// Warnings of Reeve are printed on one line; Node prints all others.
const terminal = processTerminal()
const shownByNode = process.listeners('warning')
process.removeAllListeners('warning')
process.on('warning', (warning: NodeJS.ErrnoException) => {
  if (warning.name === 'ReeveWarning') terminal.note(warningLine(warning.code, warning.message, terminal))
  else for (const show of shownByNode) show(warning)
})

// Keeps the process alive until the command has ended, also while an engine only waits and holds no handle.
setInterval(() => undefined, 2 ** 31 - 1)
const exit = await main(process.argv.slice(2), {
  terminal,
  cwd: process.cwd(),
  interrupted: interrupted.signal,
  version,
  self: [...process.execArgv, ...process.argv.slice(1)],
})
process.stdout.write('', () => process.exit(exit))
