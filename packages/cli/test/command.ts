/** Runs the command line as a process of its own, with this Node, from the source. */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

const entry = join(import.meta.dirname, '..', 'src', 'main.ts')

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

/** Starts it; `seen` is called with everything it has written so far, at each piece of `out` or `err`. */
export function begin(
  cwd: string,
  args: readonly string[],
  seen: (out: string, child: ChildProcess, err: string) => void = () => {},
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [entry, ...args], {
      cwd,
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    let err = ''
    child.stdout.on('data', (piece: Buffer) => seen((out += piece.toString()), child, err))
    child.stderr.on('data', (piece: Buffer) => seen(out, child, (err += piece.toString())))
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, out, err }))
  })
}

/** Runs it to its end. */
export const reeve = (cwd: string, ...args: string[]): Promise<Ended> => begin(cwd, args)

/** The NDJSON that it wrote. */
export const lines = (out: string): Record<string, unknown>[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
