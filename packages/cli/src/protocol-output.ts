/**
 * Protocol output: standard output for a protocol alone, whatever else in the process writes to it.
 *
 * Owns: starting the command again with standard error in the place of its standard output, and its real one beside
 * that. Does not own: what is served (command/mcp.ts).
 * Holds: nothing but the protocol can reach the real standard output: not `process.stdout` of a tool, not a native
 * library, and not a child process that inherits its output. Node cannot put another file in the place of descriptor 1 of
 * a process that runs, so the command runs in a process that has another one from its start.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import { isatty } from 'node:tty'
import type { Writable } from 'node:stream'
import type { CommandContext } from './context.ts'
import { exits, type Exit } from './exit.ts'

/** In the environment of the process that serves: the descriptor of the real standard output. */
const variable = 'REEVE_PROTOCOL_OUTPUT'
const descriptor = 3

/** The output for the protocol, in the process that has it apart; undefined in any other. Ask once. */
export function protocolOutput(): Writable | undefined {
  const isApart = process.env[variable] === String(descriptor)
  // tools and what they start do not see it
  delete process.env[variable]
  if (!isApart) return undefined
  const kind = fstatSync(descriptor)
  return kind.isFIFO() || kind.isSocket()
    ? new Socket({ fd: descriptor, readable: false, writable: true })
    : createWriteStream('', { fd: descriptor })
}

/** Runs the command of this process in one that has its output apart. Resolves to its exit. */
export function apart(self: readonly string[], { interrupted }: Pick<CommandContext, 'interrupted'>): Promise<Exit> {
  const child = spawn(process.execPath, [...self], {
    stdio: ['inherit', process.stderr.fd, 'inherit', process.stdout.fd],
    env: { ...process.env, [variable]: String(descriptor) },
  })
  // a terminal sends its signals to both
  if (!isatty(0))
    interrupted.addEventListener('abort', () => child.kill(interrupted.reason as NodeJS.Signals), { once: true })
  // a second signal ends this process at once, and nothing is left behind
  process.once('exit', () => child.kill('SIGKILL'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve((code ?? (interrupted.aborted ? exits.interrupted : exits.failed)) as Exit))
  })
}
