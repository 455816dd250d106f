/**
 * Load: processes that are always busy, so that everything else on the machine is late.
 *
 * Owns: starting and ending them.
 */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** So many busy processes, until it is called. */
export function loadOf(processes: number): () => void {
  const children = Array.from({ length: processes }, () =>
    // ends with its parent, however that ends: its input is closed then
    spawn(
      process.execPath,
      [
        '-e',
        'const end = Date.now; process.stdin.on("end", () => process.exit()).resume(); const run = () => { for (const until = end() + 50; end() < until;); setImmediate(run) }; run()',
      ],
      { stdio: ['pipe', 'ignore', 'ignore'] },
    ),
  )
  return () => {
    for (const child of children) child.kill('SIGKILL')
  }
}

/** How many times longer everything takes beside so many busy processes. */
export const slowedBy = (processes: number): number => 1 + processes / availableParallelism()
